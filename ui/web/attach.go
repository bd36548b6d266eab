package web

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"pasar"
	"pasar/answer"
	"pasar/ipc"
)

// attachRoutes speak to a job's supervisor.
var attachRoutes = []route{
	{"GET /api/jobs/{id}/attach", users, (*Server).attach},
	{"GET /api/jobs/{id}/screen", users, (*Server).screen},
}

// attachProtocol is the subprotocol that a WebSocket must offer: its messages are in `pasar guide api`.
const attachProtocol = "pasar-attach"

// attach makes of a request a WebSocket at a job's terminal. What is wrong with the request is answered with a status; why
// the job has no terminal to show, as an event: a page isn't told the status of a WebSocket that was refused.
func (s *Server) attach(w http.ResponseWriter, r *http.Request) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	if err := only(q, "attempt", "cols", "rows"); err != nil {
		return err
	}
	v := &viewer{job: id, log: s.Log, who: browserAt(r.RemoteAddr)}
	if v.attempt, err = count(q, "attempt"); err != nil {
		return err
	}
	if v.size.Cols, err = count(q, "cols"); err != nil {
		return err
	}
	if v.size.Rows, err = count(q, "rows"); err != nil {
		return err
	}
	if status, e := isWebSocket(r, attachProtocol); e != nil {
		w.Header().Set("Upgrade", "websocket")
		writeError(w, status, e)
		return nil
	}
	v.dial = func(ctx context.Context, h ipc.Hello) (*ipc.AttachConn, ipc.Welcome, error) {
		return s.supervisor(ctx, id, v.attempt, h)
	}
	v.ending = func(ctx context.Context, attempt int) (*pasar.JobView, error) { return s.ended(ctx, id, attempt) }
	v.output = func(ctx context.Context, r ipc.LogsRequest, to ipc.LogsReader) (ipc.LogsAnswer, error) {
		c, err := s.Dial(ctx)
		if err != nil {
			return ipc.LogsAnswer{}, err
		}
		defer c.Close()
		return c.Logs(ctx, r, to)
	}
	s.taken.Add(1)
	defer s.taken.Done()
	// Whether the page is ours the gate has seen to.
	v.ws, err = websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{attachProtocol}, InsecureSkipVerify: true})
	if err != nil {
		s.Log.Debug("WebSocket refused", "path", r.URL.Path, "error", err)
		return nil // it has been answered
	}
	v.serve(r.Context())
	return nil
}

// browserAt is what others are told of who holds the keyboard.
func browserAt(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err != nil || ip == nil || ip.IsLoopback() {
		return "a browser"
	}
	return "a browser at " + host
}

// isWebSocket says what a request lacks to become a WebSocket that speaks a protocol.
func isWebSocket(r *http.Request, protocol string) (int, *ipc.Error) {
	hint := "a page opens it with new WebSocket(address, '" + protocol + "')"
	key, err := base64.StdEncoding.DecodeString(r.Header.Get("Sec-WebSocket-Key"))
	switch {
	case r.Method != http.MethodGet, !r.ProtoAtLeast(1, 1), !has(r.Header, "Connection", "upgrade"), !has(r.Header, "Upgrade", "websocket"):
		return http.StatusUpgradeRequired, refuse(ipc.CodeBadRequest, hint, "a terminal is attached to over a WebSocket")
	case r.Header.Get("Sec-WebSocket-Version") != "13", err != nil, len(key) != 16, len(r.Header["Sec-Websocket-Key"]) != 1:
		return http.StatusBadRequest, refuse(ipc.CodeBadRequest, hint, "this isn't how a WebSocket is opened")
	case !has(r.Header, "Sec-WebSocket-Protocol", protocol):
		return http.StatusBadRequest, refuse(ipc.CodeBadRequest, hint, "a WebSocket must offer the subprotocol %s", protocol)
	}
	return 0, nil
}

// has reports whether a header's list has a word.
func has(h http.Header, key, word string) bool {
	return slices.ContainsFunc(h.Values(key), func(v string) bool {
		for w := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(w), word) {
				return true
			}
		}
		return false
	})
}

// supervisor greets that of an attempt; of the present one for 0.
func (s *Server) supervisor(ctx context.Context, id pasar.JobID, attempt int, h ipc.Hello) (*ipc.AttachConn, ipc.Welcome, error) {
	nc, err := s.Attach(ctx, id, attempt)
	if err != nil {
		return nil, ipc.Welcome{}, err
	}
	c, w, err := ipc.GreetAttach(nc, h)
	if err != nil {
		if asked, _ := asError(err); asked.Code != ipc.CodeInternal {
			return nil, w, err
		}
		return nil, w, refuse(ipc.CodeUnavailable, fmt.Sprintf("it may just have ended: `pasar show %d`", id), "attach to job #%d: %v", id, err)
	}
	if got := answer.AttemptOf(w.Key); attempt > 0 && got != attempt {
		_ = c.Close()
		return nil, w, refuse(ipc.CodeWrongState, "", "job #%d is in attempt %d by now", id, got)
	}
	return c, w, nil
}

// screenTime is how long a supervisor may take to say what is on the screen.
const screenTime = 10 * time.Second

// screen answers with the bytes of `pasar screen --json`.
func (s *Server) screen(w http.ResponseWriter, r *http.Request) error {
	id, attempt, err := ofAttempt(r)
	if err != nil {
		return err
	}
	c, welcome, err := s.supervisor(r.Context(), id, attempt, ipc.Hello{Mode: ipc.ModeScreen})
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(screenTime))
	v, err := answer.Screen(id, welcome, func() (int, []byte, error) {
		typ, body, err := c.Recv()
		if err != nil {
			return 0, nil, refuse(ipc.CodeUnavailable, fmt.Sprintf("`pasar show %d` says what became of it", id), "job #%d: its supervisor doesn't say what is on the screen: %v", id, err)
		}
		return typ, body, nil
	})
	if err != nil {
		return err
	}
	b, err := answer.Encode(v)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, b)
	return nil
}

// ended is a job once the daemon knows the end of an attempt of it.
func (s *Server) ended(ctx context.Context, id pasar.JobID, attempt int) (*pasar.JobView, error) {
	c, err := s.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if _, err := c.Logs(ctx, ipc.LogsRequest{Job: id, Attempt: attempt, Offset: -1, Follow: true}, unread); err != nil {
		return nil, err
	}
	b, err := c.Show(ctx, ipc.ShowRequest{Job: id})
	if err != nil {
		return nil, err
	}
	v := new(pasar.JobView)
	return v, json.Unmarshal(b, v)
}

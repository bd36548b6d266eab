package web

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"pasar"
	"pasar/answer"
	"pasar/ipc"
)

// A route is one line of what can be asked.
type route struct {
	pattern string // as of http.ServeMux
	who     who
	serve   func(s *Server, w http.ResponseWriter, r *http.Request) error
}

// allRoutes are the tables of what can be asked, one a line.
func allRoutes() [][]route {
	return [][]route{
		publicRoutes,
		pageRoutes,
		catalogueRoutes,
		mascotRoutes,
		apiRoutes,
		changeRoutes,
		streamRoutes,
		codeRoutes,
		attachRoutes,
		prometheusRoutes,
		rawRoutes,
	}
}

// routes is everything that can be asked. A path that isn't in it is unknown, and a method that isn't, not allowed.
func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for _, list := range allRoutes() {
		for _, rt := range list {
			mux.Handle(rt.pattern, handler(func(w http.ResponseWriter, r *http.Request) {
				now := s.lease.now()
				byToken, status, e := s.admit(r, rt.who)
				if e != nil {
					s.sendAway(w, r, status, e)
					return
				}
				if byToken {
					ctx, done := within(r.Context(), now)
					defer done()
					r = r.WithContext(ctx)
				}
				if err := query(r, rt.pattern); err != nil {
					s.fail(w, r, err)
					return
				}
				if err := rt.serve(s, w, r); err != nil {
					s.fail(w, r, err)
				}
			}))
		}
	}
	return mux
}

// A handler answers for a route. The mux has others of its own, which redirect to the clean form of a path and ask nobody
// who they are.
type handler http.HandlerFunc

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h(w, r) }

// routed reports whether a request is for a route, by the one address that it has.
func (s *Server) routed(r *http.Request) bool {
	h, _ := s.mux.Handler(r)
	_, ok := h.(handler)
	return ok
}

// csp lets a page have what comes from here, and nothing else: no script in the page itself, no other origin.
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; " +
	"manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// trusted reports whether a browser takes a request's origin for one that nobody on the way has changed: a loopback name, or TLS in
// front. Elsewhere it ignores some headers, and complains of each. Only to such origins does it say what it fetches for.
func trusted(r *http.Request) bool {
	host := hostName(r.Host)
	addr, _ := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || addr.IsLoopback() || r.Header.Get("Sec-Fetch-Site") != ""
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", csp)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if trusted(r) {
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
	}
	h.Set("Cache-Control", "no-store")
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler: // see fail: the connection is to end
			panic(p)
		default: // its own request's error, and nobody else's
			s.Log.Error("panic in an HTTP request", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			writeError(w, http.StatusInternalServerError, refuse(ipc.CodeInternal, "", "fault in pasard: %v", p))
		}
	}()
	if status, e := s.gate.check(r); e != nil {
		writeError(w, status, e)
		return
	}
	rc := http.NewResponseController(w)
	if r.ContentLength != 0 { // without a body there is nothing to wait for but that the client leaves, and a deadline would pass for that
		_ = rc.SetReadDeadline(time.Now().Add(bodyTime))
	}
	_ = rc.SetWriteDeadline(time.Now().Add(sendTime))
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	defer s.bulk.bound(w, r)()
	if !s.routed(r) {
		s.unknown(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// unknown answers for a path that there isn't, or not with this method, in JSON like every other refusal. Who may not
// ask isn't told which paths there are.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	if _, status, e := s.admit(r, users); e != nil {
		writeError(w, status, e)
		return
	}
	var allow []string
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodPatch} {
		other := r.Clone(r.Context())
		other.Method = m
		if s.routed(other) {
			allow = append(allow, m)
		}
	}
	if len(allow) > 0 {
		for _, m := range allow {
			w.Header().Add("Allow", m)
		}
		writeError(w, http.StatusMethodNotAllowed, refuse(ipc.CodeBadRequest, "", "%s takes %s, not %s", pasar.Clean(r.URL.Path), strings.Join(allow, " and "), pasar.Clean(r.Method)))
		return
	}
	writeError(w, http.StatusNotFound, refuse(ipc.CodeBadRequest, "GET /api lists what can be asked, and `pasar guide api` says more", "there is nothing at %s", quoted(r.URL.Path)))
}

// statuses is the one place where an error's code becomes a status.
var statuses = map[ipc.Code]int{
	ipc.CodeBadRequest:  http.StatusBadRequest,
	ipc.CodeUsage:       http.StatusBadRequest,
	ipc.CodeBadInput:    http.StatusBadRequest,
	ipc.CodeUnknownJob:  http.StatusNotFound,
	ipc.CodeWrongState:  http.StatusConflict,
	ipc.CodeImpossible:  http.StatusUnprocessableEntity,
	ipc.CodeOverLimit:   http.StatusUnprocessableEntity,
	ipc.CodeUnavailable: http.StatusServiceUnavailable,
	ipc.CodeNoDaemon:    http.StatusServiceUnavailable,
	ipc.CodeInterrupted: http.StatusServiceUnavailable,
	ipc.CodeUnsupported: http.StatusNotImplemented,
	ipc.CodeVersion:     http.StatusNotImplemented,
	ipc.CodeNotAllowed:  http.StatusForbidden,
}

// fail answers with an error, unless an answer has begun: then the connection ends, so that nobody takes half of one
// for the whole.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var begun *begunError
	if errors.As(err, &begun) || r.Context().Err() != nil {
		s.Log.Debug("HTTP answer broken off", "path", r.URL.Path, "error", err)
		panic(http.ErrAbortHandler)
	}
	e, status := asError(err)
	writeError(w, status, e)
}

// A begunError is one of an answer of which something has been sent.
type begunError struct{ error }

func asError(err error) (*ipc.Error, int) {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return refuse(ipc.CodeOverLimit, "", "the body has more than %s", pasar.Bytes(large.Limit)), http.StatusRequestEntityTooLarge
	}
	var e *ipc.Error
	if !errors.As(err, &e) {
		e = &ipc.Error{Code: ipc.CodeInternal, Message: err.Error()}
	}
	status, ok := statuses[e.Code]
	if !ok {
		status = http.StatusInternalServerError
	}
	return e, status
}

func writeError(w http.ResponseWriter, status int, e *ipc.Error) {
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="pasar"`)
	}
	writeJSON(w, status, answer.Error(e))
}

// writeJSON answers with one value, which answer has made.
func writeJSON(w http.ResponseWriter, status int, line []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(line)))
	w.WriteHeader(status)
	_, _ = w.Write(line)
}

// tooMany is the whole answer to a connection that is one too many.
func tooMany() []byte {
	body := answer.Error(&ipc.Error{Code: ipc.CodeOverLimit, Message: "this server has as many connections as it takes", Hint: "close some, or try again later"})
	head := "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 10\r\nConnection: close\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n"
	return append([]byte(head), body...)
}

// with speaks to the daemon over a connection of its own, which ends with the request.
func (s *Server) with(r *http.Request, f func(ctx context.Context, c *ipc.Client) error) error {
	c, err := s.Dial(r.Context())
	if err != nil {
		return err
	}
	defer c.Close()
	return f(r.Context(), c)
}

// view answers with a view of the daemon's.
func (s *Server) view(w http.ResponseWriter, r *http.Request, get func(ctx context.Context, c *ipc.Client) ([]byte, error)) error {
	var b []byte
	if err := s.with(r, func(ctx context.Context, c *ipc.Client) (err error) {
		b, err = get(ctx, c)
		return err
	}); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, answer.Line(b))
	return nil
}

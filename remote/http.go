package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/ipc"
)

// Protocol is what an HTTP connection is turned into.
const Protocol = "pasar-ipc"

// An httpWay has a daemon's HTTP side turn a connection into one of its socket. It writes HTTP itself: a client for all of
// it, with TLS, would slow every command down (see cmd/pasar's import rules).
type httpWay struct {
	host, port string
	authority  string // for the Host header
	token      string
	limit      time.Duration // linkTime, but for tests
}

func newHTTP(u *url.URL, token string) (*httpWay, error) {
	if u.User != nil {
		return nil, refuse(u.Redacted(), "by HTTP there is no user: PASAR_TOKEN says who you are")
	}
	if u.Path != "" && u.Path != "/" {
		return nil, refuse(u.String(), "by HTTP there is no path: a daemon has an address of its own")
	}
	if strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		return nil, &ipc.Error{Code: ipc.CodeUsage, Message: "PASAR_TOKEN is no token: it has spaces or worse in it", Hint: "`pasar token` prints it there"}
	}
	return &httpWay{host: u.Hostname(), port: u.Port(), authority: u.Host, token: token, limit: linkTime}, nil
}

// maxHead is how many bytes the head of an answer may have, and its body if it is a refusal.
const maxHead = 64 << 10

// keepAlive notices within 9 s that a link is cut.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 3 * time.Second, Interval: 2 * time.Second, Count: 3}

// unsentTime is how long what was sent may go without a receipt, in milliseconds (tcp(7), TCP_USER_TIMEOUT).
const unsentTime = 8000

func (h *httpWay) dial(ctx context.Context, e Errand) (net.Conn, error) {
	by := time.Now().Add(h.limit)
	port := h.port
	if port == "" {
		port = "80"
	}
	d := net.Dialer{Timeout: connectTime, KeepAliveConfig: keepAlive, Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, unsentTime) })
	}}
	nc, err := d.DialContext(ctx, "tcp", net.JoinHostPort(h.host, port))
	if err != nil {
		return nil, h.unreached(ctx, err)
	}
	c := &conn{Conn: nc, r: bufio.NewReaderSize(nc, 4<<10), why: h.lost}
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	_ = nc.SetDeadline(by)
	if err := h.ask(c, e); err != nil {
		_ = c.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	if !stop() {
		_ = c.Close()
		return nil, context.Cause(ctx)
	}
	c.by = by
	return c, nc.SetDeadline(time.Time{})
}

func (h *httpWay) unreached(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var en syscall.Errno
	if errors.As(err, &en) {
		err = en
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		err = errors.New(dns.Err)
	}
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() {
		err = fmt.Errorf("no answer within %d s", connectTime/time.Second)
	}
	msg := fmt.Sprintf("reach %s: %v", h.authority, err)
	if errors.Is(err, syscall.ECONNREFUSED) {
		hint := "is a pasard running there, with HTTP on that address? `bind` in its configuration adds addresses; ssh:// needs none and starts it"
		if h.port == "" {
			hint = "the usual port is 8750: PASAR_URL=http://" + h.authority + ":8750"
		}
		// It may be about to be there again: another daemon is started in the place of one that is upgraded.
		return &ipc.Error{Code: ipc.CodeNoDaemon, Message: msg, Hint: hint}
	}
	return linkError("", "%s", msg)
}

// lost is what became of a connection that stood.
func (h *httpWay) lost(err error) error {
	if ended(err) || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	var en syscall.Errno
	if errors.As(err, &en) {
		err = en
	}
	return linkError("jobs go on there; the same command tries again", "lost the connection to %s: %v", h.authority, err)
}

// ask has the connection turned into that of a socket.
func (h *httpWay) ask(c *conn, e Errand) error {
	target := "/ipc"
	if e.Job != 0 {
		target += "?job=" + e.Job.String()
		if e.Attempt != 0 {
			target += "&attempt=" + strconv.Itoa(e.Attempt)
		}
	}
	head := "GET " + target + " HTTP/1.1\r\nHost: " + h.authority + "\r\nConnection: Upgrade\r\nUpgrade: " + Protocol + "\r\nUser-Agent: pasar/" + pasar.Version + "\r\n"
	if h.token != "" {
		head += "Authorization: Bearer " + h.token + "\r\n"
	}
	_, unsent := c.Conn.Write([]byte(head + "\r\n")) // who refuses without reading has closed; the answer can still be read
	limited := &io.LimitedReader{R: c.r, N: maxHead}
	status, header, err := readHead(bufio.NewReaderSize(onlyByte{limited}, 16))
	switch {
	case err == nil:
	case unsent != nil:
		return linkError("", "ask %s: %v", h.authority, unsent)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return linkError("is it pasar that serves there? PASAR_URL names the daemon's own address", "%s took the connection and says nothing", h.authority)
	case errors.Is(err, errNotHTTP) || limited.N <= 0:
		return h.stranger("what answers there isn't HTTP")
	default:
		return &ipc.Error{Code: ipc.CodeNoDaemon, Message: fmt.Sprintf("%s closed the connection before it answered", h.authority)}
	}
	if status == 101 && strings.EqualFold(header.Get("Upgrade"), Protocol) {
		return nil
	}
	return h.refused(status, header, c.r)
}

// onlyByte hands out a byte at a time, so that what follows the head stays where it is.
type onlyByte struct{ r io.Reader }

func (o onlyByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }

var errNotHTTP = errors.New("not HTTP")

func readHead(r *bufio.Reader) (status int, h textproto.MIMEHeader, err error) {
	t := textproto.NewReader(r)
	line, err := t.ReadLine()
	if err != nil {
		return 0, nil, err
	}
	proto, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	if status, err = strconv.Atoi(code); err != nil || !strings.HasPrefix(proto, "HTTP/1.") || status < 100 || status > 999 {
		return 0, nil, errNotHTTP
	}
	h, err = t.ReadMIMEHeader()
	var pe textproto.ProtocolError
	if errors.As(err, &pe) {
		err = errNotHTTP
	}
	return status, h, err
}

// stranger is that something answers which isn't pasar.
func (h *httpWay) stranger(what string) error {
	return linkError("PASAR_URL names the daemon's own address, such as http://"+h.host+":8750", "%s: %s", h.authority, what)
}

// refused makes of an answer what pasar said in it, if it was pasar.
func (h *httpWay) refused(status int, header textproto.MIMEHeader, r io.Reader) error {
	var said struct {
		Error *ipc.Error `json:"error"`
	}
	if kind, _, _ := strings.Cut(header.Get("Content-Type"), ";"); kind == "application/json" {
		b, _ := io.ReadAll(io.LimitReader(r, h.length(header)))
		_ = json.Unmarshal(b, &said)
	}
	e := said.Error
	switch {
	case e == nil || e.Message == "":
		if status == 401 || status == 403 {
			return linkError("what stands before the daemon may want something else than its token", "%s refuses: HTTP status %d, and not in pasar's words", h.authority, status)
		}
		return h.stranger(fmt.Sprintf("what answers there isn't pasar (HTTP status %d)", status))
	case status == 401 && h.token == "":
		return &LinkError{&ipc.Error{Code: ipc.CodeNotAllowed, Message: fmt.Sprintf("%s wants a token", h.authority), Hint: "set PASAR_TOKEN to what `pasar token` prints there"}}
	case status == 401:
		return &LinkError{&ipc.Error{Code: ipc.CodeNotAllowed, Message: fmt.Sprintf("%s doesn't know the token in PASAR_TOKEN", h.authority), Hint: "`pasar token` prints it there"}}
	case status == 404 && e.Code == ipc.CodeBadRequest:
		return linkError("install the same pasar on both machines", "the pasard at %s doesn't know /ipc", h.authority)
	}
	told := &ipc.Error{Code: e.Code, Message: h.authority + ": " + pasar.Clean(e.Message), Hint: e.Hint}
	if e.Code == ipc.CodeNoDaemon || e.Code == ipc.CodeInterrupted {
		told.Code = ipc.CodeNoDaemon // it is going down, and may come back
		return told
	}
	return &LinkError{told}
}

// length is how many bytes of a body to read.
func (h *httpWay) length(header textproto.MIMEHeader) int64 {
	n, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64)
	if err != nil || n < 0 || n > maxHead {
		return 0
	}
	return n
}

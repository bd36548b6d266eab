// Package remote reaches the pasar of another machine, as PASAR_URL names it: by ssh, where `pasar proxy` connects to the
// sockets there and no port is open, or by HTTP, where the daemon does. What comes of it is a connection on which the
// daemon's protocol is spoken, or a supervisor's, as on this machine.
package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"pasar"
	"pasar/ipc"
)

// An Errand is what a connection is for.
type Errand struct {
	Job     pasar.JobID // whose supervisor to speak to; 0: the daemon
	Attempt int         // of the job; 0: the latest
	NoStart bool        // if no daemon runs there, none is started. By HTTP none ever is
}

// Options are what surrounds a client.
type Options struct {
	Env []string // of ssh, which is looked for on its PATH; PASAR_TOKEN in it is for HTTP
	Ask bool     // there is a terminal on which ssh may ask, for a passphrase for instance
}

// A Remote is another machine's pasar.
type Remote struct {
	Name string // the machine, as the URL has it

	at   string // the same, with a port if it has one
	opt  Options
	dial func(context.Context, Errand) (net.Conn, error)
}

// Times of a connection.
const (
	connectTime = 8 * time.Second  // to reach the machine
	greetTime   = 30 * time.Second // to be let in there by ssh, and for a daemon to start
	askTime     = 5 * time.Minute  // the same, where a person may have to answer
	linkTime    = 9 * time.Second  // by HTTP, to reach the machine and to be met there, which waits for nobody
)

// A LinkError is that the way to the other machine failed, and not what is there: to try again at once is of no use.
type LinkError struct{ e *ipc.Error }

func (l *LinkError) Error() string { return l.e.Message }
func (l *LinkError) Unwrap() error { return l.e }

func linkError(hint, format string, args ...any) *LinkError {
	return &LinkError{&ipc.Error{Code: ipc.CodeNoDaemon, Message: fmt.Sprintf(format, args...), Hint: hint}}
}

// forms are what a URL can be.
const forms = "write ssh://[USER@]HOST[:PORT][/PATH/TO/PASAR] or http://HOST:PORT; unset PASAR_URL for this machine"

func refuse(raw, format string, args ...any) *ipc.Error {
	return &ipc.Error{Code: ipc.CodeUsage, Message: fmt.Sprintf("PASAR_URL %q: ", pasar.Clean(raw)) + fmt.Sprintf(format, args...), Hint: forms}
}

// New reads a URL. It connects to nothing. An error is an *ipc.Error with CodeUsage.
func New(raw string, o Options) (*Remote, error) {
	u, err := parse(raw)
	if err != nil {
		return nil, err
	}
	r := &Remote{Name: u.Hostname(), at: u.Host, opt: o}
	if u.Scheme == "ssh" {
		s, err := newSSH(u, o)
		if err != nil {
			return nil, err
		}
		r.dial = s.dial
		return r, nil
	}
	h, err := newHTTP(u, lookup(o.Env, "PASAR_TOKEN"))
	if err != nil {
		return nil, err
	}
	r.dial = h.dial
	return r, nil
}

// parse checks what all URLs have in common.
func parse(raw string) (*url.URL, error) {
	shown := withoutSecret(raw)
	if !strings.Contains(raw, "://") {
		e := refuse(shown, "it begins with neither ssh:// nor http://")
		if host, port, err := net.SplitHostPort(raw); err == nil && host != "" && isPort(port) {
			e.Hint = "did you mean http://" + pasar.Clean(raw) + "? Else " + forms
		} else if isWord(raw) {
			e.Hint = "did you mean ssh://" + raw + "? Else " + forms
		}
		return nil, e
	}
	if strings.ContainsFunc(raw, isControl) {
		return nil, refuse(shown, "it has control characters")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, refuse(shown, "%s", misread(err))
	}
	host := u.Hostname()
	switch _, secret := u.User.Password(); {
	case u.Scheme == "https":
		return nil, refuse(shown, "pasar doesn't speak TLS itself; go by ssh, or have ssh forward the port")
	case u.Scheme != "ssh" && u.Scheme != "http":
		return nil, refuse(shown, "it begins with neither ssh:// nor http://")
	case u.Opaque != "" || host == "":
		return nil, refuse(shown, "it names no host")
	case secret:
		return nil, refuse(shown, "a password doesn't belong here")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, refuse(shown, "? and # mean nothing in it")
	case !isWord(host):
		return nil, refuse(shown, "%q is no host", pasar.Clean(host))
	case u.Port() != "" && !isPort(u.Port()):
		return nil, refuse(shown, "%s is no port: those are 1 to 65535", pasar.Clean(u.Port()))
	case strings.ContainsFunc(u.Path, isControl):
		return nil, refuse(shown, "its path has control characters")
	}
	return u, nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

// misread says what is wrong with a URL that can't be taken apart.
func misread(err error) string {
	var escape url.EscapeError
	var host url.InvalidHostError
	switch {
	case errors.As(err, &escape):
		return fmt.Sprintf("%q can't stand there: %% begins a character's two hexadecimal digits, and a host has none", pasar.Clean(string(escape)))
	case errors.As(err, &host):
		return fmt.Sprintf("%q can't stand in a host", pasar.Clean(string(host)))
	}
	return "what stands for user, host and port can't be read"
}

// withoutSecret is a URL without a password in it, so that none is shown.
func withoutSecret(raw string) string {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return raw
	}
	at := strings.LastIndexByte(rest, '@')
	if colon := strings.IndexByte(rest, ':'); at > 0 && colon >= 0 && colon < at {
		rest = rest[:colon] + ":…" + rest[at:]
	}
	return scheme + "://" + rest
}

// isWord reports whether s may be a host or a user: no option, and of characters that mean nothing to a shell, to which a
// configuration file of ssh's may hand both.
func isWord(s string) bool {
	return s != "" && s[0] != '-' && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune(".-_:%@+", r))
	})
}

// Dial makes a connection on which nothing has been said yet. Errors are an *ipc.Error, or have one within.
func (r *Remote) Dial(ctx context.Context, e Errand) (net.Conn, error) { return r.dial(ctx, e) }

// Client connects to the daemon there.
func (r *Remote) Client(ctx context.Context, noStart bool) (*ipc.Client, error) {
	nc, err := r.dial(ctx, Errand{NoStart: noStart})
	if err != nil {
		return nil, err
	}
	return r.Meet(ctx, nc)
}

// Meet makes a client of a connection to the daemon there. What can't be met is closed.
func (r *Remote) Meet(ctx context.Context, nc net.Conn) (*ipc.Client, error) {
	c, err := ipc.NewClient(ctx, nc)
	if err != nil {
		return nil, r.unmet(ctx, err)
	}
	return c, nil
}

// unmet is why nothing more came of a connection that was handed over.
func (r *Remote) unmet(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return linkError(same, "%s took the connection and says nothing", r.at)
	case errors.Is(err, ipc.ErrMalformed) || errors.Is(err, ipc.ErrTooLarge):
		return linkError(same, "%s: what answers there says that it is pasar, and doesn't speak as it does", r.at)
	}
	return err
}

const same = "does anything stand between here and the daemon there? If not, install the same pasar on both machines"

// Attach connects to the supervisor of a job's attempt there, 0 for the latest one.
func (r *Remote) Attach(ctx context.Context, job pasar.JobID, attempt int, h ipc.Hello) (*ipc.AttachConn, ipc.Welcome, error) {
	nc, err := r.dial(ctx, Errand{Job: job, Attempt: attempt, NoStart: true})
	if err != nil {
		return nil, ipc.Welcome{}, err
	}
	c, w, err := ipc.GreetAttach(nc, h)
	if err != nil {
		return nil, w, r.unmet(ctx, err)
	}
	return c, w, nil
}

// A conn is a connection to the other machine, of which a beginning may have been read already.
type conn struct {
	net.Conn
	r   *bufio.Reader
	why func(error) error // what a failure to read or write means
	end func()            // called by Close

	by  time.Time   // when something must have been said on it; zero: there is no such time
	met atomic.Bool // something was: deadlines are as they are set
}

// SetDeadline and SetReadDeadline set none that is later than when something must have been said.
func (c *conn) SetDeadline(t time.Time) error     { return c.Conn.SetDeadline(c.within(t)) }
func (c *conn) SetReadDeadline(t time.Time) error { return c.Conn.SetReadDeadline(c.within(t)) }

func (c *conn) within(t time.Time) time.Time {
	if !c.met.Load() && !c.by.IsZero() && (t.IsZero() || t.After(c.by)) {
		return c.by
	}
	return t
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if n > 0 && !c.met.Load() {
		c.met.Store(true)
	}
	if err != nil {
		err = c.why(err)
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err != nil {
		err = c.why(err)
	}
	return n, err
}

// CloseWrite says that no more will be sent.
func (c *conn) CloseWrite() error {
	w, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return w.CloseWrite()
}

func (c *conn) Close() error {
	err := c.Conn.Close()
	if c.end != nil {
		c.end()
	}
	return err
}

// ended reports whether err is the end of a connection as a peer makes it that ends or is killed.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errReset) || errors.Is(err, errPipe)
}

// lookup is the last value of a variable, as the C library would have it.
func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

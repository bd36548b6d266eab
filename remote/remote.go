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
	"strings"
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

	opt  Options
	dial func(context.Context, Errand) (net.Conn, error)
}

// Times of a connection.
const (
	connectTime = 8 * time.Second  // to reach the machine
	greetTime   = 30 * time.Second // to be let in there, and for a daemon to start
	askTime     = 5 * time.Minute  // the same, where a person may have to answer
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

func refuse(raw, format string, args ...any) error {
	return &ipc.Error{Code: ipc.CodeUsage, Message: fmt.Sprintf("PASAR_URL %q: ", pasar.Clean(raw)) + fmt.Sprintf(format, args...), Hint: forms}
}

// New reads a URL. It connects to nothing. An error is an *ipc.Error with CodeUsage.
func New(raw string, o Options) (*Remote, error) {
	u, err := parse(raw)
	if err != nil {
		return nil, err
	}
	r := &Remote{Name: u.Hostname(), opt: o}
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
	u, err := url.Parse(raw)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return nil, refuse(shown, "%v", err)
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
	case strings.ContainsFunc(u.Path, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return nil, refuse(shown, "its path has control characters")
	}
	return u, nil
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
	return ipc.NewClient(ctx, nc)
}

// Attach connects to the supervisor of a job's attempt there, 0 for the latest one.
func (r *Remote) Attach(ctx context.Context, job pasar.JobID, attempt int, h ipc.Hello) (*ipc.AttachConn, ipc.Welcome, error) {
	nc, err := r.dial(ctx, Errand{Job: job, Attempt: attempt, NoStart: true})
	if err != nil {
		return nil, ipc.Welcome{}, err
	}
	return ipc.GreetAttach(nc, h)
}

// A conn is a connection to the other machine, of which a beginning may have been read already.
type conn struct {
	net.Conn
	r   *bufio.Reader
	why func(error) error // what a failure to read or write means
	end func()            // called by Close
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
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

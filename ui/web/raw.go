package web

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/ipc"
)

// rawRoutes turn a connection into one of a socket, so that a client elsewhere does all that one here can.
var rawRoutes = []route{
	{"GET /ipc", users, (*Server).raw},
}

// rawProtocol is what a connection is upgraded to: the frames of the daemon's socket, or of a supervisor's.
const rawProtocol = "pasar-ipc"

// Bounds of a connection that is passed on. What is read and not yet written is one buffer each way.
const (
	rawBuffer = 32 << 10         // bytes
	rawLeave  = 5 * time.Second  // for a client to close once the socket has
	rawLook   = 15 * time.Second // between looks at a client that sends no more
)

// rawAlive notices within two minutes that a client is gone without a word. Until then it may be silent as long as it likes.
var rawAlive = net.KeepAliveConfig{Enable: true, Idle: time.Minute, Interval: 15 * time.Second, Count: 4}

// raw passes on the bytes of a socket: the daemon's, or with ?job= that of the supervisor of its attempt.
func (s *Server) raw(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	if err := only(q, "job", "attempt"); err != nil {
		return err
	}
	job, err := count(q, "job")
	if err != nil {
		return err
	}
	attempt, err := count(q, "attempt")
	switch {
	case err != nil:
		return err
	case job == 0 && (q.Has("job") || q.Has("attempt")):
		return refuse(ipc.CodeBadRequest, "", "job: it is a number from 1 on")
	case r.ProtoMajor != 1 || r.ProtoMinor != 1 || !has(r.Header, "Connection", "upgrade") || !has(r.Header, "Upgrade", rawProtocol):
		w.Header().Set("Upgrade", rawProtocol)
		w.Header().Set("Connection", "Upgrade")
		writeError(w, http.StatusUpgradeRequired, refuse(ipc.CodeBadRequest, "`PASAR_URL=http://HOST:PORT pasar ls` asks so", "this is for a pasar elsewhere, which asks with Upgrade: %s", rawProtocol))
		return nil
	}
	s.taken.Add(1)
	defer s.taken.Done()
	t := &tube{}
	if job == 0 {
		t.inner, err = s.Connect(r.Context())
	} else {
		t.inner, err = s.Attach(r.Context(), pasar.JobID(job), attempt)
	}
	if err != nil {
		return err
	}
	defer t.inner.Close()
	outer, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return err
	}
	defer outer.Close()
	// HTTP's own reader would end the request's context with what the client sends: only what it holds already is its.
	came, _ := buf.Peek(buf.Reader.Buffered())
	t.outer, t.from = outer, bufio.NewReader(io.MultiReader(bytes.NewReader(came), outer))
	defer context.AfterFunc(r.Context(), t.close)()
	err = t.open()
	if err == nil && job == 0 {
		err = t.greet()
	}
	if err != nil {
		s.Log.Debug("pass a connection on", "error", err)
		return nil // it isn't HTTP's any more
	}
	t.pass()
	return nil
}

// A tube is a client's connection and the one to a socket, of which each carries on what comes from the other.
type tube struct {
	outer net.Conn
	from  *bufio.Reader // of outer; it may hold what came already
	inner net.Conn
}

// open takes the connection out of HTTP's hands: without its deadlines, with a probe instead of them.
func (t *tube) open() error {
	if err := t.outer.SetDeadline(time.Time{}); err != nil {
		return err
	}
	if c := tcpOf(t.outer); c != nil {
		_ = c.SetKeepAliveConfig(rawAlive)
	}
	_, err := io.WriteString(timed{t.outer}, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+rawProtocol+"\r\n\r\n")
	return err
}

// tcpOf is the TCP connection beneath one; nil if there is none.
func tcpOf(c net.Conn) *net.TCPConn {
	if g, ok := c.(*guest); ok {
		c = g.Conn
	}
	t, _ := c.(*net.TCPConn)
	return t
}

// greet passes on a client's greeting, with the way it came by: what needs a person is not to be had by it.
func (t *tube) greet() error {
	if err := t.outer.SetReadDeadline(time.Now().Add(ipc.GreetTimeout)); err != nil {
		return err
	}
	hello, err := ipc.PassHello(t.from, ipc.ViaHTTP)
	if err != nil {
		return err
	}
	if err := t.outer.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	_, err = timed{t.inner}.Write(hello)
	return err
}

func (t *tube) close() {
	_ = t.outer.Close()
	_ = t.inner.Close()
}

// pass carries bytes both ways until the socket's side has ended, or either way fails.
func (t *tube) pass() {
	var wg sync.WaitGroup
	over := make(chan struct{})
	wg.Go(func() {
		_, err := io.CopyBuffer(timed{t.inner}, plain{t.from}, make([]byte, rawBuffer))
		if err != nil || closeWrite(t.inner) != nil {
			t.close()
			return
		}
		t.watch(over)
	})
	_, err := io.CopyBuffer(timed{t.outer}, plain{t.inner}, make([]byte, rawBuffer))
	close(over)
	if err != nil || closeWrite(t.outer) != nil {
		t.close()
	} else {
		_ = t.outer.SetReadDeadline(time.Now().Add(rawLeave)) // it closes once it has read everything
	}
	wg.Wait()
}

// watch looks now and then whether a client that sends no more is still there: nobody reads from it, who would be told.
func (t *tube) watch(over <-chan struct{}) {
	tick := time.NewTicker(rawLook)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
			if isClosed(tcpOf(t.outer)) {
				t.close()
				return
			}
		}
	}
}

// tcpClose is the state of a connection that the kernel has given up (TCP_CLOSE of include/net/tcp_states.h).
const tcpClose = 7

func isClosed(c *net.TCPConn) bool {
	if c == nil {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return true
	}
	closed := false
	err = raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		closed = err == nil && info.State == tcpClose
	})
	return closed || err != nil
}

func closeWrite(c net.Conn) error {
	if w, ok := c.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return errors.ErrUnsupported
}

// timed gives each write its time, so that who takes nothing is dropped.
type timed struct{ c net.Conn }

func (t timed) Write(p []byte) (int, error) {
	if err := t.c.SetWriteDeadline(time.Now().Add(sendTime)); err != nil {
		return 0, err
	}
	return t.c.Write(p)
}

// plain is read with the buffer that is given, and in no other way.
type plain struct{ io.Reader }

package supervisor

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"pasar"
	"pasar/ipc"
)

// Times for peers that don't do their part.
const (
	slowAfter = 60 * time.Second // took nothing for so long: loses the keyboard
	deadAfter = 10 * time.Minute // and the connection
)

// A peer is one connection. One goroutine reads from it, another writes to it.
type peer struct {
	srv  *server
	conn net.Conn
	in   *ipc.AttachConn // for Recv
	gone chan struct{}   // closed by hangUp
	once sync.Once

	mode atomic.Value // ipc.AttachMode, once greeted
	buf  []byte       // of the writing goroutine
	size ipc.Size     // guarded by the keyboard
	took int64        // bytes that it typed and that were taken; guarded by the keyboard
	who  string

	noteMu sync.Mutex // guards notes
	notes  []string   // to be sent by the writing goroutine
}

func newPeer(s *server, c net.Conn, in *ipc.AttachConn) *peer {
	return &peer{srv: s, conn: c, in: in, gone: make(chan struct{})}
}

// hangUp ends the connection; both goroutines notice.
func (p *peer) hangUp() {
	p.once.Do(func() {
		close(p.gone)
		_ = p.conn.Close()
		p.srv.leave(p)
	})
}

// greeted reports whether the peer has said what it is.
func (p *peer) greeted() bool { return p.mode.Load() != nil }

// reading reports whether the peer is a client that reads output.
func (p *peer) reading() bool {
	m, _ := p.mode.Load().(ipc.AttachMode)
	return m == ipc.ModeWatch || m == ipc.ModeType || m == ipc.ModeScreen
}

// serve greets a peer and does what its mode says.
func (p *peer) serve() {
	p.guard(func() {
		a, h, err := p.greet()
		if err != nil {
			p.srv.log.Info("greeting failed", "error", err)
			return
		}
		switch h.Mode {
		case ipc.ModeControl:
			_, n := a.history.last()
			p.control(a, n)
		case ipc.ModeScreen:
			p.screen(a, h)
		default:
			p.attach(a, h)
		}
	})
}

// greet reads HELLO and decides; the welcome is sent by the mode's own code, since it says where
// output starts, except for control.
func (p *peer) greet() (*attempt, ipc.Hello, error) {
	var h ipc.Hello
	if err := p.conn.SetReadDeadline(time.Now().Add(ipc.GreetTimeout)); err != nil {
		return nil, h, err
	}
	typ, body, err := p.in.Recv()
	if err != nil {
		return nil, h, err
	}
	if err := p.conn.SetReadDeadline(time.Time{}); err != nil {
		return nil, h, err
	}
	if typ != ipc.AttachHello {
		return nil, h, p.refuse(ipc.CodeBadRequest, fmt.Sprintf("the first frame must be HELLO, not type %d", typ))
	}
	if err := ipc.DecodeBody(body, &h); err != nil {
		return nil, h, p.refuse(ipc.CodeBadRequest, err.Error())
	}
	if h.Min > ipc.MaxAttachVersion {
		return nil, h, p.refuse(ipc.CodeVersion, fmt.Sprintf("this supervisor is older than you: it speaks protocol %d to %d, you need %d; its job is unharmed",
			ipc.MinAttachVersion, ipc.MaxAttachVersion, h.Min))
	}
	if h.Max < ipc.MinAttachVersion {
		return nil, h, p.refuse(ipc.CodeVersion, fmt.Sprintf("you are older than this supervisor: it speaks protocol %d to %d, you speak up to %d; its job is unharmed",
			ipc.MinAttachVersion, ipc.MaxAttachVersion, h.Max))
	}
	a := p.srv.held()
	if a == nil {
		return nil, h, p.refuse(ipc.CodeWrongState, "this supervisor has no attempt yet")
	}
	if h.Nonce != "" && h.Nonce != a.spec.Nonce {
		return nil, h, p.refuse(ipc.CodeUnknownJob, "this supervisor holds another attempt")
	}
	if !p.srv.admit(p, h.Mode) {
		return nil, h, errLeaving
	}
	switch h.Mode {
	case ipc.ModeControl:
		st, _ := a.history.last()
		end, _ := a.output.extent()
		err = p.send(ipc.AttachWelcome, &ipc.Welcome{Version: min(h.Max, ipc.MaxAttachVersion), Key: a.spec.Key.String(),
			State: st.State, Offset: end})
	case ipc.ModeWatch:
	case ipc.ModeType, ipc.ModeScreen:
		if a.spec.NoPTY {
			err = p.refuseTerminal(a, h.Mode)
		}
	default:
		err = p.refuse(ipc.CodeUnsupported, fmt.Sprintf("unknown mode %q", pasar.Clean(string(h.Mode))))
	}
	return a, h, err
}

// errLeaving is for a peer that comes when the supervisor is on its way out.
var errLeaving = errors.New("the attempt is over, and its supervisor leaves")

// refuse answers HELLO with no, and returns that as an error.
func (p *peer) refuse(code ipc.Code, message string) error {
	if err := p.send(ipc.AttachRefused, &ipc.RefusedFrame{Code: code, Message: message}); err != nil {
		return err
	}
	return &ipc.Error{Code: code, Message: message}
}

// refuseTerminal says no to who wants the terminal of a job that has none.
func (p *peer) refuseTerminal(a *attempt, mode ipc.AttachMode) error {
	no := ipc.RefusedFrame{Code: ipc.CodeWrongState, Message: "the job runs without a terminal (--no-pty): it has no screen",
		Hint: fmt.Sprintf("`pasar logs -f %d` shows what it prints", a.spec.Key.Job)}
	if mode == ipc.ModeType {
		no.Message = "the job runs without a terminal (--no-pty): there is nothing to type into"
	}
	if err := p.send(ipc.AttachRefused, &no); err != nil {
		return err
	}
	return &ipc.Error{Code: no.Code, Message: no.Message}
}

// send writes one frame.
func (p *peer) send(typ int, body any) error {
	b, err := ipc.AppendFrame(p.buf[:0], ipc.MaxAttachFrame, typ, body)
	p.buf = b[:0]
	if err != nil {
		return err
	}
	return p.write(b)
}

// sendOut writes an OUT frame with what read puts in place, and returns how much that was.
func (p *peer) sendOut(offset int64, most int, read func([]byte) int) (n int, err error) {
	b := ipc.AppendOut(p.buf[:0], offset, most, func(q []byte) int {
		n = read(q)
		return n
	})
	p.buf = b[:0]
	if n == 0 {
		return 0, nil
	}
	return n, p.write(b)
}

// trim lets go of a large buffer, for a peer that waits.
func (p *peer) trim() {
	if cap(p.buf) > 1<<10 {
		p.buf = nil
	}
}

// write writes all of b. A peer that takes nothing is waited for, for minutes: being slow is no reason to
// lose the connection, only the keyboard. No deadline is left behind, for it would wake us up.
func (p *peer) write(b []byte) error {
	lost := false
	for waited := time.Duration(0); len(b) > 0; {
		if err := p.conn.SetWriteDeadline(time.Now().Add(slowAfter)); err != nil {
			return err
		}
		n, err := p.conn.Write(b)
		b = b[n:]
		if n > 0 {
			waited = 0
		}
		if err == nil {
			continue
		}
		if waited += slowAfter; !errors.Is(err, os.ErrDeadlineExceeded) || waited >= deadAfter {
			return err
		}
		if a := p.srv.held(); a != nil {
			holder, _ := a.keys.state()
			lost = lost || holder == p
			a.keys.release(p)
		}
	}
	if lost {
		p.srv.held().keys.regain(p)
	}
	return p.conn.SetWriteDeadline(time.Time{})
}

// control serves a daemon: states from number n on, and events; stops come back.
func (p *peer) control(a *attempt, n int) {
	p.mode.Store(ipc.ModeControl)
	go p.guard(func() { p.readControl(a) })
	event := 0
	for {
		changed := a.changed.wait()
		for _, ev := range a.events.since(event) {
			if err := p.sendEvent(ev); err != nil {
				return
			}
			event = ev.number
		}
		for _, st := range a.history.since(n) {
			if err := p.send(ipc.AttachStatus, &st); err != nil {
				return
			}
			n++
		}
		select {
		case <-changed:
		case <-p.gone:
			return
		}
	}
}

// readControl takes what a daemon sends.
func (p *peer) readControl(a *attempt) {
	for {
		typ, body, err := p.in.Recv()
		if err != nil {
			return
		}
		switch typ {
		case ipc.AttachStop:
			var s ipc.StopFrame
			if err := ipc.DecodeBody(body, &s); err != nil {
				p.srv.log.Warn("bad stop", "error", err)
				return
			}
			select {
			case a.stops <- s.Stop:
			case <-a.over:
			case <-p.gone:
			}
		case ipc.AttachDone:
			if st, _ := a.history.last(); st.State == ipc.AttemptEnded {
				p.srv.acknowledged()
			}
		}
	}
}

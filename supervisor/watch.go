package supervisor

import (
	"encoding/json"
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"pasar/ipc"
)

// outSize is how much output goes in one frame.
const outSize = 16 << 10

// sendEvent tells a daemon of an event.
func (p *peer) sendEvent(ev numbered) error {
	b, err := json.Marshal(ev.event)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	err = p.send(ipc.AttachEvent, &ipc.EventFrame{Number: ev.number, Event: b})
	if err != nil && len(b) > ipc.MaxAttachFrame-64 {
		return nil // can't be told, and isn't worth a connection
	}
	return err
}

// attach serves a terminal or a follower: output from where it asked, and EXIT after the last byte.
func (p *peer) attach(a *attempt, h ipc.Hello) {
	off := a.output.from(h.Offset)
	size := ipc.Size{Cols: h.Cols, Rows: h.Rows}
	if h.Mode == ipc.ModeType {
		a.keys.join(p, h.Take, size)
		defer a.keys.leave(p)
	}
	holder, now := a.keys.state()
	st, _ := a.history.last()
	if err := p.send(ipc.AttachWelcome, &ipc.Welcome{Version: min(h.Max, ipc.MaxAttachVersion), Key: a.spec.Key.String(),
		State: st.State, Offset: off, Cols: now.Cols, Rows: now.Rows, Holder: holder == p}); err != nil {
		return
	}
	go p.guard(func() { p.readClient(a, h.Mode) })

	buf := make([]byte, outSize)
	for {
		grown, changed := a.output.grown.wait(), a.changed.wait()
		if h2, s2 := a.keys.state(); h2 != holder || s2 != now {
			if err := p.tellKeyboard(h.Mode, holder, h2, now, s2); err != nil {
				return
			}
			holder, now = h2, s2
		}
		for _, text := range p.takeNotes() {
			if err := p.send(ipc.AttachNote, &ipc.Note{Text: text}); err != nil {
				return
			}
		}
		n, to := a.output.read(buf, off)
		var err error
		switch {
		case n > 0:
			err = p.send(ipc.AttachOut, &ipc.Out{Offset: off, Data: buf[:n]})
		case to > off:
			err = p.send(ipc.AttachSkip, &ipc.Skip{From: off, To: to})
		default:
			if p.exit(a, off) {
				return
			}
			select {
			case <-grown:
			case <-changed:
			case <-p.gone:
				return
			}
		}
		if err != nil {
			return
		}
		off = to
	}
}

// exit sends EXIT if the attempt has ended and the peer has everything.
func (p *peer) exit(a *attempt, off int64) bool {
	st, _ := a.history.last()
	if st.State != ipc.AttemptEnded {
		return false
	}
	if end, _ := a.output.extent(); off < end {
		return false
	}
	_ = p.send(ipc.AttachExit, &ipc.ExitFrame{Exit: *st.Exit, Offset: off, Error: a.record.LaunchError})
	return true
}

// tellKeyboard says what changed: the size to everyone, the holder to those who type.
func (p *peer) tellKeyboard(mode ipc.AttachMode, was, is *peer, before, now ipc.Size) error {
	if before != now {
		if err := p.send(ipc.AttachSize, &now); err != nil {
			return err
		}
	}
	if mode != ipc.ModeType || was == is {
		return nil
	}
	return p.send(ipc.AttachHolder, &ipc.HolderNote{You: is == p, Who: is.name()})
}

// name is who a peer is, for others; a nil peer is nobody.
func (p *peer) name() string {
	if p == nil {
		return ""
	}
	return p.who
}

// peerName names the process at the other end of a connection.
func peerName(c net.Conn) string {
	name := "another terminal"
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return name
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return name
	}
	_ = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			name = fmt.Sprintf("process %d", cred.Pid)
		}
	})
	return name
}

// lineMax is how many bytes the kernel takes of one line while it edits lines for the job (n_tty's
// buffer, less one); what is beyond is lost.
const lineMax = 4095

// note has the writing goroutine tell the person something; a few lines at most wait.
func (p *peer) note(a *attempt, text string) {
	p.noteMu.Lock()
	if len(p.notes) < 4 {
		p.notes = append(p.notes, text)
	}
	p.noteMu.Unlock()
	a.changed.ring()
}

func (p *peer) takeNotes() []string {
	p.noteMu.Lock()
	defer p.noteMu.Unlock()
	notes := p.notes
	p.notes = nil
	return notes
}

// readClient takes what a client sends.
func (p *peer) readClient(a *attempt, mode ipc.AttachMode) {
	line := 0 // bytes typed since the last end of a line
	for {
		typ, body, err := p.in.Recv()
		if err != nil || typ == ipc.AttachDetach {
			return
		}
		if mode != ipc.ModeType {
			continue // a watcher can't reach the job
		}
		switch typ {
		case ipc.AttachIn:
			var in ipc.In
			if ipc.DecodeBody(body, &in) != nil {
				return
			}
			var long bool
			if line, long = measure(line, in.Data); long && a.keys.editsLines() {
				p.note(a, fmt.Sprintf("the job reads whole lines, of which the terminal keeps %d bytes: the rest of this one is lost", lineMax))
			}
			a.keys.typed(p, in.Data, p.gone)
		case ipc.AttachResize:
			var s ipc.Size
			if ipc.DecodeBody(body, &s) != nil {
				return
			}
			a.keys.sized(p, s)
		case ipc.AttachTake:
			a.keys.take(p)
		case ipc.AttachRelease:
			a.keys.release(p)
		}
	}
}

// measure returns the length of the line under way after data was typed, and whether a line grew too
// long in it.
func measure(line int, data []byte) (now int, long bool) {
	for _, c := range data {
		switch c {
		case '\r', '\n', 3, 4: // end of line, interrupt, end of file
			line = 0
		default:
			line++
			long = long || line == lineMax+1
		}
	}
	return line, long
}

// from is the offset that HELLO asked for: n from there on, -1 only what is new, -n-1 the last n bytes.
func (o *output) from(asked int64) int64 {
	end, _ := o.extent()
	if asked < 0 {
		return max(0, end+asked+1)
	}
	return min(asked, end)
}

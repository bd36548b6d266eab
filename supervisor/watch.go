package supervisor

import (
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/ipc"
)

// Sizes of what a reader of output is sent, in bytes.
const (
	outSize   = 16 << 10  // of one frame of output
	outCrowd  = 4 << 10   // the same while there are more than crowd peers
	lagMost   = 256 << 10 // how far behind a terminal may be before it gets the present screen instead
	snapPiece = 32 << 10  // of one frame of a painting
)

const (
	crowd     = 64                    // peers
	maxWho    = 64                    // bytes of a client's name for itself
	snapEvery = 50 * time.Millisecond // at most so often, for one peer
)

// A viewer is the sending side of a terminal or follower: where it is in the output, and what it has been told.
type viewer struct {
	p    *peer
	a    *attempt
	mode ipc.AttachMode

	paint bool // a terminal, which shows the screen
	fresh bool // it needs the screen before it can go on
	lines int  // of history above the first screen
	rows  int  // of its own terminal

	snapped time.Time // the last painting
	off     int64     // output up to here has been sent

	marked ipc.MarkFrame // the last that it was told
	size   ipc.Size      // the last that it was told
	sizes  int           // number of the next change of size
	holder *peer
}

// attach serves a terminal or a follower: the screen or the output from where it asked, and EXIT after the
// last byte.
func (p *peer) attach(a *attempt, h ipc.Hello) {
	v := &viewer{p: p, a: a, mode: h.Mode, lines: min(max(h.History, 0), ipc.MaxHistory), rows: min(h.Rows, maxRows)}
	switch {
	case h.Paint && a.display != nil:
		v.paint, v.fresh = true, true
		v.off, _ = a.output.extent()
		a.display.hold()
		defer a.display.release()
	case h.Paint && v.lines > 0:
		end, _ := a.output.extent()
		v.off = a.output.linesBack(end, v.lines, historyReach)
	default:
		v.off = a.output.from(h.Offset)
	}
	if h.Who != "" {
		p.who = pasar.Clean(h.Who[:min(len(h.Who), maxWho)])
	}
	if h.Mode == ipc.ModeType {
		a.keys.join(p, h.Take, ipc.Size{Cols: h.Cols, Rows: h.Rows})
		defer a.keys.leave(p)
	}
	if a.display != nil {
		v.sizes = a.display.sizes.count()
	}
	v.holder, v.size = a.keys.state()
	st, _ := a.history.last()
	if err := p.send(ipc.AttachWelcome, &ipc.Welcome{Version: min(h.Max, ipc.MaxAttachVersion), Key: a.spec.Key.String(),
		State: st.State, Offset: v.off, Cols: v.size.Cols, Rows: v.size.Rows, Holder: v.holder == p, NoPTY: a.spec.NoPTY,
		Who: v.holder.name()}); err != nil {
		return
	}
	if a.output.degraded() {
		p.note(a, "log: degraded; it can't be written just now, and the job goes on without it")
	}
	go p.guard(func() { p.readClient(a, h.Mode) })
	v.serve()
}

// serve sends until the end of the output or of the connection.
func (v *viewer) serve() {
	a := v.a
	for {
		grown, changed := a.output.grown.wait(), a.changed.wait()
		if err := v.tell(); err != nil {
			return
		}
		more, err := v.output()
		if err != nil {
			return
		}
		if more {
			continue
		}
		if v.exit() {
			return
		}
		v.p.trim()
		select {
		case <-grown:
		case <-changed:
		case <-v.p.gone:
			return
		}
	}
}

// tell says what changed but for output.
func (v *viewer) tell() error {
	if holder, _ := v.a.keys.state(); holder != v.holder {
		v.holder = holder
		if v.mode == ipc.ModeType {
			if err := v.p.send(ipc.AttachHolder, &ipc.HolderNote{You: holder == v.p, Who: holder.name()}); err != nil {
				return err
			}
		}
	}
	for _, text := range v.p.takeNotes() {
		if err := v.p.send(ipc.AttachNote, &ipc.Note{Text: text}); err != nil {
			return err
		}
	}
	return nil
}

// output sends what comes next of the output, or what stands for it, and reports whether there was anything.
func (v *viewer) output() (more bool, err error) {
	if v.paint && (v.fresh || v.a.output.lag(v.off) > lagMost) {
		v.fresh = false
		if !v.pause() {
			return false, net.ErrClosed
		}
		return true, v.snap()
	}
	limit := v.frame()
	if d := v.a.display; d != nil {
		if size, n, ok := d.sizes.get(v.sizes); ok {
			if size.Offset <= v.off {
				v.sizes, v.size = n+1, size
				// What scrolled off a screen comes back into one that grows, and only the screen here has all of it.
				v.fresh = v.paint
				return true, v.p.send(ipc.AttachSize, &size)
			}
			limit = int(min(int64(limit), size.Offset-v.off))
		}
	}
	if err := v.mark(); err != nil {
		return false, err
	}
	to := v.off
	n, err := v.p.sendOut(v.off, limit, func(p []byte) (n int) {
		n, to = v.a.output.read(p, v.off)
		return n
	})
	if n == 0 && err == nil && to > v.off {
		err = v.p.send(ipc.AttachSkip, &ipc.Skip{From: v.off, To: to})
	}
	more = to > v.off
	v.off = to
	return more, err
}

// pause waits until it is time for another painting: a flood is too much to be watched, and what can be is
// worth no more of our time. False: the connection has ended.
func (v *viewer) pause() bool {
	wait := snapEvery - time.Since(v.snapped)
	v.snapped = time.Now()
	if wait <= 0 {
		return true
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		v.snapped = time.Now()
		return true
	case <-v.p.gone:
		return false
	}
}

// frame is how much output one frame may have.
func (v *viewer) frame() int {
	if v.p.srv.count() > crowd {
		return outCrowd
	}
	return outSize
}

// exit sends EXIT if the attempt has ended and the peer has everything.
func (v *viewer) exit() bool {
	st, _ := v.a.history.last()
	if st.State != ipc.AttemptEnded || v.a.output.lag(v.off) > 0 {
		return false
	}
	_ = v.p.send(ipc.AttachExit, &ipc.ExitFrame{Exit: *st.Exit, Offset: v.off, Error: v.a.record.LaunchError, Typed: v.a.keys.tookOf(v.p)})
	return true
}

// lag is how many bytes the output is ahead of an offset.
func (o *output) lag(off int64) int64 {
	end, _ := o.extent()
	return end - off
}

// degraded reports whether the log can't be written just now.
func (o *output) degraded() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bad
}

// from is the offset that HELLO asked for: n from there on, -1 only what is new, -n-1 the last n bytes.
func (o *output) from(asked int64) int64 {
	end, _ := o.extent()
	if asked < 0 {
		return max(0, end+asked+1)
	}
	return min(asked, end)
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

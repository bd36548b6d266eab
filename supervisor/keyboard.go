package supervisor

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/ipc"
)

// sizeQuiet is for how long no other size may come before a new one is the terminal's: a window that is
// being dragged changes many times a second.
const sizeQuiet = 50 * time.Millisecond

// The keyboard has one holder, whose typing and size count. When the holder leaves, the most recent
// other typist gets it. Nothing that is typed moves it: terminals send reports of their own accord.
type keyboard struct {
	a  *attempt
	in *input

	mu      sync.Mutex // guards what follows
	typists []*peer    // by arrival
	holder  *peer
	size    ipc.Size
	resize  *time.Timer // while a new size waits for quiet
	shut    bool
	last    *pasar.Typing // the last key that interrupts; nil: none yet

	moved bell // rung when the holder changed
	quit  chan struct{}
	term  *terminal     // nil before start
	gone  chan struct{} // the writing goroutine has ended; nil before start
}

func newKeyboard(a *attempt) *keyboard {
	k := &keyboard{a: a, in: newInput(), quit: make(chan struct{})}
	k.size.Cols, k.size.Rows = usualCols, usualRows
	if a.spec.Cols > 0 && a.spec.Rows > 0 {
		k.size.Cols, k.size.Rows = clampSize(a.spec.Cols, a.spec.Rows)
	}
	return k
}

// start begins to write input to the terminal.
func (k *keyboard) start(t *terminal) {
	gone := make(chan struct{})
	k.mu.Lock()
	k.gone, k.term = gone, t
	if k.holder != nil { // who came before the terminal
		k.set(k.holder.size)
	}
	k.mu.Unlock()
	go func() {
		defer close(gone)
		if err := k.in.write(t.master, k.quit); err != nil {
			if !isEnd(err) {
				k.a.log.Error("write pty", "error", err)
			}
			k.shutdown()
		}
	}()
}

// close ends the writing; nothing is typed afterwards.
func (k *keyboard) close() {
	k.shutdown()
	k.mu.Lock()
	gone, t, term := k.gone, k.resize, k.term
	k.mu.Unlock()
	if t != nil {
		t.Stop()
	}
	if gone != nil {
		close(k.quit)
		term.master.cut()
		<-gone
	}
}

func (k *keyboard) shutdown() {
	k.mu.Lock()
	k.shut = true
	k.mu.Unlock()
	k.in.close()
}

// join adds a typist. The first one holds the keyboard, or one that takes it.
func (k *keyboard) join(p *peer, take bool, size ipc.Size) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p.size = size
	k.typists = append(k.typists, p)
	if k.holder == nil || take {
		k.give(p)
	}
}

// take gives a typist the keyboard.
func (k *keyboard) take(p *peer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.holder != p {
		k.give(p)
	}
}

// leave removes a typist.
func (k *keyboard) leave(p *peer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, t := range k.typists {
		if t == p {
			k.typists = append(k.typists[:i], k.typists[i+1:]...)
			break
		}
	}
	k.pass(p)
}

// release makes a typist stop holding the keyboard without leaving.
func (k *keyboard) release(p *peer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pass(p)
}

// regain gives the keyboard to a typist that lost it by taking nothing for long, unless someone else has
// it now.
func (k *keyboard) regain(p *peer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range k.typists {
		if t == p && k.holder == nil {
			k.give(p)
		}
	}
}

// pass gives the keyboard of p, if it holds it, to the most recent other typist; mu is held.
func (k *keyboard) pass(p *peer) {
	if k.holder != p || p == nil {
		return
	}
	for i := len(k.typists) - 1; i >= 0; i-- {
		if k.typists[i] != p {
			k.give(k.typists[i])
			return
		}
	}
	k.holder = nil
	k.in.handOver()
	k.moved.ring()
	k.a.changed.ring()
}

// give makes p the holder and its size, at once, the terminal's; mu is held.
func (k *keyboard) give(p *peer) {
	k.holder = p
	k.in.handOver()
	k.set(p.size)
	k.moved.ring()
	k.a.changed.ring()
}

// sized notes a typist's size, which counts if it holds the keyboard, once no other has come for a while.
func (k *keyboard) sized(p *peer, s ipc.Size) {
	if s.Cols <= 0 || s.Rows <= 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	p.size = s
	if k.holder != p || k.shut {
		return
	}
	if k.resize != nil {
		k.resize.Stop()
	}
	k.resize = time.AfterFunc(sizeQuiet, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.holder == p && p.size == s {
			k.set(s)
		}
	})
}

// set changes the terminal's size, unless the new one is no size; mu is held.
func (k *keyboard) set(s ipc.Size) {
	if s.Cols <= 0 || s.Rows <= 0 || k.shut || k.term == nil {
		return
	}
	s.Cols, s.Rows = clampSize(s.Cols, s.Rows)
	if s.Cols == k.size.Cols && s.Rows == k.size.Rows {
		return
	}
	k.size.Cols, k.size.Rows = s.Cols, s.Rows
	k.a.display.resize(s.Cols, s.Rows)
	if err := k.term.resize(s.Cols, s.Rows); err != nil {
		k.a.log.Warn("resize", "error", err)
	}
	k.a.changed.ring()
}

// signal sends a signal to the terminal's foreground process group, if p holds the keyboard and the signal
// is one that keys can send.
func (k *keyboard) signal(p *peer, name string) {
	var sig unix.Signal
	var key pasar.Key
	switch name {
	case ipc.SignalInterrupt:
		sig, key = unix.SIGINT, pasar.KeyInterrupt
	case ipc.SignalQuit:
		sig, key = unix.SIGQUIT, pasar.KeyQuit
	default:
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.holder != p || k.shut || k.term == nil {
		return
	}
	k.struck(p, key)
	if err := k.term.signal(sig); err != nil {
		k.a.log.Warn("signal the foreground group", "signal", name, "error", err)
	}
}

// editsLines reports whether the kernel collects what is typed into lines, for the job to read.
func (k *keyboard) editsLines() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.term != nil && !k.shut && k.term.editsLines()
}

// state is who holds the keyboard and the terminal's size.
func (k *keyboard) state() (holder *peer, size ipc.Size) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.holder, k.size
}

// tookOf is how many bytes of what a typist typed were taken. After close it is final.
func (k *keyboard) tookOf(p *peer) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return p.took
}

// typed passes on a typist's input, and waits while the job doesn't read what is there already. It
// ends early when p no longer holds the keyboard, or gone is closed.
func (k *keyboard) typed(p *peer, data []byte, gone <-chan struct{}) {
	for {
		room, moved := k.in.room.wait(), k.moved.wait()
		k.mu.Lock()
		if k.holder != p || k.shut {
			k.mu.Unlock()
			return
		}
		n := k.in.typed(data)
		p.took += int64(n)
		k.struck(p, interruptKey(data[:n]))
		data = data[n:]
		k.mu.Unlock()
		if len(data) == 0 {
			return
		}
		select {
		case <-room:
		case <-moved:
		case <-gone:
			return
		}
	}
}

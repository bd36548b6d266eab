package supervisor

import (
	"sync"
	"time"

	"pasar/ipc"
)

// Bounds of typing.
const (
	inputMax  = 64 << 10 // bytes waiting for the job to read them; a typist beyond it waits
	sizeQuiet = 50 * time.Millisecond
)

// The keyboard has one holder, whose typing and size count. When the holder leaves, the most recent
// other typist gets it.
type keyboard struct {
	a *attempt

	mu      sync.Mutex // guards what follows
	typists []*peer    // by arrival
	holder  *peer
	size    ipc.Size
	resize  *time.Timer // while a new size waits for quiet
	input   []byte
	shut    bool

	room bell          // rung when input shrank, or the holder changed
	some chan struct{} // there is input
	quit chan struct{}
	term *terminal     // nil before start
	gone chan struct{} // the writing goroutine has ended; nil before start
}

func newKeyboard(a *attempt) *keyboard {
	k := &keyboard{a: a, some: make(chan struct{}, 1), quit: make(chan struct{})}
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
	k.mu.Unlock()
	go func() {
		defer close(gone)
		for {
			select {
			case <-k.some:
			case <-k.quit:
				return
			}
			for {
				k.mu.Lock()
				p := k.input
				k.input = nil
				k.mu.Unlock()
				if len(p) == 0 {
					break
				}
				k.room.ring()
				if _, err := t.master.Write(p); err != nil {
					if !isEnd(err) {
						k.a.log.Error("write pty", "error", err)
					}
					k.shutdown()
					return
				}
			}
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
	k.shut, k.input = true, nil
	k.mu.Unlock()
	k.room.ring()
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
	k.give(p)
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

// pass gives the keyboard of p, if it holds it, to the most recent other typist; mu is held.
func (k *keyboard) pass(p *peer) {
	if k.holder != p {
		return
	}
	k.holder = nil
	for i := len(k.typists) - 1; i >= 0; i-- {
		if k.typists[i] != p {
			k.give(k.typists[i])
			return
		}
	}
	k.room.ring()
	k.a.changed.ring()
}

// give makes p the holder and its size the terminal's; mu is held.
func (k *keyboard) give(p *peer) {
	k.holder = p
	k.want(p.size)
	k.room.ring()
	k.a.changed.ring()
}

// sized notes a typist's size, which counts if it holds the keyboard.
func (k *keyboard) sized(p *peer, s ipc.Size) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p.size = s
	if k.holder == p {
		k.want(s)
	}
}

// want changes the terminal's size once no other change has come for a while; mu is held.
func (k *keyboard) want(s ipc.Size) {
	if s.Cols <= 0 || s.Rows <= 0 || k.shut {
		return
	}
	s.Cols, s.Rows = clampSize(s.Cols, s.Rows)
	if k.resize != nil {
		k.resize.Stop()
	}
	k.resize = time.AfterFunc(sizeQuiet, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.shut || s == k.size || k.term == nil {
			return
		}
		k.size = s
		if err := k.term.resize(s.Cols, s.Rows); err != nil {
			k.a.log.Warn("resize", "error", err)
		}
		k.a.changed.ring()
	})
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

// typed passes on a typist's input, and waits while the job doesn't read what is there already. It
// ends early when p no longer holds the keyboard, or gone is closed.
func (k *keyboard) typed(p *peer, data []byte, gone <-chan struct{}) {
	for len(data) > 0 {
		room := k.room.wait()
		k.mu.Lock()
		if k.shut || k.holder != p {
			k.mu.Unlock()
			return
		}
		n := min(len(data), inputMax-len(k.input))
		k.input = append(k.input, data[:n]...)
		data = data[n:]
		k.mu.Unlock()
		if n > 0 {
			nudge(k.some)
			continue
		}
		select {
		case <-room:
		case <-gone:
			return
		}
	}
}

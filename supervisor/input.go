package supervisor

import (
	"sync"
	"time"
)

// Bounds of what waits to be read by the job, in bytes.
const (
	inputMax  = 64 << 10 // a typist beyond it waits
	answerMax = 4 << 10  // answers to a program's queries beyond it are dropped
)

// wholeWithin is how long an answer waits for the rest of a key or of a paste.
const wholeWithin = 200 * time.Millisecond

// An input is what goes to the job's terminal, in one order: what is typed, and the screen's answers to
// the job's queries between the keys. One goroutine writes it.
type input struct {
	mu       sync.Mutex // guards what follows
	bytes    []byte
	answers  int      // bytes of answers in bytes or being written
	held     [][]byte // answers that wait until what is typed is whole
	whole    wholeness
	patience *time.Timer // for held
	shut     bool

	room bell          // rung when bytes shrank
	some chan struct{} // there is something to write
}

func newInput() *input { return &input{some: make(chan struct{}, 1)} }

// typed takes as much of p as there is room for.
func (in *input) typed(p []byte) (n int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.shut {
		return len(p)
	}
	n = min(len(p), max(0, inputMax-len(in.bytes)))
	in.bytes = append(in.bytes, p[:n]...)
	in.whole.feed(p[:n])
	switch {
	case in.whole.is():
		in.release()
	case in.patience != nil:
		in.patience.Reset(wholeWithin)
	}
	if n > 0 {
		nudge(in.some)
	}
	return n
}

// handOver is for when another typist goes on. A paste that the last one left unfinished ends here, or what
// comes next would be part of it to the job.
func (in *input) handOver() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.whole.paste && !in.shut {
		in.bytes = append(in.bytes, "\x1b[201~"...)
		nudge(in.some)
	}
	in.whole = wholeness{}
	in.release()
}

// answer takes what the terminal has to say to the job. It never waits: an answer for which there is no
// room is dropped, as is one that can't be written any more.
func (in *input) answer(p []byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.shut || in.answers+len(p) > answerMax {
		return
	}
	in.answers += len(p)
	in.held = append(in.held, append([]byte(nil), p...))
	if in.whole.is() {
		in.release()
		return
	}
	if in.patience == nil {
		in.patience = time.AfterFunc(wholeWithin, func() {
			in.mu.Lock()
			defer in.mu.Unlock()
			in.release()
		})
	}
}

// release puts held answers in their place; mu is held.
func (in *input) release() {
	if in.patience != nil {
		in.patience.Stop()
		in.patience = nil
	}
	if in.shut || len(in.held) == 0 {
		return
	}
	for _, p := range in.held {
		in.bytes = append(in.bytes, p...)
	}
	in.held = nil
	nudge(in.some)
}

// take is what is to be written next, and how much of it is answers, for wrote.
func (in *input) take() (p []byte, answers int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	p, in.bytes = in.bytes, nil
	answers = in.answers
	for _, h := range in.held {
		answers -= len(h)
	}
	return p, answers
}

// wrote says that what take gave has been written.
func (in *input) wrote(answers int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.answers -= answers
}

// close makes everything that is typed go nowhere.
func (in *input) close() {
	in.mu.Lock()
	in.shut, in.bytes, in.held = true, nil, nil
	if in.patience != nil {
		in.patience.Stop()
	}
	in.mu.Unlock()
	in.room.ring()
}

// write writes input to the terminal until quit is closed or the terminal ends.
func (in *input) write(m *master, quit <-chan struct{}) error {
	for {
		select {
		case <-in.some:
		case <-quit:
			return nil
		}
		for {
			p, answers := in.take()
			if len(p) == 0 {
				break
			}
			in.room.ring()
			if _, err := m.Write(p); err != nil {
				return err
			}
			in.wrote(answers)
		}
	}
}

package main

import (
	"context"
	"sync"
	"time"

	"pasar/answer"
)

// settleAfter is how long what could still change waits for more before it is shown: long enough for one
// screen update to be whole, too short for a person to notice.
const settleAfter = 50 * time.Millisecond

// A shower renders output and hands it to a sink. While a job runs, a timer shows what it has written
// though a cursor could still move up to it.
type shower struct {
	mu  sync.Mutex // guards what follows, and the sink
	r   answer.Renderer
	to  sink
	err error
	due *time.Timer // nil: nothing waits to be settled
	end bool

	live *liveLine // on a terminal: the line under way is shown before it ends
}

// put shows output of which nothing is known but the bytes.
func (s *shower) put(raw []byte) error { return s.putPiece(answer.Piece{Data: raw}) }

func (s *shower) putPiece(p answer.Piece) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live.add(p.Data)
	s.show(s.r.Render(p))
	if s.due == nil {
		s.due = time.AfterFunc(settleAfter, s.settle)
	}
	return s.err
}

func (s *shower) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due = nil
	if s.end {
		return
	}
	s.show(s.r.Settle())
	if line := s.live.line(); line != "" && s.err == nil {
		s.err = s.to.put([]byte(line))
	}
}

// show puts text where the line under way may stand.
func (s *shower) show(text []byte) {
	if s.err != nil || len(text) == 0 {
		return
	}
	if back := s.live.back(); back != "" {
		s.err = s.to.put([]byte(back))
	}
	if s.err == nil {
		s.err = s.to.put(text)
	}
}

// finish shows the rest.
func (s *shower) finish() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end = true
	if s.due != nil {
		s.due.Stop()
	}
	if back := s.live.back(); back != "" && s.err == nil {
		s.err = s.to.put([]byte(back))
	}
	s.show(s.r.Finish())
	if err := s.to.close(); s.err == nil {
		s.err = err
	}
	return s.err
}

// copy shows all output.
func (o *outputStream) copy(ctx context.Context, a *app, r answer.Renderer, to sink) error {
	s := &shower{r: r, to: to}
	if _, plain := to.(*plainSink); plain && o.Follow && a.term.is {
		if _, rendered := r.(*answer.Text); rendered {
			s.live = &liveLine{width: a.term.width}
		}
	}
	err := o.read(ctx, a, s.putPiece)
	if ferr := s.finish(); err == nil {
		err = ferr
	}
	return err
}

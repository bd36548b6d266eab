package targettest

import (
	"errors"
	"strings"
	"sync"
	"time"

	"pasar/target"
)

func (s *suite) logsResume() {
	t := s.h.Open()
	work := strings.Repeat("all work and no play makes jack a dull boy.", 100)
	text := strings.Repeat("1", 1000) + strings.Repeat(work, 40)
	r := s.prepare(Program{Print: text[:1000], Then: work, Times: 40}, true)
	h := s.launch(t, r)
	s.awaitRunning(t, r)
	head, cursor := "", target.Cursor(0)
	s.until(func() bool {
		var more string
		more, cursor = s.output(t, h, cursor, false)
		head += more
		return len(head) >= 1000
	}, "its output")
	if head != text[:1000] {
		s.Fatalf("output at the gate is %d bytes, %q…", len(head), head[:min(len(head), 60)])
	}
	r.open(s)
	s.ended(s.awaitEnd(t, h))
	for _, from := range []target.Cursor{0, 1, 1000, 65535, 65536, target.Cursor(len(text) - 1), target.Cursor(len(text))} {
		for _, obj := range []target.Target{t, s.h.Open()} {
			if out, end := s.output(obj, h, from, false); out != text[from:] || int(end) != len(text) {
				s.Errorf("from %d: %d bytes up to %d, want the rest up to %d", from, len(out), end, len(text))
			}
		}
	}
	for _, follow := range []bool{false, true} {
		end, err := t.Logs(s.ctx, h, target.Cursor(len(text)+999), follow, func(c target.Chunk) error {
			s.Errorf("past the end there is %+v", c)
			return nil
		})
		if err != nil || int(end) != len(text) {
			s.Errorf("a cursor past the end ends at %d (%v), want %d", end, err, len(text))
		}
	}
	for _, back := range []int{1, 7, 65536, len(text), len(text) + 5} {
		if out, end := s.output(t, h, target.Cursor(-back), false); out != text[max(0, len(text)-back):] || int(end) != len(text) {
			s.Errorf("the last %d bytes: %d up to %d", back, len(out), end)
		}
	}
	began := time.Now().Add(-patience)
	if _, err := t.Logs(s.ctx, h, 0, false, func(c target.Chunk) error {
		if len(c.Data) > 0 && (c.At.Before(began) || c.At.After(time.Now())) {
			s.Errorf("the chunk at %d is said to have come at %s", c.Offset, c.At)
		}
		return nil
	}); err != nil {
		s.Error(err)
	}
	stop := errors.New("stop")
	if end, err := t.Logs(s.ctx, h, 0, false, func(target.Chunk) error { return stop }); !errors.Is(err, stop) || end != 0 {
		s.Errorf("a reader that stops gets %v at %d", err, end)
	}
}

func (s *suite) logsFollow() {
	t := s.h.Open()
	line := strings.Repeat("0123456789", 1000)
	tail := strings.Repeat(line, 30)
	r := s.prepare(Program{Print: "first.", Then: line, Times: 30}, true)
	h := s.launch(t, r)
	followers := []target.Target{t, s.h.Open()}
	got := make([]strings.Builder, len(followers))
	seen := make(chan struct{}, len(followers))
	var wg sync.WaitGroup
	for i, f := range followers {
		wg.Go(func() {
			at := int64(0)
			end, err := f.Logs(s.ctx, h, 0, true, func(c target.Chunk) error {
				if c.Offset != at || c.Gap != 0 {
					s.Errorf("follower %d: chunk at %d, want %d", i, c.Offset, at)
				}
				if at == 0 {
					seen <- struct{}{}
				}
				at += int64(len(c.Data))
				got[i].Write(c.Data)
				return nil
			})
			if err != nil || int64(end) != at {
				s.Errorf("follower %d ended at %d of %d: %v", i, end, at, err)
			}
		})
	}
	for range followers {
		select {
		case <-seen:
		case <-s.ctx.Done():
			s.Fatal("a follower sees nothing")
		}
	}
	r.open(s)
	wg.Wait()
	for i := range got {
		if got[i].String() != "first."+tail {
			s.Errorf("follower %d got %d bytes, want %d", i, got[i].Len(), len(tail)+6)
		}
	}
	if out, _ := s.output(s.h.Open(), h, 3, true); out != "st."+tail {
		s.Errorf("followed after the end: %d bytes, want %d", len(out), len(tail)+3)
	}
}

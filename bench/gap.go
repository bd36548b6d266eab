package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// A queue is something that runs jobs one at a time.
type queue struct {
	dir string
	put func(ctx context.Context, argv ...string) error
}

func (h *home) queue() queue {
	return queue{h.dir + "/work", func(ctx context.Context, argv ...string) error {
		_, err := h.submit(ctx, false, argv...)
		return err
	}}
}

func (s *spooler) queue() queue {
	return queue{s.dir, func(ctx context.Context, argv ...string) error {
		_, err := s.submit(ctx, argv...)
		return err
	}}
}

// burst fills the queue behind a job that waits at a gate, opens the gate and returns the time from then
// until the job put last has spoken.
func (q queue) burst(ctx context.Context, n int, argv ...string) (time.Duration, error) {
	gate, done := filepath.Join(q.dir, "gate"), filepath.Join(q.dir, "done")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		return 0, fmt.Errorf("make %s: %w", gate, err)
	}
	defer os.Remove(gate)
	end, err := signalFIFO(done)
	if err != nil {
		return 0, err
	}
	defer func() { _ = end.Close(); _ = os.Remove(done) }()
	if err := q.put(ctx, "cat", gate); err != nil {
		return 0, err
	}
	for range n {
		if err := q.put(ctx, argv...); err != nil {
			return 0, err
		}
	}
	if err := q.put(ctx, "sh", "-c", "echo > "+done); err != nil {
		return 0, err
	}
	var open *os.File
	if err := until(ctx, "the first job waits at the gate", 5*time.Millisecond, func() bool {
		open, err = os.OpenFile(gate, os.O_WRONLY|syscall.O_NONBLOCK, 0) // fails while nobody reads
		return err == nil
	}); err != nil {
		return 0, err
	}
	if err := settle(ctx, 300*time.Millisecond); err != nil {
		_ = open.Close()
		return 0, err
	}
	began := time.Now()
	if err := open.Close(); err != nil {
		return 0, err
	}
	err = hear(ctx, end)
	return time.Since(began), err
}

// gaps runs n+1 jobs of some length that note their times and returns the milliseconds between each and
// the next.
func (q queue) gaps(l *lab, n int, life time.Duration) func(ctx context.Context) ([]float64, error) {
	return func(ctx context.Context) ([]float64, error) {
		file := filepath.Join(q.dir, "stamps")
		defer os.Remove(file)
		if _, err := q.burst(ctx, n+1, l.stampArgs(file, life)...); err != nil {
			return nil, err
		}
		stamps, err := readStamps(file)
		if err != nil {
			return nil, err
		}
		if len(stamps) != n+1 {
			return nil, fmt.Errorf("%d of %d jobs noted their times", len(stamps), n+1)
		}
		var out []float64
		for i := range n {
			out = append(out, ms(stamps[i+1].start-stamps[i].end))
		}
		return out, nil
	}
}

type stamp struct{ start, end time.Duration } // CLOCK_MONOTONIC

func readStamps(file string) ([]stamp, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read what jobs noted: %w", err)
	}
	const size = 4 * 8
	var out []stamp
	for ; len(b) >= size; b = b[size:] {
		at := func(i int) time.Duration {
			sec, nsec := binary.NativeEndian.Uint64(b[i:]), binary.NativeEndian.Uint64(b[i+8:])
			return time.Duration(sec)*time.Second + time.Duration(nsec)
		}
		out = append(out, stamp{at(0), at(16)})
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("read what jobs noted: %d bytes too many", len(b))
	}
	slices.SortFunc(out, func(a, b stamp) int { return cmp.Compare(a.start, b.start) })
	return out, nil
}

// queues are pasar with one slot, and task-spooler with one if it is installed.
func (l *lab) queues(ctx context.Context) (qs []queue, closeAll func(), err error) {
	h, err := l.newHome(ctx, 1)
	if err != nil {
		return nil, nil, err
	}
	ts, err := l.newSpooler()
	if err != nil {
		h.close()
		return nil, nil, err
	}
	if ts == nil {
		return []queue{h.queue()}, h.close, nil
	}
	return []queue{h.queue(), ts.queue()}, func() { h.close(); ts.close() }, nil
}

func measureGap(ctx context.Context, l *lab) ([]result, error) {
	qs, closeAll, err := l.queues(ctx)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	var rs []result
	// How long the jobs were matters: after a second or two more of the machine has to be looked through for
	// what they may have left, and jobs that end at once find no supervisor warm yet.
	for _, c := range []struct {
		what   string
		life   time.Duration
		n      int // gaps in a round
		rounds int
	}{
		{"gap between two jobs of 3 s, one slot", 3 * time.Second, 6, 3},
		{"gap between two jobs of 100 ms, one slot", 100 * time.Millisecond, 30, 8},
		{"gap between two jobs of 0 ms, one slot", 0, 30, 8},
	} {
		if l.quick {
			c.n, c.rounds = min(c.n, 2), 1
		}
		var cs []contender
		for _, q := range qs {
			cs = append(cs, contender{"ms", q.gaps(l, c.n, c.life)})
		}
		s, err := interleave(ctx, c.rounds, cs...)
		if err != nil {
			return rs, err
		}
		r := result{What: c.what, Value: s[0], Against: "task-spooler", Reach: ratioAtMost(1.3),
			Note: fmt.Sprintf("%d gaps; nine of ten within %s ms", len(s[0].Values), digits(s[0].quantile(0.9)))}
		if len(s) > 1 {
			r.Other = s[1]
			r.Note += fmt.Sprintf(" (task-spooler %s ms)", digits(s[1].quantile(0.9)))
		} else {
			r.Against += " (not installed)"
		}
		if !l.native {
			r.Note += "; no C compiler, so the start of a Go program is in both"
		}
		rs = append(rs, r)
	}
	return rs, nil
}

func measureDrain(ctx context.Context, l *lab) ([]result, error) {
	qs, closeAll, err := l.queues(ctx)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	n := l.pick(1000, 60)
	var cs []contender
	for i, q := range qs {
		n := n
		if i > 0 {
			n = min(n, spoolerMost)
		}
		cs = append(cs, contender{"jobs/s", func(ctx context.Context) ([]float64, error) {
			took, err := q.burst(ctx, n, "true")
			return []float64{float64(n) / took.Seconds()}, err
		}})
	}
	s, err := interleave(ctx, l.pick(3, 1), cs...)
	if err != nil {
		return nil, err
	}
	r := result{What: fmt.Sprintf("drain of %d × true", n), Value: s[0], Against: "task-spooler", Reach: ratioAtLeast(0.7)}
	if len(s) > 1 {
		r.Other = s[1]
		r.Note = fmt.Sprintf("task-spooler with %d, near the most it holds", min(n, spoolerMost))
	} else {
		r.Against += " (not installed)"
	}
	return []result{r}, nil
}

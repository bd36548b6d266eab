package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// measureFloors measures what every other number rests on.
func measureFloors(ctx context.Context, l *lab) ([]result, error) {
	f, err := os.Create(filepath.Join(l.dir, "sync"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	block := make([]byte, 4096)
	s, err := interleave(ctx, l.pick(200, 20),
		contender{"ms", func(ctx context.Context) ([]float64, error) { return timed(ctx, l.dir, nil, l.empty) }},
		contender{"ms", func(context.Context) ([]float64, error) {
			began := time.Now()
			if _, err := f.Write(block); err != nil {
				return nil, err
			}
			err := f.Sync()
			return []float64{ms(time.Since(began))}, err
		}})
	if err != nil {
		return nil, err
	}
	return []result{
		{What: "an empty Go program", Value: s[0]},
		{What: "4 KiB appended and synced", Value: s[1], Note: "in " + l.dir},
	}, nil
}

// measureSubmit compares one call of `pasar submit` with an empty program and with task-spooler. One job
// runs and the others wait, so that none of them starts meanwhile.
func measureSubmit(ctx context.Context, l *lab) ([]result, error) {
	h, err := l.newHome(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer h.close()
	id, err := h.submit(ctx, false, "sleep", "10000")
	if err != nil {
		return nil, err
	}
	if err := h.waitStarted(ctx, id); err != nil {
		return nil, err
	}
	cs := []contender{
		{"ms", func(ctx context.Context) ([]float64, error) { return timed(ctx, h.dir+"/work", h.env(), l.empty) }},
		{"ms", h.command("submit", "--gpus", "0", "true")},
		{"ms", h.command("help")},
	}
	ts, err := l.newSpooler()
	if err != nil {
		return nil, err
	}
	if ts != nil {
		defer ts.close()
		if _, err := ts.submit(ctx, "sleep", "10000"); err != nil {
			return nil, err
		}
		cs = append(cs, contender{"ms", func(ctx context.Context) ([]float64, error) { return ts.submit(ctx, "true") }})
	}
	s, err := interleave(ctx, l.pick(200, 15), cs...)
	if err != nil {
		return nil, err
	}
	rs := []result{
		{What: "submit, durable, one call", Value: s[1], Against: "empty Go program", Other: s[0], Reach: ratioAtMost(2)},
		{What: "pasar help (start-up alone)", Value: s[2], Against: "empty Go program", Other: s[0]},
	}
	peer := result{What: "submit, durable, one call", Value: s[1], Against: "task-spooler", Reach: ratioAtMost(2.5)}
	if ts != nil {
		peer.Other = s[3]
	} else {
		peer.Against += " (not installed)"
	}
	return append(rs, peer), nil
}

// measureScale compares submits to a long queue with submits to a short one, and times a listing of it.
func measureScale(ctx context.Context, l *lab) ([]result, error) {
	many := l.pick(10_000, 1000)
	var homes []*home
	defer func() {
		for _, h := range homes {
			h.close()
		}
	}()
	queue := func(n int, hold bool) (*home, error) {
		h, err := l.newHome(ctx, 1)
		if err != nil {
			return nil, err
		}
		homes = append(homes, h)
		id, err := h.submit(ctx, false, "sleep", "10000")
		if err != nil {
			return nil, err
		}
		if err := h.waitStarted(ctx, id); err != nil {
			return nil, err
		}
		return h, h.submitMany(ctx, n, hold, "python", "train.py", "--lr", "0.1", "--seed", "17")
	}
	var rs []result
	for _, c := range []struct {
		word string
		hold bool
	}{{"held", true}, {"queued", false}} {
		few, err := queue(100, c.hold)
		if err != nil {
			return rs, err
		}
		full, err := queue(many, c.hold)
		if err != nil {
			return rs, err
		}
		if err := settle(ctx, 3*time.Second); err != nil {
			return rs, err
		}
		args := []string{"submit", "--gpus", "0", "true"}
		if c.hold {
			args = []string{"submit", "--gpus", "0", "--hold", "true"}
		}
		s, err := interleave(ctx, l.pick(100, 10),
			contender{"ms", few.command(args...)}, contender{"ms", full.command(args...)},
			contender{"ms", socketSubmit(few, c.hold)}, contender{"ms", socketSubmit(full, c.hold)})
		if err != nil {
			return rs, err
		}
		rs = append(rs,
			result{What: fmt.Sprintf("submit at %d %s", many, c.word), Value: s[1], Against: "at 100 " + c.word, Other: s[0], Reach: ratioAtMost(1.15)},
			result{What: fmt.Sprintf("… the request alone, at %d %s", many, c.word), Value: s[3], Against: "at 100 " + c.word, Other: s[2]})
		few.close()
		if !c.hold {
			ls, err := interleave(ctx, l.pick(40, 5),
				contender{"ms", full.command("ls", "--json")},
				contender{"ms", func(ctx context.Context) ([]float64, error) { return timed(ctx, l.dir, nil, l.empty) }})
			if err != nil {
				return rs, err
			}
			rs = append(rs, result{What: fmt.Sprintf("ls --json at %d queued", many), Value: ls[0], Against: "empty Go program", Other: ls[1], Reach: atMost(20)})
		}
		full.close()
		homes = nil
	}
	return rs, nil
}

// socketSubmit times a submit over a connection that is there.
func socketSubmit(h *home, hold bool) func(context.Context) ([]float64, error) {
	return func(ctx context.Context) ([]float64, error) {
		began := time.Now()
		_, err := h.submit(ctx, hold, "true")
		return []float64{ms(time.Since(began))}, err
	}
}

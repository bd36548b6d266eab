package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"pasar"
	"pasar/ipc"
)

// The jobs that the console shows are named so that no letter of the one name stands where the other has the same: when
// one end of the list takes the place of the other on the screen, each letter of its names is written.
const (
	firstJobs = "alpha"
	lastJobs  = "OMEGA"
)

// The places where consoles are looked at.
var consoleSizes = []struct{ cols, rows int }{{120, 40}, {200, 60}}

// changesPerSecond is how often the bid of one job is set while the console is measured.
const changesPerSecond = 50

// A showing is a pasar-console on a terminal. What it writes is counted and thrown away.
type showing struct {
	cmd  *exec.Cmd
	term *terminal
	out  tally
	read chan struct{} // closed once nothing more is read
}

// A tally counts what a program writes on its terminal.
type tally struct {
	mu      sync.Mutex // guards what follows
	bytes   int64
	screens int64     // times that something was written after a pause
	last    time.Time // when something was written
	tail    []byte    // of what was written since the word was set
	word    []byte
	found   chan time.Time
}

// between is the pause after which something written counts as another screen. The terminal cuts one into pieces.
const between = 5 * time.Millisecond

func (t *tally) add(b []byte, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes += int64(len(b))
	if now.Sub(t.last) >= between {
		t.screens++
	}
	t.last = now
	if t.word == nil {
		return
	}
	t.tail = append(t.tail, b...)
	if bytes.Contains(t.tail, t.word) {
		t.word, t.tail = nil, nil
		t.found <- now
		return
	}
	t.tail = t.tail[max(0, len(t.tail)-len(t.word)):]
}

// expect has the moment told at which a word will have been written.
func (t *tally) expect(word string) <-chan time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.word, t.tail, t.found = []byte(word), nil, make(chan time.Time, 1)
	return t.found
}

func (t *tally) counts() (bytes, screens int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bytes, t.screens
}

// await waits for a word that was expected.
func await(ctx context.Context, word string, found <-chan time.Time) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, errors.New("it isn't shown"))
	defer cancel()
	select {
	case at := <-found:
		return at, nil
	case <-ctx.Done():
		return time.Time{}, fmt.Errorf("wait for %q on the console: %w", word, context.Cause(ctx))
	}
}

// show starts a console and waits until a word is on it.
func (h *home) show(ctx context.Context, cols, rows int, word string) (*showing, error) {
	t, err := openTerminal()
	if err != nil {
		return nil, err
	}
	if err := t.resize(cols, rows); err != nil {
		t.close()
		return nil, err
	}
	s := &showing{term: t, read: make(chan struct{})}
	found := s.out.expect(word)
	if s.cmd, err = t.run(ctx, h.dir, h.env(), h.console()...); err != nil {
		t.close()
		return nil, err
	}
	go func() {
		defer close(s.read)
		buf := make([]byte, 64<<10)
		for {
			n, err := t.master.Read(buf)
			s.out.add(buf[:n], time.Now())
			if err != nil {
				return
			}
		}
	}()
	if _, err = await(ctx, word, found); err == nil {
		err = settle(ctx, time.Second)
	}
	if err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// console is the command line of a console of this home.
func (h *home) console() []string {
	bin := h.lab.bin
	return []string{filepath.Join(bin, "pasar-console"), "--socket", h.socket(), "--pasar", filepath.Join(bin, "pasar"), "--theme", "dark"} // this terminal answers no question
}

func (s *showing) end() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.term.close()
	<-s.read
}

// press types and returns how long it took until a word was shown.
func (s *showing) press(ctx context.Context, key, word string) (time.Duration, error) {
	found := s.out.expect(word)
	began := time.Now()
	if _, err := s.term.master.Write([]byte(key)); err != nil {
		return 0, fmt.Errorf("type: %w", err)
	}
	at, err := await(ctx, word, found)
	return at.Sub(began), err
}

// Keys as a terminal sends them.
const (
	keyEnter = "\r"
	keyHome  = "\x1b[H"
	keyEnd   = "\x1b[F"
)

// A spell is what a console did in some time.
type spell struct {
	cpu            float64 // per cent of one core
	bytes, screens float64 // per second
}

// during measures consoles while f lasts.
func during(f func() error, shown ...*showing) ([]spell, error) {
	type point struct {
		u              usage
		bytes, screens int64
	}
	look := func() ([]point, error) {
		ps := make([]point, len(shown))
		for i, s := range shown {
			u, err := usageOf(s.cmd.Process.Pid)
			if err != nil {
				return nil, err
			}
			ps[i].u = u
			ps[i].bytes, ps[i].screens = s.out.counts()
		}
		return ps, nil
	}
	before, err := look()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := f(); err != nil {
		return nil, err
	}
	took := time.Since(began)
	after, err := look()
	if err != nil {
		return nil, err
	}
	out := make([]spell, len(shown))
	for i := range shown {
		out[i] = spell{
			cpu:     percent(after[i].u.since(before[i].u), took),
			bytes:   float64(after[i].bytes-before[i].bytes) / took.Seconds(),
			screens: float64(after[i].screens-before[i].screens) / took.Seconds(),
		}
	}
	return out, nil
}

func percent(used, of time.Duration) float64 { return 100 * float64(used) / float64(of) }

// change sets the bid of a job again and again while f lasts, and returns how often a second it did.
func (h *home) change(ctx context.Context, id pasar.JobID, f func() error) (float64, error) {
	c, err := ipc.Dial(ctx, h.socket())
	if err != nil {
		return 0, err
	}
	defer c.Close()
	end, done := make(chan struct{}), make(chan error, 1)
	n, began := 0, time.Now()
	go func() {
		t := time.NewTicker(time.Second / changesPerSecond)
		defer t.Stop()
		for {
			select {
			case <-end:
				done <- nil
				return
			case <-t.C:
			}
			n++
			if _, err := c.Bid(ctx, ipc.BidRequest{Request: ipc.NewRequest(), Job: id, Bid: pasar.DefaultBid + 1 + pasar.Bid(n%900)}); err != nil {
				done <- fmt.Errorf("bid: %w", err)
				return
			}
		}
	}()
	err = f()
	close(end)
	err = errors.Join(err, <-done)
	return float64(n) / time.Since(began).Seconds(), err
}

// measureConsole looks at the full-screen console from outside: on a daemon at rest, with many jobs, while one of them
// changes all the time, and with a job's screen that never rests.
func measureConsole(ctx context.Context, l *lab) ([]result, error) {
	h, err := l.newHome(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer h.close()
	id, err := h.submit(ctx, false, "true")
	if err != nil {
		return nil, err
	}
	if err := h.client.Wait(ctx, ipc.WaitRequest{Jobs: []pasar.JobID{id}}, nil); err != nil {
		return nil, err
	}
	rs, err := h.consolesAtRest(ctx, "no job waits or runs", "true", 20, 3)
	if err != nil {
		return rs, err
	}
	many := l.pick(500, 100)
	changed, err := h.submit(ctx, true, "wanders")
	if err != nil {
		return rs, err
	}
	for _, name := range []string{firstJobs, lastJobs} {
		if err := h.submitMany(ctx, many/2, true, name, "--lr", "0.1", "--seed", "17"); err != nil {
			return rs, err
		}
	}
	some, err := h.consolesAtRest(ctx, fmt.Sprintf("%d held jobs, none changes", many), firstJobs, 10, 2)
	rs = append(rs, some...)
	if err != nil {
		return rs, err
	}
	for _, size := range consoleSizes {
		some, err := h.consoleInChange(ctx, size.cols, size.rows, many, changed)
		rs = append(rs, some...)
		if err != nil {
			return rs, err
		}
	}
	start, err := h.consoleStart(ctx, many)
	rs = append(rs, start...)
	if err != nil {
		return rs, err
	}
	flood, err := l.consoleFlooded(ctx)
	return append(rs, flood...), err
}

// consolesAtRest watches a console of each size at once for so many seconds, in which nothing happens.
func (h *home) consolesAtRest(ctx context.Context, how, word string, full, quick int) ([]result, error) {
	var shown []*showing
	for _, size := range consoleSizes {
		s, err := h.show(ctx, size.cols, size.rows, word)
		if err != nil {
			return nil, err
		}
		defer s.end()
		shown = append(shown, s)
	}
	span := time.Duration(h.lab.pick(full, quick)) * time.Second
	got, err := during(func() error { return settle(ctx, span) }, shown...)
	if err != nil {
		return nil, err
	}
	var rs []result
	for i, size := range consoleSizes {
		what := consoleOf(size.cols, size.rows) + ", " + how
		note := fmt.Sprintf("%.0f bytes in %.0f screens in %s", got[i].bytes*span.Seconds(), got[i].screens*span.Seconds(), span)
		rs = append(rs,
			result{What: what + ": processor time", Value: series{"%", []float64{got[i].cpu}}, Note: note},
			result{What: what + ": bytes written", Value: series{"bytes/s", []float64{got[i].bytes}}})
	}
	return rs, nil
}

func consoleOf(cols, rows int) string { return fmt.Sprintf("console %d×%d", cols, rows) }

// consoleInChange measures a console and its daemon while one of many jobs changes all the time.
func (h *home) consoleInChange(ctx context.Context, cols, rows, many int, id pasar.JobID) ([]result, error) {
	l := h.lab
	span := time.Duration(l.pick(10, 1)) * time.Second
	keys := l.pick(100, 10)
	cpu, screens, wrote := series{Unit: "%"}, series{Unit: "screens/s"}, series{Unit: "bytes/s"}
	pss, key := series{Unit: "MiB"}, series{Unit: "ms"}
	with, without, rate := series{Unit: "%"}, series{Unit: "%"}, series{Unit: "changes/s"}
	daemon := func(s *series, f func() error) error { // beside what f measures
		before, err := usageOf(h.pid())
		if err != nil {
			return err
		}
		began := time.Now()
		n, err := h.change(ctx, id, f)
		if err != nil {
			return err
		}
		took := time.Since(began)
		after, err := usageOf(h.pid())
		s.Values = append(s.Values, percent(after.since(before), took))
		rate.Values = append(rate.Values, n)
		return err
	}
	round := func() error {
		if err := daemon(&without, func() error { return settle(ctx, span/2) }); err != nil {
			return err
		}
		s, err := h.show(ctx, cols, rows, firstJobs)
		if err != nil {
			return err
		}
		defer s.end()
		if err := daemon(&with, func() error {
			got, err := during(func() error { return settle(ctx, span) }, s)
			if err == nil {
				cpu.Values, screens.Values, wrote.Values = append(cpu.Values, got[0].cpu), append(screens.Values, got[0].screens), append(wrote.Values, got[0].bytes)
			}
			return err
		}); err != nil {
			return err
		}
		if _, err := h.change(ctx, id, func() error {
			for i := range keys {
				k, word := keyEnd, lastJobs
				if i%2 == 1 {
					k, word = keyHome, firstJobs
				}
				took, err := s.press(ctx, k, word)
				if err != nil {
					return err
				}
				key.Values = append(key.Values, ms(took))
				if err := settle(ctx, 37*time.Millisecond); err != nil { // out of step with the changes
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		v, err := pssMiB(s.cmd.Process.Pid)
		pss.Values = append(pss.Values, v)
		return err
	}
	for range l.pick(3, 1) {
		if err := round(); err != nil {
			return nil, err
		}
	}
	floor, err := emptyPSS(ctx, l)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("%s, %d changes a second among %d jobs", consoleOf(cols, rows), changesPerSecond, many)
	return []result{
		{What: what + ": processor time", Value: cpu, Reach: atMost(10), Note: digits(rate.median()) + " changes a second were made"},
		{What: what + ": screens written", Value: screens},
		{What: what + ": bytes written", Value: wrote},
		{What: what + ": processor time of the daemon", Value: with, Against: "no console", Other: without},
		{What: what + ": a key and what it shows", Value: key},
		{What: what + ": a key and what it shows, 99 in 100", Value: series{"ms", []float64{key.quantile(0.99)}}},
		{What: fmt.Sprintf("%s, %d jobs: PSS", consoleOf(cols, rows), many), Value: pss, Against: "idle Go program", Other: floor},
	}, nil
}

// consoleStart times a console from its start until jobs are shown.
func (h *home) consoleStart(ctx context.Context, many int) ([]result, error) {
	l := h.lab
	s, err := interleave(ctx, l.pick(25, 2),
		contender{"ms", l.attaching(h.dir, h.env(), firstJobs, h.console()...)},
		contender{"ms", l.attaching(h.dir, h.env(), firstJobs, filepath.Join(l.bin, "pasar"), "console", "--theme", "dark")},
		contender{"ms", func(ctx context.Context) ([]float64, error) { return timed(ctx, h.dir, h.env(), l.empty) }})
	if err != nil {
		return nil, err
	}
	return []result{
		{What: fmt.Sprintf("pasar-console: from its start to %d jobs shown", many), Value: s[0], Against: "empty Go program", Other: s[2]},
		{What: fmt.Sprintf("pasar console: from its start to %d jobs shown", many), Value: s[1], Against: "pasar-console itself", Other: s[0]},
	}, nil
}

// consoleFlooded measures a console that shows the page of a job which writes as fast as it can.
func (l *lab) consoleFlooded(ctx context.Context) ([]result, error) {
	h, err := l.newHome(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer h.close()
	id, err := h.submit(ctx, false, "yes")
	if err != nil {
		return nil, err
	}
	if err := h.waitStarted(ctx, id); err != nil {
		return nil, err
	}
	var rs []result
	for _, size := range consoleSizes {
		cpu, screens := series{Unit: "%"}, series{Unit: "screens/s"}
		round := func() error {
			s, err := h.show(ctx, size.cols, size.rows, "yes")
			if err != nil {
				return err
			}
			defer s.end()
			if _, err := s.press(ctx, keyEnter, "Esc back"); err != nil {
				return err
			}
			if err := settle(ctx, time.Second); err != nil {
				return err
			}
			got, err := during(func() error { return settle(ctx, time.Duration(l.pick(10, 1))*time.Second) }, s)
			if err == nil {
				cpu.Values, screens.Values = append(cpu.Values, got[0].cpu), append(screens.Values, got[0].screens)
			}
			return err
		}
		for range l.pick(3, 1) {
			if err := round(); err != nil {
				return rs, err
			}
		}
		what := consoleOf(size.cols, size.rows) + ", the page of a job that runs yes"
		rs = append(rs, result{What: what + ": processor time", Value: cpu}, result{What: what + ": screens written", Value: screens})
	}
	return rs, nil
}

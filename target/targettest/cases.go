package targettest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"pasar"
	"pasar/target"
)

func (s *suite) runsToItsEnd() {
	t := s.h.Open()
	r := s.prepare(Program{Print: "one\n", Then: "two\n", Code: 0}, true)
	h := s.launch(t, r)
	s.awaitRunning(t, r)
	if o := s.observe(t, h); o.Status != target.Running || o.Pid <= 0 || o.StartedAt.IsZero() {
		s.Errorf("a running attempt is observed as %+v", o)
	}
	r.open(s)
	var seen []target.Status
	s.watch(t, h, func(o target.Observation) bool {
		if len(seen) == 0 || seen[len(seen)-1] != o.Status {
			seen = append(seen, o.Status)
		}
		if o.Status == target.Exited && o.Exit == nil {
			s.Errorf("exited without saying how")
		}
		return false
	})
	order := []target.Status{target.Claimed, target.Running, target.Exited, target.Ended}
	if !slices.IsSortedFunc(seen, func(a, b target.Status) int { return slices.Index(order, a) - slices.Index(order, b) }) {
		s.Errorf("statuses came in the order %v", seen)
	}
	rec := s.ended(s.observe(t, h))
	if rec.Exit != (pasar.Exit{}) || rec.StartedAt.IsZero() || rec.EndedAt.Before(rec.StartedAt) {
		s.Errorf("record of an attempt that ended well: %+v", rec)
	}
	out, end := s.output(t, h, 0, false)
	if plain(out) != "one\ntwo\n" {
		s.Errorf("output %q", out)
	}
	if int64(end) != rec.Output {
		s.Errorf("output ends at %d, and the record says %d", end, rec.Output)
	}
	s.ranOnce(r)
}

func (s *suite) secondLaunch() {
	t := s.h.Open()
	r := s.prepare(Program{Code: 4}, true)
	h := s.launch(t, r)
	s.launch(t, r)
	s.awaitRunning(t, r)
	s.launch(t, r)
	r.open(s)
	first := s.ended(s.awaitEnd(t, h))
	s.launch(t, r) // an ended one too
	s.launch(s.h.Open(), r)
	if rec := s.ended(s.awaitEnd(t, h)); rec.Exit.Code != 4 || !rec.EndedAt.Equal(first.EndedAt) {
		s.Errorf("the record changed from %+v to %+v", first, rec)
	}
	s.ranOnce(r)
}

func (s *suite) concurrentLaunches() {
	objects := []target.Target{s.h.Open(), s.h.Open()}
	r := s.prepare(Program{}, true)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if _, err := objects[i%2].Launch(s.ctx, r.a); err != nil {
				s.Errorf("launch %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	s.awaitRunning(objects[0], r)
	r.open(s)
	s.ended(s.awaitEnd(objects[1], r.handle()))
	s.ranOnce(r)
}

// abandonedLaunches: whoever launches again after a death in the middle either finds the attempt,
// launches it, or learns that it is gone; it never runs twice.
func (s *suite) abandonedLaunches() {
	if len(s.h.Steps) == 0 {
		s.Skip("this target has no steps at which a launch can be given up")
	}
	for _, step := range s.h.Steps {
		r := s.prepare(Program{Print: "x"}, true)
		s.abandon(step, r.a)
		t := s.h.Open()
		h := s.launch(t, r)
		r.open(s)
		switch o := s.awaitEnd(t, h); o.Status {
		case target.Ended:
			s.ended(o)
			if n := s.runs(r); n != 1 {
				s.Errorf("given up at %q: ended after %d runs, want 1", step, n)
			}
		case target.Gone:
			if n := s.runs(r); n > 1 {
				s.Errorf("given up at %q: gone after %d runs", step, n)
			}
		default:
			s.Errorf("given up at %q and launched again: %s", step, o.Status)
		}
	}
}

func (s *suite) adopted() {
	first := s.h.Open()
	r := s.prepare(Program{Print: "before\n", Then: "after\n", Code: 5}, true)
	h := s.launch(first, r)
	s.awaitRunning(first, r)
	second := s.h.Open()
	found, err := second.Find(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	if i := slices.IndexFunc(found, func(o target.Observation) bool { return o.Handle == h }); i < 0 || found[i].Status != target.Running {
		s.Errorf("a fresh target object finds %+v", found)
	}
	opened := false
	var last target.Observation
	s.watch(second, h, func(o target.Observation) bool {
		if o.Status == target.Running && !opened {
			opened = true
			r.open(s)
		}
		last = o
		return false
	})
	if rec := s.ended(last); rec.Exit.Code != 5 {
		s.Errorf("record of an adopted attempt: %+v", rec)
	}
	if out, _ := s.output(second, h, 0, false); plain(out) != "before\nafter\n" {
		s.Errorf("output of an adopted attempt: %q", out)
	}
	found, err = s.h.Open().Find(s.ctx)
	if i := slices.IndexFunc(found, func(o target.Observation) bool { return o.Handle == h }); err != nil || i < 0 || found[i].Status != target.Ended {
		s.Errorf("an ended attempt is found as %+v (%v)", found, err)
	}
	s.ranOnce(r)
}

// endsUnseen: the end is kept though no target object looked at the time.
func (s *suite) endsUnseen() {
	first := s.h.Open()
	r := s.prepare(Program{Print: "last words", Code: 6}, true)
	h := s.launch(first, r)
	s.awaitRunning(first, r)
	if c, ok := first.(interface{ Close() error }); ok {
		if err := c.Close(); err != nil {
			s.Fatal(err)
		}
	}
	r.open(s)
	second := s.h.Open()
	if rec := s.ended(s.awaitEnd(second, h)); rec.Exit.Code != 6 {
		s.Errorf("record %+v", rec)
	}
	if out, _ := s.output(second, h, 0, false); out != "last words" {
		s.Errorf("output %q", out)
	}
	s.ranOnce(r)
}

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

func (s *suite) causesOfEnd() {
	t := s.h.Open()
	for name, c := range map[string]struct {
		p    Program
		edit func(*pasar.AttemptSpec)
		exit pasar.Exit
		err  syscall.Errno
	}{
		"exit 0":          {},
		"exit 3":          {p: Program{Code: 3}, exit: pasar.Exit{Code: 3}},
		"exit 255":        {p: Program{Code: 255}, exit: pasar.Exit{Code: 255}},
		"SIGUSR1":         {p: Program{Signal: syscall.SIGUSR1}, exit: pasar.Exit{Signal: int(syscall.SIGUSR1)}},
		"SIGKILL":         {p: Program{Signal: syscall.SIGKILL}, exit: pasar.Exit{Signal: int(syscall.SIGKILL)}},
		"no directory":    {edit: func(sp *pasar.AttemptSpec) { sp.Cwd = "/nonexistent/cwd" }, err: syscall.ENOENT},
		"no such program": {edit: func(sp *pasar.AttemptSpec) { sp.Argv = []pasar.Arg{"/nonexistent/program"} }, err: syscall.ENOENT},
	} {
		r := s.prepare(c.p, false)
		if c.edit != nil {
			c.edit(&r.a.Spec)
		}
		rec := s.ended(s.awaitEnd(t, s.launch(t, r)))
		rec.Exit.Core = false
		if c.err != 0 {
			if rec.LaunchError == "" || rec.LaunchStep == "" || syscall.Errno(rec.Errno) != c.err {
				s.Errorf("%s: record has launch error %q at %q, errno %d", name, rec.LaunchError, rec.LaunchStep, rec.Errno)
			}
			if n := s.runs(r); n != 0 {
				s.Errorf("%s: it ran", name)
			}
			continue
		}
		if rec.Exit != c.exit || rec.LaunchError != "" {
			s.Errorf("%s: ended by %+v (%s), want %+v", name, rec.Exit, rec.LaunchError, c.exit)
		}
		s.ranOnce(r)
	}
}

func (s *suite) signal(t target.Target, h target.Handle, stop pasar.Stop) {
	s.Helper()
	if err := t.Signal(s.ctx, h, stop); err != nil {
		s.Fatalf("stop %s: %v", h.Key, err)
	}
}

func (s *suite) stopTerm() {
	t := s.h.Open()
	r := s.prepare(Program{}, true)
	h := s.launch(t, r)
	s.awaitRunning(t, r)
	s.signal(t, h, pasar.Stop{ID: "s1", Why: pasar.StopCancel, Grace: pasar.Duration(patience)})
	rec := s.ended(s.awaitEnd(t, h))
	if rec.Exit.Signal != int(syscall.SIGTERM) || rec.StopStep != pasar.StepTerm || rec.Stop == nil || rec.Stop.ID != "s1" || rec.Stop.Why != pasar.StopCancel {
		s.Errorf("record of a stopped attempt: %+v, stop %+v", rec, rec.Stop)
	}
}

// stopAtOnce: whether the stop comes by the object that launched or by another, and however far the
// attempt has come by then, it ends of it.
func (s *suite) stopAtOnce() {
	launcher, other := s.h.Open(), s.h.Open()
	for i := range 10 {
		r := s.prepare(Program{}, true)
		h := s.launch(launcher, r)
		by := launcher
		if i%2 == 1 {
			by = other
		}
		s.signal(by, h, pasar.Stop{ID: "s1", Why: pasar.StopCancel, Grace: pasar.Duration(patience)})
		rec := s.ended(s.awaitEnd(launcher, h))
		if rec.Exit.Signal == 0 && rec.LaunchError == "" || rec.Stop == nil {
			s.Errorf("record of one stopped at once: %+v", rec)
		}
	}
}

func (s *suite) stopKill() {
	t := s.h.Open()
	r := s.prepare(Program{IgnoreTerm: true}, true)
	h := s.launch(t, r)
	s.awaitRunning(t, r)
	began := time.Now()
	grace := 300 * time.Millisecond
	s.signal(t, h, pasar.Stop{ID: "s1", Why: pasar.StopCancel, Grace: pasar.Duration(grace)})
	rec := s.ended(s.awaitEnd(t, h))
	if rec.Exit.Signal != int(syscall.SIGKILL) || rec.StopStep != pasar.StepKill {
		s.Errorf("record of one that ignored SIGTERM: %+v", rec)
	}
	if took := time.Since(began); took < grace {
		s.Errorf("killed after %v, within its grace of %v", took, grace)
	}
}

func (s *suite) stopNow() {
	t := s.h.Open()
	r := s.prepare(Program{IgnoreTerm: true}, true)
	h := s.launch(t, r)
	s.awaitRunning(t, r)
	s.signal(t, h, pasar.Stop{ID: "s1", Why: pasar.StopCancel, Grace: pasar.Duration(time.Hour), Now: true})
	if rec := s.ended(s.awaitEnd(t, h)); rec.Exit.Signal != int(syscall.SIGKILL) || rec.StopStep != pasar.StepKill {
		s.Errorf("record of one killed at once: %+v", rec)
	}
}

func (s *suite) stopRepeated() {
	t := s.h.Open()
	r := s.prepare(Program{IgnoreTerm: true}, true)
	h := s.launch(t, r)
	s.awaitRunning(t, r)
	stop := pasar.Stop{ID: "s1", Why: pasar.StopCancel, Grace: pasar.Duration(time.Hour)}
	for range 3 {
		s.signal(t, h, stop)
	}
	if o := s.observe(t, h); o.Status != target.Running {
		s.Errorf("stopped three times within its grace, it is %s", o.Status)
	}
	stop.Now = true
	s.signal(t, h, stop)
	if rec := s.ended(s.awaitEnd(t, h)); rec.Exit.Signal != int(syscall.SIGKILL) || rec.Stop == nil || rec.Stop.ID != "s1" {
		s.Errorf("record of one whose grace was cut short: %+v", rec)
	}
}

func (s *suite) stopByAdopter() {
	first := s.h.Open()
	r := s.prepare(Program{IgnoreTerm: true}, true)
	h := s.launch(first, r)
	s.awaitRunning(first, r)
	stop := pasar.Stop{ID: "s1", Why: pasar.StopCancel, Grace: pasar.Duration(200 * time.Millisecond)}
	s.signal(first, h, stop)
	second := s.h.Open()
	s.signal(second, h, stop)
	if rec := s.ended(s.awaitEnd(second, h)); rec.Exit.Signal != int(syscall.SIGKILL) || rec.StopStep != pasar.StepKill {
		s.Errorf("record %+v", rec)
	}
}

func (s *suite) stopEnded() {
	t := s.h.Open()
	r := s.prepare(Program{Code: 2}, false)
	h := s.launch(t, r)
	s.ended(s.awaitEnd(t, h))
	s.signal(t, h, pasar.Stop{ID: "s1", Why: pasar.StopCancel})
	if rec := s.ended(s.observe(t, h)); rec.Exit.Code != 2 || rec.Stop != nil {
		s.Errorf("a late stop changed the record to %+v", rec)
	}
}

func (s *suite) absentThenLaunched() {
	t := s.h.Open()
	r := s.prepare(Program{}, false)
	if o := s.observe(t, r.handle()); o.Status != target.Absent {
		s.Errorf("never launched, it is %s", o.Status)
	}
	s.signal(t, r.handle(), pasar.Stop{ID: "s1", Why: pasar.StopCancel}) // nothing to stop
	if o := s.awaitEnd(t, r.handle()); o.Status != target.Absent {
		s.Errorf("watched without having been launched, it is %s", o.Status)
	}
	h := s.launch(t, r)
	s.ended(s.awaitEnd(t, h))
	s.ranOnce(r)
	other := h
	other.Nonce = "of another life"
	if o := s.observe(t, other); o.Status != target.Absent {
		s.Errorf("under another nonce it is %s", o.Status)
	}
}

func (s *suite) unknown() {
	if s.h.Blind == nil {
		s.Skip("this target can't be made blind")
	}
	t := s.h.Open()
	r := s.prepare(Program{}, true)
	h := s.launch(t, r)
	s.awaitRunning(t, r)
	fresh := s.h.Open()
	restore := s.h.Blind(fresh, h)
	if o, err := fresh.Observe(s.ctx, h); err == nil {
		s.Errorf("an attempt that can't be seen is %s", o.Status)
	}
	restore()
	if o := s.observe(fresh, h); o.Status != target.Running {
		s.Errorf("seen again, it is %s", o.Status)
	}
	r.open(s)
	s.ended(s.awaitEnd(fresh, h))
	s.ranOnce(r)
}

func (s *suite) watchCancelled() {
	w, ok := s.h.Open().(target.Watcher)
	if !ok {
		s.Skip("this target can't be watched")
	}
	t := w.(target.Target)
	r := s.prepare(Program{Code: 1}, true)
	h := s.launch(t, r)
	s.awaitRunning(t, r)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(s.ctx)
	err := w.Watch(ctx, h, func(o target.Observation) error {
		cancel(why)
		return nil
	})
	if !errors.Is(err, why) {
		s.Errorf("a watch that was cancelled returned %v", err)
	}
	r.open(s)
	if rec := s.ended(s.awaitEnd(t, h)); rec.Exit.Code != 1 { // it can be watched again
		s.Errorf("record %+v", rec)
	}
}

func (s *suite) acknowledged() {
	t := s.h.Open()
	a, ok := t.(target.Acknowledger)
	if !ok {
		s.Skip("this target needs no acknowledgement")
	}
	r := s.prepare(Program{Print: "kept", Code: 9}, false)
	h := s.launch(t, r)
	s.ended(s.awaitEnd(t, h))
	for range 2 {
		if err := a.Acknowledge(s.ctx, h); err != nil {
			s.Errorf("acknowledge: %v", err)
		}
	}
	for _, obj := range []target.Target{t, s.h.Open()} {
		if rec := s.ended(s.observe(obj, h)); rec.Exit.Code != 9 {
			s.Errorf("after it was acknowledged: %+v", rec)
		}
		if out, _ := s.output(obj, h, 0, true); out != "kept" {
			s.Errorf("output after it was acknowledged: %q", out)
		}
	}
	if err := s.h.Open().(target.Acknowledger).Acknowledge(s.ctx, h); err != nil {
		s.Errorf("acknowledge by a later daemon: %v", err)
	}
}

func (s *suite) inventory() {
	inv, err := s.h.Open().Inventory(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	if inv.Machine == "" || inv.Boot == "" || inv.Cores <= 0 || inv.HostMemory() <= 0 || inv.Reserve < 0 {
		s.Errorf("inventory %+v", inv)
	}
	seen := map[string]bool{}
	for _, g := range inv.GPUs {
		if g.UUID == "" || seen[g.UUID] || g.Total <= 0 {
			s.Errorf("GPU %+v", g)
		}
		seen[g.UUID] = true
	}
}

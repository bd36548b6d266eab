package targettest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"syscall"

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

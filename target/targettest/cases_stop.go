package targettest

import (
	"syscall"
	"time"

	"pasar"
	"pasar/target"
)

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

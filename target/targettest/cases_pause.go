package targettest

import (
	"syscall"
	"time"

	"pasar"
	"pasar/target"
)

// pauseFor is a pause that waits.
func pauseFor(id string, wait pasar.Duration) pasar.Stop {
	return pasar.Stop{ID: id, Why: pasar.StopPause, PauseFile: true, Wait: wait, Grace: pasar.Duration(patience)}
}

func (s *suite) pauses() {
	first := s.h.Open()
	r := s.prepare(Program{Pauses: s.dir}, false)
	h := s.launch(first, r)
	s.awaitRunning(first, r)
	stop := pauseFor("p1", pasar.Forever)
	s.signal(first, h, stop)
	s.signal(s.h.Open(), h, stop) // by a later daemon, which doesn't know that it arrived
	rec := s.ended(s.awaitEnd(first, h))
	if rec.Exit != (pasar.Exit{Code: pasar.ExitPaused}) || rec.StopStep != pasar.StepFile || rec.Stop == nil || rec.Stop.ID != "p1" {
		s.Errorf("record of a paused attempt: %+v, stop %+v", rec, rec.Stop)
	}
	if rec.Marker == nil || *rec.Marker != (pasar.Marker{Checkpoint: s.dir}) {
		s.Errorf("its marker is %+v", rec.Marker)
	}
	s.ranOnce(r)
}

func (s *suite) pauseMissing() {
	t := s.h.Open()
	r := s.prepare(Program{Pauses: "/nonexistent/checkpoint"}, false)
	h := s.launch(t, r)
	s.awaitRunning(t, r)
	s.signal(t, h, pauseFor("p1", pasar.Forever))
	if rec := s.ended(s.awaitEnd(t, h)); rec.Marker == nil || rec.Marker.Missing == "" || rec.Marker.Checkpoint != "/nonexistent/checkpoint" {
		s.Errorf("a marker that names nothing is %+v", rec.Marker)
	}
}

func (s *suite) pauseUnheard() {
	t := s.h.Open()
	r := s.prepare(Program{}, true)
	h := s.launch(t, r)
	s.awaitRunning(t, r)
	s.signal(t, h, pauseFor("p1", pasar.Forever))
	if o := s.observe(t, h); o.Status != target.Running {
		s.Errorf("asked to pause, it is %s", o.Status)
	}
	s.signal(t, h, pasar.Stop{ID: "c1", Why: pasar.StopCancel, Grace: pasar.Duration(patience)})
	rec := s.ended(s.awaitEnd(t, h))
	if rec.Exit.Signal != int(syscall.SIGTERM) || rec.StopStep != pasar.StepTerm || rec.Stop == nil || rec.Stop.ID != "c1" || rec.Marker != nil {
		s.Errorf("cancelled while it was asked to pause: %+v, stop %+v", rec, rec.Stop)
	}
}

func (s *suite) pauseGivesUp() {
	t := s.h.Open()
	r := s.prepare(Program{IgnoreTerm: true}, true)
	h := s.launch(t, r)
	s.awaitRunning(t, r)
	began := time.Now()
	stop := pauseFor("p1", pasar.Duration(200*time.Millisecond))
	stop.Grace = pasar.Duration(100 * time.Millisecond)
	s.signal(t, h, stop)
	rec := s.ended(s.awaitEnd(t, h))
	if rec.Exit.Signal != int(syscall.SIGKILL) || rec.StopStep != pasar.StepKill || rec.Stop == nil || rec.Stop.Why != pasar.StopPause {
		s.Errorf("record of a pause by force: %+v, stop %+v", rec, rec.Stop)
	}
	if took := time.Since(began); took < 300*time.Millisecond {
		s.Errorf("killed after %v", took)
	}
}

func (s *suite) pauseReplaced() {
	t := s.h.Open()
	r := s.prepare(Program{}, true)
	h := s.launch(t, r)
	s.awaitRunning(t, r)
	s.signal(t, h, pauseFor("p1", pasar.Forever))
	s.signal(s.h.Open(), h, pauseFor("p2", pasar.Duration(time.Millisecond)))
	rec := s.ended(s.awaitEnd(t, h))
	if rec.Exit.Signal != int(syscall.SIGTERM) || rec.StopStep != pasar.StepTerm || rec.Stop == nil || rec.Stop.ID != "p2" {
		s.Errorf("told to give up later: %+v, stop %+v", rec, rec.Stop)
	}
}

func (s *suite) preempted() {
	t := s.h.Open()
	for _, why := range []pasar.StopWhy{pasar.StopPreempt, pasar.StopLimit} {
		r := s.prepare(Program{Pauses: s.dir, IgnoreTerm: true}, false)
		h := s.launch(t, r)
		s.awaitRunning(t, r)
		s.signal(t, h, pasar.Stop{ID: "s1", Why: why, PauseFile: true, Grace: pasar.Duration(patience), For: 99})
		rec := s.ended(s.awaitEnd(t, h))
		if rec.Exit != (pasar.Exit{Code: pasar.ExitPaused}) || rec.Marker == nil || rec.Marker.Missing != "" || rec.Stop == nil || rec.Stop.For != 99 {
			s.Errorf("%s: %+v, marker %+v", why, rec, rec.Marker)
		}
	}
}

func (s *suite) stopWithoutTerm() {
	t := s.h.Open()
	r := s.prepare(Program{}, true) // it would die of SIGTERM
	h := s.launch(t, r)
	s.awaitRunning(t, r)
	s.signal(t, h, pasar.Stop{ID: "s1", Why: pasar.StopPreempt, PauseFile: true, NoTerm: true, Grace: pasar.Duration(200 * time.Millisecond)})
	if rec := s.ended(s.awaitEnd(t, h)); rec.Exit.Signal != int(syscall.SIGKILL) || rec.StopStep != pasar.StepKill {
		s.Errorf("stopped without SIGTERM: %+v", rec)
	}
}

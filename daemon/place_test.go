package daemon

import (
	"errors"
	"testing"
	"testing/synctest"

	"pasar"
	"pasar/ipc"
	"pasar/target"
	"pasar/target/targettest"
)

// placed is a machine that says where it puts supervisors.
type placed struct {
	*targettest.Fake
	s *target.Standing
}

func (p placed) Standing() target.Standing { return *p.s }

func TestWhereJobsWouldBeKilledNoneIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &target.Standing{Place: pasar.PlaceSession,
			Lacks:   []target.Lack{{Place: pasar.PlaceUnit, Why: "linger is off"}, {Place: pasar.PlaceCgroup, Why: "none is delegated", Fix: "do this"}},
			Refusal: &target.Lack{Why: "logging out kills\nall", Fix: "loginctl enable-linger"}}
		w := newWorld(t, 1)
		w.wrap = func(f *targettest.Fake) target.Target { return placed{f, s} }
		d := w.start(nil)
		var no *ipc.Error
		if err := d.admit(); !errors.As(err, &no) || no.Code != ipc.CodeUnavailable || no.Message != `no job is taken: logging out kills\nall` || no.Hint != "loginctl enable-linger" {
			t.Errorf("%+v", no)
		}
		v := d.status()
		if *v.Place != pasar.PlaceSession || *v.PlaceNote != "linger is off; none is delegated" || *v.PlaceFix != "do this" || *v.Warning != `logging out kills\nall` {
			t.Errorf("%+v", v)
		}
		s.Refusal, s.Warning, s.Lacks = nil, &target.Lack{Why: "careful"}, nil
		if err := d.admit(); err != nil {
			t.Error(err)
		}
		if v := d.status(); *v.Warning != "careful" || v.PlaceNote != nil || v.PlaceFix != nil {
			t.Errorf("%+v", v)
		}
	})
}

func TestATargetThatHasNoPlacesTakesJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newWorld(t, 1).start(nil)
		if err := d.admit(); err != nil {
			t.Error(err)
		}
		if v := d.status(); v.Place != nil || v.PlaceNote != nil || v.Warning != nil {
			t.Errorf("%+v", v)
		}
	})
}

// A Target is asked through the interface, which a wrapper must not hide.
var _ target.Placed = placed{}

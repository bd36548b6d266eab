package daemon

import (
	"maps"
	"reflect"
	"testing"
	"time"

	"pasar"
)

func TestWhatIsCountedOnlyGrows(t *testing.T) {
	st := newTale(t)
	check := func(when string, lost, failed time.Duration, ended map[pasar.Code]int64) {
		t.Helper()
		got := (&published{tally: st.s.tally, next: st.s.next}).counts()
		if got.Submitted != 1 || got.LostPreempt != pasar.Duration(lost) || got.LostFailed != pasar.Duration(failed) || !maps.Equal(got.Attempts, ended) {
			t.Errorf("%s: %+v; want %s, %s, %v", when, got, lost, failed, ended)
		}
		sv := st.s.freeze()
		body, err := sv.encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := thaw(body)
		if err != nil || !reflect.DeepEqual(again.tally, st.s.tally) {
			t.Errorf("%s: thawed %+v, %v", when, again.tally, err)
		}
	}
	restart := func() {
		j := st.job()
		st.tell(pasar.Restarted{Job: 1, Spec: j.Spec, Was: j.End, Attempts: j.Attempts, Created: j.Created})
	}
	check("before anything", 0, 0, map[pasar.Code]int64{})
	st.launch().after(10*minute).event(pasar.EventCheckpoint).after(4*minute).end(pasar.CodePreempted, pasar.Queued, nil)
	check("while it isn't over", 0, 0, map[pasar.Code]int64{pasar.CodePreempted: 1})
	st.launch().after(2*minute).event(pasar.EventResumed).after(5*minute).end(pasar.CodeExit, "", nil)
	ended := map[pasar.Code]int64{pasar.CodePreempted: 1, pasar.CodeExit: 1}
	check("once it is", 6*minute, 7*minute, ended)
	st.tell(pasar.Ended{Job: 1, Attempt: 2, Verdict: pasar.Verdict{Reason: pasar.CodeExit}}) // told again
	check("told again", 6*minute, 7*minute, ended)
	restart()
	check("restarted", 6*minute, 7*minute, ended)
	st.launch().after(3 * minute).event(pasar.EventResumed).after(minute)
	st.tell(pasar.Lost{Job: 1, Attempt: st.n, Verdict: pasar.Verdict{Reason: pasar.CodeLost}})
	ended[pasar.CodeLost] = 1
	check("and over again", 6*minute, 7*minute+3*minute+4*minute, ended)
	restart()
	st.tell(pasar.CancelledWaiting{Job: 1})
	check("and cancelled before it ran", 6*minute, 14*minute, ended)
}

func TestAnOlderDaemonsSnapshotIsCountedFromThenOn(t *testing.T) {
	st := newTale(t)
	sv := st.s.freeze()
	sv.Tally = tally{}
	s, err := sv.state()
	if err != nil {
		t.Fatal(err)
	}
	st.s = s
	st.launch().after(minute).end(pasar.CodeCompleted, "", nil)
	if n := (&published{tally: st.s.tally}).counts().Attempts[pasar.CodeCompleted]; n != 1 {
		t.Errorf("%d attempts", n)
	}
}

package supervisor

import (
	"math/rand/v2"
	"testing"
	"time"

	"pasar"
)

const sec = pasar.Duration(time.Second)

func TestSeveralStopsAreOneSequence(t *testing.T) {
	type ask struct {
		at   int // seconds
		stop pasar.Stop
	}
	forever := pasar.Stop{Wait: pasar.Forever, PauseFile: true}
	cancel := pasar.Stop{Grace: 120 * sec}
	for name, c := range map[string]struct {
		asks             []ask
		wake, term, kill int // seconds; -1: never
	}{
		"a cancel":                              {[]ask{{0, cancel}}, -1, 0, 120},
		"a pause waits for ever":                {[]ask{{0, forever}}, -1, -1, -1},
		"a cancel after it begins its own":      {[]ask{{0, forever}, {1000, cancel}}, -1, 1000, 1120},
		"a pause that gives up":                 {[]ask{{0, pasar.Stop{Wait: 60 * sec, Grace: 10 * sec}}}, -1, 60, 70},
		"told later to give up":                 {[]ask{{0, forever}, {100, pasar.Stop{Wait: 60 * sec, Grace: 10 * sec}}}, -1, 160, 170},
		"a cancel leaves no more than was left": {[]ask{{0, pasar.Stop{Wait: 60 * sec, Grace: 10 * sec}}, {5, cancel}}, -1, 5, 70},
		"a longer grace comes too late":         {[]ask{{0, cancel}, {50, pasar.Stop{Grace: 3600 * sec}}}, -1, 0, 120},
		"a shorter one doesn't":                 {[]ask{{0, cancel}, {50, pasar.Stop{Grace: 1 * sec}}}, -1, 0, 51},
		"a pause takes nothing back":            {[]ask{{0, cancel}, {50, forever}}, -1, 0, 120},
		"now is now":                            {[]ask{{0, forever}, {7, pasar.Stop{Now: true, Grace: 60 * sec}}}, -1, -1, 7},
		"without SIGTERM":                       {[]ask{{0, pasar.Stop{NoTerm: true, Grace: 30 * sec}}}, 0, -1, 30},
		"without it until a cancel":             {[]ask{{0, pasar.Stop{NoTerm: true, Grace: 30 * sec}}, {10, cancel}}, 0, 10, 30},
		"a negative grace is none":              {[]ask{{0, pasar.Stop{Grace: -5 * sec}}}, -1, 0, 0},
	} {
		began := time.Now()
		var q sequence
		for _, a := range c.asks {
			q.take(a.stop, began.Add(time.Duration(a.at)*time.Second))
		}
		for what, x := range map[string]struct {
			got  time.Time
			want int
		}{"SIGCONT": {q.wake, c.wake}, "SIGTERM": {q.term, c.term}, "SIGKILL": {q.kill, c.kill}} {
			if x.want < 0 != x.got.IsZero() || x.want >= 0 && !x.got.Equal(began.Add(time.Duration(x.want)*time.Second)) {
				t.Errorf("%s: %s at %s, want %d s", name, what, x.got.Sub(began), x.want)
			}
		}
	}
}

func TestNoStopPutsTheEndOff(t *testing.T) {
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		now := time.Now()
		var q sequence
		for range 1 + rnd.IntN(6) {
			now = now.Add(time.Duration(rnd.IntN(100)) * time.Second)
			before := q
			s := pasar.Stop{Grace: pasar.Duration(rnd.IntN(200)) * sec, Wait: pasar.Duration(rnd.IntN(100)) * sec,
				NoTerm: rnd.IntN(3) == 0, Now: rnd.IntN(8) == 0}
			if rnd.IntN(3) == 0 {
				s.Wait = pasar.Forever
			}
			q.take(s, now)
			if !before.kill.IsZero() && (q.kill.IsZero() || q.kill.After(before.kill)) || !before.term.IsZero() && (q.term.IsZero() || q.term.After(before.term)) {
				t.Fatalf("seed %d: %+v put off %+v to %+v", seed, s, before, q)
			}
			if s.Wait >= 0 && !s.Now && q.kill.After(now.Add(time.Duration(s.Wait+s.Grace))) {
				t.Fatalf("seed %d: %+v is not held: %+v", seed, s, q)
			}
			if next := q.next(now); q.begun() != (next > 0) {
				t.Fatalf("seed %d: next is %s after %+v", seed, next, q)
			}
		}
	}
}

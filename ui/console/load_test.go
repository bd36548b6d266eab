package console

import (
	"math/rand/v2"
	"testing"
	"time"

	"pasar"
)

type jobID = pasar.JobID

// TestAFloodOfChangesIsDrawnSeldom has 500 jobs of which one changes 50 times a second.
func TestAFloodOfChangesIsDrawnSeldom(t *testing.T) {
	d := newDouble(t)
	for i := range 500 {
		d.jobs = append(d.jobs, job(jobID(i+1), []pasar.State{pasar.Running, pasar.Queued}[min(1, i/8)]))
	}
	s := show(t, d, 120, 40)
	s.sees("train-1")
	before, began := s.c.draws.Load(), time.Now()
	tick := time.NewTicker(20 * time.Millisecond) // that is what the flood is
	defer tick.Stop()
	for i := range 100 {
		d.change(func(d *double) { d.jobs[8].Bid = pasar.Bid(2000 + i) })
		<-tick.C
	}
	s.sees("2099")
	took := time.Since(began)
	if draws, most := s.c.draws.Load()-before, int64(took/askSoon)+int64(took/time.Second)+3; draws > most {
		t.Errorf("%d redraws in %v; at most %d", draws, took, most)
	}
	s.press("End")
	s.sees("train-500") // it is still at one's beck and call
}

func TestAnIdleConsoleDrawsNothing(t *testing.T) {
	d := newDouble(t)
	d.jobs = []pasar.JobView{job(6, pasar.Failed), job(7, pasar.Completed)}
	s := show(t, d, 120, 40, func(o *Options) { o.idle = time.Millisecond })
	s.sees("train-6")
	asked := func() int { d.mu.Lock(); defer d.mu.Unlock(); return d.lists }
	settled, draws := asked(), s.c.draws.Load()
	s.until("that it settles", func(string) bool {
		n := s.c.draws.Load()
		same := n == draws
		draws = n
		return same && asked() > settled+2
	})
	settled = asked()
	at := noon
	s.until("five more answers", func(string) bool {
		at = at.Add(10 * time.Second)
		d.mu.Lock()
		d.status.Machines[0].LookedAt = ptr(at) // the GPUs were looked at once more, and are as they were
		d.mu.Unlock()
		return asked() > settled+5
	})
	if n := s.c.draws.Load(); n != draws {
		t.Errorf("%d redraws though nothing has changed", n-draws)
	}
	var due bool
	s.in(func() { due = s.c.due(noon.Add(time.Second)) })
	if due {
		t.Error("the passing of a second is drawn")
	}
}

func TestAnySizeAtAnyMomentIsSafe(t *testing.T) {
	d := someJobs(t)
	s := show(t, d, 120, 40)
	s.sees("train-1")
	rng := rand.New(rand.NewPCG(1, 2))
	keys := []string{"Enter", "q", "b", "Esc", "s", "Esc", "f", "q", "w", "q", "?", "q", "g", "q", "c", "q", "r", "Esc", "x", "Esc", "Down", "Up", "/", "Esc", "-", "+", "PgDn", "End", "Home"}
	for i := range 150 {
		w, h := 1+rng.IntN(160), 1+rng.IntN(50)
		if i%7 == 0 {
			w, h = 1+rng.IntN(4), 1+rng.IntN(4)
		}
		s.in(func() { s.screen.SetSize(w, h); s.c.app.ForceDraw() })
		s.press(keys[i%len(keys)])
	}
	s.in(func() { s.c.home(); s.screen.SetSize(100, 30); s.c.app.ForceDraw() })
	s.sees("train-1", "Jobs")
}

func TestManyJobsAreAsQuickAsFew(t *testing.T) {
	d := newDouble(t)
	for i := range 3000 {
		d.jobs = append(d.jobs, job(jobID(i+1), []pasar.State{pasar.Running, pasar.Queued}[min(1, i/8)]))
	}
	s := show(t, d, 200, 60)
	s.sees("train-1", "2992 waiting")
	s.press("End")
	s.sees("train-3000")
	s.press("/")
	s.types("train-2999")
	s.press("Enter")
	s.sees("1 match")
}

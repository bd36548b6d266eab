package daemon

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"pasar"
	"pasar/sched"
)

// A forecast is what a projection saw: when each job is expected to start and finish. It is never changed.
type forecast struct {
	sched.Projection
	seq   int64          // of the state that it was made of
	at    time.Time      // when
	took  pasar.Duration // to make it
	index map[pasar.JobID]int32
}

// of is what is forecast of a job; false when nothing is. A nil forecast knows of no job.
func (f *forecast) of(id pasar.JobID) (sched.Forecast, bool) {
	if f == nil {
		return sched.Forecast{}, false
	}
	i, ok := f.index[id]
	if !ok {
		return sched.Forecast{}, false
	}
	return f.Jobs[i], true
}

// Projections are made beside the loop, and only while somebody asks: an idle daemon makes none.
const (
	forecastFor   = time.Second            // how long one is good while nothing happens,
	forecastQuiet = 100                    // and so many times as long as it took,
	forecastMost  = 10 * time.Second       // but no longer
	forecastShare = 4                      // and so many times as long as it took, whatever happens, so that it costs a part of one processor
	forecastWait  = 100 * time.Millisecond // how long a reader waits for a fresh one
	forecastFew   = 32                     // at a submit it is only waited for when that is short,
	forecastSoon  = 5 * time.Millisecond   // and so long
	forecastMany  = 2000                   // a reader of so many waiting jobs doesn't wait: an older one, or none, must do
)

func (f *forecast) fresh(seq int64, now time.Time) bool {
	if f == nil {
		return false
	}
	age := now.Sub(f.at)
	quiet := min(max(forecastFor, forecastQuiet*time.Duration(f.took)), forecastMost)
	return f.seq >= seq && age < quiet || age < forecastShare*time.Duration(f.took)
}

// forecast is the newest projection; one is asked for if that is no longer fresh, and waited for so long at
// most. It is nil when there is none yet.
func (d *Daemon) forecast(ctx context.Context, wait time.Duration) *forecast {
	p := d.pub.Load()
	next := d.foreseen.next()
	f := d.outlook.Load()
	if f.fresh(p.seq, d.Clock.Now()) {
		return f
	}
	select {
	case d.asks <- struct{}{}:
	default: // it has been asked for
	}
	if wait <= 0 {
		return f
	}
	late := time.NewTimer(wait)
	defer late.Stop()
	for {
		select {
		case <-next:
			next = d.foreseen.next()
			if f = d.outlook.Load(); f.fresh(p.seq, d.Clock.Now()) {
				return f
			}
			select { // it was under way already, of an older state
			case d.asks <- struct{}{}:
			default:
			}
		case <-late.C:
			return f
		case <-ctx.Done():
			return f
		}
	}
}

// forecastOf is for a listing, which doesn't wait where there is much to list.
func (d *Daemon) forecastOf(ctx context.Context, p *published) *forecast {
	if len(p.waiting) > forecastMany {
		return d.forecast(ctx, 0)
	}
	return d.forecast(ctx, forecastWait)
}

// foresee makes projections, one at a time, as they are asked for, until ctx is done.
func (d *Daemon) foresee(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.asks:
		}
		if len(d.pub.Load().waiting) > forecastMany { // who asked doesn't wait for it: let it be served first
			select {
			case <-ctx.Done():
				return
			case <-time.After(forecastWait):
			}
		}
		var in sched.Input
		f := &forecast{}
		began := d.Clock.Mono()
		if err := d.look(ctx, func(s *state, now time.Time) {
			in, f.seq, f.at = d.lasting(s), s.seq, now
		}); err != nil {
			continue
		}
		passes := d.reach.passes(len(in.Waiting))
		f.Projection = sched.Project(in, f.at, passes)
		f.index = make(map[pasar.JobID]int32, len(f.Jobs))
		for i := range f.Jobs {
			f.index[f.Jobs[i].ID] = int32(i)
		}
		f.took = d.Clock.Mono() - began
		d.reach.learn(f)
		d.outlook.Store(f)
		d.foreseen.fire()
	}
}

// reach is how far ahead is looked, so that a projection of a long queue takes no longer than is bearable. It
// goes by what the last ones took.
type reach struct{ doublings atomic.Int32 }

const (
	forecastWork    = 200_000_000 // passes × waiting jobs of a projection at first: to the end of ten thousand
	forecastTakes   = time.Second // what one may take; half as far is looked after one that took longer,
	forecastAtLeast = 16          // but never fewer passes
)

// passes is how many passes a projection of so many waiting jobs makes; 0: as many as it takes.
func (r *reach) passes(waiting int) int {
	if waiting <= forecastAtLeast {
		return 0
	}
	work := forecastWork
	if n := r.doublings.Load(); n >= 0 {
		work <<= n
	} else {
		work >>= -n
	}
	return max(work/waiting, forecastAtLeast)
}

func (r *reach) learn(f *forecast) {
	n := r.doublings.Load()
	switch took := time.Duration(f.took); {
	case took > forecastTakes:
		r.doublings.Store(max(n-1, -10))
	case f.Cut && took < forecastTakes/4:
		r.doublings.Store(min(n+1, 20))
	}
}

// lasting is what the scheduler may know, to be kept: the queue is a copy. Called on the loop.
func (d *Daemon) lasting(s *state) sched.Input {
	in := d.input(s, "")
	in.Waiting = slices.Clone(in.Waiting)
	return in
}

// A looking is a look at the state between two turns of the loop.
type looking struct {
	see  func(s *state, now time.Time)
	done chan error // buffered
}

// look calls see on the loop, between two turns: see must be short and change nothing. Nothing is decided or
// journaled for it.
func (d *Daemon) look(ctx context.Context, see func(s *state, now time.Time)) error {
	l := looking{see, make(chan error, 1)}
	select {
	case d.looks <- l:
		return <-l.done
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// looked answers a look; problem is why the state can't be looked at.
func (d *Daemon) looked(l looking, problem error) {
	if problem == nil {
		l.see(d.state, d.Clock.Now())
	}
	l.done <- problem
}

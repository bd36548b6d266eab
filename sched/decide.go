package sched

import (
	"time"

	"pasar"
)

// Decide settles what starts now, what stops for it, and why everything else waits.
//
// Jobs are considered in order. One that fits and moves no reservation starts. One that may preempt has the
// fewest jobs with lower bids stopped that make room for it. Of the others the first in each place gets a
// reservation: the earliest time, and the GPUs, at which running jobs are projected to have left enough room.
// After that jobs with equal bids are tried by merit, and are let in if they are gone by then or leave the
// reserved jobs the room they need.
func Decide(in Input, now time.Time) Plan {
	p := newPass(&in, now)
	p.decide()
	plan := Plan{Stops: p.stops, WakeAt: p.wakeAt()}
	for i := range p.starts {
		plan.Starts = append(plan.Starts, Start{ID: p.queue[p.starts[i].pos].id, Grant: p.starts[i].grant})
	}
	for i := range p.booked {
		plan.Reservations = append(plan.Reservations, p.reservation(&p.booked[i]))
	}
	plan.Reasons = p.explain()
	return plan
}

func (p *pass) reservation(b *reservation) Reservation {
	r := Reservation{ID: p.queue[b.pos].id, Machine: b.m.Inventory.Machine, At: p.time(b.at)}
	for _, k := range b.gpus {
		r.GPUs = append(r.GPUs, b.m.gpus[k].GPURef)
	}
	return r
}

// time is a moment of the look as a time.
func (p *pass) time(at time.Duration) time.Time { return p.epoch.Add(at) }

// wakeAt is when another pass may decide otherwise though nothing happens: a job is due, a GPU has settled,
// or a running job that a reservation counts on outlives its estimate, so that the reservation moves and
// there is time for others. Jobs that are asked to stop are not waited for by the clock, since their end is
// a fact.
func (p *pass) wakeAt() time.Time {
	first := forever
	some := false
	for i := range p.queue {
		e := &p.queue[i]
		if e.state == started || e.held {
			continue
		}
		some = true
		if e.due > p.at {
			first = min(first, e.due)
		}
	}
	if some {
		for _, m := range p.machines {
			for k := range m.gpus {
				if at := m.gpus[k].settle; at > p.at {
					first = min(first, at)
				}
			}
		}
	}
	for i := range p.acts {
		a := &p.acts[i]
		if a.pos < 0 && a.m != nil && len(a.m.booked) > 0 && !a.Leaving && (!a.Stopping || a.Patient) {
			first = min(first, max(a.end, p.at)+time.Second) // not at its end: that may just be on its way here
			break
		}
	}
	if first = min(first, p.nextUrgent(), p.nextClear()); first == forever {
		return time.Time{}
	}
	return p.time(first)
}

// claim is a job's claim as it was made.
func (p *pass) claim(e *entry) *pasar.Claim { return &p.jobs[e.job].Claim }

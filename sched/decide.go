package sched

import (
	"time"

	"pasar"
)

// A pass is one run of Decide.
type pass struct {
	ledger       *ledger
	queue        []Job // in order
	plan         Plan
	shapes       shapes
	started      []Running // by this pass
	picked, best []int     // scratch space of fit and place
	ahead        int       // jobs considered that wait for something other than a release
}

// Decide settles what starts now and why everything else waits.
//
// Jobs are considered in order. One that fits starts. One that doesn't is due what it asks for: on
// every machine where it could run, no later job may start on the GPUs it may have, nor on its kind of
// place or on host memory if it needs those, so that a large claim is never starved by small ones. Later
// jobs that need none of that may start.
//
// Reservations will narrow what a waiting job is due, from all it could use to what it will get and
// when; backfill and preemption then have their place between order and explanation.
func Decide(in Input, now time.Time) Plan {
	p := &pass{ledger: newLedger(in.Machines, in.Active), queue: inOrder(in.Waiting)}
	if len(p.queue) > 0 {
		p.plan.Reasons = make([]Waiting, 0, len(p.queue))
	}
	p.shapes.ids = make([]int32, 0, len(p.queue))
	for pos := range p.queue {
		p.consider(pos)
	}
	p.nameHolders(in.Active)
	return p.plan
}

// consider starts one job or says why it waits.
func (p *pass) consider(pos int) {
	job := &p.queue[pos]
	if job.Held {
		p.wait(job, pasar.Reason{Why: pasar.WaitHeld}, noShape)
		return
	}
	if at, ok := p.place(job, nobody); ok {
		p.start(job, at)
		return
	}
	reason, shape := p.explain(pos)
	reason.Ahead = p.ahead
	p.ahead++
	p.wait(job, reason, shape)
	p.reserve(pos)
}

func (p *pass) start(job *Job, at placement) {
	grant := pasar.Grant{Machine: at.m.Inventory.Machine, Claim: job.Claim}
	if len(at.picked) > 0 {
		grant.GPUs = make([]pasar.GPURef, 0, len(at.picked))
		for k := range at.m.gpus { // by index, whatever the order of picking
			for _, picked := range at.picked {
				if picked == k {
					grant.GPUs = append(grant.GPUs, at.m.gpus[k].GPURef)
				}
			}
		}
	}
	at.m.take(&job.Claim, at.picked)
	p.plan.Starts = append(p.plan.Starts, Start{ID: job.ID, Grant: grant})
	p.started = append(p.started, Running{ID: job.ID, Grant: grant})
}

func (p *pass) wait(job *Job, r pasar.Reason, shape int32) {
	r.Since = job.QueueTime
	p.plan.Reasons = append(p.plan.Reasons, Waiting{ID: job.ID, Reason: r})
	p.shapes.ids = append(p.shapes.ids, shape)
}

// reserve makes a job that can't start be due what it asks for, wherever it could run and nobody
// before it is due it already.
func (p *pass) reserve(pos int) {
	job := &p.queue[pos]
	c := &job.Claim
	for i := range p.ledger.machines {
		m := &p.ledger.machines[i]
		if !p.candidate(m, job) {
			continue
		}
		host := c.RAM > 0
		if c.Kind == pasar.NoGPU {
			m.coresDue = min(m.coresDue, pos)
		} else {
			for k := range m.gpus {
				if g := &m.gpus[k]; g.allows(c) && charged(c, g) <= g.total {
					g.due = min(g.due, pos)
					host = host || g.shared
				}
			}
		}
		if host {
			m.hostDue = min(m.hostDue, pos)
		}
	}
}

// candidate reports whether a job could run on a machine that takes work now, were it empty.
func (p *pass) candidate(m *machine, job *Job) bool {
	return m.open() && (job.Machine == "" || job.Machine == m.Inventory.Machine) && m.couldFit(&job.Claim)
}

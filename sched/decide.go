package sched

import (
	"time"

	"pasar"
)

// A pass is one run of Decide.
type pass struct {
	ledger       *ledger
	held         int32 // the cause of held jobs; -1 until there is one
	queue        []Job // in order
	plan         Plan
	shapes       shapes
	memo         memo
	started      []Running // by this pass
	picked, best []int     // scratch space of fit and place
	ahead        [2]int32  // jobs considered that wait for more than a release: with GPUs, and without
	dues         []int     // positions of jobs that are due anything, rising
}

// Decide settles what starts now and why everything else waits.
//
// Jobs are considered in order. One that fits starts. One that doesn't is due what it asks for on every
// machine where it could run: no later job may start on the GPUs it may have, and later jobs must leave
// it the host memory and the place that it asks for. So a large claim is never starved by small ones,
// and jobs that can do without any of that start.
//
// Reservations will narrow what a waiting job is due, from all it could use to what it will get and
// when; backfill and preemption then have their place between order and explanation.
func Decide(in Input, now time.Time) Plan {
	p := &pass{ledger: newLedger(in.Machines, in.Active), queue: inOrder(in.Waiting), held: -1}
	if len(p.queue) > 0 {
		p.plan.Reasons.list = make([]waiting, 0, len(p.queue))
	}
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
		if p.held < 0 {
			p.held = p.plan.Reasons.cause(pasar.Reason{Why: pasar.WaitHeld})
			p.shapes.ids = append(p.shapes.ids, noShape)
		}
		p.plan.Reasons.list = append(p.plan.Reasons.list, waiting{id: job.ID, cause: p.held})
		return
	}
	if a := p.memo.find(job); a != nil {
		p.wait(job, a) // one just like it was promised nothing that wasn't promised away
		return
	}
	if at, ok := p.place(job, nobody); ok {
		p.start(job, at)
		p.memo.forget()
		return
	}
	a := p.explain(job)
	a.cause = p.plan.Reasons.cause(a.reason)
	p.shapes.ids = append(p.shapes.ids, a.shape)
	p.wait(job, &a)
	if p.reserve(pos) {
		p.memo.forget()
	} else {
		p.memo.keep(job, &a)
	}
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

// wait notes why a job waits, with what is its own.
func (p *pass) wait(job *Job, a *answer) {
	ahead := &p.ahead[0]
	if job.Claim.Kind == pasar.NoGPU {
		ahead = &p.ahead[1]
	}
	w := waiting{id: job.ID, cause: a.cause, ahead: *ahead}
	*ahead++
	if a.before != nobody {
		if bid, ok := toPrecede(job, &p.queue[a.before]); ok {
			w.bid = p.plan.Reasons.bid(bid)
		}
	}
	p.plan.Reasons.list = append(p.plan.Reasons.list, w)
}

// reserve makes a job that can't start be due what it asks for, wherever it could run. Nothing is noted
// of what is promised away already; it reports whether anything was.
func (p *pass) reserve(pos int) bool {
	job := &p.queue[pos]
	c := &job.Claim
	noted := false
	for i := range p.ledger.machines {
		m := &p.ledger.machines[i]
		if !p.candidate(m, job) {
			continue
		}
		if n := len(m.coresDue); c.Kind == pasar.NoGPU && (n == 0 || n < m.coresFree) {
			m.coresDue, noted = append(m.coresDue, pos), true
		}
		var shared pasar.Bytes
		for k, left := 0, c.GPUs; k < len(m.gpus); k++ {
			g := &m.gpus[k]
			if left == 0 && g.due < pos || c.Kind == pasar.NoGPU || !g.allows(c) || charged(c, g) > g.total {
				continue
			}
			if g.due == nobody {
				g.due, noted = pos, true
			}
			if g.shared && left > 0 {
				shared += charged(c, g)
				left--
			}
		}
		host := hostCharge(c, shared)
		if n := len(m.hostDue); host > 0 && (n == 0 || m.hostDue[n-1].sum < m.hostFree) {
			if n > 0 {
				host += m.hostDue[n-1].sum
			}
			m.hostDue, noted = append(m.hostDue, promise{pos, host}), true
		}
	}
	if noted {
		p.dues = append(p.dues, pos)
	}
	return noted
}

// candidate reports whether a job could run on a machine that takes work now, were it empty.
func (p *pass) candidate(m *machine, job *Job) bool {
	return m.open() && (job.Machine == "" || job.Machine == m.Inventory.Machine) && m.couldFit(&job.Claim)
}

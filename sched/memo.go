package sched

import "pasar"

// A memo remembers why jobs waited. Between two changes of what is free or due, jobs that ask for the
// same wait for the same, and a long queue is mostly made of few claims; so a pass over it costs little
// more than reading it.
type memo struct {
	entries [8]answer
	next    int // the entry to give up next
}

// An answer is why any job with a claim waits.
type answer struct {
	claim   pasar.Claim
	machine string
	ok      bool
	reason  pasar.Reason // without what is the job's own
	cause   int32        // the same in the plan
	shape   int32
	before  int // the position it would have to come before; nobody when there is none
}

// find is the answer for a job; nil when there is none.
func (m *memo) find(job *Job) *answer {
	c := &job.Claim
	if len(c.IDs) > 0 {
		return nil
	}
	for i := range m.entries {
		a := &m.entries[i]
		if a.ok && a.claim.Mem == c.Mem && a.claim.Limit == c.Limit && a.claim.GPUs == c.GPUs && a.claim.RAM == c.RAM &&
			a.claim.Kind == c.Kind && a.claim.Type == c.Type && a.machine == job.Machine {
			return a
		}
	}
	return nil
}

// keep remembers an answer.
func (m *memo) keep(job *Job, a *answer) {
	if len(job.Claim.IDs) > 0 {
		return
	}
	a.claim, a.machine, a.ok = job.Claim, job.Machine, true
	m.entries[m.next] = *a
	m.next = (m.next + 1) % len(m.entries)
}

// forget drops everything, when something was started or promised.
func (m *memo) forget() {
	for i := range m.entries {
		m.entries[i].ok = false
	}
}

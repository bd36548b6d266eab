package daemon

import (
	"cmp"

	"pasar"
	"pasar/sched"
)

// waiting is a job as the scheduler sees it in the queue.
func (s *state) waiting(j *job) sched.Job {
	w := sched.Job{
		ID:        j.ID,
		Bid:       j.Spec.Bid,
		QueueTime: j.QueueTime,
		Claim:     j.Spec.Claim,
		Estimate:  s.left(j),
		Held:      j.Spec.Hold,
		Machine:   j.Spec.Machine,
		Preempt:   j.Spec.Preempt,
		NotBefore: j.Spec.Begin,
		After:     j.Unmet,
		Group:     j.Spec.Group,
		GroupMax:  j.Spec.MaxConcurrent,
		Promised:  j.Promised,
	}
	if j.NotBefore.After(w.NotBefore) {
		w.NotBefore, w.Retry = j.NotBefore, true
	}
	if a := j.current(); a != nil && j.GoesOn {
		w.Machine = cmp.Or(w.Machine, a.Grant.Machine) // where its checkpoint is
	}
	return w
}

// input is what the scheduler may know from the state. The queue is lent, not copied: Decide keeps
// nothing of it. What readings of the machines add is not in it.
func (s *state) input(blocked string) sched.Input {
	in := sched.Input{Waiting: s.queue}
	for _, name := range sortedKeys(s.machines) {
		m := sched.Machine{Inventory: s.machines[name], Reachable: true, Blocked: blocked}
		if h := s.drains.of(name, ""); h != nil && blocked == "" {
			m.Blocked = h.Reason
		}
		for _, g := range m.GPUs {
			if h := s.drains.of(name, g.UUID); h != nil {
				m.Seen = append(m.Seen, sched.GPUSeen{UUID: g.UUID, Unhealthy: h.Reason})
			}
		}
		in.Machines = append(in.Machines, m)
	}
	for _, j := range s.active {
		if j.holds() {
			in.Active = append(in.Active, s.running(j))
		}
	}
	return in
}

// running is a job as the scheduler sees it while it holds its claim.
func (s *state) running(j *job) sched.Running {
	a := j.current()
	r := sched.Running{
		ID: j.ID, Bid: j.Spec.Bid, Grant: a.Grant, Started: a.LaunchedAt, Estimate: s.left(j),
		Group: j.Spec.Group, Preemptible: !j.Spec.NonPreemptible,
	}
	if !a.StartedAt.IsZero() {
		r.Started = a.StartedAt
	}
	r.SafeSince = r.Started
	if a.Checkpoint != nil && a.Checkpoint.At.After(r.SafeSince) {
		r.SafeSince = a.Checkpoint.At
	}
	if a.Stop == nil || j.Phase != phaseStopping {
		return r
	}
	if r.Patient = patient(a.Stop); !r.Patient {
		r.Stopping = true
	}
	// Room is promised only to a job that still wants it.
	if w := s.jobs[a.Stop.For]; w != nil && w.Phase == phaseWaiting {
		r.StopFor = w.ID
	}
	return r
}

// patient reports whether a stop waits for the job as long as it takes.
func patient(s *pasar.Stop) bool { return s.Wait == pasar.Forever && !s.Now }

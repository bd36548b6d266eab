package daemon

import (
	"cmp"
	"slices"
	"time"

	"pasar"
	"pasar/sched"
)

// A phase is where a job is in its life; every fact switches on it.
type phase string

const (
	phaseWaiting   phase = "waiting"
	phaseLaunching phase = "launching" // launch journaled; the process is not known to exist
	phaseRunning   phase = "running"
	phaseStopping  phase = "stopping" // a stop is journaled
	phaseLeaving   phase = "leaving"  // nothing of it runs and the claim is free; the record isn't complete
	phaseFinished  phase = "finished"
)

// A job is everything the daemon knows of one. A job that has been put into the state is never
// changed: apply replaces it by a changed copy, so that readers need no lock.
type job struct {
	ID        pasar.JobID           `json:"id"`
	Spec      pasar.Spec            `json:"spec"`
	Phase     phase                 `json:"phase"`
	End       pasar.State           `json:"end,omitempty"` // finished: completed, failed or cancelled
	QueueTime time.Time             `json:"queue_time"`
	Created   time.Time             `json:"created"`
	Finished  time.Time             `json:"finished,omitzero"`
	Git       *pasar.Git            `json:"git,omitempty"`
	Attempts  []pasar.AttemptRecord `json:"attempts,omitempty"`
	Verdict   *pasar.Verdict        `json:"verdict,omitempty"` // of the job's end; the attempts have their own
}

func (j *job) clone() *job {
	c := *j
	c.Attempts = slices.Clone(j.Attempts)
	return &c
}

// state is the phase as clients see it.
func (j *job) state() pasar.State {
	switch j.Phase {
	case phaseWaiting:
		return pasar.Queued
	case phaseLaunching:
		return pasar.Starting
	case phaseRunning:
		return pasar.Running
	case phaseStopping, phaseLeaving:
		return pasar.Stopping // never running: its claim may be another's already
	}
	return j.End
}

// holds reports whether the job's current attempt holds its claim.
func (j *job) holds() bool {
	return j.Phase == phaseLaunching || j.Phase == phaseRunning || j.Phase == phaseStopping
}

// underWay reports whether the current attempt has not ended.
func (j *job) underWay() bool { return j.holds() || j.Phase == phaseLeaving }

// current is the latest attempt, or nil.
func (j *job) current() *pasar.AttemptRecord {
	if len(j.Attempts) == 0 {
		return nil
	}
	return &j.Attempts[len(j.Attempts)-1]
}

// keepFinished is how many finished jobs stay in memory, for `pasar ls`.
const keepFinished = 20

// keepAnswers is how many answers to mutating requests are remembered. Clients repeat a request
// for some seconds at most.
const keepAnswers = 8192

// state is the fold of all facts. Only the loop touches it.
type state struct {
	seq      int64
	next     pasar.JobID
	jobs     map[pasar.JobID]*job
	queue    []sched.Job // waiting jobs in the scheduler's order
	waiters  []*job      // the same jobs at the same places
	active   []*job      // attempts under way, by id
	recent   []*job      // finished, newest first; at most keepFinished
	keys     map[string]pasar.JobID
	answers  map[string]pasar.Answered
	answered []string // request ids in order, for forgetting
	machines map[string]pasar.Inventory
	incident []incident // newest last
	finished map[pasar.State]int
	touched  []pasar.JobID // replaced or forgotten since the last publish
	ended    []*job        // finished since the last batch: their rows go with it, also of those that have left memory
}

type incident struct {
	At     time.Time `json:"at"`
	What   string    `json:"what"`
	Detail string    `json:"detail"`
}

const keepIncidents = 20

func newState() *state {
	return &state{
		next:     1,
		jobs:     map[pasar.JobID]*job{},
		keys:     map[string]pasar.JobID{},
		answers:  map[string]pasar.Answered{},
		machines: map[string]pasar.Inventory{},
		finished: map[pasar.State]int{},
	}
}

// put replaces a job and files it where its phase says.
func (s *state) put(j *job) {
	old := s.jobs[j.ID]
	if old != nil {
		s.unfile(old)
	}
	s.jobs[j.ID] = j
	s.touched = append(s.touched, j.ID)
	if j.Spec.Key != "" {
		s.keys[j.Spec.Key] = j.ID
	}
	switch {
	case j.Phase == phaseWaiting:
		w := s.waiting(j)
		i, _ := slices.BinarySearchFunc(s.queue, w, sched.Compare)
		s.queue = slices.Insert(s.queue, i, w)
		s.waiters = slices.Insert(s.waiters, i, j)
	case j.underWay():
		i, _ := slices.BinarySearchFunc(s.active, j.ID, byID)
		s.active = slices.Insert(s.active, i, j)
	default:
		s.finished[j.End]++
		s.ended = append(s.ended, j)
		s.recent = slices.Insert(s.recent, 0, j)
		for len(s.recent) > keepFinished {
			last := s.recent[len(s.recent)-1]
			s.recent = s.recent[:len(s.recent)-1]
			s.forget(last)
		}
	}
}

func (s *state) unfile(j *job) {
	switch {
	case j.Phase == phaseWaiting:
		i, ok := slices.BinarySearchFunc(s.queue, s.waiting(j), sched.Compare)
		if ok {
			s.queue = slices.Delete(s.queue, i, i+1)
			s.waiters = slices.Delete(s.waiters, i, i+1)
		}
	case j.underWay():
		if i, ok := slices.BinarySearchFunc(s.active, j.ID, byID); ok {
			s.active = slices.Delete(s.active, i, i+1)
		}
	default:
		s.finished[j.End]--
		s.recent = slices.DeleteFunc(s.recent, func(r *job) bool { return r.ID == j.ID })
	}
}

// forget lets a finished job leave memory; the history has it.
func (s *state) forget(j *job) {
	delete(s.jobs, j.ID)
	s.touched = append(s.touched, j.ID)
	if s.keys[j.Spec.Key] == j.ID {
		delete(s.keys, j.Spec.Key)
	}
}

func byID(j *job, id pasar.JobID) int { return cmp.Compare(j.ID, id) }

func (s *state) waiting(j *job) sched.Job {
	return sched.Job{
		ID:        j.ID,
		Bid:       j.Spec.Bid,
		QueueTime: j.QueueTime,
		Claim:     j.Spec.Claim,
		Estimate:  time.Duration(j.Spec.Time),
		Held:      j.Spec.Hold,
	}
}

// input is what the scheduler may know. The queue is lent, not copied: Decide keeps nothing of it.
func (s *state) input(blocked string) sched.Input {
	in := sched.Input{Waiting: s.queue}
	for _, name := range sortedKeys(s.machines) {
		in.Machines = append(in.Machines, sched.Machine{Inventory: s.machines[name], Reachable: true, Blocked: blocked})
	}
	for _, j := range s.active {
		if !j.holds() {
			continue
		}
		a := j.current()
		in.Active = append(in.Active, sched.Running{
			ID: j.ID, Bid: j.Spec.Bid, Grant: a.Grant, Started: a.LaunchedAt,
			Estimate: time.Duration(j.Spec.Time), Stopping: j.Phase == phaseStopping,
		})
	}
	return in
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

package daemon

import (
	"cmp"
	"slices"
	"time"

	"pasar"
	"pasar/sched"
)

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
	paused   []*job      // by id
	recent   []*job      // finished, newest first; at most keepFinished
	keys     map[string]pasar.JobID
	answers  map[string]pasar.Answered
	answered []string // request ids in order, for forgetting
	machines map[string]pasar.Inventory
	incident []incident // newest last
	finished map[pasar.State]int
	tally    tally
	drains   drains
	after    map[pasar.JobID][]pasar.JobID // waiting jobs by each job whose end they wait for
	past     *past                         // what finished jobs needed
	stale    map[fingerprint]bool          // their past has grown: estimates of those that wait are to be made anew
	at       time.Time                     // of the record that is being applied
	stranded []stranded                    // since the loop last looked
	touched  []pasar.JobID                 // replaced or forgotten since the last publish
	ended    []*job                        // finished since the last batch: their rows go with it, also of those that have left memory
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
		drains:   drains{},
		after:    map[pasar.JobID][]pasar.JobID{},
		past:     newPast(),
		stale:    map[fingerprint]bool{},
	}
}

// put replaces a job and files it where its phase says.
func (s *state) put(j *job) {
	old := s.jobs[j.ID]
	s.follow(old, j)
	s.jobs[j.ID] = j
	s.touched = append(s.touched, j.ID)
	if j.Spec.Key != "" && j.leads() {
		s.keys[j.Spec.Key] = j.ID
	}
	if old != nil && old.Phase == phaseWaiting && j.Phase == phaseWaiting {
		if w := s.waiting(j); sched.Compare(s.waiting(old), w) == 0 { // it keeps its place
			if i, ok := s.placeOf(old); ok {
				s.queue[i], s.waiters[i] = w, j
				s.expect(old, j)
				return
			}
		}
	}
	if old != nil {
		s.unfile(old)
	}
	s.file(j)
}

func (s *state) file(j *job) {
	switch {
	case j.Phase == phaseWaiting:
		i, _ := s.placeOf(j)
		s.queue = slices.Insert(s.queue, i, s.waiting(j))
		s.waiters = slices.Insert(s.waiters, i, j)
		s.expect(nil, j)
	case j.underWay():
		s.active = insert(s.active, j)
	case j.Phase == phasePaused:
		s.paused = insert(s.paused, j)
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
		if i, ok := s.placeOf(j); ok {
			s.queue = slices.Delete(s.queue, i, i+1)
			s.waiters = slices.Delete(s.waiters, i, i+1)
		}
		s.expect(j, nil)
	case j.underWay():
		s.active = remove(s.active, j)
	case j.Phase == phasePaused:
		s.paused = remove(s.paused, j)
	default:
		s.finished[j.End]--
		s.recent = slices.DeleteFunc(s.recent, func(r *job) bool { return r.ID == j.ID })
	}
}

// placeOf is where a waiting job stands in the queue, or would.
func (s *state) placeOf(j *job) (int, bool) {
	return slices.BinarySearchFunc(s.queue, sched.Job{ID: j.ID, Bid: j.Spec.Bid, QueueTime: j.QueueTime}, sched.Compare)
}

func insert(list []*job, j *job) []*job {
	i, _ := slices.BinarySearchFunc(list, j.ID, byID)
	return slices.Insert(list, i, j)
}

func remove(list []*job, j *job) []*job {
	if i, ok := slices.BinarySearchFunc(list, j.ID, byID); ok {
		return slices.Delete(list, i, i+1)
	}
	return list
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

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"pasar"
	"pasar/sched"
)

// saved is the state as a snapshot keeps it. The lists that follow from the jobs are left out.
type saved struct {
	Format    int                        `json:"format"`
	Seq       int64                      `json:"seq"`
	Next      pasar.JobID                `json:"next"`
	Jobs      []*job                     `json:"jobs"` // unfinished ones, then the recent ones, oldest first
	Answers   []pasar.Answered           `json:"answers"`
	Machines  map[string]pasar.Inventory `json:"machines"`
	Incidents []incident                 `json:"incidents"`
	Finished  map[pasar.State]int        `json:"finished"`
}

// savedFormat is bumped when an older daemon could misread a snapshot; it then folds from the facts.
const savedFormat = 1

// freeze takes what a snapshot needs. Jobs are never changed in place, so the result may be encoded
// on another goroutine.
func (s *state) freeze() saved {
	sv := saved{
		Format: savedFormat, Seq: s.seq, Next: s.next,
		Machines: map[string]pasar.Inventory{}, Finished: map[pasar.State]int{},
		Incidents: slices.Clone(s.incident),
	}
	sv.Jobs = append(sv.Jobs, s.waiters...)
	sv.Jobs = append(sv.Jobs, s.active...)
	for _, j := range slices.Backward(s.recent) {
		sv.Jobs = append(sv.Jobs, j)
	}
	for _, r := range s.answered {
		sv.Answers = append(sv.Answers, s.answers[r])
	}
	for k, v := range s.machines {
		sv.Machines[k] = v
	}
	for k, v := range s.finished {
		sv.Finished[k] = v
	}
	return sv
}

// thaw rebuilds a state.
func thaw(b []byte) (*state, error) {
	var sv saved
	dec := json.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(&sv); err != nil {
		return nil, fmt.Errorf("decode snapshot: %w", err)
	}
	if sv.Format != savedFormat {
		return nil, fmt.Errorf("decode snapshot: format %d, this pasard knows %d", sv.Format, savedFormat)
	}
	s := newState()
	for _, j := range sv.Jobs {
		if j == nil {
			return nil, fmt.Errorf("decode snapshot: a job is missing")
		}
		s.jobs[j.ID] = j
		if j.Spec.Key != "" {
			s.keys[j.Spec.Key] = j.ID
		}
		switch {
		case j.Phase == phaseWaiting:
			s.queue = append(s.queue, s.waiting(j))
		case j.underWay():
			s.active = append(s.active, j)
		default:
			s.recent = append(s.recent, j)
		}
	}
	slices.SortFunc(s.queue, sched.Compare) // a newer pasard may order them otherwise
	for _, w := range s.queue {
		s.waiters = append(s.waiters, s.jobs[w.ID])
	}
	slices.Reverse(s.recent)
	for _, a := range sv.Answers {
		s.remember(a)
	}
	s.seq, s.next, s.incident = sv.Seq, sv.Next, sv.Incidents
	if sv.Machines != nil {
		s.machines = sv.Machines
	}
	if sv.Finished != nil {
		s.finished = sv.Finished
	}
	return s, nil
}

// fold is the state that the journal tells: the newest snapshot, and the facts after it. A snapshot
// that can't be read is passed over, as long as the facts go back to the beginning.
func (d *Daemon) fold(ctx context.Context) (*state, error) {
	s := newState()
	seq, body, err := d.Journal.Snapshot()
	if err != nil {
		return nil, fmt.Errorf("recover: %w", err)
	}
	if seq > 0 {
		t, err := thaw(body)
		if err == nil {
			s, d.saved = t, t.seq
		} else {
			d.Log.Warn("snapshot passed over", "error", err)
		}
	}
	first := true
	err = d.Journal.Facts(ctx, s.seq, func(r pasar.Record) error {
		if r.Seq != s.seq+1 {
			if first {
				return fmt.Errorf("facts %d to %d are missing", s.seq+1, r.Seq-1)
			}
			return fmt.Errorf("fact %d follows fact %d", r.Seq, s.seq)
		}
		first = false
		s.apply(r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("recover: %w", err)
	}
	return s, nil
}

// saveFrozen encodes and saves a snapshot.
func (d *Daemon) saveFrozen(sv saved) error {
	body, err := json.Marshal(sv)
	if err != nil {
		return fmt.Errorf("encode snapshot: %w", err)
	}
	if err := d.Journal.SaveSnapshot(sv.Seq, body); err != nil {
		return err
	}
	return d.Journal.Prune(sv.Seq - keepFacts)
}

// keepFacts is how many facts stay in the journal though a snapshot has them, for `pasar facts`.
const keepFacts = 100_000

// snapshotEvery is after how many facts a new snapshot is saved; it bounds the work of recovery.
const snapshotEvery = 2048

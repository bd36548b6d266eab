package daemon

import (
	"context"
	"fmt"

	"pasar"
)

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
	s.ended, s.stranded = nil, nil // their rows went with their facts, as did the ends of who waited for them
	return s, nil
}

// saveFrozen encodes and saves a snapshot.
func (d *Daemon) saveFrozen(sv saved) error {
	body, err := sv.encode()
	if err != nil {
		return err
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

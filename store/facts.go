package store

import (
	"context"
	"encoding/json"
	"fmt"

	"pasar"

	"zombiezen.com/go/sqlite"
)

// A RawFact is a record of the journal as it lies on disk.
type RawFact struct {
	Seq  int64
	JSON []byte // the record as one line, without the newline
}

// Bounds of one read, so that an Append is never held up for long.
const (
	readRows  = 256
	readBytes = 1 << 20
)

// Facts calls f with every fact after a sequence number, in order, until f fails or ctx is done. A
// gap, also right after that number, is a *DamagedError: what is folded over a gap isn't the state.
// Facts appended meanwhile are included. f may use the store.
func (s *Store) Facts(ctx context.Context, after int64, f func(pasar.Record) error) error {
	for {
		raw, err := s.RawFacts(ctx, after, readRows)
		if err != nil {
			return err
		}
		if len(raw) == 0 {
			return nil
		}
		for _, fact := range raw {
			if fact.Seq != after+1 {
				return s.damaged(fmt.Sprintf("facts %d to %d are missing", after+1, fact.Seq-1), nil)
			}
			var r pasar.Record
			if err := json.Unmarshal(fact.JSON, &r); err != nil {
				return s.damaged(fmt.Sprintf("fact %d can't be read", fact.Seq), err)
			}
			if r.Seq != fact.Seq {
				return s.damaged(fmt.Sprintf("fact %d says that it is %d", fact.Seq, r.Seq), nil)
			}
			if err := f(r); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			after = fact.Seq
		}
	}
}

// RawFacts is at most limit facts after a sequence number, in order; at least one if there is any,
// but no more once they are past 1 MiB together. Facts pruned away are passed over.
func (s *Store) RawFacts(ctx context.Context, after int64, limit int) ([]RawFact, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	defer s.until(ctx)()
	var facts []RawFact
	size := 0
	stop := fmt.Errorf("enough")
	err := s.run(qFacts, ints(after, int64(limit)), func(row *sqlite.Stmt) error {
		body := columnBytes(row, 1)
		facts = append(facts, RawFact{row.ColumnInt64(0), body})
		if size += len(body); size >= readBytes {
			return stop
		}
		return nil
	})
	if err != nil && err != stop {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, s.wrap("read facts", err)
	}
	return facts, nil
}

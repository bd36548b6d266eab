package store

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"zombiezen.com/go/sqlite"
)

const (
	keepSnapshots = 2         // the second is for the day the first can't be read
	partSize      = 256 << 10 // bytes written in one transaction
	pruneRows     = 1000      // facts deleted in one transaction
)

// snapshotRow is a complete snapshot's entry.
type snapshotRow struct {
	seq, size int64
	sum       []byte
}

// snapshots lists the complete ones, newest first. The caller holds mu.
func (s *Store) snapshots() (rows []snapshotRow, err error) {
	err = s.run(qSnapshots, nil, func(row *sqlite.Stmt) error {
		rows = append(rows, snapshotRow{row.ColumnInt64(0), row.ColumnInt64(1), columnBytes(row, 2)})
		return nil
	})
	return rows, err
}

// Snapshot is the newest snapshot and the fact it was taken after; 0 and nil when there is none. If
// the newest can't be read the one before it is returned, after which all facts are still there.
func (s *Store) Snapshot() (seq int64, body []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return 0, nil, fmt.Errorf("read snapshot: %w", err)
	}
	rows, err := s.snapshots()
	if err != nil {
		return 0, nil, s.wrap("read snapshots", err)
	}
	for _, r := range rows {
		body := make([]byte, 0, min(max(r.size, 0), 1<<30))
		err = s.run(qSnapshotParts, ints(r.seq), func(row *sqlite.Stmt) error {
			body = append(body, columnBytes(row, 0)...)
			return nil
		})
		if err != nil {
			continue
		}
		if sum := sha256.Sum256(body); bytes.Equal(sum[:], r.sum) {
			return r.seq, body, nil
		}
		err = fmt.Errorf("its bytes have changed")
	}
	if err != nil {
		return 0, nil, s.damaged("no snapshot can be read", err)
	}
	return 0, nil, nil
}

// SaveSnapshot keeps the state as it is after a fact, which must have been appended, and drops all
// but the newest two. It writes in steps between which an Append gets its turn; cut off half way it
// leaves nothing. A snapshot of that fact that exists already is left alone.
func (s *Store) SaveSnapshot(seq int64, body []byte) error {
	s.saving.Lock()
	defer s.saving.Unlock()
	doing := fmt.Sprintf("save snapshot %d", seq)

	exists := false
	err := s.step(0, func() error {
		if seq < 1 || seq > s.last {
			return fmt.Errorf("there is no such fact")
		}
		rows, err := s.snapshots()
		if err != nil {
			return err
		}
		for _, r := range rows {
			exists = exists || r.seq == seq
		}
		return s.run(qDropOrphanParts, nil, nil)
	})
	if err != nil || exists {
		return s.wrap(doing, err)
	}
	for part, rest := int64(0), body; len(rest) > 0; part++ {
		n := min(partSize, len(rest))
		err := s.step(int64(n), func() error {
			return s.run(qAddPart, func(stmt *sqlite.Stmt) {
				stmt.BindInt64(1, seq)
				stmt.BindInt64(2, part)
				stmt.BindBytes(3, rest[:n])
			}, nil)
		})
		if err != nil {
			return s.wrap(doing, err)
		}
		rest = rest[n:]
	}
	sum := sha256.Sum256(body)
	err = s.step(0, func() error {
		err := s.run(qAddSnapshot, func(stmt *sqlite.Stmt) {
			stmt.BindInt64(1, seq)
			stmt.BindInt64(2, int64(len(body)))
			stmt.BindBytes(3, sum[:])
		}, nil)
		if err != nil {
			return err
		}
		rows, err := s.snapshots()
		if err != nil {
			return err
		}
		for _, r := range rows[min(keepSnapshots, len(rows)):] {
			if err := s.run(qDropSnapshot, ints(r.seq), nil); err != nil {
				return err
			}
		}
		return s.run(qDropOrphanParts, nil, nil)
	})
	return s.wrap(doing, err)
}

// step runs f in a transaction of its own that adds size bytes.
func (s *Store) step(size int64, f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	if err := s.within(f); err != nil {
		return err
	}
	s.grown(size, 0)
	return nil
}

// Prune drops facts before a sequence number, but none that recovery from either of the newest two
// snapshots would need; with fewer than two snapshots it drops nothing.
func (s *Store) Prune(beforeSeq int64) error {
	s.saving.Lock()
	defer s.saving.Unlock()
	for {
		dropped := 0
		err := s.step(0, func() error {
			rows, err := s.snapshots()
			if err != nil || len(rows) < keepSnapshots {
				return err
			}
			upTo := min(beforeSeq-1, rows[keepSnapshots-1].seq)
			if err := s.run(qPruneFacts, ints(upTo, pruneRows), nil); err != nil {
				return err
			}
			dropped = s.conn.Changes()
			return nil
		})
		if err != nil || dropped < pruneRows {
			return s.wrap("prune facts", err)
		}
	}
}

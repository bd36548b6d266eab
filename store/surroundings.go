package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"pasar"

	"zombiezen.com/go/sqlite"
)

// setSpec points a job at surroundings, which jobs with the same ones share. What a job pointed at
// before goes when no other job does. The caller holds mu and a transaction.
func (s *Store) setSpec(job pasar.JobID, hash, body []byte) error {
	before, err := s.int(qSpec, int64(job))
	if err != nil {
		return err
	}
	var id int64
	err = s.run(qFindSurroundings, func(stmt *sqlite.Stmt) { stmt.BindBytes(1, hash) }, func(row *sqlite.Stmt) error {
		id = row.ColumnInt64(0)
		return nil
	})
	if err != nil {
		return err
	}
	if id == 0 {
		err := s.run(qAddSurroundings, func(stmt *sqlite.Stmt) {
			stmt.BindBytes(1, hash)
			stmt.BindBytes(2, body)
		}, nil)
		if err != nil {
			return err
		}
		id = s.conn.LastInsertRowID()
	}
	if id == before {
		return nil
	}
	if err := s.run(qSetSpec, ints(int64(job), id), nil); err != nil {
		return err
	}
	if before == 0 {
		return nil
	}
	return s.run(qDropSurroundings, ints(before), nil)
}

// Surroundings is what a job inherits, exactly as it was appended. A job without is an error.
func (s *Store) Surroundings(job pasar.JobID) (pasar.Surroundings, error) {
	var hash, body []byte
	s.mu.Lock()
	err := s.usable()
	if err == nil {
		err = s.run(qSurroundings, ints(int64(job)), func(row *sqlite.Stmt) error {
			hash, body = columnBytes(row, 0), columnBytes(row, 1)
			return nil
		})
	}
	s.mu.Unlock()

	doing := fmt.Sprintf("read surroundings of job %d", job)
	var v pasar.Surroundings
	switch {
	case err != nil:
		return v, s.wrap(doing, err)
	case body == nil:
		return v, fmt.Errorf("%s: none are kept", doing)
	}
	// A wrong environment would be passed to the job without a sign of it.
	if sum := sha256.Sum256(body); !bytes.Equal(hash, sum[:]) {
		return v, s.damaged(doing+": their bytes have changed", nil)
	}
	if err := json.Unmarshal(body, &v); err != nil {
		return pasar.Surroundings{}, s.damaged(doing, err)
	}
	return v, nil
}

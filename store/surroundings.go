package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"pasar"

	"zombiezen.com/go/sqlite"
)

// setSpecs points jobs at surroundings, which jobs with the same ones share. What a job pointed at
// before goes when no other job does. The caller holds mu and a transaction.
func (s *Store) setSpecs(jobs []pasar.JobID, hash, body []byte) error {
	id, err := s.surroundingsID(hash, body)
	if err != nil {
		return err
	}
	for _, job := range jobs {
		if err := s.run(qAddSpec, ints(int64(job), id), nil); err != nil {
			return err
		}
		if s.conn.Changes() == 0 { // it had some; new jobs, of which there may be many at once, have none
			if err := s.changeSpec(job, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// surroundingsID is where surroundings are, once they are there.
func (s *Store) surroundingsID(hash, body []byte) (id int64, err error) {
	err = s.run(qFindSurroundings, func(stmt *sqlite.Stmt) { stmt.BindBytes(1, hash) }, func(row *sqlite.Stmt) error {
		id = row.ColumnInt64(0)
		return nil
	})
	if err != nil || id != 0 {
		return id, err
	}
	err = s.run(qAddSurroundings, func(stmt *sqlite.Stmt) {
		stmt.BindBytes(1, hash)
		stmt.BindBytes(2, body)
	}, nil)
	return s.conn.LastInsertRowID(), err
}

func (s *Store) changeSpec(job pasar.JobID, id int64) error {
	before, err := s.int(qSpec, int64(job))
	if err != nil || before == id {
		return err
	}
	if err := s.run(qSetSpec, ints(int64(job), id), nil); err != nil {
		return err
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

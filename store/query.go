package store

import (
	"context"
	"errors"
	"time"

	"zombiezen.com/go/sqlite"
)

// The statements, prepared once and kept by the connection. Open prepares them all, which proves
// that every table and column they name is there.
const (
	qBegin    = "BEGIN IMMEDIATE"
	qCommit   = "COMMIT"
	qRollback = "ROLLBACK"

	qAddFact    = "INSERT INTO facts (seq, body) VALUES (?, ?)"
	qFacts      = "SELECT seq, body FROM facts WHERE seq > ? ORDER BY seq LIMIT ?"
	qPruneFacts = "DELETE FROM facts WHERE seq IN (SELECT seq FROM facts WHERE seq <= ? ORDER BY seq LIMIT ?)"

	qSnapshots       = "SELECT seq, size, sum FROM snapshots ORDER BY seq DESC"
	qSnapshotParts   = "SELECT body FROM snapshot_parts WHERE seq = ? ORDER BY part"
	qAddPart         = "INSERT INTO snapshot_parts (seq, part, body) VALUES (?, ?, ?)"
	qAddSnapshot     = "INSERT INTO snapshots (seq, size, sum) VALUES (?, ?, ?)"
	qDropSnapshot    = "DELETE FROM snapshots WHERE seq = ?"
	qDropOrphanParts = "DELETE FROM snapshot_parts WHERE seq NOT IN (SELECT seq FROM snapshots)"

	qFindSurroundings = "SELECT id FROM surroundings WHERE hash = ?"
	qAddSurroundings  = "INSERT INTO surroundings (hash, body) VALUES (?, ?)"
	qSpec             = "SELECT surroundings FROM specs WHERE job = ?"
	qSetSpec          = "INSERT INTO specs (job, surroundings) VALUES (?1, ?2) ON CONFLICT (job) DO UPDATE SET surroundings = ?2"
	qAddSpec          = "INSERT INTO specs (job, surroundings) VALUES (?, ?) ON CONFLICT (job) DO NOTHING"
	qDropSurroundings = "DELETE FROM surroundings WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM specs WHERE surroundings = ?1)"
	qSurroundings     = "SELECT s.hash, s.body FROM specs JOIN surroundings s ON s.id = specs.surroundings WHERE job = ?"

	jobColumns = `job, state, created, finished, submitter, "by", name, key, machine, tags, body`
	qAddJob    = "INSERT OR REPLACE INTO jobs (" + jobColumns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	qDropJob   = "DELETE FROM jobs WHERE job = ?"
	qAddTag    = "INSERT OR IGNORE INTO job_tags (job, tag) VALUES (?, ?)"
	qDropTags  = "DELETE FROM job_tags WHERE job = ?"
	qJob       = "SELECT " + jobColumns + " FROM jobs WHERE job = ?"
	qJobByKey  = "SELECT min(job) FROM jobs WHERE key = ? AND key <> ''"
	qCount     = "SELECT state, count(*) FROM jobs GROUP BY state"
)

var queries = []string{
	qBegin, qCommit, qRollback, qAddFact, qFacts, qPruneFacts, qSnapshots, qSnapshotParts, qAddPart, qAddSnapshot,
	qDropSnapshot, qDropOrphanParts, qFindSurroundings, qAddSurroundings, qSpec, qSetSpec, qAddSpec, qDropSurroundings,
	qSurroundings, qAddJob, qDropJob, qAddTag, qDropTags, qJob, qJobByKey, qCount,
}

// run executes one statement, calling row for each row. The caller holds mu. bind and row may be nil.
func (s *Store) run(query string, bind func(*sqlite.Stmt), row func(*sqlite.Stmt) error) (err error) {
	stmt, err := s.conn.Prepare(query)
	if err != nil {
		return err
	}
	defer func() {
		// Reset repeats the error of the last Step, which is known already.
		stmt.Reset()
		stmt.ClearBindings()
	}()
	if bind != nil {
		bind(stmt)
	}
	for {
		more, err := stmt.Step()
		if err != nil || !more {
			return err
		}
		if row != nil {
			if err := row(stmt); err != nil {
				return err
			}
		}
	}
}

// int is the first column of the first row, 0 when there is none. The caller holds mu.
func (s *Store) int(query string, args ...int64) (n int64, err error) {
	err = s.run(query, ints(args...), func(row *sqlite.Stmt) error {
		n = row.ColumnInt64(0)
		return nil
	})
	return n, err
}

func ints(args ...int64) func(*sqlite.Stmt) {
	return func(stmt *sqlite.Stmt) {
		for i, n := range args {
			stmt.BindInt64(i+1, n)
		}
	}
}

// within runs f in one transaction: all of it happens or nothing. The caller holds mu.
func (s *Store) within(f func() error) error {
	if err := s.run(qBegin, nil, nil); err != nil {
		return err
	}
	err := f()
	if err == nil {
		err = s.run(qCommit, nil, nil)
	}
	// Some errors, such as a full disk, have rolled back already; and a commit that failed has not.
	if err != nil && !s.conn.AutocommitEnabled() {
		err = errors.Join(err, s.run(qRollback, nil, nil))
	}
	return err
}

// until lets ctx interrupt what the connection does until the returned function is called. The
// caller holds mu.
func (s *Store) until(ctx context.Context) func() {
	old := s.conn.SetInterrupt(ctx.Done())
	return func() { s.conn.SetInterrupt(old) }
}

func columnBytes(row *sqlite.Stmt, col int) []byte {
	b := make([]byte, row.ColumnLen(col))
	row.ColumnBytes(col, b)
	return b
}

// nanos and instant keep a time in a column: nanoseconds since 1970, 0 for the zero time.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func instant(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

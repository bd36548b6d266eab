package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pasar"

	"zombiezen.com/go/sqlite"
)

// A JobRow is a finished job: what lists are made from, and the whole of it in the daemon's own
// encoding.
type JobRow struct {
	Job               pasar.JobID
	State             pasar.State
	Created, Finished time.Time
	Submitter, By     string
	Name, Key         string
	Machine           string
	Tags              []string
	Body              []byte
}

// A Query picks finished jobs. Its zero value is the newest DefaultLimit.
type Query struct {
	Limit     int           // at most this many; 0 is DefaultLimit
	Before    Place         // only those after this place in the order, which is newest first
	States    []pasar.State // any of these; empty is all
	Tag       string        // these as given, empty is any
	By        string
	Submitter string
	Machine   string
	Since     time.Time // finished then or later
	Until     time.Time // finished before that, or created before it and not before Since
	FromJob   pasar.JobID
	ToJob     pasar.JobID // with FromJob: ids from one to the other; 0: any
}

// A Place is where a page of finished jobs ended: the last row's time and job.
type Place struct {
	Finished time.Time
	Job      pasar.JobID
}

// DefaultLimit is how many rows a Query without a limit gives.
const DefaultLimit = 100

// addJob adds a finished job, or replaces it. The caller holds mu and a transaction.
func (s *Store) addJob(j *JobRow, tags []byte) error {
	err := s.run(qAddJob, func(stmt *sqlite.Stmt) {
		stmt.BindInt64(1, int64(j.Job))
		stmt.BindText(2, string(j.State))
		stmt.BindInt64(3, nanos(j.Created))
		stmt.BindInt64(4, nanos(j.Finished))
		for i, text := range []string{j.Submitter, j.By, j.Name, j.Key, j.Machine, string(tags)} {
			stmt.BindText(5+i, text)
		}
		stmt.BindBytes(11, j.Body)
	}, nil)
	if err != nil {
		return err
	}
	if err := s.run(qDropTags, ints(int64(j.Job)), nil); err != nil {
		return err
	}
	for _, tag := range j.Tags {
		if err := s.run(qAddTag, func(stmt *sqlite.Stmt) {
			stmt.BindInt64(1, int64(j.Job))
			stmt.BindText(2, tag)
		}, nil); err != nil {
			return err
		}
	}
	return nil
}

// dropJob removes a job's row, if there is one. The caller holds mu and a transaction.
func (s *Store) dropJob(id pasar.JobID) error {
	if err := s.run(qDropTags, ints(int64(id)), nil); err != nil {
		return err
	}
	return s.run(qDropJob, ints(int64(id)), nil)
}

// jobRow reads the columns jobColumns.
func jobRow(row *sqlite.Stmt) (JobRow, error) {
	j := JobRow{
		Job:       pasar.JobID(row.ColumnInt64(0)),
		State:     pasar.State(row.ColumnText(1)),
		Created:   instant(row.ColumnInt64(2)),
		Finished:  instant(row.ColumnInt64(3)),
		Submitter: row.ColumnText(4),
		By:        row.ColumnText(5),
		Name:      row.ColumnText(6),
		Key:       row.ColumnText(7),
		Machine:   row.ColumnText(8),
		Body:      columnBytes(row, 10),
	}
	if err := json.Unmarshal([]byte(row.ColumnText(9)), &j.Tags); err != nil {
		return j, fmt.Errorf("decode tags of job %d: %w", j.Job, err)
	}
	if len(j.Tags) == 0 {
		j.Tags = nil
	}
	return j, nil
}

// Job is one finished job; false when no such job has finished.
func (s *Store) Job(id pasar.JobID) (j JobRow, ok bool, err error) {
	rows, err := s.jobs(fmt.Sprintf("read job %d", id), qJob, ints(int64(id)))
	if err != nil || len(rows) == 0 {
		return JobRow{}, false, err
	}
	return rows[0], true, nil
}

// JobByKey is the first finished job submitted with a key; false when there is none.
func (s *Store) JobByKey(key string) (id pasar.JobID, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return 0, false, fmt.Errorf("find job by key: %w", err)
	}
	err = s.run(qJobByKey, func(stmt *sqlite.Stmt) { stmt.BindText(1, key) }, func(row *sqlite.Stmt) error {
		id = pasar.JobID(row.ColumnInt64(0))
		return nil
	})
	return id, id != 0 && err == nil, s.wrap("find job by key", err)
}

// Jobs is the finished jobs a query picks, newest first, the higher id first at equal times.
func (s *Store) Jobs(q Query) ([]JobRow, error) {
	query, bind := q.sql()
	return s.jobs("list finished jobs", query, bind)
}

func (s *Store) jobs(doing, query string, bind func(*sqlite.Stmt)) (rows []JobRow, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	err = s.run(query, bind, func(row *sqlite.Stmt) error {
		j, err := jobRow(row)
		rows = append(rows, j)
		return err
	})
	if err != nil {
		return nil, s.wrap(doing, err)
	}
	return rows, nil
}

// sql is the query as a statement. Its text depends only on which fields are set and how many
// states there are, so that few are ever prepared.
func (q Query) sql() (string, func(*sqlite.Stmt)) {
	var where []string
	var args []any
	and := func(cond string, values ...any) {
		where, args = append(where, cond), append(args, values...)
	}
	if q.Before != (Place{}) {
		and("(finished, job) < (?, ?)", nanos(q.Before.Finished), int64(q.Before.Job))
	}
	if !q.Since.IsZero() {
		and("finished >= ?", nanos(q.Since))
	}
	switch { // nothing ends before it is created
	case q.Until.IsZero():
	case q.Since.IsZero():
		and("created < ?", nanos(q.Until))
	default:
		and("(finished < ? OR created >= ? AND created < ?)", nanos(q.Until), nanos(q.Since), nanos(q.Until))
	}
	if q.ToJob != 0 {
		and("job BETWEEN ? AND ?", int64(q.FromJob), int64(q.ToJob))
	}
	if len(q.States) > 0 {
		var values []any
		for _, state := range q.States {
			values = append(values, string(state))
		}
		and("state IN (?"+strings.Repeat(", ?", len(values)-1)+")", values...)
	}
	if q.Tag != "" {
		and("EXISTS (SELECT 1 FROM job_tags t WHERE t.job = jobs.job AND t.tag = ?)", q.Tag)
	}
	for _, f := range []struct{ cond, value string }{
		{`"by" = ?`, q.By}, {"submitter = ?", q.Submitter}, {"machine = ?", q.Machine},
	} {
		if f.value != "" {
			and(f.cond, f.value)
		}
	}
	query := "SELECT " + jobColumns + " FROM jobs"
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	query += " ORDER BY finished DESC, job DESC LIMIT ?"
	limit := q.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	args = append(args, int64(limit))
	return query, func(stmt *sqlite.Stmt) {
		for i, a := range args {
			switch a := a.(type) {
			case int64:
				stmt.BindInt64(i+1, a)
			case string:
				stmt.BindText(i+1, a)
			}
		}
	}
}

// CountByState counts the finished jobs.
func (s *Store) CountByState() (map[pasar.State]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return nil, fmt.Errorf("count jobs: %w", err)
	}
	n := map[pasar.State]int{}
	err := s.run(qCount, nil, func(row *sqlite.Stmt) error {
		n[pasar.State(row.ColumnText(0))] = row.ColumnInt(1)
		return nil
	})
	if err != nil {
		return nil, s.wrap("count jobs", err)
	}
	return n, nil
}

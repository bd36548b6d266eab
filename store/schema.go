package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// applicationID marks the file as pasar's: "pasr" in ASCII, as file(1) sees it.
const applicationID = 0x70617372

// migrations are the steps from an empty database to the present schema: step i leads to version
// i+1. A step that was ever released is never changed; testdata keeps a database of each version.
var migrations = []string{
	// facts.body is the record as one line of JSON. Times are nanoseconds since 1970, 0 for none.
	// A snapshot is complete when its row in snapshots exists: its parts are written before.
	`CREATE TABLE facts (seq INTEGER PRIMARY KEY, body BLOB NOT NULL);

	CREATE TABLE snapshots (seq INTEGER PRIMARY KEY, size INTEGER NOT NULL, sum BLOB NOT NULL);
	CREATE TABLE snapshot_parts (seq INTEGER NOT NULL, part INTEGER NOT NULL, body BLOB NOT NULL, UNIQUE (seq, part));

	CREATE TABLE surroundings (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, body BLOB NOT NULL);
	CREATE TABLE specs (job INTEGER PRIMARY KEY, surroundings INTEGER NOT NULL REFERENCES surroundings (id));
	CREATE INDEX specs_surroundings ON specs (surroundings);

	CREATE TABLE jobs (
		job INTEGER PRIMARY KEY, state TEXT NOT NULL, created INTEGER NOT NULL, finished INTEGER NOT NULL,
		submitter TEXT NOT NULL, "by" TEXT NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL, machine TEXT NOT NULL,
		tags TEXT NOT NULL, body BLOB NOT NULL);
	CREATE INDEX jobs_finished ON jobs (finished, job);
	CREATE INDEX jobs_state ON jobs (state, finished, job);
	CREATE INDEX jobs_key ON jobs (key) WHERE key <> '';
	CREATE TABLE job_tags (job INTEGER NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (tag, job)) WITHOUT ROWID;
	CREATE INDEX job_tags_job ON job_tags (job);`,
}

// Version is the schema version this code writes.
var Version = len(migrations)

// connect opens the database with the settings everything here relies on. Exclusive locking comes
// first: with it, WAL keeps its index in our memory and there is no shared-memory file.
func connect(path string) (*sqlite.Conn, error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	for _, pragma := range []string{
		"locking_mode=EXCLUSIVE",
		"journal_mode=WAL",
		"synchronous=FULL",
		"wal_autocheckpoint=0",       // the checkpointer does it, off the path of an Append
		"journal_size_limit=8388608", // bytes of log left over after a checkpoint
		"cache_size=-1024",           // KiB
		"temp_store=MEMORY",
		"foreign_keys=ON",
	} {
		if err == nil {
			err = sqlitex.ExecuteTransient(conn, "PRAGMA "+pragma, nil)
		}
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// create makes a database under another name and renames it, so that what is found under its own
// name is always whole: a short or empty pasar.db is damage, never a start cut off.
func (s *Store) create() (err error) {
	fresh := s.path + ".new"
	for _, leftover := range []string{fresh, fresh + "-wal", fresh + "-journal"} {
		if err := os.RemoveAll(leftover); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(fresh, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			os.Remove(fresh)
		}
	}()
	conn, err := connect(fresh)
	if err != nil {
		return s.wrap("open", err)
	}
	err = sqlitex.ExecuteTransient(conn, fmt.Sprintf("PRAGMA application_id=%d", applicationID), nil)
	if err == nil {
		err = migrate(conn, 0)
	}
	// Closing folds the log into the file and removes it.
	if err := errors.Join(err, conn.Close()); err != nil {
		return s.wrap("set up", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	if err := os.Rename(fresh, s.path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(s.path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// migrate brings a database from a version to the present one, each step in its own transaction.
func migrate(conn *sqlite.Conn, from int) error {
	for v := from; v < len(migrations); v++ {
		step := fmt.Sprintf("%s\nPRAGMA user_version=%d;", migrations[v], v+1)
		if err := sqlitex.ExecuteScript(conn, step, nil); err != nil {
			return fmt.Errorf("migrate to schema %d: %w", v+1, err)
		}
	}
	return nil
}

// ready migrates an opened database and makes sure that it can be read where it matters. A page
// that is malformed elsewhere is an error of the call that meets it.
func (s *Store) ready() error {
	version, err := s.int("PRAGMA user_version")
	if err != nil {
		return s.wrap("read its version", err)
	}
	if version > int64(Version) {
		return &NewerError{Path: s.path, Found: int(version), Known: Version}
	}
	if version < 1 {
		return s.damaged("it has no schema version", nil)
	}
	if err := migrate(s.conn, int(version)); err != nil {
		return s.wrap("migrate "+s.path, err)
	}
	for _, query := range queries {
		if _, err := s.conn.Prepare(query); err != nil {
			return s.damaged("its schema is not what it should be", err)
		}
	}
	for _, table := range []string{"snapshot_parts", "surroundings", "specs", "jobs", "job_tags"} {
		if _, err := s.int("SELECT count(*) FROM (SELECT 1 FROM " + table + " LIMIT 1)"); err != nil {
			return s.damaged("its table "+table+" can't be read", err)
		}
	}
	return s.readEnd()
}

// readEnd finds the last fact and makes sure that the end of the journal is whole.
func (s *Store) readEnd() error {
	want := int64(0)
	err := s.run("SELECT seq, body FROM facts ORDER BY seq DESC LIMIT 64", nil, func(row *sqlite.Stmt) error {
		seq := row.ColumnInt64(0)
		if want == 0 {
			s.last, want = seq, seq
		}
		var head struct{ Seq int64 }
		if err := json.Unmarshal(columnBytes(row, 1), &head); err != nil {
			return s.damaged(fmt.Sprintf("fact %d can't be read", seq), err)
		}
		if seq != want || head.Seq != want {
			return s.damaged(fmt.Sprintf("fact %d is missing", want), nil)
		}
		want--
		return nil
	})
	if err != nil {
		return s.wrap("its last facts can't be read", err)
	}
	newest, err := s.int("SELECT coalesce(max(seq), 0) FROM snapshots")
	if err != nil {
		return s.damaged("its snapshots can't be read", err)
	}
	if newest > s.last {
		return s.damaged(fmt.Sprintf("facts %d to %d are missing", s.last+1, newest), nil)
	}
	return nil
}

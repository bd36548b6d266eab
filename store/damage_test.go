package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
)

// filled is a data directory as a daemon leaves it: closed, or as kill -9 leaves it, with its log. It is
// made once and copied.
func filled(t testing.TB, closed bool) string {
	t.Helper()
	made, err := makeFilled()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	from := made.killed
	if closed {
		from = made.closed
	}
	for name, b := range from {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// made holds files by name.
type made struct{ closed, killed map[string][]byte }

var makeFilled = sync.OnceValues(func() (m made, err error) {
	dir, err := os.MkdirTemp("", "filled")
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(dir)
	s, err := Open(dir)
	if err != nil {
		return m, err
	}
	defer s.Close()
	for seq := int64(1); seq <= 2000; seq += 100 {
		b := Batch{Records: facts(seq, seq+99), Finished: []JobRow{{Job: pasar.JobID(seq), Body: make([]byte, 2000)}}}
		if err := s.Append(b); err != nil {
			return m, err
		}
	}
	if m.killed, err = files(dir); err != nil {
		return m, err
	}
	if err := s.Close(); err != nil {
		return m, err
	}
	m.closed, err = files(dir)
	return m, err
})

func files(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	found := map[string][]byte{}
	for _, e := range entries {
		if found[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// tree is every file under dir with its bytes.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == lockName {
			return err
		}
		b, err := os.ReadFile(path)
		files[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func edit(t testing.TB, path string, f func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, f(b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func sql(t testing.TB, dir, query string) {
	t.Helper()
	conn, err := connect(filepath.Join(dir, dbName))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s := &Store{conn: conn}
	if err := s.run(query, nil, nil); err != nil {
		t.Fatal(err)
	}
}

// checkRefusal holds that an error of Open is one line that names the file, with a way out.
func checkRefusal(t *testing.T, err error) {
	t.Helper()
	hinted, ok := err.(interface{ Hint() string })
	if !ok {
		t.Fatalf("%v (%T) has no hint", err, err)
	}
	if msg := err.Error(); strings.Contains(msg, "\n") || !strings.Contains(msg, "/") {
		t.Errorf("not one line with the file: %q", msg)
	}
	if hinted.Hint() == "" {
		t.Error("empty hint")
	}
}

func TestADamagedDatabaseIsRefusedAndLeftAsItIs(t *testing.T) {
	db := func(dir string) string { return filepath.Join(dir, dbName) }
	for name, c := range map[string]struct {
		killed bool // with a write-ahead log
		damage func(t *testing.T, dir string)
	}{
		"empty":              {false, func(t *testing.T, dir string) { os.Truncate(db(dir), 0) }},
		"empty with its log": {true, func(t *testing.T, dir string) { os.Truncate(db(dir), 0) }},
		"cut off in the header": {false, func(t *testing.T, dir string) {
			os.Truncate(db(dir), 50)
		}},
		"cut off by a page": {false, func(t *testing.T, dir string) {
			info, _ := os.Stat(db(dir))
			os.Truncate(db(dir), info.Size()-4096)
		}},
		"cut in half": {false, func(t *testing.T, dir string) {
			info, _ := os.Stat(db(dir))
			os.Truncate(db(dir), info.Size()/2)
		}},
		"text": {false, func(t *testing.T, dir string) {
			os.WriteFile(db(dir), bytes.Repeat([]byte("not a database\n"), 1000), 0o600)
		}},
		"noise": {false, func(t *testing.T, dir string) {
			edit(t, db(dir), func(b []byte) []byte {
				for i := range b {
					b[i] = byte(i * 7919 >> 3)
				}
				return b
			})
		}},
		"a directory": {false, func(t *testing.T, dir string) {
			os.Remove(db(dir))
			os.Mkdir(db(dir), 0o700)
		}},
		"someone else's": {false, func(t *testing.T, dir string) { sql(t, dir, "PRAGMA application_id=7") }},
		"no version":     {false, func(t *testing.T, dir string) { sql(t, dir, "PRAGMA user_version=0") }},
		"table missing":  {false, func(t *testing.T, dir string) { sql(t, dir, "DROP TABLE job_tags") }},
		"column missing": {false, func(t *testing.T, dir string) { sql(t, dir, "ALTER TABLE jobs DROP COLUMN machine") }},
		"last fact gone bad": {false, func(t *testing.T, dir string) {
			sql(t, dir, "UPDATE facts SET body = x'00' WHERE seq = 2000")
		}},
		"fact missing": {false, func(t *testing.T, dir string) { sql(t, dir, "DELETE FROM facts WHERE seq = 1999") }},
		"facts older than the snapshot": {false, func(t *testing.T, dir string) {
			sql(t, dir, "INSERT INTO snapshots VALUES (2001, 0, x'')")
		}},
		"pages overwritten with zeros": {false, func(t *testing.T, dir string) {
			edit(t, db(dir), func(b []byte) []byte { clear(b[4096:]); return b })
		}},
		"database missing beside its log": {true, func(t *testing.T, dir string) { os.Remove(db(dir)) }},
		"database missing beside jobs": {false, func(t *testing.T, dir string) {
			os.Remove(db(dir))
			os.MkdirAll(filepath.Join(dir, jobsName, "1"), 0o700)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t, !c.killed)
			c.damage(t, dir)
			before := tree(t, dir)
			s, err := Open(dir)
			var damaged *DamagedError
			if !errors.As(err, &damaged) {
				if err == nil {
					s.Close()
				}
				t.Fatalf("opened: %v", err)
			}
			t.Log(err)
			checkRefusal(t, err)
			if after := tree(t, dir); len(after) != len(before) {
				t.Errorf("files were %d, are %d", len(before), len(after))
			} else {
				for path, b := range before {
					if after[path] != b {
						t.Errorf("%s was changed", path)
					}
				}
			}
		})
	}
}

func TestANewerDatabaseIsRefusedAndLeftAsItIs(t *testing.T) {
	dir := filled(t, true)
	sql(t, dir, "PRAGMA user_version=77")
	before := tree(t, dir)
	_, err := Open(dir)
	var newer *NewerError
	if !errors.As(err, &newer) || newer.Found != 77 || newer.Known != Version {
		t.Fatalf("opened: %v", err)
	}
	checkRefusal(t, err)
	for path, b := range tree(t, dir) {
		if before[path] != b {
			t.Errorf("%s was changed", path)
		}
	}
}

func TestADatabaseAsKillLeavesItOpensWithEverything(t *testing.T) {
	s := open(t, filled(t, false))
	if got := readFacts(t, s, 0); len(got) != 2000 {
		t.Errorf("%d facts, want 2000", len(got))
	}
	if got, _ := s.Jobs(Query{}); len(got) != 20 {
		t.Errorf("%d jobs, want 20", len(got))
	}
}

// A checkpoint writes the first page, with the new size, before the last pages.
func TestACheckpointCutOffHalfWayIsNoDamage(t *testing.T) {
	dir := filled(t, false)
	whole := filled(t, true)
	path := filepath.Join(dir, dbName)
	first, err := os.ReadFile(filepath.Join(whole, dbName))
	if err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(path); info.Size() >= int64(len(first)) {
		t.Fatalf("the database is %d bytes before the checkpoint, %d after: this tests nothing", info.Size(), len(first))
	}
	edit(t, path, func(b []byte) []byte { copy(b, first[:4096]); return b })
	s := open(t, dir)
	if got := readFacts(t, s, 0); len(got) != 2000 {
		t.Errorf("%d facts, want 2000", len(got))
	}
}

func TestAMalformedPageFoundLaterIsAnErrorOfThatCall(t *testing.T) {
	dir := filled(t, true)
	s := open(t, dir)
	s.mu.Lock()
	page, err := s.int("SELECT rootpage FROM sqlite_schema WHERE name = 'jobs_key'")
	s.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	edit(t, filepath.Join(dir, dbName), func(b []byte) []byte { clear(b[(page-1)*4096 : page*4096]); return b })
	s = open(t, dir)
	var damaged *DamagedError
	if _, _, err := s.JobByKey("k"); !errors.As(err, &damaged) {
		t.Errorf("read from a page of zeros: %v", err)
	}
	if got := readFacts(t, s, 0); len(got) != 2000 {
		t.Errorf("%d facts, want 2000", len(got))
	}
}

func TestASecondDaemonIsRefusedWithThePidOfTheFirst(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	_, err := Open(dir)
	var locked *LockedError
	if !errors.As(err, &locked) || locked.Pid != os.Getpid() {
		t.Fatalf("opened twice: %v", err)
	}
	checkRefusal(t, err)

	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"=open", dirEnv+"="+dir)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), locked.Error()) {
		t.Errorf("another process: %v, %s", err, out)
	}
	s.Close()
	open(t, dir)
}

func TestALeftoverOfACreationCutOffIsNoObstacle(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".new", ".new-wal", ".new-journal"} {
		if err := os.WriteFile(filepath.Join(dir, dbName+name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	appendOK(t, open(t, dir), Batch{Records: facts(1, 1)})
	if left, _ := filepath.Glob(filepath.Join(dir, "*.new*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func FuzzDecodeHeader(f *testing.F) {
	good, err := os.ReadFile(filepath.Join("testdata", "v1.db"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good[:headerSize])
	f.Add([]byte("SQLite format 3\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHeader(b)
		if err == nil && (h.pageSize < 512 || h.pages < 0) {
			t.Errorf("header %+v", h)
		}
	})
}

func FuzzWalPages(f *testing.F) {
	wal := binary.BigEndian.AppendUint32(nil, 0x377f0682)
	wal = append(wal, make([]byte, walHeaderSize-4)...)
	binary.BigEndian.PutUint32(wal[8:], 512)
	frame := make([]byte, frameHeaderSize+512)
	frame[3] = 9
	f.Add(append(wal, frame...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if pages, err := walPages(bytes.NewReader(b)); err == nil && len(pages) > len(b)/512 {
			t.Errorf("%d pages in %d bytes", len(pages), len(b))
		}
	})
}

func FuzzDecodePid(f *testing.F) {
	f.Add([]byte("123\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if decodePid(b) < 0 {
			t.Error("negative pid")
		}
	})
}

// FuzzOpen changes a few bytes of a database: it opens or is refused, and never panics or hangs.
func FuzzOpen(f *testing.F) {
	good, err := os.ReadFile(filepath.Join("testdata", "v1.db"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint16(0), []byte("x"))
	f.Add(uint16(4096), []byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, at uint16, change []byte) {
		db := bytes.Clone(good)
		copy(db[int(at)%len(db):], change)
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, dbName), db, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir)
		if err != nil {
			return
		}
		s.Facts(t.Context(), 0, func(pasar.Record) error { return nil })
		s.Jobs(Query{})
		s.Snapshot()
		s.Surroundings(1)
		s.Close()
	})
}

func TestALockThatAKilledDaemonLeftToItsChildIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dead := exec.Command("/bin/sh", "-c", "exit 0")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(strconv.Itoa(dead.Process.Pid) + "\n"); err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		s, err := Open(dir)
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("the lock isn't free, and it is done: %v", err)
	case <-time.After(10 * lockAgain):
	}
	_ = f.Close() // as the child does when it executes
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

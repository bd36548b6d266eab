package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/store"
)

// tree describes every file below a directory: name, mode, size, time, content.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		var text []byte
		if fi.Mode().IsRegular() {
			if text, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		fmt.Fprintf(&b, "%s %s %d %s %x\n", path, fi.Mode(), fi.Size(), fi.ModTime(), text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// killedJournal leaves a journal of n facts as a daemon that was killed does: with its log.
func killedJournal(t *testing.T, m *sickMachine, n int) {
	t.Helper()
	alive := filepath.Join(t.TempDir(), "alive")
	st, err := store.Open(alive)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for i := range n {
		r := pasar.Record{Seq: int64(i + 1), At: time.Unix(1.7e9, 0), Boot: "b", Fact: pasar.DaemonStarted{Pid: 1, Version: "1"}}
		if err := st.Append(store.Batch{Records: []pasar.Record{r}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{journalDB, journalWAL, journalLock} {
		b, err := os.ReadFile(filepath.Join(alive, name))
		if err != nil {
			t.Fatal(err)
		}
		m.write(filepath.Join(m.data, name), string(b))
	}
}

func TestNothingIsChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := wellMachine(t)
		killedJournal(t, m, 3)
		m.chmod(filepath.Join(m.data, journalDB), 0o644) // opening it would correct this
		m.noDaemon()
		home := m.vars["HOME"]
		before := tree(t, home) + tree(t, m.root)
		f, ok := m.examined()[journalFine]
		if !ok || !strings.Contains(f.Found, "3 facts") {
			t.Errorf("of the journal it says %+v", f)
		}
		if after := tree(t, home) + tree(t, m.root); after != before {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
		m.cleanUp()
		if _, err := os.Stat(m.scratch); err == nil {
			t.Errorf("the copy is still there")
		}
	})
}

func TestWhatIsSaidOfAJournalNamesItAndNotItsCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := wellMachine(t)
		m.write(filepath.Join(m.data, journalDB), strings.Repeat("not a database ", 100))
		m.noDaemon()
		f, ok := m.examined()[journalDamaged]
		if text := f.Found + f.Fix; !ok || strings.Contains(text, m.scratch) || !strings.Contains(f.Found, m.data) || !strings.Contains(f.Fix, m.data) {
			t.Errorf("it says %+v", f)
		}
	})
}

func TestTheCopyOfAJournalIsPrivate(t *testing.T) {
	m := wellMachine(t)
	killedJournal(t, m, 1)
	some, err := copyJournal(t.Context(), m.data, m.scratch)
	if !some || err != nil {
		t.Fatalf("copied: %t, %v", some, err)
	}
	for name, want := range map[string]fs.FileMode{"": fs.ModeDir | 0o700, journalDB: 0o600, journalWAL: 0o600} {
		fi, err := os.Stat(filepath.Join(m.scratch, name))
		if err != nil || fi.Mode() != want {
			t.Errorf("%q: %v, %v; want mode %s", name, fi.Mode(), err, want)
		}
	}
}

func TestTheHolderOfALockIsNamed(t *testing.T) {
	m := wellMachine(t)
	if held, _, err := lockHeld(m.data); held || err != nil {
		t.Errorf("held: %t, %v, without a lock", held, err)
	}
	m.hold()
	if held, pid, err := lockHeld(m.data); !held || pid != os.Getpid() || err != nil {
		t.Errorf("held: %t by %d, %v; want by %d", held, pid, err, os.Getpid())
	}
}

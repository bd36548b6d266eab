package local

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/attemptdir"
)

// keptMachine is a machine with directories of attempts that ended so many hours ago, 64 KiB each.
func keptMachine(t *testing.T, now time.Time, hours map[pasar.AttemptKey]int) *Machine {
	t.Helper()
	m := &Machine{o: Options{DataDir: t.TempDir()}}
	for k, h := range hours {
		dir := m.attemptDir(k)
		if err := os.MkdirAll(filepath.Join(m.jobDir(k.Job), persistDir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(m.certificate(k), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		at := now.Add(-time.Duration(h) * time.Hour)
		file := filepath.Join(dir, pasar.OutputFile)
		if err := os.WriteFile(file, make([]byte, 64<<10), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{file, dir} {
			if err := os.Chtimes(p, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	return m
}

func (m *Machine) left(t *testing.T) []string {
	t.Helper()
	keys, err := m.scan()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, k := range keys {
		out = append(out, k.String())
	}
	slices.Sort(out)
	return out
}

func TestOldOutputIsLetGoByAgeAndSize(t *testing.T) {
	now := time.Now()
	key := func(j pasar.JobID, a int) pasar.AttemptKey { return pasar.AttemptKey{Job: j, Attempt: a} }
	hours := map[pasar.AttemptKey]int{key(1, 1): 50, key(1, 2): 40, key(2, 1): 30, key(3, 1): 20, key(4, 1): 60}
	running := func(id pasar.JobID) bool { return id != 4 } // job 4 is not over
	for name, c := range map[string]struct {
		age  time.Duration
		size pasar.Bytes
		want []string
	}{
		"no bound":     {0, 0, []string{"1.1", "1.2", "2.1", "3.1", "4.1"}},
		"by age":       {35 * time.Hour, 0, []string{"2.1", "3.1", "4.1"}},
		"by size":      {0, 2 * 80 * pasar.KiB, []string{"2.1", "3.1", "4.1"}},
		"by both":      {45 * time.Hour, 100 * pasar.KiB, []string{"3.1", "4.1"}},
		"nothing fits": {0, 1, []string{"4.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := keptMachine(t, now, hours)
			r, err := m.Retain(t.Context(), c.age, c.size, now, running)
			if err != nil {
				t.Fatal(err)
			}
			if got := m.left(t); !slices.Equal(got, c.want) {
				t.Errorf("left %v, want %v", got, c.want)
			}
			for k := range hours {
				if _, err := os.Stat(m.certificate(k)); (err == nil) != slices.Contains(c.want, k.String()) {
					t.Errorf("the certificate of %s: %v", k, err)
				}
			}
			if r.Attempts != len(hours)-len(c.want) || (r.Attempts > 0) != (r.Freed > 0) {
				t.Errorf("said %+v", r)
			}
		})
	}
}

func TestCheckpointsAreNeverLetGo(t *testing.T) {
	now := time.Now()
	m := keptMachine(t, now, map[pasar.AttemptKey]int{{Job: 1, Attempt: 1}: 9, {Job: 2, Attempt: 1}: 9})
	saved := filepath.Join(m.jobDir(1), persistDir, "model.pt")
	if err := os.WriteFile(saved, []byte("weights"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Retain(t.Context(), time.Hour, 0, now, func(pasar.JobID) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(saved); err != nil {
		t.Errorf("the checkpoint is gone: %v", err)
	}
	if _, err := os.Stat(m.jobDir(2)); !os.IsNotExist(err) {
		t.Errorf("the directory of a job with nothing left stays (%v)", err)
	}
}

func TestAnAttemptWithALivingSupervisorIsLeftAlone(t *testing.T) {
	now := time.Now()
	k := pasar.AttemptKey{Job: 1, Attempt: 1}
	m := keptMachine(t, now, map[pasar.AttemptKey]int{k: 9})
	f, err := os.Create(filepath.Join(m.attemptDir(k), pasar.ClaimFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if free, err := tryLock(f, unix.LOCK_EX); err != nil || !free {
		t.Fatal(free, err)
	}
	if _, err := m.Retain(t.Context(), time.Hour, 0, now.Add(time.Hour*99), func(pasar.JobID) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if got := m.left(t); len(got) != 1 {
		t.Errorf("left %v", got)
	}
}

func TestEverySegmentCountsForTheSize(t *testing.T) {
	now := time.Now()
	a, b := pasar.AttemptKey{Job: 1, Attempt: 1}, pasar.AttemptKey{Job: 2, Attempt: 1}
	m := keptMachine(t, now, map[pasar.AttemptKey]int{a: 9, b: 8})
	for off := int64(1); off <= 10; off++ {
		file := filepath.Join(m.attemptDir(a), attemptdir.SegmentName(off<<16))
		if err := os.WriteFile(file, make([]byte, 64<<10), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{file, m.attemptDir(a)} {
			if err := os.Chtimes(p, now.Add(-9*time.Hour), now.Add(-9*time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
	}
	r, err := m.Retain(t.Context(), 0, 200*pasar.KiB, now, func(pasar.JobID) bool { return true })
	if err != nil || r.Freed < 11*64*pasar.KiB {
		t.Errorf("%+v, %v", r, err)
	}
	if got := m.left(t); !slices.Equal(got, []string{"2.1"}) {
		t.Errorf("left %v", got)
	}
}

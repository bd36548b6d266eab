package local

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/target"
)

// needCgroup skips a test where no cgroup is delegated to this process, or fails it where one must be.
func needCgroup(t *testing.T) *nursery {
	t.Helper()
	h := thisHost()
	n, err := findNursery(&h)
	if err != nil && os.Getenv("PASAR_CI") != "" {
		t.Fatalf("no cgroup to test with: %v", err)
	}
	if err != nil {
		t.Skipf("no cgroup to test with: %v", err)
	}
	return n
}

// in opens a Machine that puts supervisors in one place.
func in(p pasar.Place) func(*Options) { return func(o *Options) { o.Place = p } }

func TestAnAttemptLivesInACgroupOfItsOwnAndLeavesNone(t *testing.T) {
	n := needCgroup(t)
	m := newPlace(t).open(in(pasar.PlaceCgroup))
	if s := m.Standing(); s.Place != pasar.PlaceCgroup || s.Cgroup != n.dir {
		t.Fatalf("%+v", s)
	}
	h := launch(t, m, shell(1, "echo up; sleep 1000"))
	awaitOutput(t, m, h, "up")
	own := holding(t, m, h)
	if own.Place != pasar.PlaceCgroup || filepath.Dir(own.Cgroup) != n.dir {
		t.Fatalf("%+v", own)
	}
	sup, err := procsOf(filepath.Join(own.Cgroup, supDir))
	if err != nil || len(sup) != 1 || sup[0] != own.Pid {
		t.Errorf("in sup: %v, %v; the supervisor is %d", sup, err, own.Pid)
	}
	o, err := m.Observe(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	job, err := procsOf(filepath.Join(own.Cgroup, jobDir))
	if err != nil || len(job) == 0 || job[0] != o.Pid {
		t.Errorf("in job: %v, %v; the main process is %d", job, err, o.Pid)
	}
	if err := m.Signal(t.Context(), h, pasar.Stop{ID: "a", Why: pasar.StopCancel, Now: true}); err != nil {
		t.Fatal(err)
	}
	r := end(t, m, h).Record
	if r == nil || r.Place != pasar.PlaceCgroup || r.Cgroup == nil {
		t.Fatalf("%+v", r)
	}
	if err := m.Acknowledge(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its cgroup is gone", func() bool { return !exists(own.Cgroup) })
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestNothingOfManyAttemptsIsLeftInCgroups(t *testing.T) {
	n := needCgroup(t)
	m := newPlace(t).open(in(pasar.PlaceCgroup))
	jobs := 30
	if os.Getenv("PASAR_TORTURE") != "" {
		jobs = 2000
	}
	var made []string
	for i := range jobs {
		h := launch(t, m, shell(pasar.JobID(i+1), "setsid sleep 1000 >/dev/null 2>&1 </dev/null & exit 0"))
		made = append(made, holding(t, m, h).Cgroup)
		end(t, m, h)
		if err := m.Acknowledge(t.Context(), h); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range made {
		if filepath.Dir(dir) != n.dir {
			t.Errorf("%q is not below %s", dir, n.dir)
		}
		eventually(t, dir+" is gone", func() bool { return !exists(dir) })
	}
}

func TestAKilledSupervisorsCgroupIsEmptiedAndRemoved(t *testing.T) {
	needCgroup(t)
	m := newPlace(t).open(in(pasar.PlaceCgroup))
	// It has nothing by which it could be found but its cgroup.
	h := launch(t, m, shell(1, `setsid env -i /bin/sh -c 'trap "" TERM HUP; while :; do sleep 1000; done' & echo up; wait`))
	awaitOutput(t, m, h, "up")
	own := holding(t, m, h)
	job := filepath.Join(own.Cgroup, jobDir)
	var pids []int
	eventually(t, "the child is there", func() bool {
		pids, _ = procsOf(job)
		return len(pids) >= 3
	})
	if err := syscall.Kill(own.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if o := end(t, m, h); o.Status != target.Gone {
		t.Errorf("%+v", o)
	}
	for _, pid := range pids {
		if there(t, pid) {
			t.Errorf("process %d of the job is there still", pid)
		}
	}
	eventually(t, "its cgroup is gone", func() bool { return !exists(own.Cgroup) })
}

func TestACgroupThatIsNotAnAttemptsIsNeverKilled(t *testing.T) {
	n := needCgroup(t)
	made, err := n.make()
	if err != nil {
		t.Fatal(err)
	}
	defer made.abandon()
	job := filepath.Join(made.dir, jobDir)
	if err := os.Mkdir(job, 0o755); err != nil {
		t.Fatal(err)
	}
	good := pasar.Holding{Boot: thisBoot(), Cgroup: made.dir, Place: pasar.PlaceCgroup}
	if dir, ok := cgroupOf(good); !ok || dir != made.dir {
		t.Errorf("%s is not believed", made.dir)
	}
	other := filepath.Join(n.dir, "other-"+newNonce())
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	defer unix.Rmdir(other)
	for name, h := range map[string]pasar.Holding{
		"of another boot":           {Boot: "x", Cgroup: made.dir},
		"no cgroup":                 {Boot: thisBoot()},
		"a name that isn't ours":    {Boot: thisBoot(), Cgroup: other},
		"no cgroup at all":          {Boot: thisBoot(), Cgroup: t.TempDir()},
		"a plain directory":         {Boot: thisBoot(), Cgroup: plainDir(t)},
		"a relative path":           {Boot: thisBoot(), Cgroup: "pasar-0123456789abcdef"},
		"a path that leads upwards": {Boot: thisBoot(), Cgroup: made.dir + "/../" + filepath.Base(other)},
	} {
		if dir, ok := cgroupOf(h); ok {
			t.Errorf("%s: %s is believed", name, dir)
		}
	}
}

// plainDir has the name of an attempt's cgroup and is none.
func plainDir(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "pasar-0123456789abcdef")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestASweepTakesWhatDeadSupervisorsLeftAndNothingElse(t *testing.T) {
	n := needCgroup(t)
	dead, err := n.make()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dead.dir, jobDir, "of the job"), 0o755); err != nil {
		t.Fatal(err)
	}
	n.sweep()
	if !exists(dead.dir) {
		t.Fatal("one whose supervisor was being started is gone")
	}
	dead.settle()
	other := filepath.Join(n.dir, "other-"+newNonce())
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	defer unix.Rmdir(other)
	m := newPlace(t).open(in(pasar.PlaceCgroup))
	h := launch(t, m, shell(1, "echo up; sleep 1000"))
	awaitOutput(t, m, h, "up")
	eventually(t, "it is swept away", func() bool { // while a supervisor is started nothing is
		n.sweep()
		return !exists(dead.dir)
	})
	if own := holding(t, m, h); !exists(own.Cgroup) || !exists(other) {
		t.Errorf("%s or %s is gone", own.Cgroup, other)
	}
}

func TestAPlaceThatFailsIsLeftForTheNextAndNoLaunchFails(t *testing.T) {
	n := needCgroup(t)
	m := newPlace(t).open(in(pasar.PlaceCgroup))
	eventually(t, "one is warm", func() bool { return len(warmPids(m)) == 1 })
	broken := *n
	broken.dir = filepath.Join(n.dir, "gone")
	m.ladder.mu.Lock()
	m.ladder.nursery = &broken
	m.ladder.mu.Unlock()
	end(t, m, launch(t, m, shell(1, "true"))) // the one that was warm
	h := launch(t, m, shell(2, "true"))
	if r := end(t, m, h).Record; r == nil || r.Place != pasar.PlaceSession || r.Cgroup != nil {
		t.Errorf("%+v", r)
	}
	if s := m.Standing(); s.Place == pasar.PlaceSession && !strings.Contains(s.Note(), "") {
		t.Errorf("%+v", s)
	}
	// Once told to look anew, it is used again.
	m.ladder.mu.Lock()
	m.ladder.nursery = nil
	m.ladder.mu.Unlock()
	m.Replace()
	deadline := time.Now().Add(20 * time.Second)
	for job := pasar.JobID(3); ; job++ {
		if r := end(t, m, launch(t, m, shell(job, "true"))).Record; r != nil && r.Place == pasar.PlaceCgroup {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the better place isn't used again")
		}
	}
}

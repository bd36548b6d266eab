package local

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/ipc"
	"pasar/target"
)

func TestAnAttemptGetsItsEnvironmentAndDirectories(t *testing.T) {
	p := newPlace(t)
	m := p.open(func(o *Options) { o.Socket = "/run/own/pasard.sock" })
	a := shell(7, `env -0 > "$PASAR_JOB_DIR/env"; test -d "$PASAR_PERSIST_DIR" && : > "$PASAR_PERSIST_DIR/kept"; test -e "$PASAR_EVENTS" && echo events`)
	a.Spec.Surroundings.Env = append(a.Spec.Surroundings.Env, "NAME=two\nlines \xff", "TMUX=x")
	a.Resuming = true
	a.Grant.GPUs = []pasar.GPURef{{UUID: target.VirtualUUID}}
	a.Grant.Claim = pasar.Claim{Kind: pasar.Whole, GPUs: 1}
	h := launch(t, m, a)
	if o := end(t, m, h); o.Record == nil || o.Record.Exit != (pasar.Exit{}) {
		t.Fatalf("%+v", o.Record)
	}
	job := m.jobDir(7)
	b, err := os.ReadFile(filepath.Join(job, "env"))
	if err != nil {
		t.Fatal(err)
	}
	env := strings.Split(string(b), "\x00")
	for _, kv := range []string{"NAME=two\nlines \xff", "PASAR_JOB_ID=7", "PASAR_ATTEMPT=1", "PASAR_RESUMING=1",
		"PASAR_JOB_DIR=" + job, "PASAR_PERSIST_DIR=" + job + "/persist", "PASAR_EVENTS=" + job + "/1/events.jsonl",
		"PASAR_SOCKET=/run/own/pasard.sock", "CUDA_VISIBLE_DEVICES=", "PASAR_NONCE=" + h.Nonce, "TERM=xterm-256color"} {
		if !slices.Contains(env, kv) {
			t.Errorf("its environment lacks %q", kv)
		}
	}
	for _, kv := range env {
		if strings.HasPrefix(kv, "TMUX=") {
			t.Errorf("its environment has %q", kv)
		}
	}
	if _, err := os.Stat(filepath.Join(job, "persist", "kept")); err != nil {
		t.Error(err)
	}
}

func TestAnAttemptsFilesArePrivate(t *testing.T) {
	p := newPlace(t)
	m := p.open()
	h := launch(t, m, shell(1, "echo secret"))
	end(t, m, h)
	err := filepath.Walk(filepath.Join(p.data, jobsDir), func(path string, fi os.FileInfo, err error) error {
		if err == nil && fi.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, fi.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestWhatCanNotBeginIsSurelyNotLaunched(t *testing.T) {
	p := newPlace(t)
	m := p.open()
	if err := os.WriteFile(m.jobDir(1), nil, 0o600); err != nil { // a file where the directory should be
		t.Fatal(err)
	}
	big := shell(3, "true")
	big.Spec.Surroundings.Env = append(big.Spec.Surroundings.Env, pasar.Arg("X="+strings.Repeat("x", maxSpec)))
	nameless := shell(4, "true")
	nameless.Spec.Nonce = ""
	for name, a := range map[string]target.Attempt{
		"no place for its directory": shell(1, "true"),
		"no key":                     shell(0, "true"),
		"no nonce":                   nameless,
		"a spec that is too large":   big,
	} {
		if _, err := m.Launch(limited(t), a); !target.IsNever(err) {
			t.Errorf("%s: error %v (never: %v)", name, err, target.IsNever(err))
		}
	}
}

func TestDirectoriesThatWillNotDoAreRefusedAtOnce(t *testing.T) {
	p := newPlace(t)
	open := filepath.Join(p.data, "open to all")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Options){
		"a run directory open to others": func(o *Options) { o.RunDir = open },
		"a relative data directory":      func(o *Options) { o.DataDir = "data" },
		"a file for data directory":      func(o *Options) { o.DataDir = supervisorPath },
		"a relative supervisor":          func(o *Options) { o.Supervisor = "pasar-supervisor" },
	} {
		o := p.options()
		change(&o)
		if m, err := New(o); err == nil {
			_ = m.Close()
			t.Errorf("%s is taken", name)
		}
	}
}

func TestAFailureIsNotCalledNeverOnceTheAttemptMayExist(t *testing.T) {
	p := newPlace(t)
	m := p.open()
	a := shell(1, "sleep 1000")
	h := launch(t, m, a)
	dir := m.attemptDir(h.Key)
	claim := filepath.Join(dir, pasar.ClaimFile)
	if err := os.Rename(claim, claim+".hidden"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(claim, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := p.open().Launch(limited(t), a); err == nil || target.IsNever(err) {
		t.Errorf("error %v (never: %v)", err, target.IsNever(err))
	}
	if err := os.Remove(claim); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(claim+".hidden", claim); err != nil {
		t.Fatal(err)
	}
}

func TestWhatAnotherLifeLeftIsMovedAsideUnlessItRuns(t *testing.T) {
	p := newPlace(t)
	m := p.open()
	old := ended(t, m, shell(1, "echo old"))
	fresh := shell(1, "echo new")
	h := launch(t, m, fresh)
	end(t, m, h)
	if out := collect(t, m, h, 0); len(out) != 1 || !strings.Contains(string(out[0].Data), "new") {
		t.Errorf("output %+v", out)
	}
	if o, err := m.Observe(t.Context(), old); err != nil || o.Status != target.Absent {
		t.Errorf("the old one is %+v, %v", o, err)
	}
	aside, err := filepath.Glob(filepath.Join(m.jobDir(1), "1.of-*", pasar.OutputFile))
	if err != nil || len(aside) != 1 {
		t.Errorf("kept aside: %v", aside)
	}
	running := launch(t, m, shell(2, "sleep 1000"))
	if _, err := m.Launch(t.Context(), shell(2, "echo new")); !target.IsNever(err) {
		t.Errorf("over a running one: error %v", err)
	}
	if o, err := m.Observe(t.Context(), running); err != nil || o.Status != target.Running && o.Status != target.Claimed {
		t.Errorf("the running one is %+v, %v", o, err)
	}
}

func TestAStopThatLeavesTimeToSaveMakesThePauseFileAppear(t *testing.T) {
	p := newPlace(t)
	m := p.open()
	for i, why := range []pasar.StopWhy{pasar.StopPreempt, pasar.StopPause, pasar.StopLimit, pasar.StopCancel} {
		h := launch(t, m, shell(pasar.JobID(i+1), `trap 'test -e "$PASAR_PAUSE_FILE" && exit 75; exit 1' TERM; echo ready; while :; do sleep 0.01; done`))
		awaitOutput(t, m, h, "ready")
		if err := m.Signal(t.Context(), h, pasar.Stop{ID: "s", Why: why, Grace: pasar.Duration(time.Minute), PauseFile: why != pasar.StopCancel}); err != nil {
			t.Fatal(err)
		}
		want := 75
		if why == pasar.StopCancel {
			want = 1
		}
		if o := end(t, m, h); o.Record == nil || o.Record.Exit.Code != want {
			t.Errorf("%s: %+v, want exit code %d", why, o.Record, want)
		}
	}
}

func TestAPauseFileAppearsForAJobWhoseDirectoryIsGoneAndForNoOther(t *testing.T) {
	p := newPlace(t)
	m := p.open()
	h := launch(t, m, shell(1, `echo ready; until [ -e "$PASAR_PAUSE_FILE" ]; do sleep 0.01; done; exit 75`))
	awaitOutput(t, m, h, "ready")
	stop := pasar.Stop{ID: "s", Why: pasar.StopPause, PauseFile: true, Wait: pasar.Forever}
	other := h
	other.Nonce = "of another life"
	for _, nobody := range []target.Handle{other, {Key: pasar.AttemptKey{Job: 2, Attempt: 1}, Nonce: "n"}} {
		if err := m.Signal(limited(t), nobody, stop); err != nil {
			t.Error(err)
		}
		if exists(filepath.Join(m.attemptDir(nobody.Key), pasar.PauseFile)) {
			t.Errorf("a pause file for %s, which nobody asked to pause", nobody.Key)
		}
	}
	if err := os.Rename(m.attemptDir(h.Key), filepath.Join(p.data, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	if err := p.open().Signal(limited(t), h, stop); err != nil {
		t.Fatal(err)
	}
	r := end(t, m, h).Record
	if r == nil || r.Exit.Code != 75 || r.StopStep != pasar.StepFile || r.Marker == nil || r.Marker.Missing != "no marker was written" {
		t.Errorf("%+v", r)
	}
}

func TestAMarkerOfAnEarlierAttemptDoesNotCount(t *testing.T) {
	m := newPlace(t).open()
	for n, script := range []string{`echo '{"checkpoint": "/etc"}' > "$PASAR_CHECKPOINT_READY"; exit 75`, `exit 75`} {
		a := shell(1, script)
		a.Spec.Key.Attempt = n + 1
		r := end(t, m, launch(t, m, a)).Record
		if r == nil || r.Marker == nil || (r.Marker.Missing == "") != (n == 0) {
			t.Errorf("attempt %d: %+v", n+1, r)
		}
	}
}

func TestWhateverIsInThePlaceOfAPauseFileHoldsUpNobody(t *testing.T) {
	m := newPlace(t).open()
	h := launch(t, m, shell(1, `mkfifo "$PASAR_PAUSE_FILE"; trap 'exit 4' TERM; echo ready; while :; do sleep 0.01; done`))
	awaitOutput(t, m, h, "ready")
	if err := m.Signal(limited(t), h, pasar.Stop{ID: "s", Why: pasar.StopPreempt, PauseFile: true, Grace: pasar.Duration(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	if r := end(t, m, h).Record; r == nil || r.Exit.Code != 4 {
		t.Errorf("%+v", r)
	}
}

func TestReportsOfAJobAreWatchedAndALaterDaemonHearsTheLatest(t *testing.T) {
	p := newPlace(t)
	m := p.open()
	gate := filepath.Join(p.data, "gate")
	h := launch(t, m, shell(1, `echo '{"event":"checkpoint","step":1}' >> "$PASAR_EVENTS"; echo '{"event":"checkpoint","step":2}' >> "$PASAR_EVENTS"
		while ! test -e `+gate+`; do sleep 0.01; done`))
	enough := errors.New("enough")
	watchFor := func(m *Machine, step float64) {
		t.Helper()
		err := m.Watch(limited(t), h, func(o target.Observation) error {
			if o.Event != nil && *o.Event.Step == step && o.EventNum == int(step) {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) {
			t.Errorf("no report of step %v: %v", step, err)
		}
	}
	watchFor(m, 2)
	watchFor(p.open(), 2)
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if o := end(t, m, h); o.Record == nil || o.Record.Checkpoint == nil || *o.Record.Checkpoint.Step != 2 {
		t.Errorf("%+v", o.Record)
	}
}

func TestWhatIsReportedBeforeALaunchIsAnsweredIsHeard(t *testing.T) {
	ours, theirs := net.Pipe()
	conn, sup := ipc.NewAttachConn(ours), ipc.NewAttachConn(theirs)
	defer conn.Close()
	go func() {
		_ = sup.Send(ipc.AttachStatus, &ipc.Status{State: ipc.AttemptWarm})
		_ = sup.Send(ipc.AttachEvent, &ipc.EventFrame{Number: 1, Event: []byte(`{"event":"checkpoint","step":1}`)})
		_ = sup.Send(ipc.AttachStatus, &ipc.Status{State: ipc.AttemptClaimed})
		_ = sup.Send(ipc.AttachEvent, &ipc.EventFrame{Number: 2, Event: []byte(`{"event":"checkpoint","step":2}`)})
		_ = sup.Send(ipc.AttachStatus, &ipc.Status{State: ipc.AttemptRunning, Pid: 1})
		_ = sup.Send(ipc.AttachStatus, &ipc.Status{State: ipc.AttemptEnded, Record: []byte(`{}`)})
		_ = sup.Close()
	}()
	status, early, err := awaitStatus(t.Context(), conn, launchTimeout)
	if err != nil || status.State != ipc.AttemptClaimed || len(early) != 1 {
		t.Fatalf("%+v, %+v, %v", status, early, err)
	}
	m := newPlace(t).open()
	h := target.Handle{Key: pasar.AttemptKey{Job: 1, Attempt: 1}, Nonce: "n"}
	m.keep(h, conn, &status, early)
	var steps []float64
	if err := m.Watch(limited(t), h, func(o target.Observation) error {
		if o.Event != nil && o.Status == target.Running {
			steps = append(steps, *o.Event.Step)
		}
		return nil
	}); err != nil || !slices.Equal(steps, []float64{1, 2}) {
		t.Errorf("reports of steps %v, %v", steps, err)
	}
}

func TestAnAttemptsSocketIsFoundWhileItsSupervisorLives(t *testing.T) {
	p := newPlace(t)
	m := p.open()
	h := launch(t, m, shell(1, "sleep 1000"))
	path, err := p.open().AttachSocket(t.Context(), h)
	if err != nil || filepath.Dir(path) != p.run {
		t.Errorf("%s, %v", path, err)
	}
	other := h
	other.Nonce = "x"
	if path, err := m.AttachSocket(t.Context(), other); err == nil {
		t.Errorf("another attempt's socket is given away: %s", path)
	}
	done := ended(t, m, shell(2, "true"))
	if path, err := m.AttachSocket(t.Context(), done); err == nil {
		t.Errorf("a dead supervisor's socket is %s", path)
	}
}

// takeClaim takes a claim as a supervisor does: it creates it, locks it, sees that it is still in its
// place and only then writes who it is.
func takeClaim(dir string) (bool, error) {
	path := filepath.Join(dir, pasar.ClaimFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if free, err := tryLock(f, unix.LOCK_EX); err != nil || !free {
		return false, err
	}
	ours, err := f.Stat()
	if err != nil {
		return false, err
	}
	if there, err := os.Lstat(path); err != nil || !os.SameFile(ours, there) {
		return false, nil
	}
	_, err = f.WriteString(`{"key":{"job":1,"attempt":1},"nonce":"n","boot":"b","pid":1}`)
	return true, err
}

// Claims are the heart of it: however many launchers clear an empty claim away, and whoever looks
// meanwhile, one supervisor gets it.
func TestOfManySupervisorsOneGetsTheClaim(t *testing.T) {
	for range 200 {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, pasar.ClaimFile), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		var taken atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for {
					if _, err := void(dir); err != nil {
						t.Error(err)
						return
					}
					mine, err := takeClaim(dir)
					if err != nil {
						t.Error(err)
						return
					}
					if mine {
						taken.Add(1)
					}
					if c, err := lookAt(dir); err != nil || c.state == claimDead {
						if err != nil {
							t.Error(err)
						}
						return
					}
				}
			})
		}
		wg.Wait()
		if n := taken.Load(); n != 1 {
			t.Fatalf("%d supervisors got the claim", n)
		}
	}
}

func TestManyAttemptsAtOnce(t *testing.T) {
	p := newPlace(t)
	m := p.open()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			h, err := m.Launch(limited(t), shell(pasar.JobID(i+1), fmt.Sprintf("exit %d", i)))
			if err != nil {
				t.Error(err)
				return
			}
			var last target.Observation
			if err := m.Watch(limited(t), h, func(o target.Observation) error {
				last = o
				return nil
			}); err != nil || last.Record == nil || last.Record.Exit.Code != i {
				t.Errorf("attempt %d: %+v, %v", i, last.Record, err)
			}
			if err := m.Acknowledge(limited(t), h); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	found, err := p.open().Find(t.Context())
	if err != nil || len(found) != 20 {
		t.Errorf("found %d, %v", len(found), err)
	}
}

func TestAFullDiskIsSurelyNothingLaunchedAndItRecovers(t *testing.T) {
	p := newPlace(t)
	disk := filepath.Join(p.data, "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=1m,mode=0700"); err != nil {
		t.Skipf("a small file system is needed, which only root can mount: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	p.data = disk
	m := p.open()
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 2<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk isn't full: %v", err)
	}
	if _, err := m.Launch(limited(t), shell(1, "true")); !target.IsNever(err) || !errors.Is(err, unix.ENOSPC) {
		t.Errorf("error %v (never: %v)", err, target.IsNever(err))
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the space is free", func() bool { // a child that is being forked may hold the file until it executes
		var st unix.Statfs_t
		return unix.Statfs(disk, &st) == nil && st.Bfree > st.Blocks/2
	})
	ended(t, m, shell(2, "true"))
	p.endAll() // before the disk goes
}

package daemon

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/target"
)

// usageDir stands for the directories of attempts.
type usageDir struct {
	mu     sync.Mutex // guards the rest
	files  map[pasar.AttemptKey][]byte
	gone   map[pasar.AttemptKey]bool
	fails  error
	writes int
}

func newUsageDir() *usageDir {
	return &usageDir{files: map[pasar.AttemptKey][]byte{}, gone: map[pasar.AttemptKey]bool{}}
}

func (u *usageDir) Read(k pasar.AttemptKey) ([]byte, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	b, ok := u.files[k]
	switch {
	case u.fails != nil:
		return nil, u.fails
	case u.gone[k]:
		return nil, target.ErrRemoved
	case !ok:
		return nil, fs.ErrNotExist
	}
	return b, nil
}

func (u *usageDir) Write(k pasar.AttemptKey, b []byte) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.writes++
	switch {
	case u.fails != nil:
		return u.fails
	case u.gone[k]:
		return target.ErrRemoved
	}
	u.files[k] = b
	return nil
}

func (u *usageDir) set(f func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	f()
}

func (u *usageDir) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.writes
}

// watched is a metered world that keeps what attempts used.
func watched(t *testing.T, gpus int) (*world, *gauge, *usageDir) {
	w, g := metered(newWorld(t, gpus))
	u := newUsageDir()
	w.usage = u
	return w, g, u
}

func (r *running) used(id pasar.JobID, attempt, points int) *pasar.AttemptUsageView {
	r.w.t.Helper()
	synctest.Wait()
	v, err := r.usage(context.Background(), ipc.UsageRequest{Job: id, Attempt: attempt, Points: points})
	if err != nil {
		r.w.t.Fatal(err)
	}
	if v.Schema != pasar.Schema || v.ID != id || v.Points == nil {
		r.w.t.Fatalf("view %+v", v)
	}
	return v
}

// using has an attempt use a GPU and host memory.
func using(gpu, pid int, k pasar.AttemptKey, mem, host pasar.Bytes, util float64) func(*pasar.Reading) {
	return func(r *pasar.Reading) {
		use := map[pasar.AttemptKey]pasar.Bytes{}
		for k, b := range r.Host.Use {
			use[k] = b
		}
		use[k] = host
		r.Host.Use = use
		for i := range r.GPUs {
			if i == gpu {
				r.GPUs[i].Util = &util
				r.GPUs[i].Processes = []pasar.GPUProcess{{Pid: pid, Used: &mem, Job: k}}
			}
		}
	}
}

func TestWhatAnAttemptUsedIsKnownWhileItRunsAndAfterAndToTheNextDaemon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g, files := watched(t, 1)
		d := w.start(nil)
		id := d.submit(spec("a", 1000))
		d.expect(id, pasar.Running)
		k := key(id, 1)
		g.show(using(0, 7, k, 5*pasar.GiB, pasar.GiB, 50))
		time.Sleep(30 * time.Second)
		g.show(using(0, 7, k, 9*pasar.GiB, 2*pasar.GiB, 100))
		time.Sleep(time.Minute)
		v := d.used(id, 0, 0)
		if n := len(v.Points); v.Step.Seconds() != 10 || n != 10 || *v.Points[1].GPU != 5*pasar.GiB || *v.Points[8].GPU != 9*pasar.GiB || *v.Points[8].Host != 2*pasar.GiB || *v.Points[1].Use != 0.5 || *v.Points[8].Use != 1 {
			t.Errorf("%s %d %+v", v.Step, n, v.Points)
		}
		if v := d.used(id, 1, 3); len(v.Points) != 3 || v.Step.Seconds() != 40 {
			t.Errorf("%+v", v)
		}
		if files.count() != 0 {
			t.Errorf("%d writes in a minute and a half", files.count())
		}
		time.Sleep(2 * time.Minute)
		if n := files.count(); n != 1 {
			t.Errorf("%d writes", n)
		}
		d.kill()
		time.Sleep(10 * time.Minute) // nobody looks
		d = w.start(nil)
		d.expect(id, pasar.Running)
		time.Sleep(time.Minute)
		v = d.used(id, 0, 0)
		unknown := 0
		for _, p := range v.Points {
			if p.GPU == nil {
				unknown++
			}
		}
		if n := len(v.Points); *v.Points[1].GPU != 5*pasar.GiB || *v.Points[n-1].GPU != 9*pasar.GiB || unknown < 55 || unknown > 75 {
			t.Errorf("%d points, %d of them unknown", n, unknown)
		}
		w.machine.Finish(k, 0)
		d.expect(id, pasar.Completed)
		after := d.used(id, 0, 0)
		if len(after.Points) < len(v.Points) || *after.Points[1].GPU != 5*pasar.GiB {
			t.Errorf("ended: %d points; %d before", len(after.Points), len(v.Points))
		}
		if _, whole := d.usedBy(k); whole {
			t.Error("an ended attempt is still in memory")
		}
		n := files.count()
		time.Sleep(time.Hour)
		synctest.Wait()
		if files.count() != n {
			t.Errorf("%d writes while nothing ran", files.count()-n)
		}
		d.stop()
		d = w.start(nil)
		if again := d.used(id, 1, 0); string(mustJSON(t, again)) != string(mustJSON(t, after)) {
			t.Errorf("the next daemon tells\n%s\nthe last\n%s", mustJSON(t, again), mustJSON(t, after))
		}
		files.set(func() { files.gone[k] = true })
		if _, err := d.usage(context.Background(), ipc.UsageRequest{Job: id}); err == nil {
			t.Error("what was removed is told")
		}
		w.check()
	})
}

func TestADaemonThatEndsInOrderForgetsNothingOfWhatIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g, files := watched(t, 1)
		d := w.start(nil)
		id := d.submit(spec("a", 1000))
		g.show(using(0, 7, key(id, 1), pasar.GiB, pasar.GiB, 50))
		time.Sleep(30 * time.Second)
		before := d.used(id, 0, 0)
		d.stop()
		if files.count() != 1 {
			t.Errorf("%d writes", files.count())
		}
		d = w.start(nil)
		after := d.used(id, 0, 0)
		if len(after.Points) < len(before.Points) || *after.Points[1].GPU != pasar.GiB {
			t.Errorf("%+v", after.Points)
		}
		w.check()
	})
}

func TestAFullDiskHoldsNothingUpAndTakesWhatWasUsedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g, files := watched(t, 2)
		d := w.start(nil)
		files.set(func() { files.fails = errors.New("no space left on device") })
		first := d.submit(spec("a", 1000))
		second := d.submit(spec("b", 1000))
		g.show(func(r *pasar.Reading) {
			using(0, 7, key(first, 1), pasar.GiB, pasar.GiB, 50)(r)
			using(1, 8, key(second, 1), pasar.GiB, pasar.GiB, 50)(r)
		})
		time.Sleep(10 * time.Minute)
		w.machine.Finish(key(first, 1), 0)
		d.expect(first, pasar.Completed)
		time.Sleep(time.Minute)
		if n := files.count(); n > 60 {
			t.Errorf("%d tries", n)
		}
		if v := d.used(second, 0, 0); len(v.Points) < 60 {
			t.Errorf("%d points of one that runs", len(v.Points))
		}
		files.set(func() { files.fails = nil })
		time.Sleep(time.Minute)
		if v := d.used(first, 0, 0); len(v.Points) < 60 || *v.Points[2].GPU != pasar.GiB {
			t.Errorf("%d points of one that has ended", len(v.Points))
		}
		if _, whole := d.usedBy(key(first, 1)); whole {
			t.Error("an ended attempt is still in memory")
		}
		w.check()
	})
}

func TestWhatIsNotSaidOfUsageIsNull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g, files := watched(t, 1)
		d := w.start(nil)
		id := d.submit(spec("a", 1000))
		k := key(id, 1)
		g.show(func(r *pasar.Reading) {
			r.GPUs[0].Processes = []pasar.GPUProcess{{Pid: 7, Job: k}}
			r.Host.Use = map[pasar.AttemptKey]pasar.Bytes{k: pasar.GiB}
		})
		time.Sleep(25 * time.Second)
		v := d.used(id, 0, 0)
		if last := v.Points[len(v.Points)-1]; last.GPU != nil || last.Use != nil || *last.Host != pasar.GiB {
			t.Errorf("%+v", v.Points)
		}
		files.set(func() { files.files[k] = []byte("\x00\xff{") }) // the job wrote it
		if v := d.used(id, 0, 0); len(v.Points) != 3 {
			t.Errorf("%+v", v.Points)
		}
		waits := d.submit(spec("b", 1000))
		for _, r := range []ipc.UsageRequest{{Job: waits}, {Job: 99}, {Job: id, Attempt: 2}, {Job: id, Points: 361}, {Job: id, Points: -1}} {
			if _, err := d.usage(context.Background(), r); err == nil {
				t.Errorf("%+v has an answer", r)
			}
		}
		w.check()
	})
}

// TestJobsThatDontRunCostNoUsage: what is kept is of those that run, however many wait and have ended.
func TestJobsThatDontRunCostNoUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g, files := watched(t, 1)
		d := w.start(nil)
		for range 300 {
			d.submit(spec("waits", 1000))
		}
		for i := range 20 {
			g.show(using(0, 7, key(pasar.JobID(i+1), 1), pasar.GiB, pasar.GiB, 50))
			w.machine.Finish(key(pasar.JobID(i+1), 1), 0)
			d.expect(pasar.JobID(i+1), pasar.Completed)
			g.show(func(r *pasar.Reading) { r.GPUs[0].Processes = nil })
			time.Sleep(15 * time.Second)
		}
		synctest.Wait()
		u := d.lookout.usages
		u.mu.Lock()
		n := len(u.all)
		u.mu.Unlock()
		if n > 1 {
			t.Errorf("of %d attempts something is in memory", n)
		}
		if files.count() > 20 {
			t.Errorf("%d writes for 20 jobs", files.count())
		}
		w.check()
	})
}

// TestThePeakOfAnAttemptNeverFalls: not when it has ended, though the kernel's count is of its largest process alone, nor
// when a daemon takes over from another.
func TestThePeakOfAnAttemptNeverFalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g, _ := watched(t, 1)
		d := w.start(nil)
		id := d.submit(spec("a", 1000))
		d.expect(id, pasar.Running)
		k := key(id, 1)
		peaks := func(when string) {
			t.Helper()
			synctest.Wait()
			v := d.seen(id)
			if v.Usage.PeakHost == nil || *v.Usage.PeakHost != 50*pasar.GiB || v.Usage.PeakGPU == nil || *v.Usage.PeakGPU != 9*pasar.GiB {
				t.Errorf("%s: %s", when, mustJSON(t, v.Usage))
			}
		}
		g.show(using(0, 7, k, 9*pasar.GiB, 50*pasar.GiB, 50))
		time.Sleep(30 * time.Second)
		peaks("at its most")
		g.show(using(0, 7, k, pasar.GiB, pasar.GiB, 50))
		time.Sleep(30 * time.Second)
		peaks("later")
		d.stop()
		d = w.start(nil)
		d.expect(id, pasar.Running)
		time.Sleep(5 * time.Second)
		peaks("to the next daemon")
		d.stop()
		w.machine.Finish(k, 0) // while nobody looks
		d = w.start(nil)
		d.expect(id, pasar.Completed)
		peaks("ended")
		v := d.seen(id)
		if a := v.Attempts[0]; a.PeakHost == nil || *a.PeakHost != 50*pasar.GiB {
			t.Errorf("the attempt's: %s", mustJSON(t, a.PeakHost))
		}
		d.stop()
		d = w.start(nil)
		peaks("ended, to the next daemon")
		w.check()
	})
}

// TestAShortAttemptLeavesNoFileOfWhatItUsed.
func TestAShortAttemptLeavesNoFileOfWhatItUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g, files := watched(t, 1)
		d := w.start(nil)
		for i, long := range []time.Duration{4 * time.Second, 25 * time.Second} {
			id := d.submit(spec("a", 1000))
			d.expect(id, pasar.Running)
			g.show(using(0, 7, key(id, 1), pasar.GiB, pasar.GiB, 50))
			time.Sleep(long)
			w.machine.Finish(key(id, 1), 0)
			d.expect(id, pasar.Completed)
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			if n := files.count(); n != i {
				t.Errorf("%d files after an attempt of %s", n, long)
			}
			if v := d.used(id, 1, 0); (len(v.Points) > 0) != (i > 0) {
				t.Errorf("%d points of %s", len(v.Points), long)
			}
		}
		w.check()
	})
}

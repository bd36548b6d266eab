package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/target"
)

// eventsFiles are what attempts reported, as their files have it. An attempt without a file is removed.
type eventsFiles struct {
	mu    sync.Mutex // guards the rest
	files map[pasar.AttemptKey][]pasar.Event
	fails error
	reads int
}

func (f *eventsFiles) read(_ context.Context, k pasar.AttemptKey, each func(pasar.Event) bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	if f.fails != nil {
		return f.fails
	}
	events, ok := f.files[k]
	if !ok {
		return target.ErrRemoved
	}
	for _, e := range events {
		if !each(e) {
			return nil
		}
	}
	return nil
}

// put appends to an attempt's file.
func (f *eventsFiles) put(k pasar.AttemptKey, events ...pasar.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files[k] = append(f.files[k], events...)
}

// looks is how often a file was read.
func (f *eventsFiles) looks() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reads
}

// progressed is a report of progress as a file has it: without its time.
func progressed(step float64) pasar.Event {
	return pasar.Event{Kind: pasar.EventProgress, Step: &step, Metrics: map[string]float64{"loss": 1 / (step + 1)}}
}

// reporting is a world whose attempts report into files as well.
func reporting(t *testing.T) (*world, *eventsFiles) {
	w := newWorld(t, 2)
	f := &eventsFiles{files: map[pasar.AttemptKey][]pasar.Event{}}
	w.reports = f.read
	return w, f
}

// report has an attempt report progress up to a step, a second each.
func (f *eventsFiles) report(w *world, k pasar.AttemptKey, from, to int) {
	for i := from; i <= to; i++ {
		e := progressed(float64(i))
		f.put(k, e)
		e.At = time.Now()
		w.machine.Report(k, e)
		time.Sleep(time.Second)
	}
	synctest.Wait()
}

func (r *running) points(id pasar.JobID, attempt int) []pasar.MetricsPoint {
	r.w.t.Helper()
	synctest.Wait()
	v, err := r.metrics(context.Background(), ipc.MetricsRequest{Job: id, Attempt: attempt})
	if err != nil {
		r.w.t.Fatal(err)
	}
	if v.Schema != pasar.Schema || v.ID != id || v.Points == nil {
		r.w.t.Fatalf("view %+v", v)
	}
	return v.Points
}

// checkSteps holds that points are of the steps from one to another, the first dated ones without a time.
func checkSteps(t *testing.T, points []pasar.MetricsPoint, from, to, dated int) {
	t.Helper()
	if len(points) != to-from+1 {
		t.Fatalf("%d points; want steps %d to %d", len(points), from, to)
	}
	for i, p := range points {
		if *p.Step != float64(from+i) || p.Metrics["loss"] != 1/(*p.Step+1) || (p.At == nil) != (i < dated) {
			t.Errorf("point %d is %v of step %v, %v", i, p.At, *p.Step, p.Metrics)
		}
	}
}

func TestWhatARunningAttemptReportedIsKeptWithItsTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := reporting(t)
		d := w.start(nil)
		id := d.submit(spec("a", 1000))
		d.expect(id, pasar.Running)
		if got := d.points(id, 0); len(got) != 0 {
			t.Errorf("before it reported it has %v", got)
		}
		before := f.looks()
		began := time.Now()
		f.report(w, key(id, 1), 0, 9)
		got := d.points(id, 0)
		checkSteps(t, got, 0, 9, 0)
		if !got[9].At.Equal(began.Add(9 * time.Second)) {
			t.Errorf("the last is of %s", got[9].At)
		}
		checkSteps(t, d.points(id, 1), 0, 9, 0)
		f.report(w, key(id, 1), 10, 1999) // more than are kept
		got = d.points(id, 0)
		if len(got) > pasar.MaxMetrics || *got[len(got)-1].Step != 1999 || *got[0].Step != 0 || *got[1].Step != 4 {
			t.Errorf("%d points: %v, %v … %v", len(got), *got[0].Step, *got[1].Step, *got[len(got)-1].Step)
		}
		if n := f.looks() - before; n != 0 {
			t.Errorf("its file was read %d times", n)
		}
		w.machine.Finish(key(id, 1), 0)
		d.expect(id, pasar.Completed)
		w.check()
	})
}

func TestReportsThatAreToldAgainCountOnce(t *testing.T) {
	for _, numbered := range []bool{true, false} {
		p := &progress{}
		number, back := 0, 0
		tell := func(i int) {
			e := progressed(float64(i))
			e.At = time.Unix(int64(1000+i-back), 0)
			if number = 0; numbered {
				number = i + 1
			}
			p.add(e, number)
		}
		for i := range 100 {
			tell(i)
		}
		for i := 40; i < 110; i++ {
			tell(i)
		}
		checkSteps(t, p.series.points(), 0, 109, 0)
		if numbered { // the clock may be set back
			back = 50
			tell(110)
			checkSteps(t, p.series.points(), 0, 110, 0)
		}
	}
}

func TestADaemonThatIsBegunAgainKnowsWhatWasReportedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := reporting(t)
		d := w.start(nil)
		id, quiet := d.submit(spec("a", 1000)), d.submit(spec("quiet", 1000))
		d.expect(quiet, pasar.Running)
		f.report(w, key(id, 1), 0, 19)
		f.put(key(quiet, 1), progressed(0), pasar.Event{Kind: pasar.EventNote, Text: "x"}, progressed(1))
		d.kill()
		f.report(w, key(id, 1), 20, 24)
		d = w.start(nil)
		checkSteps(t, d.points(id, 0), 0, 24, 24) // only the latest is told again
		f.report(w, key(id, 1), 25, 29)
		checkSteps(t, d.points(id, 0), 0, 29, 24)
		checkSteps(t, d.points(quiet, 0), 0, 1, 2) // nothing was told: the file has it
		d.kill()
		f.mu.Lock()
		f.fails = errors.New("input/output error")
		f.mu.Unlock()
		d = w.start(nil)
		f.report(w, key(id, 1), 30, 31)
		checkSteps(t, d.points(id, 0), 29, 31, 0)
		w.check()
	})
}

func TestWhatAnEndedAttemptReportedIsReadFromItsFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := reporting(t)
		d := w.start(nil)
		s := spec("a", 1000)
		s.Retries = 1
		id := d.submit(s)
		d.expect(id, pasar.Running)
		f.report(w, key(id, 1), 0, 4)
		w.machine.Finish(key(id, 1), 1)
		time.Sleep(time.Hour)
		d.expect(id, pasar.Running)
		f.report(w, key(id, 2), 100, 104)
		checkSteps(t, d.points(id, 0), 100, 104, 0)
		checkSteps(t, d.points(id, 1), 0, 4, 5)
		for i := range 50_000 { // a flood
			f.put(key(id, 2), progressed(float64(105+i)))
		}
		w.machine.Finish(key(id, 2), 0)
		d.expect(id, pasar.Completed)
		got := d.points(id, 0)
		if n := len(got); n > pasar.MaxMetrics || n < pasar.MaxMetrics/2 || *got[0].Step != 100 || *got[n-1].Step != 50_104 || got[n-1].At != nil {
			t.Errorf("%d points from %v to %v", n, *got[0].Step, *got[n-1].Step)
		}
		checkSteps(t, d.points(id, 1), 0, 4, 5)
		w.check()
	})
}

func TestMetricsOfWhatIsNotThereAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := reporting(t)
		d := w.start(nil)
		held := spec("held", 1000)
		held.Hold = true
		waits, ran := d.submit(held), d.submit(spec("a", 1000))
		d.expect(ran, pasar.Running)
		f.report(w, key(ran, 1), 0, 1)
		w.machine.Finish(key(ran, 1), 0)
		d.expect(ran, pasar.Completed)
		refused := func(id pasar.JobID, attempt int, want string) {
			t.Helper()
			v, err := d.metrics(context.Background(), ipc.MetricsRequest{Job: id, Attempt: attempt})
			var e *ipc.Error
			if !errors.As(err, &e) || fmt.Sprintf("%s: %s", e.Code, e.Message) != want {
				t.Errorf("%+v, %v; want %s", v, err, want)
			}
		}
		refused(99, 0, "unknown_job: there is no job 99")
		refused(waits, 0, "wrong_state: job 1 has reported nothing: it is queued and never started")
		refused(waits, 1, "wrong_state: job 1 has reported nothing: it is queued and never started")
		refused(ran, 2, "bad_request: job 2 has no attempt 2; it had 1")
		refused(ran, -1, "bad_request: job 2 has no attempt -1; it had 1")
		f.mu.Lock()
		delete(f.files, key(ran, 1))
		f.mu.Unlock()
		refused(ran, 0, "wrong_state: the output of attempt 1 of job 2 was removed")
		w.check()
	})
}

func TestMetricsTravelAsJSON(t *testing.T) {
	c := newWire(t, 1)
	id := c.submit(spec("a", 1000)).Job
	c.await(id, 1)
	b, err := c.Metrics(c.ctx, ipc.MetricsRequest{Job: id})
	var v pasar.MetricsView
	if err != nil || string(b) != `{"schema":1,"id":1,"attempt":1,"points":[]}` || json.Unmarshal(b, &v) != nil {
		t.Errorf("answered with %s, %v", b, err)
	}
}

package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/target/targettest"
)

// A watcher is a client of a stream of changes that applies what comes as the protocol says.
type watcher struct {
	t    *testing.T
	d    *running
	list ipc.ListRequest
	gate chan struct{} // nil: it takes what comes; else a chunk for each that it gets

	mu     sync.Mutex // guards the rest
	part   []byte
	size   int // bytes of all views
	views  []pasar.ChangesView
	order  clientList // its order alone
	jobs   map[pasar.JobID]pasar.JobView
	status pasar.StatusView
	more   int
	err    error
}

func (d *running) watch(list ipc.ListRequest, gate chan struct{}) *watcher {
	d.w.t.Helper()
	w := &watcher{t: d.w.t, d: d, gate: gate, jobs: map[pasar.JobID]pasar.JobView{}, order: clientList{marks: map[pasar.JobID]mark{}}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	f := d.newFollower(list, func(context.Context) (func(), error) { return func() {}, nil }, func(b []byte) error {
		if gate != nil {
			select {
			case <-gate:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		w.take(b)
		return nil
	})
	w.list = f.list
	go func() {
		defer close(done)
		err := f.run(ctx)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.err = err
	}()
	d.w.t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
	return w
}

func (w *watcher) take(b []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(b) > ipc.MaxChunk {
		w.t.Errorf("a chunk of %d bytes", len(b))
	}
	w.size += len(b)
	w.part = append(w.part, b...)
	if !bytes.HasSuffix(b, []byte("\n")) {
		return
	}
	var v pasar.ChangesView
	if err := json.Unmarshal(w.part, &v); err != nil {
		w.t.Fatalf("%v: %.200s", err, w.part)
	}
	for _, key := range []string{`"jobs":[`, `"outlooks":[`, `"gone":[`, `"moved":[`} {
		if !bytes.Contains(w.part, []byte(key)) {
			w.t.Errorf("a view without %s: %.200s", key, w.part)
		}
	}
	w.part = w.part[:0]
	w.views = append(w.views, v)
	w.apply(&v)
}

func (w *watcher) apply(v *pasar.ChangesView) {
	if v.Whole != (len(w.views) == 1) {
		w.t.Errorf("view %d: whole is %v", len(w.views), v.Whole)
	}
	for _, id := range v.Gone {
		if _, ok := w.jobs[id]; !ok {
			w.t.Errorf("job %d is gone, but was not there", id)
		}
		delete(w.jobs, id)
		w.order.order = slices.DeleteFunc(w.order.order, func(o pasar.JobID) bool { return o == id })
	}
	for _, j := range v.Jobs {
		w.jobs[j.ID] = j
		if v.Whole {
			w.order.order = append(w.order.order, j.ID)
		}
	}
	for _, o := range v.Outlooks {
		j, ok := w.jobs[o.ID]
		if !ok {
			w.t.Errorf("an outlook of job %d, which isn't there", o.ID)
		}
		j.Reason, j.Summary, j.Remaining, j.Projected, j.Waiting = o.Reason, o.Summary, o.Remaining, o.Projected, o.Waiting
		w.jobs[o.ID] = j
	}
	for _, m := range v.Moved {
		w.order.move(w.t, m)
	}
	if v.Status != nil {
		w.status = *v.Status
	}
	w.more = v.More
}

// news is every view that came.
func (w *watcher) news() []pasar.ChangesView {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.views[:len(w.views):len(w.views)]
}

// since is the ids of the jobs that views after the first n had, and of outlooks.
func (w *watcher) since(n int) (jobs, outlooks []pasar.JobID) {
	for _, v := range w.news()[n:] {
		for _, j := range v.Jobs {
			jobs = append(jobs, j.ID)
		}
		for _, o := range v.Outlooks {
			outlooks = append(outlooks, o.ID)
		}
	}
	slices.Sort(jobs)
	return slices.Compact(jobs), outlooks
}

// still is a view without what moves with time alone.
func still(v pasar.JobView) string {
	v.RunTime, v.Remaining, v.Lost.QueueWait, v.Projected = nil, nil, 0, pasar.ProjectedView{}
	if v.EstSource != nil && *v.EstSource == "history" {
		v.EstRuntime = nil
	}
	if n := len(v.Attempts); n > 0 && v.Attempts[n-1].EndedAt == nil {
		v.Attempts = slices.Clone(v.Attempts)
		v.Attempts[n-1].RunTime = nil
	}
	b, err := v.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// check compares what the client has with the list as it is.
func (w *watcher) check() {
	w.t.Helper()
	time.Sleep(5*time.Second + time.Duration(patience(len(w.d.pub.Load().waiting)))) // of the bubble's time, for the last look
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.d.pub.Load()
	var f *forecast
	if len(p.waiting) > 0 {
		f = w.d.forecastOf(context.Background(), p)
	}
	var order []pasar.JobID
	more, err := w.d.selectJobs(context.Background(), &w.list, p, func(j *job, _ int) error {
		order = append(order, j.ID)
		v := w.d.view(j, p.reasonFor(j), f)
		if has := w.jobs[j.ID].Waiting; has != nil && v.Waiting != nil && !otherCount(has.Ahead, v.Waiting.Ahead) {
			if !strings.Contains(has.Sentence, fmt.Sprintf(", %d ahead", has.Ahead)) && has.Ahead != v.Waiting.Ahead {
				return fmt.Errorf("job %d: %q, with %d ahead", j.ID, has.Sentence, has.Ahead)
			}
			near := *v.Waiting
			near.Ahead, near.Sentence = has.Ahead, strings.ReplaceAll(near.Sentence, fmt.Sprintf(", %d ahead", near.Ahead), fmt.Sprintf(", %d ahead", has.Ahead))
			v.Waiting, v.Summary = &near, &near.Sentence
		}
		if got, want := still(w.jobs[j.ID]), still(v); got != want {
			return fmt.Errorf("job %d:\nhas %s\n is %s", j.ID, got, want)
		}
		for _, times := range [][2]*time.Time{{w.jobs[j.ID].Projected.Start, v.Projected.Start}, {w.jobs[j.ID].Projected.Finish, v.Projected.Finish}} {
			has, is := nanos(times[0]), nanos(times[1])
			if has != 0 && is != 0 { // what creeps may have done so since the last look, and it may have been late by then
				slack := int64(changesEvery) + int64(patience(len(order)))
				has += min(max(is-has, -slack), slack)
			}
			if otherTime(has, is, w.d.Clock.Now()) {
				return fmt.Errorf("job %d: has %v, is %v", j.ID, times[0], times[1])
			}
		}
		return nil
	})
	if err != nil {
		w.t.Error(err)
	}
	if !slices.Equal(w.order.order, order) || len(w.jobs) != len(order) || w.more != more {
		w.t.Errorf("has %v (%d) and %d more; are %v and %d more", w.order.order, len(w.jobs), w.more, order, more)
	}
	got, err1 := json.Marshal(w.status)
	want, err2 := json.Marshal(w.d.status())
	if err := errors.Join(err1, err2); err != nil || string(got) != string(want) {
		w.t.Errorf("status:\nhas %s\n is %s, %v", got, want, err)
	}
}

func TestTheFirstViewOfChangesIsTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		ended := d.submit(spec("ended", 1000))
		w.machine.Finish(key(ended, 1), 0)
		d.expect(ended, pasar.Completed)
		runs, low, high := d.submit(spec("runs", 1000)), d.submit(spec("low", 1000)), d.submit(spec("high", 1500))
		c := d.watch(ipc.ListRequest{}, nil)
		v := c.news()
		if len(v) != 1 || !v[0].Whole || v[0].Status == nil || len(v[0].Moved)+len(v[0].Gone)+len(v[0].Outlooks) > 0 || v[0].Seq != d.pub.Load().seq {
			t.Fatalf("views %+v", v)
		}
		if want := []pasar.JobID{runs, high, low, ended}; !slices.Equal(c.order.order, want) {
			t.Errorf("jobs %v, want %v", c.order.order, want)
		}
		c.check()
	})
}

func TestWhatHappensToAJobComesAsAChangeOfThatJobAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		runs, waits := d.submit(spec("runs", 1000)), d.submit(spec("waits", 1000))
		c := d.watch(ipc.ListRequest{}, nil)
		time.Sleep(10 * time.Second)
		step := func(what string, do func(), want ...pasar.JobID) {
			t.Helper()
			n := len(c.news())
			do()
			time.Sleep(10 * time.Second)
			if jobs, _ := c.since(n); !slices.Equal(jobs, want) {
				t.Errorf("%s: jobs %v came, want %v", what, jobs, want)
			}
			c.check()
		}
		var last pasar.JobID
		step("a submit", func() { last = d.submit(spec("last", 1000)) }, waits+1)
		step("a bid", func() {
			if _, err := d.do(context.Background(), d.bid(ipc.BidRequest{Request: ipc.NewRequest(), Job: last, Bid: 1200})); err != nil {
				t.Fatal(err)
			}
		}, last)
		if !slices.Equal(c.order.order, []pasar.JobID{runs, last, waits}) {
			t.Errorf("order %v", c.order.order)
		}
		step("an end and a start", func() { w.machine.Finish(key(runs, 1), 0) }, runs, last)
		if j := c.jobs[waits]; !slices.Equal(j.Waiting.Holders, []pasar.JobID{last}) {
			t.Errorf("job %d waits for %v", waits, j.Waiting.Holders)
		}
	})
}

func TestNothingIsSentWhileNothingHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		for range 3 {
			d.submit(timed(4*time.Hour, 1000, whole(1)))
		}
		c := d.watch(ipc.ListRequest{}, nil)
		time.Sleep(10 * time.Second)
		n := len(c.news())
		time.Sleep(3 * time.Hour)
		if v := c.news(); len(v) != n {
			b, _ := json.Marshal(v[n])
			t.Errorf("%d views came, first %s", len(v)-n, b)
		}
		time.Sleep(59 * time.Minute)
		c.check()
	})
}

func TestALimitKeepsAWindowOfTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		var ids []pasar.JobID
		for range 10 {
			ids = append(ids, d.submit(spec("j", 1000)))
		}
		c := d.watch(ipc.ListRequest{Limit: 4}, nil)
		if v := c.news(); v[0].More != 6 || !slices.Equal(c.order.order, ids[:4]) {
			t.Fatalf("%v and %d more", c.order.order, v[0].More)
		}
		d.submit(spec("last", 1000))
		c.check()
		first := d.submit(spec("first", 2000))
		c.check()
		if want := []pasar.JobID{ids[0], first, ids[1], ids[2]}; !slices.Equal(c.order.order, want) || c.more != 8 {
			t.Errorf("%v and %d more", c.order.order, c.more)
		}
		w.machine.Finish(key(ids[0], 1), 0)
		c.check()
		if want := []pasar.JobID{first, ids[1], ids[2], ids[3]}; !slices.Equal(c.order.order, want) || c.more != 7 {
			t.Errorf("%v and %d more", c.order.order, c.more)
		}
	})
}

func TestNamedJobsAreFollowedPastTheirEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		runs, waits := d.submit(spec("runs", 1000)), d.submit(spec("waits", 1000))
		d.submit(spec("other", 1000))
		c := d.watch(ipc.ListRequest{Jobs: []pasar.JobID{waits, runs, waits}}, nil)
		w.machine.Finish(key(runs, 1), 0)
		d.expect(waits, pasar.Running)
		for range keepFinished + 1 { // until it has left memory
			id := d.submit(spec("b", 1000))
			if _, err := d.do(context.Background(), d.cancel(jobs(id))); err != nil {
				t.Fatal(err)
			}
		}
		c.check()
		if got := c.jobs[runs].State; got != pasar.Completed || !slices.Equal(c.order.order, []pasar.JobID{waits, runs}) || d.lookup(runs) != nil {
			t.Errorf("job %d is %s, order %v", runs, got, c.order.order)
		}
		none := d.watch(ipc.ListRequest{Jobs: []pasar.JobID{runs, 99}}, nil)
		var e *ipc.Error
		if !errors.As(none.err, &e) || e.Code != ipc.CodeUnknownJob || none.size > 0 {
			t.Errorf("a job that isn't there: %v, %d bytes", none.err, none.size)
		}
	})
}

func TestAClientThatStopsReadingIsRightAgainWhenItGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		d := w.start(nil)
		d.submit(spec("first", 1000))
		gate := make(chan struct{})
		c := d.watch(ipc.ListRequest{}, gate)
		for i := range 300 { // and the daemon goes on meanwhile
			id := d.submit(spec("j", pasar.Bid(1000+i%7)))
			if i%2 == 0 {
				if _, err := d.do(context.Background(), d.cancel(jobs(id))); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Second)
		}
		if n := len(c.news()); n != 0 {
			t.Fatalf("%d views came to a client that reads nothing", n)
		}
		close(gate)
		c.check()
		if v := c.news(); len(v[0].Jobs) != 1 || len(v) > 5 {
			t.Errorf("%d views, the first of %d jobs: what happened meanwhile was kept one by one", len(v), len(v[0].Jobs))
		}
	})
}

func TestAStartInALongQueueIsASmallChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		r := array("r", "a", 10_000)
		r.Spec.Hold = true // so that the time goes into changes, and not into projecting them
		if _, err := d.do(context.Background(), d.Daemon.submit(r)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		all, few := d.watch(ipc.ListRequest{}, nil), d.watch(ipc.ListRequest{Limit: 200}, nil)
		time.Sleep(3 * time.Second)
		if n := len(all.news()[0].Jobs); n != 10_000 {
			t.Fatalf("the first view has %d jobs", n)
		}
		t.Logf("at first: %d bytes, %d with a limit", all.size, few.size)
		sizes := func(what string, do func(), jobs int) (int, int) {
			t.Helper()
			n, before, beforeFew := len(all.news()), all.size, few.size
			do()
			time.Sleep(3 * time.Second)
			got, outlooks := all.since(n)
			if len(got) != jobs {
				t.Errorf("%s: %d jobs came", what, len(got))
			}
			t.Logf("%s: %d bytes with %d outlooks, %d with a limit", what, all.size-before, len(outlooks), few.size-beforeFew)
			return all.size - before, few.size - beforeFew
		}
		var id pasar.JobID
		if n, m := sizes("a start", func() { id = d.submit(spec("runs", 1000)) }, 1); n > 64<<10 || m > 64<<10 {
			t.Errorf("%d bytes, %d with a limit", n, m)
		}
		if n, m := sizes("an end", func() { w.machine.Finish(key(id, 1), 0) }, 1); n > 64<<10 || m > 64<<10 {
			t.Errorf("%d bytes, %d with a limit", n, m)
		}
		few.check()
	})
}

func TestALookIsFollowedByAPauseThatKeepsItCheap(t *testing.T) {
	for _, c := range []struct {
		took  time.Duration
		first bool
		want  time.Duration
	}{
		{time.Second, true, changesPause}, {time.Millisecond, false, changesPause},
		{20 * time.Millisecond, false, 20 * changesShare * time.Millisecond}, {time.Minute, false, changesMost},
	} {
		if got := pauseAfter(pasar.Duration(c.took), c.first); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestAQueueThatMovesOnSendsLittleOfItsFarEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many, starts = 600, 60
		w := newWorld(t, 1)
		d := w.start(nil)
		r := array("r", "a", many)
		r.Spec.Time = pasar.Duration(time.Hour)
		if _, err := d.do(context.Background(), d.Daemon.submit(r)); err != nil {
			t.Fatal(err)
		}
		const first = 1 // its id
		c := d.watch(ipc.ListRequest{}, nil)
		time.Sleep(2 * time.Minute)
		c.check()
		n := len(c.news())
		for i := range pasar.JobID(starts) {
			w.machine.Finish(key(first+i, 1), 0)
			time.Sleep(3 * time.Second)
			c.mu.Lock()
			next, second := c.jobs[first+i+1], c.jobs[first+i+2]
			c.mu.Unlock()
			if next.State != pasar.Running || !slices.Equal(second.Waiting.Holders, []pasar.JobID{next.ID}) {
				t.Fatalf("job %d is %s, and the next waits for %v", next.ID, next.State, second.Waiting.Holders)
			}
		}
		if _, outlooks := c.since(n); len(outlooks) > starts*many/4 {
			t.Errorf("%d outlooks for %d starts", len(outlooks), starts)
		}
		c.check()
	})
}

func TestChangesCrossTheSocketWhole(t *testing.T) {
	c := newWire(t, 1)
	var points []pasar.Point
	for i := range 1000 { // more than a chunk, and than a frame's buffer
		points = append(points, pasar.Point{Index: &i})
	}
	s := spec("a-{index}", 1000)
	a := c.submit(s, points...)
	c.await(a.Job, 1)
	enough := errors.New("enough")
	n := 0
	err := c.Changes(c.ctx, ipc.ChangesRequest{}, func(b []byte) error {
		var v pasar.ChangesView
		if err := json.Unmarshal(b, &v); err != nil {
			return err
		}
		n++
		if n == 1 {
			if !v.Whole || len(v.Jobs) != 1000 || len(b) <= ipc.MaxChunk {
				t.Errorf("the first view is of %d jobs, %d bytes", len(v.Jobs), len(b))
			}
			c.w.machine.Finish(key(a.Job, 1), 0)
			return nil
		}
		for _, j := range v.Jobs {
			if j.ID == a.Job && j.State == pasar.Completed {
				return enough
			}
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Error(err)
	}
	err = c.Changes(c.ctx, ipc.ChangesRequest{List: ipc.ListRequest{Jobs: []pasar.JobID{5000}}}, nil)
	var e *ipc.Error
	if !errors.As(err, &e) || e.Code != ipc.CodeUnknownJob {
		t.Error(err)
	}
}

// BenchmarkChanges is a look at ten thousand waiting jobs of which a client follows all, or the first: the first look,
// one that finds nothing, and one about a second after a job has ended and the next started.
func BenchmarkChanges(b *testing.B) {
	for _, limit := range []int{0, 200, 500} {
		ctx, cancel := context.WithCancel(context.Background())
		world, clock := targettest.NewWorld(targettest.Machine(1, 80*pasar.GiB)), quickClock{time.Now(), new(atomic.Int64)}
		d := benchDaemonOn(b, ctx, newMemJournal(), world, clock)
		done := make(chan struct{})
		go func() { defer close(done); _ = d.Run(ctx) }()
		r := array("r", "a", 10_000)
		r.Spec.Time = pasar.Duration(time.Hour)
		if _, err := d.do(ctx, d.submit(r)); err != nil {
			b.Fatal(err)
		}
		for d.outlook.Load() == nil { // or it would be made beside the first look
			d.forecast(ctx, time.Second)
		}
		size := 0
		follow := func() *follower {
			return d.newFollower(ipc.ListRequest{Limit: limit}, func(context.Context) (func(), error) { return func() {}, nil },
				func(b []byte) error { size += len(b); return nil })
		}
		look := func(b *testing.B, f *follower) {
			if _, err := f.look(ctx); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("limit=%d/first", limit), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				size = 0
				look(b, follow())
			}
			b.ReportMetric(float64(size), "sent-B/op")
		})
		b.Run(fmt.Sprintf("limit=%d/next", limit), func(b *testing.B) {
			b.ReportAllocs()
			f := follow()
			look(b, f)
			for b.Loop() {
				look(b, f)
			}
		})
		b.Run(fmt.Sprintf("limit=%d/starts", limit), func(b *testing.B) {
			f := follow()
			look(b, f)
			size = 0
			b.ResetTimer()
			for b.Loop() {
				b.StopTimer()
				first := d.pub.Load().active[0].ID
				world.Finish(key(first, 1), 0)
				clock.ahead.Add(int64(time.Second))
				for next := d.changed.next(); ; next = d.changed.next() {
					if a := d.pub.Load().active; len(a) > 0 && a[0].ID != first && a[0].Phase == phaseRunning {
						break
					}
					<-next
				}
				d.forecast(ctx, 100*time.Millisecond)
				b.StartTimer()
				look(b, f)
			}
			b.ReportMetric(float64(size)/float64(b.N), "sent-B/op")
		})
		cancel()
		<-done
	}
}

package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/target"
	"pasar/target/targettest"
)

// A wire is a daemon and a client of it with a socket between them.
type wire struct {
	*ipc.Client
	t   *testing.T
	w   *world
	d   *running
	ctx context.Context
}

func newWire(t *testing.T, gpus int) *wire {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	w := newWorld(t, gpus)
	w.dataDir = t.TempDir()
	d := w.begin(nil)
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	l, err := ipc.ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	wr := &wire{t: t, w: w, d: d, ctx: ctx}
	serve := func(ctx context.Context, c *ipc.Call) error { return wr.d.Serve(ctx, c) }
	srv := &ipc.Server{Handler: serve, Log: slog.New(slog.DiscardHandler), Version: "x", UID: os.Getuid()}
	done := make(chan struct{})
	sctx, stop := context.WithCancel(context.Background())
	go func() { defer close(done); _ = srv.Serve(sctx, l) }()
	t.Cleanup(func() { stop(); <-done })
	if wr.Client, err = ipc.Dial(ctx, path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = wr.Close() })
	return wr
}

func (c *wire) submit(s pasar.Spec, points ...pasar.Point) ipc.SubmitAnswer {
	c.t.Helper()
	a, err := c.Submit(c.ctx, ipc.SubmitRequest{Request: ipc.NewRequest(), Spec: s, Points: points})
	if err != nil {
		c.t.Fatal(err)
	}
	return a
}

func (c *wire) await(id pasar.JobID, attempt int) {
	c.t.Helper()
	if err := c.w.machine.AwaitStatus(c.ctx, key(id, attempt), target.Running); err != nil {
		c.t.Fatal(err)
	}
	r := ipc.WaitRequest{Jobs: []pasar.JobID{id}, Started: true} // until the daemon has seen it too
	if err := c.Wait(c.ctx, r, func([]byte) error { return nil }); err != nil {
		c.t.Fatal(err)
	}
}

// ends is the state in which a wait finds a job.
func (c *wire) ends(id pasar.JobID, through bool) pasar.State {
	c.t.Helper()
	var v pasar.JobView
	err := c.Wait(c.ctx, ipc.WaitRequest{Jobs: []pasar.JobID{id}, ThroughPauses: through}, func(b []byte) error { return json.Unmarshal(b, &v) })
	if err != nil {
		c.t.Fatal(err)
	}
	return v.State
}

func TestAnArrayIsAnsweredAndListedAsAGroup(t *testing.T) {
	c := newWire(t, 1)
	s := spec("one", 1000)
	other := c.submit(s)
	s.Name, s.Key, s.Hold = "a-{index}", "k", false
	var points []pasar.Point
	for i := range 30 {
		points = append(points, pasar.Point{Index: &i})
	}
	a := c.submit(s, points...)
	if !slices.Equal(a.Jobs, span(other.Job+1, 30)) || a.Job != a.Jobs[0] || a.Sentence != "all wait" || a.Existing {
		t.Fatalf("answer %+v", a)
	}
	if b := c.submit(s, points[:2]...); !b.Existing || !slices.Equal(b.Jobs, a.Jobs) {
		t.Errorf("the same key is answered with %+v", b)
	}
	if _, err := c.Cancel(c.ctx, jobs(a.Jobs[:25]...)); err != nil { // more than stay in memory
		t.Fatal(err)
	}
	got := c.listed(ipc.ListRequest{Group: a.Job})
	slices.Sort(got)
	if !slices.Equal(got, a.Jobs) {
		t.Errorf("group %d is %v", a.Job, got)
	}
}

// listed is the jobs of a list.
func (c *wire) listed(r ipc.ListRequest) (ids []pasar.JobID) {
	c.t.Helper()
	err := c.List(c.ctx, r, func(lines []byte) error {
		for line := range strings.Lines(string(lines)) {
			var v pasar.JobView
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				return err
			}
			ids = append(ids, v.ID)
		}
		return nil
	})
	if err != nil {
		c.t.Errorf("list %+v: %v", r, err)
	}
	return ids
}

func TestOfJobsThatAreNamedOnlyThoseThatAreAskedForAreListed(t *testing.T) {
	c := newWire(t, 1)
	var ids []pasar.JobID
	for i := range 30 {
		s := spec("a", 1000)
		s.Hold = true
		if i%2 == 0 {
			s.Tags = []string{"even"}
		}
		ids = append(ids, c.submit(s).Job)
	}
	if _, err := c.Cancel(c.ctx, jobs(ids[:25]...)); err != nil { // more than stay in memory
		t.Fatal(err)
	}
	named := []pasar.JobID{ids[29], ids[0], ids[28], ids[1]}
	for _, tt := range []struct {
		r    ipc.ListRequest
		want []pasar.JobID
	}{
		{ipc.ListRequest{}, named},
		{ipc.ListRequest{States: []pasar.State{pasar.Cancelled}}, []pasar.JobID{ids[0], ids[1]}},
		{ipc.ListRequest{Tag: "even", Limit: 3}, []pasar.JobID{ids[0], ids[28]}},
		{ipc.ListRequest{Limit: 3}, named[:3]},
		{ipc.ListRequest{By: "nobody"}, nil},
	} {
		tt.r.Jobs = named
		if got := c.listed(tt.r); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %v; want %v", tt.r, got, tt.want)
		}
	}
}

func TestAPauseIsAnEndOnlyForWhoDoesNotWaitThrough(t *testing.T) {
	c := newWire(t, 1)
	c.w.pausing(func(string) *targettest.Pausing { return targettest.Saves("/c", 0) })
	id := c.submit(pausable("a", 1000)).Job
	c.await(id, 1)
	through := make(chan pasar.State, 1)
	go func() { through <- c.ends(id, true) }()
	r := jobs(id)
	r.Jobs = append(r.Jobs, 99)
	p, err := c.Pause(c.ctx, r)
	if err != nil || p.Jobs[0].Error != nil || p.Jobs[1].Error == nil || p.Jobs[1].Error.Code != ipc.CodeUnknownJob {
		t.Fatalf("pause: %+v, %v", p, err)
	}
	if st := c.ends(id, false); st != pasar.Paused {
		t.Errorf("a plain wait ends with %s", st)
	}
	u, err := c.Resume(c.ctx, jobs(id))
	if err != nil || u.Jobs[0].Error != nil || !strings.Contains(u.Jobs[0].Sentence, "resumed") && !strings.Contains(u.Jobs[0].Sentence, "queued again") {
		t.Errorf("resume: %+v, %v", u, err)
	}
	c.await(id, 2)
	high := c.submit(preempting("high", 2000)).Job // a requeue is no end
	c.await(high, 1)
	c.w.machine.Finish(key(high, 1), 0)
	c.await(id, 3)
	select {
	case st := <-through:
		t.Errorf("a wait through pauses ended with %s", st)
	default:
	}
	c.w.machine.Finish(key(id, 3), 0)
	if st := <-through; st != pasar.Completed {
		t.Errorf("a wait through pauses ended with %s", st)
	}
}

func TestRefusalsSayWhy(t *testing.T) {
	c := newWire(t, 1)
	id := c.submit(spec("a", 1000)).Job
	c.await(id, 1)
	held := spec("b", 1000)
	held.Hold = true
	waits := c.submit(held).Job
	refused := func(err error, code string, words string) {
		t.Helper()
		var e *ipc.Error
		if !errors.As(err, &e) || string(e.Code) != code || !strings.Contains(e.Message, words) {
			t.Errorf("%v; want %s, %q", err, code, words)
		}
	}
	p, err := c.Pause(c.ctx, jobs(id, waits))
	if err != nil {
		t.Fatal(err)
	}
	refused(p.Jobs[0].Error, "wrong_state", "doesn't say that it can pause")
	refused(p.Jobs[1].Error, "wrong_state", "nothing to pause")
	p, err = c.Resume(c.ctx, jobs(waits))
	if err != nil {
		t.Fatal(err)
	}
	refused(p.Jobs[0].Error, "wrong_state", "it isn't paused")
	_, err = c.Edit(c.ctx, ipc.EditRequest{Request: "e", Job: id})
	refused(err, "wrong_state", "it can't be edited")
	_, err = c.Edit(c.ctx, ipc.EditRequest{Request: "e2", Job: 99})
	refused(err, "unknown_job", "no job 99")
	_, err = c.Drain(c.ctx, ipc.DrainRequest{Request: "d", Machine: "mars"})
	refused(err, "bad_request", `no machine "mars"`)
	_, err = c.Drain(c.ctx, ipc.DrainRequest{Request: "d2", GPU: "7"})
	refused(err, "bad_request", `has no GPU "7"`)
	_, err = c.Bid(c.ctx, ipc.BidRequest{Request: "b", Job: id, Bid: 1, Preempt: true})
	refused(err, "wrong_state", "only a job that waits")
	b, err := c.Drain(c.ctx, ipc.DrainRequest{Request: "d3", GPU: "0", Why: "fan"})
	var v pasar.GPUsView
	if err != nil || json.Unmarshal(b, &v) != nil || len(v.Machines) != 1 || len(v.Machines[0].GPUs) != 1 {
		t.Errorf("drain is answered with %s, %v", b, err)
	}
}

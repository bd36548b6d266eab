package daemon

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"pasar"
	"pasar/ipc"
)

// A twice is a request under an id, and others that might be taken for it.
type twice struct {
	same   func(c *wire, id string) error
	others []func(c *wire, id string) error
	old    int // so many of the first of those are told apart also by what older versions remembered
}

// Jobs that a repeated request is about.
const (
	runs, waits1, waits2, over1, over2 pasar.JobID = 1, 2, 3, 4, 5
)

// everyChange has each request that changes something.
func everyChange() map[ipc.Verb]twice {
	type asks = func(c *wire, id string) error
	jobs := func(verb func(*ipc.Client, context.Context, ipc.JobsRequest) (ipc.JobsAnswer, error), r ipc.JobsRequest, jobs ...pasar.JobID) asks {
		return func(c *wire, id string) error {
			r.Request, r.Jobs = id, jobs
			_, err := verb(c.Client, c.ctx, r)
			return err
		}
	}
	submit := func(r ipc.SubmitRequest) asks {
		return func(c *wire, id string) error { r.Request = id; _, err := c.Submit(c.ctx, r); return err }
	}
	bid := func(r ipc.BidRequest) asks {
		return func(c *wire, id string) error { r.Request = id; _, err := c.Bid(c.ctx, r); return err }
	}
	edit := func(r ipc.EditRequest) asks {
		return func(c *wire, id string) error { r.Request = id; _, err := c.Edit(c.ctx, r); return err }
	}
	restart := func(r ipc.RestartRequest) asks {
		return func(c *wire, id string) error { r.Request = id; _, err := c.Restart(c.ctx, r); return err }
	}
	drain := func(verb func(*ipc.Client, context.Context, ipc.DrainRequest) ([]byte, error), r ipc.DrainRequest) asks {
		return func(c *wire, id string) error { r.Request = id; _, err := verb(c.Client, c.ctx, r); return err }
	}
	approve := func(r ipc.ApproveRequest) asks {
		return func(c *wire, id string) error { r.Request = id; _, err := c.Approve(c.ctx, r); return err }
	}
	reject := func(r ipc.RejectRequest) asks {
		return func(c *wire, id string) error { r.Request = id; _, err := c.Reject(c.ctx, r); return err }
	}
	x, y := "x", "y"
	soon := pasar.Duration(60e9)
	plan, plan2 := []ipc.PlanRef{{Job: waits1, Plan: "p"}}, []ipc.PlanRef{{Job: waits1, Plan: "q"}}
	point := func(n int) []pasar.Point { return []pasar.Point{{Index: &n}} }
	env := func(s string) pasar.Surroundings { return pasar.Surroundings{Env: []pasar.Arg{pasar.Arg(s)}} }
	return map[ipc.Verb]twice{
		ipc.VerbSubmit: {submit(ipc.SubmitRequest{Spec: spec("a", 5), Points: point(1), Surroundings: env("A=b")}), []asks{
			submit(ipc.SubmitRequest{Spec: spec("b", 5), Points: point(1), Surroundings: env("A=b")}),
			submit(ipc.SubmitRequest{Spec: spec("a", 6), Points: point(1), Surroundings: env("A=b")}),
			submit(ipc.SubmitRequest{Spec: spec("a", 5), Points: point(2), Surroundings: env("A=b")}),
			submit(ipc.SubmitRequest{Spec: spec("a", 5), Points: point(1), Surroundings: env("A=c")})}, 0},
		ipc.VerbCancel: {jobs((*ipc.Client).Cancel, ipc.JobsRequest{}, waits1), []asks{jobs((*ipc.Client).Cancel, ipc.JobsRequest{}, waits2), jobs((*ipc.Client).Cancel, ipc.JobsRequest{}, runs),
			jobs((*ipc.Client).Cancel, ipc.JobsRequest{Now: true}, waits1), jobs((*ipc.Client).Cancel, ipc.JobsRequest{}, waits1, waits2)}, 2},
		ipc.VerbHold: {jobs((*ipc.Client).Hold, ipc.JobsRequest{}, waits1), []asks{jobs((*ipc.Client).Hold, ipc.JobsRequest{}, waits2), jobs((*ipc.Client).Hold, ipc.JobsRequest{By: x}, waits1)}, 1},
		ipc.VerbRelease: {jobs((*ipc.Client).Release, ipc.JobsRequest{}, waits1), []asks{jobs((*ipc.Client).Release, ipc.JobsRequest{}, waits2),
			jobs((*ipc.Client).Release, ipc.JobsRequest{}, waits1, waits2)}, 0},
		ipc.VerbPause:  {jobs((*ipc.Client).Pause, ipc.JobsRequest{}, runs), []asks{jobs((*ipc.Client).Pause, ipc.JobsRequest{}, waits1), jobs((*ipc.Client).Pause, ipc.JobsRequest{KillAfter: &soon}, runs)}, 1},
		ipc.VerbResume: {jobs((*ipc.Client).Resume, ipc.JobsRequest{}, waits1), []asks{jobs((*ipc.Client).Resume, ipc.JobsRequest{}, waits2)}, 0},
		ipc.VerbBid: {bid(ipc.BidRequest{Job: waits1, Bid: 777}), []asks{bid(ipc.BidRequest{Job: waits2, Bid: 777}), bid(ipc.BidRequest{Job: runs, Bid: 777}),
			bid(ipc.BidRequest{Job: waits1, Bid: 778}), bid(ipc.BidRequest{Job: waits1, Bid: 777, Preempt: true}), bid(ipc.BidRequest{Job: waits1, Promote: true})}, 2},
		ipc.VerbEdit: {edit(ipc.EditRequest{Job: waits1, Note: &x}), []asks{edit(ipc.EditRequest{Job: waits2, Note: &x}), edit(ipc.EditRequest{Job: waits1, Note: &y}),
			edit(ipc.EditRequest{Job: waits1, Name: &x}), edit(ipc.EditRequest{Job: waits1, Note: &x, More: ipc.Change{Visible: new(string)}})}, 1},
		ipc.VerbRestart: {restart(ipc.RestartRequest{Job: over1}), []asks{restart(ipc.RestartRequest{Job: over2}), restart(ipc.RestartRequest{Job: over1, Note: &x}),
			restart(ipc.RestartRequest{Job: over1, Hold: true})}, 1},
		ipc.VerbDrain:   {drain((*ipc.Client).Drain, ipc.DrainRequest{Why: x}), []asks{drain((*ipc.Client).Drain, ipc.DrainRequest{Why: y}), drain((*ipc.Client).Drain, ipc.DrainRequest{Why: x, GPU: "0"})}, 0},
		ipc.VerbUndrain: {drain((*ipc.Client).Undrain, ipc.DrainRequest{}), []asks{drain((*ipc.Client).Undrain, ipc.DrainRequest{GPU: "0"})}, 0},
		ipc.VerbApprove: {approve(ipc.ApproveRequest{Plans: plan, AtMost: 1}), []asks{approve(ipc.ApproveRequest{Plans: plan, AtMost: 2}),
			approve(ipc.ApproveRequest{Plans: plan2, AtMost: 1})}, 0},
		ipc.VerbReject: {reject(ipc.RejectRequest{Plans: plan}), []asks{reject(ipc.RejectRequest{Plans: plan2}), reject(ipc.RejectRequest{Plans: plan, Why: x})}, 0},
	}
}

func TestARequestIDIsForOneRequestAlone(t *testing.T) {
	all := everyChange()
	for _, r := range ipc.Requests {
		if r.Mutating {
			if _, ok := all[r.Verb]; !ok {
				t.Errorf("%s is missing here", r.Verb)
			}
		}
	}
	for verb, two := range all {
		t.Run(string(verb), func(t *testing.T) {
			t.Parallel()
			c := newWire(t, 1)
			s := spec("run", 1000)
			s.Pausable = true
			for range over2 {
				c.submit(s)
			}
			c.await(runs, 1)
			if _, err := c.Cancel(c.ctx, ipc.JobsRequest{Request: "ends", Jobs: []pasar.JobID{over1, over2}}); err != nil {
				t.Fatal(err)
			}
			refused := func(when string, other func(*wire, string) error) {
				t.Helper()
				var e *ipc.Error
				if err := other(c, "mine"); !errors.As(err, &e) || e.Code != ipc.CodeBadRequest || !strings.Contains(e.Message, "used for another request") {
					t.Errorf("%s, another request with the same id is answered with %v", when, err)
				}
			}
			answered := func(when string) {
				t.Helper()
				before := c.w.journal.about("mine")
				if err := two.same(c, "mine"); err != nil {
					t.Errorf("%s, a repeat is refused: %v", when, err)
				}
				if now := c.w.journal.about("mine"); now != before {
					t.Errorf("%s, a repeat is remembered %d times", when, now)
				}
			}
			if err := two.same(c, "mine"); err != nil {
				t.Fatal(err)
			}
			for _, other := range two.others {
				refused("at once", other)
			}
			answered("at once")
			c.d.kill()
			c.d = c.w.begin(nil)
			for _, other := range two.others {
				refused("after a restart", other)
			}
			answered("after a restart")
			c.d.kill()
			c.w.journal.forgetAsked()
			c.d = c.w.begin(nil)
			for _, other := range two.others[:two.old] {
				refused("by an older version", other)
			}
			answered("by an older version")
		})
	}
}

// about is how often a request was remembered.
func (m *memJournal) about(request string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return bytes.Count(bytes.Join(m.lines, nil), []byte(`"request":"`+request+`"`))
}

// forgetAsked makes of a journal one of a version that didn't keep what was asked.
func (m *memJournal) forgetAsked() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.snapSeq, m.snap = 0, nil
	for i, l := range m.lines {
		m.lines[i] = regexp.MustCompile(`"asked":"[0-9a-f]*",`).ReplaceAll(l, nil)
	}
}

// TestARepeatIsAnsweredWhateverHappenedSince: what would be refused by now was done when it was first asked.
func TestARepeatIsAnsweredWhateverHappenedSince(t *testing.T) {
	c := newWire(t, 1)
	run := c.submit(spec("run", 1000)).Job
	c.await(run, 1)
	waits := c.submit(spec("waits", 5)).Job
	name := "other"
	asks := map[string]func() error{
		"bid": func() error { _, err := c.Bid(c.ctx, ipc.BidRequest{Request: "bid", Job: waits, Bid: 7}); return err },
		"edit": func() error {
			_, err := c.Edit(c.ctx, ipc.EditRequest{Request: "edit", Job: waits, Name: &name})
			return err
		},
	}
	for what, ask := range asks {
		if err := ask(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	if _, err := c.Cancel(c.ctx, ipc.JobsRequest{Request: "c", Jobs: []pasar.JobID{waits}}); err != nil {
		t.Fatal(err)
	}
	for what, ask := range asks {
		if err := ask(); err != nil {
			t.Errorf("%s of a job that has ended since: %v", what, err)
		}
	}
}

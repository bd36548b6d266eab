package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/ipc"
)

func (r *running) story(id pasar.JobID, attempt int) *pasar.JobEventsView {
	r.w.t.Helper()
	synctest.Wait()
	v, err := r.events(ipc.EventsRequest{Job: id, Attempt: attempt})
	if err != nil {
		r.w.t.Fatal(err)
	}
	if v.Schema != pasar.Schema || v.ID != id || v.Events == nil {
		r.w.t.Fatalf("view %+v", v)
	}
	for i := range v.Events {
		e := &v.Events[i]
		if i > 0 && e.At.Before(*v.Events[i-1].At) {
			r.w.t.Errorf("%s of %s comes after %s of %s", e.Kind, e.At, v.Events[i-1].Kind, v.Events[i-1].At)
		}
		if e.Sentence == "" || strings.ContainsAny(e.Sentence, "\n\x1b") {
			r.w.t.Errorf("%s: sentence %q", e.Kind, e.Sentence)
		}
	}
	return v
}

// lines are events as text: "1 started: started on local, GPU 0".
func lines(v *pasar.JobEventsView) string {
	var b strings.Builder
	for _, e := range v.Events {
		n := "-"
		if e.Attempt != nil {
			n = fmt.Sprint(*e.Attempt)
		}
		fmt.Fprintf(&b, "%s %s: %s\n", n, e.Kind, e.Sentence)
	}
	return b.String()
}

// tell has an attempt report something now, and lets a second pass.
func (w *world) tell(k pasar.AttemptKey, e pasar.Event) {
	e.At = time.Now()
	w.machine.Report(k, e)
	time.Sleep(time.Second)
	synctest.Wait()
}

// A supervisor reads the last reports when the main process has exited.
func TestWhatAJobReportsRightBeforeItsEndIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		id := d.submit(spec("a", 1000))
		synctest.Wait()
		d.expect(id, pasar.Running)
		w.machine.Exit(key(id, 1), pasar.Exit{})
		w.tell(key(id, 1), pasar.Event{Kind: pasar.EventNote, Text: "bye"})
		w.machine.End(key(id, 1), nil)
		synctest.Wait()
		d.expect(id, pasar.Completed)
		if got := lines(d.story(id, 0)); !strings.Contains(got, "1 note: bye\n") {
			t.Errorf("%s", got)
		}
	})
}

func TestAJobsLifeIsToldInOrderAndOutlivesDaemonAndRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		pass := func() { time.Sleep(time.Second); synctest.Wait() }
		ask := func(c *command) {
			t.Helper()
			if _, err := d.do(context.Background(), c); err != nil {
				t.Fatal(err)
			}
			pass()
		}
		s := spec("a", 1000)
		s.By, s.Hold, s.Retries = "claude", true, 1
		id := d.submit(s)
		pass()
		one := func() ipc.JobsRequest {
			return ipc.JobsRequest{Request: ipc.NewRequest(), Jobs: []pasar.JobID{id}, By: "ada"}
		}
		ask(d.bid(ipc.BidRequest{Request: ipc.NewRequest(), Job: id, Bid: 1500, By: "ada\x1b[31m"}))
		ask(d.hold(one(), false))
		d.expect(id, pasar.Running)
		step := 1200.0
		w.tell(key(id, 1), pasar.Event{Kind: pasar.EventCheckpoint, Step: &step, Path: "/ck/1"})
		w.tell(key(id, 1), pasar.Event{Kind: pasar.EventNote, Text: "a smaller\nset"})
		later := 1300.0
		w.tell(key(id, 1), pasar.Event{Kind: pasar.EventProgress, Step: &step, Metrics: map[string]float64{"loss": 0.5}})
		w.tell(key(id, 1), pasar.Event{Kind: pasar.EventProgress, Step: &later})
		w.tell(key(id, 1), pasar.Event{Kind: pasar.EventCheckpoint, Step: &later})
		const alive = `- submitted: was submitted by ada for claude
- bid_changed: was given the bid 1500 by ada\x1b[31m
- released: was released by ada
1 started: started on local, GPU 0
1 checkpoint: saved at step 1200 to /ck/1
1 note: a smaller\nset
1 progress: is at step 1200
1 progress: is at step 1300
1 checkpoint: saved at step 1300
`
		if got := lines(d.story(id, 0)); got != alive {
			t.Errorf("%s\nwant\n%s", got, alive)
		}
		w.machine.Finish(key(id, 1), 3)
		pass()
		time.Sleep(10 * time.Minute) // the gap before a retry
		d.expect(id, pasar.Running)
		w.tell(key(id, 2), pasar.Event{Kind: pasar.EventResumed, Step: &later})
		ask(d.cancel(one()))
		w.machine.Finish(key(id, 2), 0)
		d.expect(id, pasar.Cancelled)
		before := d.story(id, 0)
		got := lines(before)
		for _, want := range []string{"1 ended: ", "; it is tried again\n", "2 started: ", "2 resumed: went on from step 1300\n2 stop_asked: was asked to stop by ada\n2 ended: "} {
			if !strings.Contains(got, want) {
				t.Errorf("there is no %q in\n%s", want, got)
			}
		}
		if last := before.Events[len(before.Events)-1]; *last.State != pasar.Cancelled || *last.Reason != "cancelled" {
			t.Errorf("the end is %+v", last)
		}
		if v := d.story(id, 2); !strings.HasPrefix(lines(v), "2 started: ") || strings.Contains(lines(v), "\n1 ") || len(v.Events) != 4 || *v.Attempt != 2 {
			t.Errorf("of the second attempt\n%s", lines(v))
		}
		d.kill()
		d = w.start(nil)
		after := d.story(id, 0)
		if a, b := mustJSON(t, before), mustJSON(t, after); !bytes.Equal(a, b) {
			t.Errorf("another daemon tells\n%s\nthe first\n%s", b, a)
		}
		old, err := d.find(id)
		if err != nil {
			t.Fatal(err)
		}
		again := old.Spec
		again.Hold = false
		ask(d.restart(ipc.RestartRequest{Request: ipc.NewRequest(), Job: id, By: "ada"}, old, again))
		if v := d.story(id, 0); !strings.HasPrefix(lines(v), got) || !strings.Contains(lines(v), "- restarted: was restarted by ada\n3 started: ") {
			t.Errorf("restarted\n%s", lines(v))
		}
		if _, err := d.events(ipc.EventsRequest{Job: id, Attempt: 9}); err == nil {
			t.Error("there are events of an attempt that there isn't")
		}
		if _, err := d.events(ipc.EventsRequest{Job: 99}); err == nil {
			t.Error("there are events of a job that there isn't")
		}
		w.check()
	})
}

func TestWhatHappenedToAJobIsBounded(t *testing.T) {
	j := &job{ID: 1, Created: time.Unix(1, 0)}
	at := func(i int) time.Time { return time.Unix(int64(10+i), 0) }
	report := func(i int, path string) pasar.Happening {
		return pasar.Happening{At: at(i), Attempt: 1, Kind: pasar.JobEventKind(pasar.EventCheckpoint), Event: &pasar.Event{Kind: pasar.EventCheckpoint, At: at(i), Path: path}}
	}
	j.happens(pasar.Happening{At: at(0), Kind: pasar.JobBidChanged, Bid: 7})
	first := j.Happened
	for i := 1; i <= 1000; i++ {
		j.happens(report(i, "/short"))
	}
	if n := len(j.Happened); n != pasar.MaxHappened || j.Forgotten != 1001-n || j.Happened[0].Bid != 7 || !j.Happened[n-1].At.Equal(at(1000)) {
		t.Errorf("%d are kept, %d forgotten; the first %+v", n, j.Forgotten, j.Happened[0])
	}
	if len(first) != 1 || first[0].Bid != 7 {
		t.Errorf("a list that readers may have was changed: %+v", first)
	}
	for i := 1; i <= 100; i++ {
		j.happens(report(1000+i, strings.Repeat("x", 4096)))
	}
	if b := mustJSON(t, j.Happened); len(b) > 2*maxHappened || j.Happened[0].Bid != 7 || !j.Happened[len(j.Happened)-1].At.Equal(at(1100)) {
		t.Errorf("%d bytes, %d of them", len(b), len(j.Happened))
	}
	for i := range 500 {
		j.happens(pasar.Happening{At: at(2000 + i), Kind: pasar.JobHeld})
	}
	if n := len(j.Happened); n != pasar.MaxHappened || !j.Happened[n-1].At.Equal(at(2499)) || slices.ContainsFunc(j.Happened, func(h pasar.Happening) bool { return h.Event != nil }) {
		t.Errorf("%d are kept", n)
	}
}

// TestAnAnswerOfEventsFitsAFrame: of more than fit the oldest are left out, but never how it began.
func TestAnAnswerOfEventsFitsAFrame(t *testing.T) {
	text := strings.Repeat("<", 4096)
	for _, n := range []int{1, pasar.MaxJobEvents, 50_000} {
		events := []pasar.JobEventView{{Kind: pasar.JobSubmitted, Sentence: "was submitted"}}
		for i := range n {
			step := float64(i)
			events = append(events, pasar.JobEventView{Kind: "note", Sentence: text, Text: &text, Step: &step})
		}
		out := curtail(&events)
		if b := mustJSON(t, pasar.JobEventsView{Events: events}); len(b) > ipc.MaxFrame-1024 || len(events) > pasar.MaxJobEvents || len(events)+out != n+1 {
			t.Errorf("of %d: %d bytes, %d events, %d left out", n, len(b), len(events), out)
		}
		if last := events[len(events)-1]; events[0].Kind != pasar.JobSubmitted || *last.Step != float64(n-1) {
			t.Errorf("of %d the first is %s", n, events[0].Kind)
		}
	}
}

// TestAJobFromBeforeHappeningsWereKeptHasItsAttempts.
func TestAJobFromBeforeHappeningsWereKeptHasItsAttempts(t *testing.T) {
	at := func(i int) time.Time { return time.Unix(int64(1000+i), 0).UTC() }
	j := &job{ID: 1, Created: at(0), Phase: phaseFinished, End: pasar.Failed, Spec: pasar.Spec{Submitter: "ada"}, Attempts: []pasar.AttemptRecord{{
		Attempt: 1, StartedAt: at(1), EndedAt: at(9), Grant: pasar.Grant{Machine: "local", GPUs: []pasar.GPURef{{Index: 0}, {Index: 2}, {Index: 3}}},
		Checkpoint: &pasar.Event{Kind: pasar.EventCheckpoint, At: at(5)}, Resumed: &pasar.Event{Kind: pasar.EventResumed, At: at(2)},
		Xids: []pasar.Xid{{Code: 79, Meaning: "fell off"}, {Code: 31, At: at(8)}}, Verdict: &pasar.Verdict{Reason: pasar.CodeExit, Summary: "exit code 3"}}}}
	got := lines(&pasar.JobEventsView{Events: (&Daemon{}).told(j)})
	const want = `1 xid_seen: one of its GPUs reported Xid 79: fell off
- submitted: was submitted by ada
1 started: started on local, GPUs 0, 2 and 3
1 resumed: went on
1 checkpoint: saved
1 xid_seen: one of its GPUs reported Xid 31
1 ended: exit code 3
`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

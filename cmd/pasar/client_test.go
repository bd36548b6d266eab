package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// job is a view with what a handler needs.
func job(id pasar.JobID, st pasar.State, code pasar.Code) pasar.JobView {
	v := pasar.JobView{ID: id, Name: "train", State: st, Bid: 1000, QueueTime: at, Created: at, Claim: pasar.Claim{Kind: pasar.Whole, GPUs: 1}.View(),
		Projected: pasar.ProjectedView{GPUs: []pasar.GPURef{}}}
	if st.Finished() {
		v.Verdict = &pasar.Verdict{Reason: code, Summary: "it was " + string(code), Hint: "try again"}
		v.Attempts = []pasar.AttemptView{{Attempt: 1, Tail: []string{"boom\x1b[2J"}}}
	}
	return v
}

func TestAListIsOneValueMadeOfTheDaemonsBytes(t *testing.T) {
	var want []string
	f := newFake(t, verbs{ipc.VerbList: func(_ context.Context, c *ipc.Call) error {
		var chunk []byte
		for i := range 2500 {
			b := jobView(t, job(pasar.JobID(i+1), pasar.Queued, ""))
			want = append(want, string(b))
			if chunk = append(append(chunk, b...), '\n'); i%1000 == 999 {
				if err := c.Chunk(chunk); err != nil {
					return err
				}
				chunk = nil
			}
		}
		return c.Chunk(chunk)
	}}.handle)
	r := f.run("ls", "--json")
	if r.out != `{"schema":1,"jobs":[`+strings.Join(want, ",")+"]}\n" {
		t.Errorf("exit %d, %.200q…", r.code, r.out)
	}
	if !json.Valid([]byte(r.out)) {
		t.Error("not JSON")
	}
}

func TestAnEmptyListIsEmptyAndStillJSON(t *testing.T) {
	f := newFake(t, verbs{ipc.VerbList: func(context.Context, *ipc.Call) error { return nil }}.handle)
	if r := f.run("ls"); r.code != 0 || r.out != "" {
		t.Errorf("exit %d, %q", r.code, r.out)
	}
	if r := f.run("ls", "--json"); r.out != `{"schema":1,"jobs":[]}`+"\n" {
		t.Errorf("%q", r.out)
	}
	if r := f.run("show"); r.code != exitRefused || !strings.Contains(r.stderr, "there are no jobs yet") {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
}

func TestWhatBecameOfEachJobIsToldAndTheFirstRefusalCounts(t *testing.T) {
	f := newFake(t, verbs{ipc.VerbCancel: func(_ context.Context, c *ipc.Call) error {
		return c.Answer(ipc.JobsAnswer{Jobs: []ipc.JobOutcome{{Job: 1, State: pasar.Cancelled, Sentence: "cancelled"},
			{Job: 2, Error: &ipc.Error{Code: ipc.CodeUnknownJob, Message: "there is no job #2", Hint: "look"}}}})
	}}.handle)
	r := f.run("cancel", "1", "2")
	if r.code != exitRefused || r.out != "#1 cancelled\n" || r.stderr != "pasar: there is no job #2\nhint: look\n" {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.stderr)
	}
	r = f.run("cancel", "--json", "1", "2")
	if r.code != exitRefused || !json.Valid([]byte(r.out)) || !strings.Contains(r.out, `"unknown_job"`) {
		t.Errorf("exit %d, %q", r.code, r.out)
	}
}

func TestARefusalForAJobThatIsOverSaysWhatToDo(t *testing.T) {
	over := func(_ context.Context, c *ipc.Call) error {
		return c.Answer(ipc.JobsAnswer{Jobs: []ipc.JobOutcome{{Job: 4, State: pasar.Failed, Error: &ipc.Error{Code: ipc.CodeWrongState, Message: "job 4 is failed"}}}})
	}
	f := newFake(t, verbs{ipc.VerbCancel: over, ipc.VerbHold: over, ipc.VerbBid: func(context.Context, *ipc.Call) error {
		return &ipc.Error{Code: ipc.CodeWrongState, Message: "job 4 is failed"}
	}}.handle)
	for line, hint := range map[string]string{"bid 4 7": "`pasar restart 4 --bid 7` queues it again with that bid", "cancel 4": "`pasar show 4` says how it ended",
		"kill 4": "`pasar show 4` says how it ended", "hold 4": "`pasar restart 4 --hold` queues it again, held"} {
		if r := f.run(strings.Fields(line)...); r.code != exitRefused || r.stderr != "pasar: job 4 is failed\nhint: "+hint+"\n" {
			t.Errorf("%s: exit %d, %q", line, r.code, r.stderr)
		}
	}
}

func TestColourIsForThoseWhoAskedOrCanSee(t *testing.T) {
	f := newFake(t, verbs{ipc.VerbShow: func(_ context.Context, c *ipc.Call) error {
		return c.Answer(ipc.ViewAnswer{JSON: jobView(t, job(1, pasar.Failed, pasar.CodeExit))})
	}}.handle)
	if r := f.run("show", "1"); strings.Contains(r.out, "\x1b") {
		t.Errorf("off a terminal: %q", r.out)
	}
	if r := f.run("show", "1", "--color=always"); !strings.Contains(r.out, "\x1b[31m") {
		t.Errorf("asked for: %q", r.out)
	}
}

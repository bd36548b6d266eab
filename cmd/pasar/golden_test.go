package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

var update = flag.Bool("update", false, "write the golden files anew")

// full is a job with every value known.
func full() pasar.JobView {
	p := func(s string) *string { return &s }
	span := pasar.Duration(90 * time.Minute)
	size, n, sig, out, step := 3*pasar.GiB, 7, 0, int64(12345), 1200.0
	v := job(42, pasar.Failed, pasar.CodeExit)
	v.Reason, v.Summary, v.Machine, v.By, v.Note, v.Key, v.EstSource = p("exit"), p("exited with code 7"), p("local"), p("grace"), p("try again"), p("k"), p("estimate")
	v.Claim = pasar.Claim{Kind: pasar.Slice, GPUs: 1, Mem: 24 * pasar.GiB, Limit: 26 * pasar.GiB, RAM: pasar.GiB, Type: "H200", IDs: []string{"0"}}.View()
	v.GPUs = []pasar.GPURef{{Index: 0, UUID: "GPU-1"}}
	v.Usage = pasar.UsageView{GPU: &size, Host: &size, PeakGPU: &size, PeakHost: &size}
	v.EstRuntime, v.RunTime, v.Remaining = &span, &span, &span
	v.Projected = pasar.ProjectedView{Start: &at, Finish: &at, Machine: p("local"), GPUs: v.GPUs}
	v.Waiting = &pasar.WaitingView{Why: pasar.WaitGPU, Sentence: "waits for a GPU held by #7", Ahead: 1, Holders: []pasar.JobID{7}, BidNeeded: pasar.Known(pasar.Bid(1001))}
	v.Progress = &pasar.ProgressView{Step: &step, Total: &step, Rate: &step, At: at, Metrics: map[string]float64{"loss": 0.5}}
	v.LastCheckpoint = &pasar.Event{Kind: pasar.EventCheckpoint, At: at, Step: &step, Path: "/ck"}
	v.Lost = pasar.LostView{Preemptions: &span, Failures: &span, Known: true}
	v.Command, v.Argv, v.Cwd = "python train.py $'\\xff'", []pasar.Arg{"python", "train.py", "\xff"}, "/home/ada"
	v.Submitter, v.Tags, v.Git, v.Grace = "ada", []string{"sweep"}, &pasar.Git{Commit: "0123", Dirty: true}, pasar.Duration(2*time.Minute)
	v.Group, v.Index, v.Params, v.MaxConcurrent = pasar.Known(pasar.JobID(41)), &n, pasar.ParamsView{"lr": "1e-5"}, &n
	v.TimeLimit, v.ResumeCommand, v.After, v.Begin = &span, p("python train.py --resume"), []pasar.Dependency{{Job: 40, On: pasar.AfterAny}}, &at
	v.Verdict = &pasar.Verdict{Reason: pasar.CodeExit, Summary: "exited with code 7", Evidence: []pasar.Line{{Number: 3, Text: "boom"}}, Hint: "h", Confidence: pasar.Certain, Blame: pasar.BlameJob}
	v.Attempts = []pasar.AttemptView{{Attempt: 1, Machine: "local", GPUs: v.GPUs, LaunchedAt: at, StartedAt: &at, EndedAt: &at, RunTime: &span, Pid: &n, ExitCode: &n, Signal: &sig,
		Output: &out, Stop: &pasar.StopView{Why: pasar.StopCancel, By: p("ada"), Step: pasar.StepTerm}, PeakHost: &size, LastCheckpoint: v.LastCheckpoint, Resumed: v.LastCheckpoint,
		Verdict: v.Verdict, Tail: []string{"boom"}}}
	return v
}

func statusView() pasar.StatusView {
	problem := "the disk is full"
	return pasar.StatusView{Schema: pasar.Schema, Version: "1.2", Pid: 9, StartedAt: at, DataDir: "/data", Socket: "/run/pasard.sock", Jobs: map[pasar.State]int{pasar.Queued: 1},
		Counts: pasar.CountsView{Submitted: 5, Attempts: map[pasar.Code]int64{pasar.CodeCompleted: 3, pasar.CodeGPUOOM: 1}, LostPreempt: 60e9, LostFailed: 5e8},
		Machines: []pasar.MachineView{{Name: "local", Reachable: true, Cores: 8, CPUJobs: 8, CPUUsed: 1, RAM: 64 * pasar.GiB, HostMemory: 48 * pasar.GiB, HostUsed: pasar.GiB, Notes: []string{"n"},
			GPUs: []pasar.GPUView{{GPU: pasar.GPU{Index: 0, UUID: "GPU-1", Name: "H200", Total: 139 * pasar.GiB}, Claimed: pasar.GiB, Free: 138 * pasar.GiB, Jobs: []pasar.JobID{1}}}}},
		Problem: &problem, Incidents: []pasar.IncidentView{{At: at, What: "pressure", Detail: "d"}}}
}

func gpusView() pasar.GPUsView {
	size, f, s, id := 3*pasar.GiB, 12.5, func(s string) *string { return &s }, pasar.JobID(42)
	xid := 79
	health := &pasar.Health{Reason: "Xid 79", Remedy: "restart the machine", Xid: &xid, Since: at, Boot: "b", Mends: true}
	m := statusView().Machines[0]
	m.Drained, m.Available, m.Pressure, m.Source, m.Driver, m.CUDA, m.Trouble, m.LookedAt = health, &size, &f, s("nvml"), s("580"), s("13.0"), s("t"), &at
	g := &m.GPUs[0]
	g.Status, g.Drained, g.Used, g.Reserved, g.Util, g.TempC, g.HotC, g.PowerW, g.LimitW, g.FanPct, g.ClockMHz = pasar.Known(pasar.GPULost), health, &size, &size, &f, &f, &f, &f, &f, &f, &f
	g.Throttle, g.Processes = []string{"thermal"}, []pasar.GPUProcessView{{Pid: 7, Name: "python", User: "ada", Used: &size, Job: &id}, {Pid: 8, Name: "x", User: "eve"}}
	g.Leaving, g.Settling = []pasar.LeavingView{{Job: 41, Since: at, Used: &size, Leaked: true}}, &id
	return pasar.GPUsView{Schema: pasar.Schema, Machines: []pasar.MachineView{m}}
}

func gpuHistoryView() pasar.GPUHistoryView {
	size, f, index, name := 3*pasar.GiB, 12.5, 0, "H200"
	return pasar.GPUHistoryView{Schema: pasar.Schema, Source: "samples", Note: pasar.Known("n"), Step: pasar.Duration(30 * time.Second), From: at, Until: at.Add(time.Hour), GPUs: []pasar.GPUSeriesView{
		{Index: &index, UUID: "GPU-1", Name: &name, Mem: &size, Points: []pasar.GPUSampleView{{At: at, Used: &size, Util: &f, TempC: &f, PowerW: &f}, {At: at.Add(time.Minute)}}},
		{UUID: "GPU-2", Points: []pasar.GPUSampleView{}}}}
}

func eventsView() pasar.JobEventsView {
	n, bid, state, f, s, id := 1, pasar.Bid(1500), pasar.Completed, 12.5, func(s string) *string { return &s }, pasar.JobID(7)
	return pasar.JobEventsView{Schema: pasar.Schema, ID: 42, Attempt: &n, LeftOut: 3, Events: []pasar.JobEventView{
		{At: &at, Kind: pasar.JobSubmitted, Sentence: "was submitted by ada"},
		{At: &at, Attempt: &n, Kind: pasar.JobEnded, Sentence: "all there is", By: s("ada"), Reason: s("completed"), State: &state, Bid: &bid, For: &id, Step: &f, TotalSteps: &f,
			Path: s("/ck"), Text: s("t"), Metrics: map[string]float64{"loss": 0.5}}}}
}

func statsView() pasar.StatsView {
	row := pasar.StatsRow{Key: "2026-01-02", Jobs: 3, States: map[pasar.State]int{pasar.Completed: 3}, Verdicts: map[pasar.Code]int{pasar.CodeCompleted: 3}, Attempts: 4, RunTime: 5e9, GPUHours: 0.5, MeanWait: 1e9, MaxWait: 2e9,
		LostPreempt: 3e9, LostFailed: 4e9, LostUnknown: 1, GPUHoursLost: 0.25, Blame: pasar.Known(pasar.BlameJob), Last: &at, LastJob: pasar.Known(pasar.JobID(42))}
	total := row
	total.Key, total.Blame, total.Last, total.LastJob = "", nil, nil, nil
	return pasar.StatsView{Schema: pasar.Schema, Since: &at, Total: total, By: "day", Rows: []pasar.StatsRow{row}}
}

func planView() pasar.PlanView {
	span, machine := pasar.Duration(time.Minute), "local"
	return pasar.PlanView{Schema: pasar.Schema, Claim: full().Claim, Limit: true,
		Jobs:    []pasar.PlannedJob{{ID: 42, Start: &at, Finish: &at, Before: &at, Machine: &machine, GPUs: []pasar.GPURef{{Index: 0, UUID: "GPU-1"}}, Waiting: full().Waiting, Sentence: "waits for a GPU held by #7"}},
		Delayed: []pasar.DelayedJob{{ID: 9, Name: "eval", From: at, To: &at, Delay: &span}},
		Stopped: []pasar.PreemptedJob{{ID: 7, Name: "train", Bid: 900, RunTime: &span, Loses: &span, Pausable: true}}}
}

// TestJSONIsAsItWas holds every kind of JSON answer as a file, so that a change of the interface is seen
// and meant. Keys may be added; none may go, or change its meaning.
func TestJSONIsAsItWas(t *testing.T) {
	answer := func(v any) ipc.Handler { return func(_ context.Context, c *ipc.Call) error { return c.Answer(v) } }
	marshal := func(v any) []byte {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	one, other := jobView(t, full()), jobView(t, job(7, pasar.Queued, ""))
	outcomes := ipc.JobsAnswer{Jobs: []ipc.JobOutcome{{Job: 1, State: pasar.Cancelled, Sentence: "cancelled"},
		{Job: 2, Error: &ipc.Error{Code: ipc.CodeUnknownJob, Message: "there is no job #2", Hint: "h"}}}}
	f := newFake(t, verbs{
		ipc.VerbShow: answer(ipc.ViewAnswer{JSON: one}), ipc.VerbStatus: answer(ipc.ViewAnswer{JSON: marshal(statusView())}),
		ipc.VerbSubmit: answer(ipc.SubmitAnswer{Job: 42, View: one}), ipc.VerbRestart: answer(ipc.SubmitAnswer{Job: 42, View: one}),
		ipc.VerbList: func(_ context.Context, c *ipc.Call) error {
			return c.Chunk([]byte(string(one) + "\n" + string(other) + "\n"))
		},
		ipc.VerbWait: waits(t, full()), ipc.VerbLogs: logOf(t, "a\r\nb\r\n"), ipc.VerbCancel: answer(outcomes), ipc.VerbHold: answer(outcomes),
		ipc.VerbGPUs: answer(ipc.ViewAnswer{JSON: marshal(gpusView())}), ipc.VerbGPUHistory: answer(ipc.ViewAnswer{JSON: marshal(gpuHistoryView())}), ipc.VerbDrain: answer(ipc.ViewAnswer{JSON: marshal(gpusView())}), ipc.VerbEvents: answer(ipc.ViewAnswer{JSON: marshal(eventsView())}), ipc.VerbStats: answer(ipc.ViewAnswer{JSON: marshal(statsView())}),
		ipc.VerbPlanSubmit: answer(ipc.ViewAnswer{JSON: marshal(planView())}), ipc.VerbPlanBid: answer(ipc.ViewAnswer{JSON: marshal(planView())}), ipc.VerbEdit: answer(ipc.SubmitAnswer{Job: 42, View: one}),
		ipc.VerbPause: answer(outcomes), ipc.VerbBid: answer(outcomes.Jobs[0]), ipc.VerbReload: answer(ipc.ReloadAnswer{Changed: []string{"default_bid"}}),
		ipc.VerbFacts: func(_ context.Context, c *ipc.Call) error {
			return c.Chunk(append(marshal(pasar.Record{Seq: 1, At: at, Mono: 1e9, Boot: "b", Fact: pasar.Held{Job: 1, By: "ada"}}), '\n'))
		},
	}.handle)
	for name, args := range map[string]string{
		"show": "show 42", "status": "status", "submit": "submit true", "restart": "restart 42", "list": "ls", "wait": "wait 42", "logs": "logs 42",
		"cancel": "cancel 1 2", "bid": "bid 1 5", "reload": "reload", "gpus": "gpus", "gpu-history": "gpus --history 6h", "drain": "drain", "stats": "stats", "events": "events 42", "plan": "bid 42 5 --dry-run", "edit": "edit 42 --time 2h", "pause": "pause 1 2", "facts": "facts", "error": "show x", "help-bid": "help bid", "event": "event note x", "completion": "completion fish",
	} {
		t.Run(name, func(t *testing.T) {
			env := f.env("PASAR_EVENTS=" + filepath.Join(t.TempDir(), "e"))
			r := runIn(t, t.Context(), env, append(strings.Fields(args), "--json")...)
			if name == "submit" {
				r = runIn(t, t.Context(), env, "submit", "--json", "true")
			}
			var pretty bytes.Buffer
			for line := range strings.Lines(r.out) { // a stream has one value a line
				if err := json.Indent(&pretty, []byte(line), "", "  "); err != nil {
					t.Fatalf("%v in %q", err, line)
				}
			}
			path := filepath.Join("testdata", "json", name+".json")
			if *update {
				if err := os.WriteFile(path, pretty.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if pretty.String() != string(want) {
				t.Errorf("%s\nwant\n%s", pretty.String(), want)
			}
		})
	}
}

// TestFullHasNothingUnknown keeps the golden job worth its name: a new key must be given a value.
func TestFullHasNothingUnknown(t *testing.T) {
	var v map[string]any
	if err := json.Unmarshal(jobView(t, full()), &v); err != nil {
		t.Fatal(err)
	}
	later := map[string]bool{"cloud": true} // parts that aren't built yet
	for k, x := range v {
		if x == nil && !later[k] {
			t.Errorf("%s is null", k)
		}
	}
}

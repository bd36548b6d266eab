package ui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"

	"pasar"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file of testdata; a difference is for a person to judge.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s (run with -update if that is right):\n%s\nwant:\n%s", name, got, want)
	}
}

var (
	now   = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	start = now.Add(-90 * time.Minute)
)

func ptr[T any](v T) *T { return &v }

// samples is a job in each stage of its life, with hostile text where a job can put it.
func samples() []*pasar.JobView {
	base := pasar.JobView{Schema: 1, Bid: 1000, QueueTime: now.Add(-2 * time.Hour), Created: now.Add(-2 * time.Hour), Submitter: "ada", Cwd: "/home/ada/proj",
		Command: "python train.py --lr 3e-4", Claim: pasar.Claim{Kind: pasar.Slice, GPUs: 1, Mem: 24 * pasar.GiB}.View(), Grace: pasar.Duration(2 * time.Minute), Preemptible: true}

	running := base
	running.ID, running.Name, running.State, running.Machine = 7, "train", pasar.Running, ptr("local")
	running.GPUs = []pasar.GPURef{{Index: 0, UUID: "GPU-1"}}
	running.RunTime, running.Remaining = ptr(pasar.Duration(90*time.Minute)), ptr(pasar.Duration(30*time.Minute))
	running.EstRuntime, running.EstSource = ptr(pasar.Duration(2*time.Hour)), ptr("estimate")
	running.Progress = &pasar.ProgressView{Step: ptr(1200.0), Total: ptr(5000.0), Rate: ptr(3.25), At: now.Add(-20 * time.Second), Metrics: map[string]float64{"loss": 0.3125, "acc": 0.9}}
	running.LastCheckpoint = &pasar.Event{Kind: pasar.EventCheckpoint, At: now.Add(-5 * time.Minute), Step: ptr(1000.0), Path: "/ck/1000"}
	running.Usage = pasar.UsageView{GPU: ptr(20 * pasar.GiB), PeakGPU: ptr(22 * pasar.GiB)}
	running.Attempts = []pasar.AttemptView{{Attempt: 1, Machine: "local", GPUs: running.GPUs, LaunchedAt: start, StartedAt: &start, Pid: ptr(4242)}}
	running.Tags, running.Note, running.By, running.Key = []string{"sweep", "x\x1b[31m"}, ptr("try\nagain"), ptr("grace"), ptr("k-1")
	running.Git = &pasar.Git{Commit: "0123abcd", Dirty: true}

	waiting := base
	waiting.ID, waiting.Name, waiting.State, waiting.Reason = 9, "evaluate-everything-on-all-the-data", pasar.Queued, ptr("memory")
	waiting.Waiting = &pasar.WaitingView{Why: pasar.WaitMemory, Sentence: "waits for 26.4 GiB of GPU memory (12 GiB free) held by #7", Ahead: 2,
		Holders: []pasar.JobID{7}, BidNeeded: ptr(pasar.Bid(1001))}
	waiting.Projected.Start = ptr(now.Add(31 * time.Minute))

	held := base
	held.ID, held.Name, held.State, held.Claim = 10, "漢字", pasar.Queued, pasar.Claim{Kind: pasar.NoGPU, RAM: pasar.GiB}.View()
	held.Waiting = &pasar.WaitingView{Why: pasar.WaitHeld, Sentence: "held until `pasar release`"}

	failed := base
	failed.ID, failed.Name, failed.State, failed.Reason = 5, "boom\x1b]0;x\a\u202e", pasar.Failed, ptr("gpu_oom")
	failed.RunTime = ptr(pasar.Duration(5 * time.Minute))
	failed.Verdict = &pasar.Verdict{Reason: pasar.CodeGPUOOM, Summary: "ran out of GPU memory: 2 GiB more than its 24 GiB", Hint: "ask for more with --mem\nor use a smaller batch",
		Evidence: []pasar.Line{{Number: 812, Text: "torch.OutOfMemoryError: CUDA out of memory"}}, Confidence: pasar.Likely, Blame: pasar.BlameJob}
	ended := start.Add(5 * time.Minute)
	failed.Attempts = []pasar.AttemptView{{Attempt: 1, Machine: "local", GPUs: running.GPUs, LaunchedAt: start, StartedAt: &start, EndedAt: &ended, RunTime: failed.RunTime,
		ExitCode: ptr(1), Output: ptr(int64(12345)), Tail: []string{"Traceback", "evil \x1b[2J\x07"}, Verdict: failed.Verdict}}

	cancelled := base
	cancelled.ID, cancelled.Name, cancelled.State = 4, "sleep", pasar.Cancelled
	cancelled.Verdict = &pasar.Verdict{Reason: pasar.CodeCancelled, Summary: "cancelled by ada: it ended on SIGTERM", Confidence: pasar.Certain, Blame: pasar.BlameUser}
	cancelled.Attempts = []pasar.AttemptView{{Attempt: 1, Machine: "local", LaunchedAt: start, StartedAt: &start, EndedAt: &ended, Signal: ptr(15),
		Stop: &pasar.StopView{Why: pasar.StopCancel, By: ptr("ada"), Step: pasar.StepTerm}}}

	completed := base
	completed.ID, completed.Name, completed.State, completed.RunTime = 3, "done", pasar.Completed, ptr(pasar.Duration(1500*time.Millisecond))
	completed.Summary = ptr("completed after 1.5s")
	completed.Verdict = &pasar.Verdict{Reason: pasar.CodeCompleted, Summary: "completed after 1.5s", Hint: "it never touched its GPU: --gpus 0 would do", Confidence: pasar.Certain}

	stopping := base
	stopping.ID, stopping.Name, stopping.State = 8, "stubborn", pasar.Stopping
	stopping.RunTime = ptr(pasar.Duration(time.Hour))
	stopping.Attempts = []pasar.AttemptView{{Attempt: 2, Machine: "local", LaunchedAt: start, Stop: &pasar.StopView{Why: pasar.StopCancel, Step: pasar.StepKill}}}

	starting := base
	starting.ID, starting.Name, starting.State = 11, "begin", pasar.Starting

	leaving := base
	leaving.ID, leaving.Name, leaving.State = 12, "leave", pasar.Stopping
	leaving.Summary = ptr("has exited; its record is being completed")
	leaving.RunTime = ptr(pasar.Duration(time.Hour))
	leaving.Attempts = []pasar.AttemptView{{Attempt: 1, Machine: "local", LaunchedAt: start, StartedAt: &start}}

	again := completed
	again.ID, again.RunTime, again.Verdict = 2, ptr(pasar.Duration(7*time.Second)), &pasar.Verdict{Reason: pasar.CodeCompleted, Summary: "completed after 2.9s"}
	again.Argv = pasar.Args([]string{"/bin/sh", "-c", "make data &&\n./train\x1b[2J"})
	again.Command = pasar.Quote(again.Argv)
	again.Attempts = []pasar.AttemptView{{Attempt: 1, Machine: "local", LaunchedAt: start, EndedAt: &ended, RunTime: ptr(pasar.Duration(4100 * time.Millisecond)), ExitCode: ptr(1)},
		{Attempt: 2, Machine: "local", LaunchedAt: start, EndedAt: &ended, RunTime: ptr(pasar.Duration(2900 * time.Millisecond)), ExitCode: ptr(0)}}

	nobody := cancelled
	nobody.ID, nobody.Verdict = 1, &pasar.Verdict{Reason: pasar.CodeCancelled, Summary: "cancelled: it ended on SIGTERM"}
	return append([]*pasar.JobView{&running, &stopping, &leaving, &starting, &waiting, &held, &failed, &cancelled, &completed, &again, &nobody}, later(base, running)...)
}

// later are jobs that others were stopped for, that wait for others, that are paused, tried again, and parts of a group.
func later(base, running pasar.JobView) []*pasar.JobView {
	paused := base
	paused.ID, paused.Name, paused.State, paused.Reason, paused.Pausable = 20, "saver", pasar.Paused, ptr("paused"), true
	paused.RunTime = ptr(pasar.Duration(time.Hour))
	paused.Verdict = &pasar.Verdict{Reason: pasar.CodePaused, Summary: "paused by ada: saved as /ck/9", Confidence: pasar.Certain}
	paused.LastCheckpoint = &pasar.Event{Kind: pasar.EventCheckpoint, At: now.Add(-5 * time.Minute), Step: ptr(9.0), Path: "/ck/9"}
	paused.ResumeCommand = ptr("./resume.sh")

	pausing := running
	pausing.ID, pausing.Name, pausing.State, pausing.Pausable = 21, "slow-saver", pasar.Stopping, true
	pausing.Attempts = []pasar.AttemptView{{Attempt: 1, Machine: "local", LaunchedAt: start, StartedAt: &start, Stop: &pasar.StopView{Why: pasar.StopPause, By: ptr("ada"), Step: pasar.StepFile}}}

	part := base
	part.ID, part.Name, part.State, part.Group, part.Index, part.Params, part.MaxConcurrent = 22, "part", pasar.Queued, ptr(pasar.JobID(22)), ptr(0), pasar.ParamsView{"lr": "1e-5", "bs": "8\x1b"}, ptr(2)
	part.After, part.Begin = []pasar.Dependency{{Job: 7, On: pasar.AfterOK}, {Job: 8, On: pasar.AfterAny}, {Job: 9, On: pasar.AfterFail}}, ptr(now.Add(10*time.Hour))
	part.Waiting = &pasar.WaitingView{Why: pasar.WaitAfter, Sentence: "comes after #7", Holders: []pasar.JobID{7, 8}}
	part.Preempt, part.Preemptible, part.TimeLimit = true, false, ptr(pasar.Duration(3*time.Hour))
	part.Retries = pasar.RetriesView{Max: 3, Used: 1, On: []pasar.Code{pasar.CodeGPUOOM, pasar.CodeLost}}
	part.Claim = pasar.Claim{Kind: pasar.Whole, GPUs: 2, IDs: []string{"0", "3"}, Type: "H200", External: pasar.ExternalAvoid}.View()

	first := part
	first.ID, first.Index, first.Params, first.After, first.Begin, first.Waiting = 23, ptr(1), nil, nil, nil, &pasar.WaitingView{Why: pasar.WaitTurn, Sentence: "waits behind #9", Holders: []pasar.JobID{7}, Reserved: ptr(now.Add(time.Hour)), Until: ptr(now.Add(time.Minute))}
	first.Preempt = false

	hasty := running
	hasty.ID, hasty.Name, hasty.EstSource, hasty.TimeLimit = 24, "hasty", ptr("history"), ptr(pasar.Duration(100*time.Minute))
	hasty.Projected.Finish = ptr(now.Add(30 * time.Minute))
	hasty.Progress, hasty.LastCheckpoint = nil, nil
	hasty.Usage = pasar.UsageView{PeakGPU: ptr(pasar.Bytes(0))}
	hasty.OverLimit = true
	before := now.Add(-3 * time.Hour)
	hasty.Attempts = []pasar.AttemptView{{Attempt: 1, Machine: "local", LaunchedAt: before, StartedAt: &before, EndedAt: &start, RunTime: ptr(pasar.Duration(time.Hour)), Signal: ptr(15),
		Stop: &pasar.StopView{Why: pasar.StopPreempt, Step: pasar.StepTerm}, Verdict: &pasar.Verdict{Reason: pasar.CodePreempted, Summary: "stopped for #30 with a bid of 2000"},
		Wasted: ptr(pasar.Duration(12 * time.Minute)), PeakGPU: ptr(20 * pasar.GiB), Xids: []pasar.Xid{{Code: 31, Meaning: "GPU memory page fault", At: start}}},
		{Attempt: 2, Machine: "local", LaunchedAt: start, StartedAt: &start, RestartCost: ptr(pasar.Duration(40 * time.Second))}}
	hasty.Lost = pasar.LostView{Preemptions: ptr(pasar.Duration(760 * time.Second)), Failures: ptr(pasar.Duration(0)), Known: true, QueueWait: pasar.Duration(25 * time.Minute)}
	return []*pasar.JobView{&paused, &pausing, &part, &first, &hasty}
}

func TestTheListSaysWhatEachJobIsAbout(t *testing.T) {
	golden(t, "jobs.txt", Jobs(samples(), now).Render(Style{}))
	golden(t, "jobs-100.txt", Jobs(samples(), now).Render(Style{Width: 100}))
	golden(t, "jobs-color.txt", strings.ReplaceAll(Jobs(samples(), now).Render(Style{Color: true}), "\x1b", "^["))
}

func TestAPageSaysEverything(t *testing.T) {
	var b strings.Builder
	for _, v := range samples() {
		b.WriteString(Page(v, now, Style{}) + "\n====\n")
	}
	golden(t, "pages.txt", b.String())
}

func TestWhySaysWhatWouldChangeIt(t *testing.T) {
	var b strings.Builder
	for _, v := range samples() {
		b.WriteString(WhyPage(v, Beside{Holders: samples()[:2]}, now, Style{}) + "====\n")
	}
	golden(t, "why.txt", b.String())
}

func TestWhySaysHowFarAJobIsOverItsLimit(t *testing.T) {
	v := samples()[0]
	v.OverLimit, v.Usage.GPU = true, ptr(30*pasar.GiB)
	if text := WhyPage(v, Beside{}, now, Style{}); !strings.Contains(text, "it uses 30 GiB of GPU memory, more than its limit of 24 GiB: should") {
		t.Error(text)
	}
	v.Usage.GPU, v.Usage.Host, v.Claim.RAM = nil, ptr(9*pasar.GiB), ptr(8*pasar.GiB)
	if text := WhyPage(v, Beside{}, now, Style{}); !strings.Contains(text, "it uses 9 GiB of host memory, more than its limit of 8 GiB: should") {
		t.Error(text)
	}
}

func TestAnEndIsOneLineWithWhyBelow(t *testing.T) {
	var b strings.Builder
	for _, v := range samples() {
		b.WriteString(End(v, Style{}) + "\n")
		for _, l := range Why(v, 5) {
			b.WriteString("    " + l + "\n")
		}
	}
	golden(t, "ends.txt", b.String())
}

func TestStatusIsAFewLines(t *testing.T) {
	v := &pasar.StatusView{Version: "1.2", Pid: 99, StartedAt: start, DataDir: "/data", Jobs: map[pasar.State]int{pasar.Running: 1, pasar.Queued: 3, pasar.Failed: 0},
		Problem: ptr("the disk is full"), Incidents: []pasar.IncidentView{{At: now, What: "pressure", Detail: "memory"}},
		Machines: []pasar.MachineView{{Name: "local", Reachable: true, CPUJobs: 8, CPUUsed: 2, HostMemory: 60 * pasar.GiB, HostUsed: 4 * pasar.GiB, Notes: []string{"a note"},
			GPUs: []pasar.GPUView{{GPU: pasar.GPU{Index: 0, Name: "H200", Total: 139 * pasar.GiB}, Free: 100 * pasar.GiB, Jobs: []pasar.JobID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
				{GPU: pasar.GPU{Index: 1, Name: "H200", Total: 139 * pasar.GiB}, Free: 139 * pasar.GiB}}}, {Name: "far"}}}
	golden(t, "status.txt", Status(v, now, Style{})+"====\n"+Status(&pasar.StatusView{Version: "1.2", StartedAt: now}, now, Style{}))
}

func TestEveryFactIsALine(t *testing.T) {
	facts := []pasar.Fact{pasar.DaemonStarted{Pid: 3, Version: "1"}, pasar.Submitted{Job: 1, Spec: pasar.Spec{Name: "a\x1b", Argv: pasar.Args([]string{"x", "y z"})}},
		pasar.BidChanged{Job: 1, Bid: 5, By: "ada"}, pasar.Held{Job: 1}, pasar.Released{Job: 1}, pasar.CancelledWaiting{Job: 1, By: "ada"},
		pasar.StopAsked{Job: 1, Attempt: 2, Stop: pasar.Stop{Why: pasar.StopCancel}}, pasar.Launched{Job: 1, Attempt: 2, Grant: pasar.Grant{Machine: "local", GPUs: []pasar.GPURef{{Index: 0}, {Index: 3}}}},
		pasar.Started{Job: 1, Attempt: 2, Pid: 77}, pasar.Exited{Job: 1, Attempt: 2, Exit: pasar.Exit{Signal: 11}},
		pasar.Ended{Job: 1, Attempt: 2, Verdict: pasar.Verdict{Reason: "exit", Summary: "exited with code 7"}}, pasar.Lost{Job: 1, Attempt: 2},
		pasar.Restarted{Job: 1}, pasar.Reported{Job: 1, Attempt: 2, Event: pasar.Event{Kind: pasar.EventCheckpoint, Step: ptr(4.0)}}, pasar.GitRead{Job: 1, Git: pasar.Git{Commit: "abc"}},
		pasar.BidChanged{Job: 1, Bid: 9, Preempt: true}, pasar.Edited{Job: 1, Spec: pasar.Spec{Name: "b"}, By: "ada"}, pasar.ResumeAsked{Job: 1, By: "ada"},
		pasar.Drained{Machine: "local", GPU: "GPU-1", Health: pasar.Health{Reason: "Xid 79"}}, pasar.Drained{Machine: "local", By: "ada", Health: pasar.Health{Reason: "driver"}}, pasar.Undrained{Machine: "local", By: "ada"},
		pasar.XidSeen{Machine: "local", Xid: pasar.Xid{UUID: "GPU-1", Code: 31, Meaning: "page fault"}, Jobs: []pasar.JobID{1, 2}},
		pasar.StopAsked{Job: 1, Attempt: 2, Stop: pasar.Stop{Why: pasar.StopPreempt, For: 9}}, pasar.Ended{Job: 1, Attempt: 2, Verdict: pasar.Verdict{Reason: "preempted"}, Sequel: pasar.Sequel{State: pasar.Queued}},
		pasar.Ended{Job: 1, Attempt: 2, Verdict: pasar.Verdict{Reason: "exit"}, Sequel: pasar.Sequel{State: pasar.Queued, Retry: true}}, pasar.Answered{Verb: "submit"}, pasar.MachineSeen{Inventory: pasar.Inventory{Machine: "local", RAM: pasar.GiB}}, pasar.Incident{What: "w", Detail: "d"}}
	var b strings.Builder
	for i, f := range facts {
		line := Fact(pasar.Record{Seq: int64(i), At: now, Fact: f}, now)
		if !strings.Contains(line, string(f.Kind())) {
			t.Errorf("%s is missing in %q", f.Kind(), line)
		}
		b.WriteString(line + "\n")
	}
	golden(t, "facts.txt", b.String())
}

func TestNothingAJobSaysReachesATerminalRaw(t *testing.T) {
	for _, v := range samples() {
		all := Jobs([]*pasar.JobView{v}, now).Render(Style{}) + Page(v, now, Style{}) + WhyPage(v, Beside{}, now, Style{}) + End(v, Style{}) + strings.Join(Why(v, 50), "\n")
		if clean := pasar.Clean(strings.ReplaceAll(all, "\n", " ")); clean != strings.ReplaceAll(all, "\n", " ") {
			t.Errorf("job %d: %q", v.ID, all)
		}
	}
}

func TestATableFitsItsWidth(t *testing.T) {
	for width := 40; width <= 200; width += 7 {
		for l := range strings.Lines(Jobs(samples(), now).Render(Style{Width: width})) {
			if n := runewidth.StringWidth(strings.TrimSuffix(l, "\n")); n > max(width, 90) {
				t.Errorf("width %d: %d columns: %q", width, n, l)
			}
		}
	}
}

func TestAPageFitsATerminalAndNoWordIsBroken(t *testing.T) {
	for _, v := range samples() {
		for i := range 3 { // a command of 100 kB, as the daemon shows it, in many words and in one
			v.Command = strings.Repeat([]string{"word ", "x", "漢字 "}[i], 1000)
			for _, width := range []int{40, 80, 120} {
				text := Page(v, now, Style{Width: width, Color: true}) + WhyPage(v, Beside{}, now, Style{Width: width})
				if n := len(strings.Split(text, "\n")); n > 80 {
					t.Errorf("job %d: %d lines", v.ID, n)
				}
				for l := range strings.SplitSeq(text, "\n") {
					if n := columns(l); n > width && strings.Contains(strings.TrimSpace(l), " ") && !strings.Contains(l, "/home") && i != 1 {
						t.Errorf("width %d: %d columns: %q", width, n, l)
					}
				}
			}
			if text := Page(v, now, Style{}); !strings.Contains(text, strings.TrimSpace(v.Command)) {
				t.Error("off a terminal the command is cut")
			}
		}
	}
}

func TestTextIsWrappedAtSpacesOnly(t *testing.T) {
	for _, tc := range []struct {
		in            string
		width, indent int
		want          string
	}{
		{"one two three", 8, 0, "one two\nthree"},
		{"one two three", 0, 0, "one two three"},
		{"label  one two three", 14, 7, "label  one two\n       three"},
		{"  incomprehensibilities is a word", 10, 2, "  incomprehensibilities\n  is a\n  word"},
		{"\x1b[2mone\x1b[0m two", 7, 0, "\x1b[2mone\x1b[0m two"},
		{"漢字 漢字 漢字", 9, 0, "漢字 漢字\n漢字"},
		{"a", 1, 0, "a"},
		{"a b", 1, 0, "a\nb"},
	} {
		if got := Wrap(tc.in, tc.width, tc.indent); got != tc.want {
			t.Errorf("%q at %d: %q, want %q", tc.in, tc.width, got, tc.want)
		}
	}
	const help = "Flags\n  --time TIME           how long it will run\n  --x\n                        deep text here\n"
	const want = "Flags\n  --time TIME           how long it\n                        will run\n  --x\n                        deep text\n                        here\n"
	if got := Fit(help, 36); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("  a  bc \x1b[2mdef\x1b[0m", 5, 2)
	f.Fuzz(func(t *testing.T, s string, width, indent int) {
		s = strings.ReplaceAll(s, "\n", " ")
		width, indent = int(uint(width)%200), int(uint(indent)%100)
		words := func(s string) string {
			return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\n' }), " ")
		}
		if got := Wrap(s, width, indent); words(got) != words(s) {
			t.Errorf("%q became %q", s, got)
		}
	})
}

func FuzzCut(f *testing.F) {
	f.Add("漢字 text", 5)
	f.Add("e\u0301🏳️‍🌈", 2)
	f.Fuzz(func(t *testing.T, s string, n int) {
		n = int(uint(n) % 500)
		if got := Cut(pasar.Clean(s), n); n > 0 && runewidth.StringWidth(got) > n {
			t.Errorf("%q cut to %d is %q", s, n, got)
		}
	})
}

func TestTimesAreOfTodayUnlessDated(t *testing.T) {
	for in, want := range map[time.Time]string{now.Add(-time.Hour): "11:00:00", now.Add(-24 * time.Hour): "2026-03-03 12:00:00"} {
		if got := When(in, now); got != want {
			t.Errorf("%v: %q, want %q", in, got, want)
		}
	}
	if got := fmt.Sprint(Ago(now.Add(time.Minute), now)); got != "0s" {
		t.Errorf("a time to come was %s ago", got)
	}
}

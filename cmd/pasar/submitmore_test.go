package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/submission"
)

// taker takes any submit, edit, restart, pause or change of a bid, and keeps what it was asked last.
type taker struct {
	submit  ipc.SubmitRequest
	edit    ipc.EditRequest
	restart ipc.RestartRequest
	jobs    ipc.JobsRequest
	bid     ipc.BidRequest
	drain   ipc.DrainRequest
	stats   ipc.StatsRequest
	list    ipc.ListRequest
	wait    ipc.WaitRequest
}

// daemon answers with jobs from 42 on; lists hold the jobs 7, 8 and 9.
func (k *taker) daemon(t *testing.T) *fake {
	view := jobView(t, job(42, pasar.Queued, ""))
	outcomes := func(c *ipc.Call) error {
		k.jobs = bind[ipc.JobsRequest](t, c)
		var ans ipc.JobsAnswer
		for _, id := range k.jobs.Jobs {
			ans.Jobs = append(ans.Jobs, ipc.JobOutcome{Job: id, State: pasar.Stopping, Sentence: "was asked"})
		}
		return c.Answer(ans)
	}
	plan := ipc.ViewAnswer{JSON: []byte(`{"schema":1,"claim":{"kind":"whole","gpus":1},"jobs":[{"id":42,"now":true}],"delayed":[],"stopped":[],"limit":false}`)}
	gpus := ipc.ViewAnswer{JSON: []byte(`{"schema":1,"machines":[{"name":"local","reachable":true,"gpus":[{"index":3,"uuid":"GPU-3","name":"H200","total":1073741824,"jobs":[7,8]}]}]}`)}
	return newFake(t, verbs{
		ipc.VerbSubmit: func(_ context.Context, c *ipc.Call) error {
			k.submit = bind[ipc.SubmitRequest](t, c)
			ans := ipc.SubmitAnswer{Job: 42, State: pasar.Queued, Sentence: "starts now", View: view, Advice: "jobs like this have used 3 GiB"}
			for i := range k.submit.Points {
				ans.Jobs = append(ans.Jobs, pasar.JobID(42+i))
			}
			return c.Answer(ans)
		},
		ipc.VerbEdit: func(_ context.Context, c *ipc.Call) error {
			k.edit = bind[ipc.EditRequest](t, c)
			return c.Answer(ipc.SubmitAnswer{Job: k.edit.Job, View: view})
		},
		ipc.VerbRestart: func(_ context.Context, c *ipc.Call) error {
			k.restart = bind[ipc.RestartRequest](t, c)
			return c.Answer(ipc.SubmitAnswer{Job: k.restart.Job, View: view})
		},
		ipc.VerbShow:  func(_ context.Context, c *ipc.Call) error { return c.Answer(ipc.ViewAnswer{JSON: view}) },
		ipc.VerbPause: func(_ context.Context, c *ipc.Call) error { return outcomes(c) }, ipc.VerbResume: func(_ context.Context, c *ipc.Call) error { return outcomes(c) },
		ipc.VerbCancel: func(_ context.Context, c *ipc.Call) error { return outcomes(c) },
		ipc.VerbBid: func(_ context.Context, c *ipc.Call) error {
			k.bid = bind[ipc.BidRequest](t, c)
			return c.Answer(ipc.JobOutcome{Job: k.bid.Job, Sentence: "bids"})
		},
		ipc.VerbPlanSubmit: func(_ context.Context, c *ipc.Call) error {
			k.submit = bind[ipc.SubmitRequest](t, c)
			return c.Answer(plan)
		},
		ipc.VerbPlanBid: func(_ context.Context, c *ipc.Call) error {
			k.bid = bind[ipc.BidRequest](t, c)
			return c.Answer(plan)
		},
		ipc.VerbDrain: func(_ context.Context, c *ipc.Call) error {
			k.drain = bind[ipc.DrainRequest](t, c)
			return c.Answer(gpus)
		},
		ipc.VerbUndrain: func(_ context.Context, c *ipc.Call) error {
			k.drain = bind[ipc.DrainRequest](t, c)
			return c.Answer(gpus)
		},
		ipc.VerbGPUs: func(_ context.Context, c *ipc.Call) error { return c.Answer(gpus) },
		ipc.VerbStats: func(_ context.Context, c *ipc.Call) error {
			k.stats = bind[ipc.StatsRequest](t, c)
			return c.Answer(ipc.ViewAnswer{JSON: []byte(`{"schema":1,"total":{},"by":"day","rows":[]}`)})
		},
		ipc.VerbList: func(_ context.Context, c *ipc.Call) error {
			k.list = bind[ipc.ListRequest](t, c)
			var b []byte
			for _, id := range []pasar.JobID{9, 7, 8} {
				b = append(append(b, jobView(t, job(id, pasar.Running, ""))...), '\n')
				if k.list.Last {
					break
				}
			}
			return c.Chunk(b)
		},
		ipc.VerbWait: func(_ context.Context, c *ipc.Call) error {
			k.wait = bind[ipc.WaitRequest](t, c)
			for _, id := range k.wait.Jobs {
				v := job(id, pasar.Completed, pasar.CodeCompleted)
				if id == 43 {
					v = job(id, pasar.Failed, pasar.CodeExit)
				}
				if id == 50 {
					v.State = pasar.Paused
				}
				if err := c.Chunk(jobView(t, v)); err != nil {
					return err
				}
			}
			return nil
		},
		ipc.VerbLogs: logOf(t, "out\n"),
	}.handle)
}

func TestWhenAndHowAJobRunsArrivesAsAsked(t *testing.T) {
	k := &taker{}
	f := k.daemon(t)
	args := []string{"submit", "--gpu-ids", "0,GPU-4b5f9c", "--gpu-type", "H200", "--external", "avoid", "--preempt", "--non-preemptible", "--retries", "3", "--retry-on", "gpu_oom,lost", "--time-limit", "2h",
		"--pausable", "--resume-command", "python train.py --resume", "--checkpoint-grace", "90s", "--no-sigterm", "--after", "41,last:fail", "--after", "group:7:fail,41", "--begin", "+2h", "--visible", "index", "--on", "local", "true"}
	before := time.Now()
	r := f.run(args...)
	if r.code != 0 || r.out != "submitted #42 true (2 whole GPUs of type H200; starts now)\n" || r.stderr != "hint: jobs like this have used 3 GiB\n" {
		t.Fatalf("exit %d, %q, %q", r.code, r.out, r.stderr)
	}
	s := k.submit.Spec
	if c := s.Claim; c.Kind != pasar.Whole || c.GPUs != 2 || !slices.Equal(c.IDs, []string{"0", "GPU-4b5f9c"}) || c.Type != "H200" || c.External != pasar.ExternalAvoid {
		t.Errorf("claim %+v", c)
	}
	if !s.Preempt || !s.NonPreemptible || s.Retries != 3 || !slices.Equal(s.RetryOn, []pasar.Code{pasar.CodeGPUOOM, pasar.CodeLost}) || s.TimeLimit != pasar.Duration(2*time.Hour) || !s.Pausable ||
		s.CheckpointGrace != pasar.Duration(90*time.Second) || !s.NoSigterm || s.Visible != "index" || s.Machine != "local" {
		t.Errorf("spec %+v", s)
	}
	if want := []pasar.Arg{submission.Shell, "-c", "python train.py --resume"}; !slices.Equal(s.ResumeCommand, want) {
		t.Errorf("resume command %q", s.ResumeCommand)
	}
	want := []pasar.Dependency{{Job: 41, On: pasar.AfterOK}, {Job: 9, On: pasar.AfterFail}, {Job: 7, On: pasar.AfterFail}, {Job: 8, On: pasar.AfterFail}}
	if got := s.After; !slices.Equal(got, want) {
		t.Errorf("after %v, want %v", got, want)
	}
	if s.Begin.Before(before.Add(2*time.Hour)) || s.Begin.After(time.Now().Add(2*time.Hour)) {
		t.Errorf("begin %v", s.Begin)
	}
	if r := f.run("submit", "--mem", "auto", "true"); r.code != 0 || !k.submit.Spec.Claim.Auto || k.submit.Spec.Claim.Mem != 0 || k.submit.Spec.Claim.Kind != pasar.Slice {
		t.Errorf("exit %d, %q, %+v", r.code, r.stderr, k.submit.Spec.Claim)
	}
}

func TestAnArrayIsOneAnswerWithEveryJob(t *testing.T) {
	k := &taker{}
	f := k.daemon(t)
	r := f.run("submit", "--array", "0-2%2", "--param", "lr=1,2", "--name", "x{index}", "echo", "{lr}")
	if r.code != 0 || r.out != "submitted #42–#47 (group 42: 6 jobs, each one whole GPU; starts now)\n" {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.stderr)
	}
	if n := len(k.submit.Points); n != 6 || *k.submit.Points[5].Index != 2 || k.submit.Points[5].Params[0].Value != "2" || k.submit.Spec.MaxConcurrent != 2 {
		t.Errorf("%+v, at once %d", k.submit.Points, k.submit.Spec.MaxConcurrent)
	}
	if r := f.run("submit", "--array", "0-2%2", "--max-concurrent", "1", "--parsable", "true"); r.out != "42\n43\n44\n" || k.submit.Spec.MaxConcurrent != 1 {
		t.Errorf("%q, at once %d", r.out, k.submit.Spec.MaxConcurrent)
	}
	if r := f.run("submit", "--array", "0-2", "--json", "true"); r.out != `{"schema":1,"group":42,"jobs":[42,43,44]}`+"\n" {
		t.Errorf("%q", r.out)
	}
	r = f.run("submit", "--array", "0-2", "--wait", "true")
	if r.code != exitFailed || strings.Count(r.out, "\n") != 3 || !strings.Contains(r.out, "#43 train failed") || !strings.Contains(r.stderr, "submitted #42–#44") {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.stderr)
	}
	if r := f.run("submit", "--array", "0-2", "--wait", "--parsable", "true"); r.code != exitFailed || r.out != "42\n43\n44\n" {
		t.Errorf("exit %d, %q", r.code, r.out)
	}
	var ends int
	r = f.run("submit", "--array", "0-2", "--wait", "--json", "true")
	for l := range strings.Lines(r.out) {
		if json.Valid([]byte(l)) && strings.Contains(l, `"state"`) {
			ends++
		}
	}
	if r.code != exitFailed || ends != 3 {
		t.Errorf("exit %d, %q", r.code, r.out)
	}
	csv := filepath.Join(t.TempDir(), "p.csv")
	if err := os.WriteFile(csv, []byte("a,b\n1,x\n2,y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := f.run("submit", "--param-file", csv, "echo", "{a}"); r.code != 0 || len(k.submit.Points) != 2 || k.submit.Points[1].Params[1].Value != "y" {
		t.Errorf("exit %d, %q, %+v", r.code, r.stderr, k.submit.Points)
	}
	if r := f.run("submit", "--param-file", csv+"x", "true"); r.code != exitBadInput || r.stderr != "pasar: "+csv+"x: no such file or directory\n" {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
}

func TestAFlagBeatsTheJobFileAndThatTheScript(t *testing.T) {
	k := &taker{}
	f := k.daemon(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	script := write("train.sh", "#!/bin/sh\n#PASAR --time 1h --note script --tag s1 --tag s2 --retries 2\n#SBATCH -J slurm --mem=16G -p gpu\n#SBATCH --gres=gpu:2\ntrue\n")
	job := write("job.toml", "time = '2h'\nname = 'file'\ntag = ['f']\nhold = true\ncommand = ['./train.sh', '--x']\n")
	r := f.run("submit", "--job", job, "--cwd", dir, "--time", "3h", "--no-env")
	s := k.submit.Spec
	if r.code != 0 || s.Time != pasar.Duration(3*time.Hour) || s.Name != "file" || !slices.Equal(s.Tags, []string{"f"}) || s.Note != "script" || !s.Hold || s.Retries != 2 ||
		s.Claim.RAM != 16*pasar.GiB || s.Claim.GPUs != 2 || !slices.Equal(s.Argv, []pasar.Arg{"./train.sh", "--x"}) {
		t.Errorf("exit %d, %q, %+v", r.code, r.stderr, s)
	}
	for _, want := range []string{"pasar: from train.sh: --note script --retries 2\n", "pasar: from the #SBATCH lines of train.sh: --ram 16G --gpus 2\n",
		"pasar: --mem of #SBATCH is host memory, which is --ram here\n", "pasar: of the #SBATCH lines of train.sh, nothing is made of --partition\n"} {
		if !strings.Contains(r.stderr, want) {
			t.Errorf("%q lacks %q", r.stderr, want)
		}
	}
	if r := f.run("submit", "--job", job, "--gpus", "0", script); r.code != 0 || k.submit.Spec.Claim.Kind != pasar.NoGPU || k.submit.Spec.Argv[0] != pasar.Arg(script) {
		t.Errorf("exit %d, %q, %+v", r.code, r.stderr, k.submit.Spec)
	}
	if r := f.run("submit", "bash", script); r.code != 0 || k.submit.Spec.Name != "slurm" || k.submit.Spec.Time != pasar.Duration(time.Hour) || !slices.Equal(k.submit.Spec.Tags, []string{"s1", "s2"}) {
		t.Errorf("exit %d, %q, %+v", r.code, r.stderr, k.submit.Spec)
	}
	yaml := write("job.yaml", "name: y\ntime: 90\ncommand: echo a b\n")
	if r := f.run("submit", "--job", yaml); r.code != exitBadInput || !strings.HasPrefix(r.stderr, "pasar: "+yaml+":2: time: bad time \"90\"") {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
	if r := f.run("submit", "--job", yaml, "--time", "2h"); r.code != 0 || !slices.Equal(k.submit.Spec.Argv, []pasar.Arg{submission.Shell, "-c", "echo a b"}) {
		t.Errorf("exit %d, %q, %q", r.code, r.stderr, k.submit.Spec.Argv)
	}
	for text, want := range map[string]string{"tme = '2h'": ":1: tme is no flag of submit that a file can have; did you mean time?", "\njson = true": ":2: json is no flag", "gpus = true": ":1: gpus: "} {
		bad := write("bad.toml", text+"\ncommand = 'true'\n")
		if r := f.run("submit", "--job", bad); r.code != exitBadInput || !strings.HasPrefix(r.stderr, "pasar: "+bad+want) {
			t.Errorf("%q: exit %d, %q", text, r.code, r.stderr)
		}
	}
	for text, want := range map[string]string{"--tme 2h": ":1: #PASAR: unknown flag --tme", "--time 2": ":1: time: bad time", "x": `:1: #PASAR: "x" is no flag`, "--job x": ":1: job is no flag"} {
		bad := write("bad.sh", "#PASAR "+text+"\n")
		if r := f.run("submit", bad); r.code != exitBadInput || !strings.HasPrefix(r.stderr, "pasar: "+bad+want) {
			t.Errorf("%q: exit %d, %q", text, r.code, r.stderr)
		}
	}
	if r := f.run("submit", "--json", "--job", dir+"/none.toml"); r.code != exitBadInput || !strings.Contains(r.out, `"code":"bad_input"`) || r.stderr != "" {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.stderr)
	}
}

func TestADryRunAsksAndChangesNothing(t *testing.T) {
	k := &taker{}
	f := k.daemon(t)
	for _, line := range []string{"submit --dry-run --mem 3G true", "bid 42 7 --preempt --dry-run", "promote 42 --dry-run"} {
		r := f.run(strings.Fields(line)...)
		if r.code != 0 || !strings.HasPrefix(r.out, "#42 would start now\n") || !strings.Contains(r.out, "nobody would be stopped") {
			t.Errorf("%s: exit %d, %q, %q", line, r.code, r.out, r.stderr)
		}
		if r := f.run(append(strings.Fields(line)[:1:1], append([]string{"--json"}, strings.Fields(line)[1:]...)...)...); !oneLine(r.out) || !json.Valid([]byte(r.out)) {
			t.Errorf("%s: %q", line, r.out)
		}
	}
	if k.submit.Spec.Claim.Mem != 3*pasar.GiB || !k.bid.Promote {
		t.Errorf("%+v, %+v", k.submit.Spec.Claim, k.bid)
	}
}

func TestChangesArriveAsAsked(t *testing.T) {
	k := &taker{}
	f := k.daemon(t)
	run := func(line string) result {
		r := f.run(strings.Fields(line)...)
		if r.code != 0 {
			t.Errorf("%s: exit %d, %q", line, r.code, r.stderr)
		}
		return r
	}
	if r := run("edit 42 --time 3h --after none --begin now --tag a --retries 0 --non-preemptible=false --mem 40G"); r.out != "changed #42 train (one whole GPU)\n" {
		t.Errorf("%q", r.out)
	}
	e := k.edit
	if e.Job != 42 || *e.Time != pasar.Duration(3*time.Hour) || len(*e.More.After) != 0 || !e.More.Begin.IsZero() || *e.More.Retries != 0 || *e.More.NonPreemptible || e.Claim.Mem != 40*pasar.GiB ||
		!slices.Equal(*e.Tags, []string{"a"}) || e.Grace != nil || e.Name != nil || e.More.TimeLimit != nil {
		t.Errorf("%+v", e)
	}
	if run("edit group:42 --max-concurrent 4"); k.edit.Job != 42 || *k.edit.More.MaxConcurrent != 4 || k.edit.Claim != nil {
		t.Errorf("%+v", k.edit)
	}
	if run("restart 42 --preempt --time-limit 1h --gpu-ids 1"); !k.restart.Preempt || *k.restart.More.TimeLimit != pasar.Duration(time.Hour) || k.restart.Claim.IDs[0] != "1" {
		t.Errorf("%+v", k.restart)
	}
	if r := run("pause 5 --kill-after 10m --by ada"); r.out != "#5 was asked\n" || *k.jobs.KillAfter != pasar.Duration(10*time.Minute) || k.jobs.By != "ada" {
		t.Errorf("%q, %+v", r.out, k.jobs)
	}
	if run("pause 5"); k.jobs.KillAfter != nil {
		t.Errorf("%+v", k.jobs)
	}
	if run("resume group:7"); !slices.Equal(k.jobs.Jobs, []pasar.JobID{7, 8, 9}) || k.list.Group != 7 {
		t.Errorf("%+v, %+v", k.jobs, k.list)
	}
	if run("cancel group:7,7,50"); !slices.Equal(k.jobs.Jobs, []pasar.JobID{7, 8, 9, 50}) || len(k.list.States) != len(unfinished) {
		t.Errorf("%+v", k.jobs)
	}
	if run("bid 42 1500 --preempt"); !k.bid.Preempt || k.bid.Bid != 1500 || k.bid.Promote {
		t.Errorf("%+v", k.bid)
	}
	if run("promote"); !k.bid.Promote || k.bid.Job != 9 {
		t.Errorf("%+v", k.bid)
	}
	if run("promote 42 --bid 7"); k.bid.Promote || k.bid.Bid != 7 {
		t.Errorf("%+v", k.bid)
	}
	if r := run("drain local --gpu 3 --why driver"); r.out != "GPU 3 of local: nothing more starts there; the 2 jobs that are there go on (`pasar undrain --gpu 3` ends it)\n" || k.drain.Machine != "local" || k.drain.Why != "driver" {
		t.Errorf("%q, %+v", r.out, k.drain)
	}
	if r := run("undrain"); r.out != "local: jobs start there again\n" || k.drain.Machine != "" {
		t.Errorf("%q, %+v", r.out, k.drain)
	}
	if run("stats --by tag --since 7d"); k.stats.By != "tag" || time.Since(k.stats.Since) < 167*time.Hour {
		t.Errorf("%+v", k.stats)
	}
	if r := run("gpus"); !strings.Contains(r.out, "H200") || !strings.Contains(r.out, "#7") {
		t.Errorf("%q", r.out)
	}
}

func TestAPauseIsFiveUnlessItIsWaitedThrough(t *testing.T) {
	k := &taker{}
	f := k.daemon(t)
	r := f.run("wait", "50")
	if r.code != exitPaused || r.out != "#50 train paused: it was completed\n" || r.stderr != "hint: `pasar resume 50` queues it again, to go on from there\n" || k.wait.ThroughPauses {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.stderr)
	}
	if _ = f.run("wait", "--through-pauses", "50"); !k.wait.ThroughPauses {
		t.Error("the daemon isn't told")
	}
	if r := f.run("wait", "50", "43"); r.code != exitFailed {
		t.Errorf("a failure is worse than a pause: exit %d", r.code)
	}
}

func TestFieldsAreALineForEachJob(t *testing.T) {
	k := &taker{}
	f := k.daemon(t)
	if r := f.run("ls", "--format", "id", "--json"); r.code != exitUsage || !strings.Contains(r.out, "--format and --json exclude each other") {
		t.Errorf("exit %d, %q", r.code, r.out)
	}
	r := f.run("ls", "--format", "id,state,name,claim.kind,claim.mem,tags,bid")
	if want := "9\trunning\ttrain\twhole\t-\t-\t1000\n"; r.code != 0 || !strings.HasPrefix(r.out, want) || strings.Count(r.out, "\n") != 3 {
		t.Errorf("exit %d, %q, want %q", r.code, r.out, want)
	}
	for _, field := range []string{"progress.metrics.loss", "params.lr", "verdict.reason", "attempts", "gpus"} {
		if r := f.run("ls", "--format", field); r.code != 0 || r.out != "-\n-\n-\n" {
			t.Errorf("%s: exit %d, %q, %q", field, r.code, r.out, r.stderr)
		}
	}
}

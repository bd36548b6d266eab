package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/ipc"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// job is a view with what a handler needs.
func job(id pasar.JobID, st pasar.State, code pasar.Code) pasar.JobView {
	v := pasar.JobView{ID: id, Name: "train", State: st, Bid: 1000, QueueTime: at, Created: at, Claim: pasar.Claim{Kind: pasar.Whole, GPUs: 1}.View()}
	if st.Finished() {
		v.Verdict = &pasar.Verdict{Reason: code, Summary: "it was " + string(code), Hint: "try again"}
		v.Attempts = []pasar.AttemptView{{Attempt: 1, Tail: []string{"boom\x1b[2J"}}}
	}
	return v
}

// waits answers a wait with these views.
func waits(t *testing.T, views ...pasar.JobView) ipc.Handler {
	return func(_ context.Context, c *ipc.Call) error {
		for _, v := range views {
			if slices.Contains(bind[ipc.WaitRequest](t, c).Jobs, v.ID) {
				if err := c.Chunk(jobView(t, v)); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

func TestWaitExitsByTheTable(t *testing.T) {
	seven, segv := 7, 11
	failed := job(1, pasar.Failed, pasar.CodeExit)
	failed.Attempts[0].ExitCode = &seven
	crashed := job(1, pasar.Failed, pasar.CodeSignal)
	crashed.Attempts[0].Signal = &segv
	for _, tc := range []struct {
		name  string
		views []pasar.JobView
		args  string
		want  int
	}{
		{"completed", []pasar.JobView{job(1, pasar.Completed, pasar.CodeCompleted)}, "1", 0},
		{"failed", []pasar.JobView{failed}, "1", 1},
		{"out of GPU memory", []pasar.JobView{job(1, pasar.Failed, pasar.CodeGPUOOM)}, "1", 2},
		{"shm", []pasar.JobView{job(1, pasar.Failed, pasar.CodeShmFull)}, "1", 2},
		{"cancelled", []pasar.JobView{job(1, pasar.Cancelled, pasar.CodeCancelled)}, "1", 3},
		{"paused", []pasar.JobView{job(1, pasar.Paused, "")}, "1", 5},
		{"memory over failed", []pasar.JobView{failed, job(2, pasar.Failed, pasar.CodeOOM), job(3, pasar.Cancelled, "")}, "1,2,3", 2},
		{"failed over cancelled", []pasar.JobView{job(2, pasar.Cancelled, ""), failed, job(3, pasar.Completed, "")}, "1-3", 1},
		{"cancelled over completed", []pasar.JobView{job(2, pasar.Completed, ""), job(1, pasar.Cancelled, "")}, "1 2", 3},
		{"own code", []pasar.JobView{failed}, "--propagate 1", 7},
		{"own signal", []pasar.JobView{crashed}, "--propagate 1", 139},
		{"no own code", []pasar.JobView{job(1, pasar.Failed, pasar.CodeLaunchError)}, "--propagate 1", 1},
		{"started", []pasar.JobView{job(1, pasar.Running, "")}, "--for started 1", 0},
		{"any", []pasar.JobView{job(1, pasar.Cancelled, "")}, "--any 1 2", 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(t, verbs{ipc.VerbWait: waits(t, tc.views...)}.handle)
			r := f.run(append([]string{"wait"}, strings.Fields(tc.args)...)...)
			if r.code != tc.want {
				t.Errorf("exit %d, want %d\n%s%s", r.code, tc.want, r.out, r.stderr)
			}
			if n := strings.Count(r.out, "\n"); n != len(tc.views) {
				t.Errorf("%d lines for %d jobs: %q", n, len(tc.views), r.out)
			}
		})
	}
}

func TestWaitTellsWhyOnStandardErrorCleaned(t *testing.T) {
	f := newFake(t, verbs{ipc.VerbWait: waits(t, job(1, pasar.Failed, pasar.CodeExit))}.handle)
	r := f.run("wait", "1")
	if r.out != "#1 train failed: it was exit\n" || !strings.Contains(r.stderr, `boom\x1b[2J`) || !strings.Contains(r.stderr, "hint: try again\n") {
		t.Errorf("out %q\nerr %q", r.out, r.stderr)
	}
}

func TestWaitTimesOutWith4AndLeavesTheJob(t *testing.T) {
	f := newFake(t, verbs{ipc.VerbWait: func(ctx context.Context, c *ipc.Call) error { <-ctx.Done(); return ctx.Err() }}.handle)
	r := f.run("wait", "--timeout", "1ms", "1")
	if r.code != exitTimeout || r.out != "" || !strings.Contains(r.stderr, "job #1 isn't over") {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.stderr)
	}
	r = f.run("wait", "--timeout", "1ms", "--json", "1")
	if r.code != exitTimeout || r.out != `{"schema":1,"timed_out":true,"left":[1]}`+"\n" {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.stderr)
	}
}

func TestWaitGoesOnWithAnotherDaemonAndSaysNothingTwice(t *testing.T) {
	var f *fake
	var asked [][]pasar.JobID
	second := verbs{ipc.VerbWait: func(ctx context.Context, c *ipc.Call) error {
		asked = append(asked, bind[ipc.WaitRequest](t, c).Jobs)
		return c.Chunk(jobView(t, job(2, pasar.Completed, "")))
	}}.handle
	first := verbs{ipc.VerbWait: func(ctx context.Context, c *ipc.Call) error {
		asked = append(asked, bind[ipc.WaitRequest](t, c).Jobs)
		if err := c.Chunk(jobView(t, job(1, pasar.Completed, ""))); err != nil {
			return err
		}
		f.shutDown(second)
		<-ctx.Done()
		return ctx.Err()
	}}.handle
	f = newFake(t, first)
	r := f.run("wait", "1", "2")
	if r.code != 0 || r.out != "#1 train completed\n#2 train completed\n" {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.stderr)
	}
	if want := [][]pasar.JobID{{1, 2}, {2}}; !slices.EqualFunc(asked, want, slices.Equal) {
		t.Errorf("asked for %v, want %v", asked, want)
	}
}

func TestADaemonThatWasShutDownIsNotStartedAgainBehindItsBack(t *testing.T) {
	defer func(d time.Duration) { reconnectFor = d }(reconnectFor)
	reconnectFor = 10 * time.Millisecond
	var f *fake
	f = newFake(t, verbs{ipc.VerbWait: func(ctx context.Context, c *ipc.Call) error {
		f.mu.Lock()
		stop := f.stop
		f.stop = nil
		f.mu.Unlock()
		go stop()
		<-ctx.Done()
		return ctx.Err()
	}}.handle)
	if err := os.WriteFile(f.dir+"/pasard", []byte("#!/bin/sh\ntouch "+f.dir+"/started\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := runIn(t, t.Context(), f.env("PATH="+f.dir+":/bin"), "wait", "1")
	if r.code != exitNoDaemon || !strings.HasPrefix(r.stderr, "pasar: the daemon was shut down\nhint: ") {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
	if _, err := os.Stat(f.dir + "/started"); err == nil {
		t.Error("a daemon was started")
	}
}

func TestAnInterruptIs130(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	f := newFake(t, verbs{ipc.VerbWait: func(ctx context.Context, c *ipc.Call) error {
		cancel(errInterrupted)
		<-ctx.Done()
		return ctx.Err()
	}}.handle)
	if r := runIn(t, ctx, f.env(), "wait", "1"); r.code != exitInterrupted {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
}

func TestAChangeLostWithItsDaemonIsAskedAgainUnderTheSameNumber(t *testing.T) {
	var f *fake
	var requests []string
	note := func(c *ipc.Call) { requests = append(requests, bind[ipc.SubmitRequest](t, c).Request) }
	f = newFake(t, verbs{ipc.VerbSubmit: func(ctx context.Context, c *ipc.Call) error {
		note(c)
		f.replace(verbs{ipc.VerbSubmit: func(_ context.Context, c *ipc.Call) error {
			note(c)
			return c.Answer(ipc.SubmitAnswer{Job: 7, State: pasar.Queued, Sentence: "starts now", View: jobView(t, job(7, pasar.Queued, ""))})
		}}.handle)
		<-ctx.Done()
		return ctx.Err()
	}}.handle)
	r := f.run("submit", "true")
	if r.code != 0 || r.out != "submitted #7 true (one whole GPU; starts now)\n" {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.stderr)
	}
	if len(requests) != 2 || requests[0] != requests[1] || requests[0] == "" {
		t.Errorf("asked under %q", requests)
	}
}

func TestSubmitRecordsExactlyWhatAChildWouldInherit(t *testing.T) {
	var got ipc.SubmitRequest
	f := newFake(t, verbs{ipc.VerbSubmit: func(_ context.Context, c *ipc.Call) error {
		got = bind[ipc.SubmitRequest](t, c)
		return c.Answer(ipc.SubmitAnswer{Job: 1, View: jobView(t, job(1, pasar.Queued, ""))})
	}}.handle)
	args := []string{"submit", "--mem", "24G", "--time", "2h", "--bid", "1500", "--name", "n", "--tag", "a", "--tag", "b", "--env", "ADD=1", "--env", "PATH",
		"--cwd", "/", "--grace", "5s", "--ram", "1G", "--key", "k", "--hold", "--by", "ada", "--note", "x", "/bin/echo", "--time", "a b", "\xff\n'", ""}
	env := f.env("Z=\xfe", "B=1", "B=2", "PASAR_JOB_ID=9", "PASAR_EVENTS=/x", "PASAR_TOKEN=t", "PASAR_GPU_FRACTION=0.5", "XLA_PYTHON_CLIENT_MEM_FRACTION=0.5")
	if r := runIn(t, t.Context(), env, args...); r.code != 0 {
		t.Fatalf("exit %d, %q", r.code, r.stderr)
	}
	s := got.Spec
	if want := []pasar.Arg{"/bin/echo", "--time", "a b", "\xff\n'", ""}; !slices.Equal(s.Argv, want) {
		t.Errorf("argv %q", s.Argv)
	}
	if s.Claim.Kind != pasar.Slice || s.Claim.GPUs != 1 || s.Claim.Mem != 24*pasar.GiB || s.Claim.RAM != pasar.GiB {
		t.Errorf("claim %+v", s.Claim)
	}
	if s.Time != pasar.Duration(2*time.Hour) || s.Grace != pasar.Duration(5*time.Second) || s.Bid != 1500 || s.Name != "n" || s.Key != "k" || !s.Hold ||
		s.By != "ada" || s.Note != "x" || s.Cwd != "/" || !slices.Equal(s.Tags, []string{"a", "b"}) {
		t.Errorf("spec %+v", s)
	}
	want := []pasar.Arg{"ADD=1", "B=2", pasar.Arg("HOME=" + f.dir), "PASAR_SOCKET=" + pasar.Arg(f.path), "PASAR_TOKEN=t", "PATH=/usr/bin:/bin", "Z=\xfe"}
	if !slices.Equal(got.Surroundings.Env, want) {
		t.Errorf("env %q\nwant %q", got.Surroundings.Env, want)
	}
	if runIn(t, t.Context(), env, "submit", "--no-env", "true").code != 0 || len(got.Surroundings.Env) != 2 {
		t.Errorf("--no-env leaves %q", got.Surroundings.Env)
	}
	if n := len(got.Surroundings.Limits); n != resources {
		t.Errorf("%d limits", n)
	}
	old := unix.Umask(0o137)
	_ = runIn(t, t.Context(), env, "submit", "true")
	unix.Umask(old)
	if got.Surroundings.Umask != 0o137 || got.Surroundings.Nice < -20 || got.Surroundings.Nice > 19 {
		t.Errorf("umask %o, nice %d", got.Surroundings.Umask, got.Surroundings.Nice)
	}
}

func TestOneArgumentWithSpacesIsALineForAShell(t *testing.T) {
	for _, tc := range []struct {
		in   []string
		sh   bool
		want []string
	}{
		{[]string{"echo $X | cat"}, false, []string{shell, "-c", "echo $X | cat"}},
		{[]string{"echo"}, false, []string{"echo"}},
		{[]string{"a b", "c"}, false, []string{"a b", "c"}},
		{[]string{"echo", "$X"}, true, []string{shell, "-c", "echo $X"}},
	} {
		if got, err := argvOf(tc.in, tc.sh); err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%q: %q, %v", tc.in, got, err)
		}
	}
}

func TestAMissingCommandIsQueuedAndWarnedOf(t *testing.T) {
	f := newFake(t, verbs{ipc.VerbSubmit: func(_ context.Context, c *ipc.Call) error {
		return c.Answer(ipc.SubmitAnswer{Job: 1, View: jobView(t, job(1, pasar.Queued, ""))})
	}}.handle)
	for cmd, want := range map[string]string{"no-such-program": "no-such-program is not on the PATH", "./nope": "./nope does not exist", "/etc/passwd": "is not executable", "true": ""} {
		r := f.run("submit", cmd)
		if r.code != 0 || (want == "") != (r.stderr == "") || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: exit %d, %q", cmd, r.code, r.stderr)
		}
	}
}

func TestOutputGoesOnWithAnotherDaemonByteForByte(t *testing.T) {
	const text = "one\ntwo\nthree\n"
	var f *fake
	var offsets []int64
	serve := func(upTo int, then func(ctx context.Context) error) ipc.Handler {
		return verbs{ipc.VerbLogs: func(ctx context.Context, c *ipc.Call) error {
			r := bind[ipc.LogsRequest](t, c)
			offsets = append(offsets, r.Offset)
			head, err := json.Marshal(ipc.LogsHead{Attempt: 1, Offset: r.Offset})
			if err != nil {
				return err
			}
			if err := errors.Join(c.Chunk(head), c.Chunk([]byte(text[r.Offset:upTo]))); err != nil {
				return err
			}
			if then != nil {
				return then(ctx)
			}
			return c.Answer(ipc.LogsAnswer{Attempt: 1, Offset: int64(upTo), Ended: true})
		}}.handle
	}
	f = newFake(t, serve(6, func(ctx context.Context) error {
		f.shutDown(serve(len(text), nil))
		<-ctx.Done()
		return ctx.Err()
	}))
	r := f.run("logs", "-f", "--raw", "--attempt", "1", "5")
	if r.code != 0 || r.out != text || r.stderr != "" {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.stderr)
	}
	if !slices.Equal(offsets, []int64{0, 6}) {
		t.Errorf("asked from %v", offsets)
	}
}

// logOf serves a finished attempt's output as a daemon does.
func logOf(t *testing.T, text string) ipc.Handler {
	return func(_ context.Context, c *ipc.Call) error {
		r := bind[ipc.LogsRequest](t, c)
		from := r.Offset
		if from < 0 {
			from = max(0, int64(len(text))+from)
		}
		head, err := json.Marshal(ipc.LogsHead{Attempt: 1, Offset: from})
		if err != nil {
			return err
		}
		if err := c.Chunk(head); err != nil {
			return err
		}
		for rest := text[from:]; rest != ""; {
			n := min(len(rest), 1000)
			if err := c.Chunk([]byte(rest[:n])); err != nil {
				return err
			}
			rest = rest[n:]
		}
		return c.Answer(ipc.LogsAnswer{Attempt: 1, Offset: int64(len(text)), Ended: true})
	}
}

func TestTheLastLinesOfALongLogAreExact(t *testing.T) {
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "line %d\r\n", i)
	}
	f := newFake(t, verbs{ipc.VerbLogs: logOf(t, b.String())}.handle)
	for _, n := range []int{0, 1, 100, 20_000, 200_000} {
		r := f.run("logs", "-n", fmt.Sprint(n), "1")
		first, lines := max(0, 100_000-n), strings.Count(r.out, "\n")
		if r.code != 0 || lines != min(n, 100_000) || n > 0 && !strings.HasPrefix(r.out, fmt.Sprintf("line %d\n", first)) {
			t.Errorf("last %d: exit %d, %d lines from %.20q", n, r.code, lines, r.out)
		}
	}
}

func TestOffATerminalOutputIsPlainText(t *testing.T) {
	const out = "\x1b[31mred\x1b[0m\r\n 10%\r 50%\r100%\r\nno end"
	f := newFake(t, verbs{ipc.VerbLogs: logOf(t, out)}.handle)
	if r := f.run("logs", "1"); r.out != "red\n100%\nno end\n" {
		t.Errorf("plain: %q", r.out)
	}
	if r := f.run("logs", "--color=always", "1"); !strings.Contains(r.out, "31mred\x1b[0m\n100%\nno end\n") {
		t.Errorf("with colours: %q", r.out)
	}
	if r := f.run("logs", "--raw", "1"); r.out != out {
		t.Errorf("raw: %q", r.out)
	}
	if r := f.run("logs", "1", "2"); r.out != "#1  red\n#1  100%\n#1  no end\n#2  red\n#2  100%\n#2  no end\n" {
		t.Errorf("of two jobs: %q", r.out)
	}
	r := f.run("logs", "--json", "1")
	if lines := strings.Split(strings.TrimSpace(r.out), "\n"); len(lines) != 3 || lines[0] != `{"schema":1,"job":1,"attempt":1,"line":"red"}` {
		t.Errorf("JSON: %q", r.out)
	}
}

func TestFactsGoOnWithAnotherDaemonEachOnce(t *testing.T) {
	fact := func(seq int64, at time.Time) []byte {
		b, err := json.Marshal(pasar.Record{Seq: seq, At: at, Boot: "b", Fact: pasar.Held{Job: pasar.JobID(seq)}})
		if err != nil {
			t.Fatal(err)
		}
		return append(b, '\n')
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	var f *fake
	var asked []int64
	later := time.Now().Add(time.Hour)
	f = newFake(t, verbs{ipc.VerbFacts: func(ctx context.Context, c *ipc.Call) error {
		asked = append(asked, bind[ipc.FactsRequest](t, c).Since)
		f.shutDown(verbs{ipc.VerbFacts: func(ctx context.Context, c *ipc.Call) error {
			asked = append(asked, bind[ipc.FactsRequest](t, c).Since)
			err := errors.Join(c.Chunk(append(fact(1, at), fact(2, later)...)), c.Chunk(append(fact(2, later), fact(3, later)...)))
			cancel(errInterrupted)
			<-ctx.Done()
			return err
		}}.handle)
		<-ctx.Done()
		return ctx.Err()
	}}.handle)
	r := runIn(t, ctx, f.env(), "facts", "-f", "--json")
	if r.code != exitInterrupted || r.out != string(fact(2, later))+string(fact(3, later)) && !strings.HasPrefix(string(fact(2, later))+string(fact(3, later)), r.out) {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.stderr)
	}
	if !slices.Equal(asked, []int64{-1, 0}) {
		t.Errorf("asked since %v", asked)
	}
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

func TestNoDaemonAndNoAutostartIs69(t *testing.T) {
	dir := t.TempDir()
	conf := dir + "/config.toml"
	if err := os.WriteFile(conf, []byte("autostart = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + dir, "PASAR_CONFIG=" + conf, "PATH=/usr/bin:/bin"}
	for _, args := range [][]string{{"ls"}, {"wait", "1"}, {"submit", "true"}, {"status"}, {"logs", "-f", "1"}, {"reload"}} {
		if r := runIn(t, t.Context(), env, args...); r.code != exitNoDaemon || r.out != "" || !strings.HasPrefix(r.stderr, "pasar: no daemon at ") {
			t.Errorf("%v: exit %d, %q, %q", args, r.code, r.out, r.stderr)
		}
	}
	if r := runIn(t, t.Context(), env, "shutdown"); r.code != 0 || r.out != "no daemon runs\n" {
		t.Errorf("shutdown: exit %d, %q, %q", r.code, r.out, r.stderr)
	}
}

func TestADaemonThatWontStartIsQuoted(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\necho first >&2\necho 'pasard: the disk \x1b[31mis full' >&2\nexit 1\n"
	if err := os.WriteFile(dir+"/pasard", []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + dir, "PATH=" + dir}
	r := runIn(t, t.Context(), env, "ls")
	if r.code != exitNoDaemon || !strings.Contains(r.stderr, `(exit code 1): pasard: the disk \x1b[31mis full`) || !strings.Contains(r.stderr, "hint: its log is "+dir) {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
	if r := runIn(t, t.Context(), []string{"HOME=" + dir, "PATH=/nonexistent"}, "ls"); r.code != exitNoDaemon || !strings.Contains(r.stderr, "neither beside pasar nor on the PATH") {
		t.Errorf("no pasard: exit %d, %q", r.code, r.stderr)
	}
}

func TestNoDaemonIsStartedFromInsideItsOwnJob(t *testing.T) {
	defer func(d time.Duration) { reconnectFor = d }(reconnectFor)
	reconnectFor = 10 * time.Millisecond
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/pasard", []byte("#!/bin/sh\ntouch "+dir+"/started\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + dir, "XDG_DATA_HOME=" + dir, "PATH=" + dir + ":/bin:/usr/bin"}
	started := func() bool { _, err := os.Stat(dir + "/started"); return err == nil }
	inside := append(env, "PASAR_JOB_DIR="+dir+"/pasar/jobs/4")
	if r := runIn(t, t.Context(), inside, "ls"); r.code != exitNoDaemon || started() || !strings.Contains(r.stderr, "from inside a job") {
		t.Errorf("inside: exit %d, started %v, %q", r.code, started(), r.stderr)
	}
	other := append(env, "PASAR_JOB_DIR=/elsewhere/pasar/jobs/4") // a throw-away daemon of a test, say
	if r := runIn(t, t.Context(), other, "ls"); r.code != exitNoDaemon || !started() {
		t.Errorf("inside another's: exit %d, started %v, %q", r.code, started(), r.stderr)
	}
}

func TestABadConfigurationIs65WithFileAndLine(t *testing.T) {
	dir := t.TempDir()
	bad := dir + "/bad.toml"
	if err := os.WriteFile(bad, []byte("autostart = true\nautostrat = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"config", "--check", bad}, {"ls"}, {"config"}} {
		r := runIn(t, t.Context(), []string{"HOME=" + dir, "PASAR_CONFIG=" + bad}, args...)
		if r.code != exitBadInput || !strings.HasPrefix(r.stderr, "pasar: "+bad+":2: autostrat") {
			t.Errorf("%v: exit %d, %q", args, r.code, r.stderr)
		}
	}
	if r := runIn(t, t.Context(), []string{"HOME=" + dir}, "config", "--check", dir+"/none"); r.code != exitBadInput {
		t.Errorf("a file that isn't there: exit %d, %q", r.code, r.stderr)
	}
}

func TestEventAppendsALine(t *testing.T) {
	path := t.TempDir() + "/events"
	env := []string{"PASAR_EVENTS=" + path}
	for _, args := range [][]string{{"event", "progress", "--step", "3", "--total-steps", "9", "loss=0.5"}, {"event", "note", "two words"},
		{"event", "checkpoint", "--step", "3", "--path", "/c"}} {
		if r := runIn(t, t.Context(), env, args...); r.code != 0 || r.out != "" {
			t.Errorf("%v: exit %d, %q", args, r.code, r.stderr)
		}
	}
	b, err := os.ReadFile(path)
	want := `{"event":"progress","step":3,"total_steps":9,"loss":0.5}` + "\n" + `{"event":"note","text":"two words"}` + "\n" + `{"event":"checkpoint","step":3,"path":"/c"}` + "\n"
	if err != nil || string(b) != want {
		t.Errorf("wrote %q, %v", b, err)
	}
	for _, args := range [][]string{{"event", "chekpoint"}, {"event", "progress", "loss=NaN"}, {"event", "progress", "loss"}, {"event", "note"}, {"event", "checkpoint", "x=1"}} {
		if r := runIn(t, t.Context(), env, args...); r.code != exitUsage {
			t.Errorf("%v: exit %d, %q", args, r.code, r.stderr)
		}
	}
}

func TestCompletionKnowsCommandsFlagsAndJobs(t *testing.T) {
	f := newFake(t, verbs{ipc.VerbList: func(_ context.Context, c *ipc.Call) error {
		return c.Chunk(append(jobView(t, job(42, pasar.Running, "")), '\n'))
	}}.handle)
	for _, tc := range []struct {
		words []string
		want  string
	}{
		{[]string{"su"}, "submit\t"}, {[]string{"submit", "--ti"}, "--time\t"}, {[]string{"show", "4"}, "42\ttrain, running"},
		{[]string{"completion", "z"}, "zsh\t"}, {[]string{"help", "st"}, "status\t"},
	} {
		r := f.run(append([]string{"__complete", "--"}, tc.words...)...)
		if r.code != 0 || !strings.Contains(r.out, tc.want) || strings.Count(r.out, "\n") != 1 {
			t.Errorf("%v: %q", tc.words, r.out)
		}
	}
	for _, sh := range []string{"bash", "zsh", "fish"} {
		if r := f.run("completion", sh); r.code != 0 || !strings.Contains(r.out, "pasar __complete") {
			t.Errorf("%s: %q", sh, r.out)
		}
	}
}

func TestTheGuideNeedsNothing(t *testing.T) {
	if r := runIn(t, t.Context(), nil, "guide"); r.code != 0 || !strings.Contains(r.out, "pasar submit") {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
	dir := t.TempDir()
	for range 2 { // a second time it is there already
		if r := runIn(t, t.Context(), nil, "guide", "helper", "--write", dir); r.code != 0 || r.out != dir+"/pasar_job.py\n" {
			t.Errorf("exit %d, %q, %q", r.code, r.out, r.stderr)
		}
	}
	if err := os.WriteFile(dir+"/pasar_job.py", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := runIn(t, t.Context(), nil, "guide", "helper", "--write", dir); r.code != exitUsage {
		t.Errorf("another file of that name: exit %d", r.code)
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

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/ipc"
)

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
	if n := len(got.Surroundings.Limits); n != 16 {
		t.Errorf("%d limits", n)
	}
	old := unix.Umask(0o137)
	_ = runIn(t, t.Context(), env, "submit", "true")
	unix.Umask(old)
	if got.Surroundings.Umask != 0o137 || got.Surroundings.Nice < -20 || got.Surroundings.Nice > 19 {
		t.Errorf("umask %o, nice %d", got.Surroundings.Umask, got.Surroundings.Nice)
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

func TestStandardInputThatWouldBeLostIsWarnedOf(t *testing.T) {
	f := newFake(t, verbs{ipc.VerbSubmit: func(_ context.Context, c *ipc.Call) error {
		return c.Answer(ipc.SubmitAnswer{Job: 1, View: jobView(t, job(1, pasar.Queued, ""))})
	}, ipc.VerbWait: waits(t, job(1, pasar.Completed, "")), ipc.VerbLogs: logOf(t, "")}.handle)
	file := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(file, []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(name string) *os.File {
		in, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = in.Close() })
		return in
	}
	pipe := func(text string, end bool) *os.File {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.WriteString(text); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = r.Close(), w.Close() })
		if end {
			_ = w.Close()
		}
		return r
	}
	for _, tc := range []struct {
		what string
		in   *os.File
		args string
		warn bool
	}{
		{"a file", open(file), "--wait", true},
		{"a file", open(file), "--follow", true},
		{"a file", open(file), "--hold", false},
		{"nothing", open(os.DevNull), "--wait", false},
		{"a pipe", pipe("data", true), "--wait", true},
		{"a pipe to come", pipe("", false), "--wait", true},
		{"an empty pipe", pipe("", true), "--wait", false},
	} {
		var out, errs bytes.Buffer
		code := Run(t.Context(), []string{"submit", tc.args, "cat"}, f.env(), tc.in, &out, &errs)
		if warned := strings.Contains(errs.String(), "standard input is not passed to the job"); code != 0 || warned != tc.warn {
			t.Errorf("%s with %s: exit %d, %q", tc.what, tc.args, code, errs.String())
		}
	}
}

func TestASliceIsEchoedWithWhatItIsChargedAs(t *testing.T) {
	v := job(1, pasar.Queued, "")
	v.Claim = pasar.Claim{Kind: pasar.Slice, GPUs: 1, Mem: 3 * pasar.GiB, Limit: 5 * pasar.GiB, RAM: pasar.GiB}.View()
	f := newFake(t, verbs{ipc.VerbSubmit: func(_ context.Context, c *ipc.Call) error {
		return c.Answer(ipc.SubmitAnswer{Job: 1, Sentence: "starts now", View: jobView(t, v)})
	}}.handle)
	want := "submitted #1 train (3 GiB of GPU memory on one GPU, charged as 5 GiB with its margin and 1 GiB of host memory; starts now)\n"
	if r := f.run("submit", "--mem", "3G", "true"); r.out != want {
		t.Errorf("%q, want %q", r.out, want)
	}
}

func TestAFollowedJobInJSONIsAStreamFromTheJobToItsEnd(t *testing.T) {
	ended := job(1, pasar.Failed, pasar.CodeExit)
	seven := 7
	ended.Attempts[0].ExitCode = &seven
	f := newFake(t, verbs{ipc.VerbSubmit: func(_ context.Context, c *ipc.Call) error {
		return c.Answer(ipc.SubmitAnswer{Job: 1, View: jobView(t, job(1, pasar.Queued, ""))})
	}, ipc.VerbWait: waits(t, ended), ipc.VerbLogs: logOf(t, "a\r\nb\r\n")}.handle)
	var states []string
	for _, tc := range []struct {
		args string
		code int
		want string
	}{
		{"--follow", 0, "queued a b failed"}, {"--wait", 1, "failed"}, {"--wait --follow", 1, "queued a b failed"},
		{"--wait --propagate", 7, "failed"},
	} {
		r := f.run(append(append([]string{"submit", "--json"}, strings.Fields(tc.args)...), "true")...)
		states = nil
		for line := range strings.Lines(r.out) {
			var v struct{ State, Line string }
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatalf("%s: %v in %q", tc.args, err, line)
			}
			states = append(states, v.State+v.Line)
		}
		if got := strings.Join(states, " "); r.code != tc.code || got != tc.want || r.stderr != "" {
			t.Errorf("%s: exit %d, %q, want %q; %q", tc.args, r.code, got, tc.want, r.stderr)
		}
	}
}

func TestAnEndIsNotToldTwice(t *testing.T) {
	ended := job(1, pasar.Failed, pasar.CodeExit)
	ended.Verdict.Evidence = []pasar.Line{{Text: "boom"}}
	f := newFake(t, verbs{ipc.VerbSubmit: func(_ context.Context, c *ipc.Call) error {
		return c.Answer(ipc.SubmitAnswer{Job: 1, View: jobView(t, job(1, pasar.Queued, ""))})
	}, ipc.VerbWait: waits(t, ended), ipc.VerbLogs: logOf(t, "boom\r\n")}.handle)
	for _, how := range []string{"--wait", "--follow"} {
		r := f.run("submit", how, "true")
		if r.out != "boom\n" || strings.Contains(r.stderr, "boom") || !strings.HasSuffix(r.stderr, "pasar: #1 train failed: it was exit\nreason: exit\nhint: try again\nhint: `pasar why 1` shows the lines that say so\n") {
			t.Errorf("%s: %q, %q", how, r.out, r.stderr)
		}
	}
}

package main

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// view is what `pasar show --json` prints.
func (h *home) view(ctx context.Context, id pasar.JobID) pasar.JobView {
	h.t.Helper()
	var v pasar.JobView
	err := h.with(ctx, func(c *ipc.Client) error {
		b, err := c.Show(ctx, ipc.ShowRequest{Job: id})
		if err != nil {
			return err
		}
		return json.Unmarshal(b, &v)
	})
	if err != nil {
		h.t.Fatalf("show job %d: %v", id, err)
	}
	return v
}

// until asks for a job until it is as wanted.
func (h *home) until(ctx context.Context, id pasar.JobID, what string, ok func(*pasar.JobView) bool) pasar.JobView {
	h.t.Helper()
	for {
		v := h.view(ctx, id)
		if ok(&v) {
			return v
		}
		select {
		case <-ctx.Done():
			h.t.Fatalf("job %d is %s, never %s", id, v.State, what)
		case <-time.After(5 * time.Millisecond): // nobody tells of checkpoints
		}
	}
}

func (h *home) awaitState(ctx context.Context, id pasar.JobID, want pasar.State) pasar.JobView {
	h.t.Helper()
	return h.until(ctx, id, string(want), func(v *pasar.JobView) bool {
		if v.State != want && (v.State.Finished() || v.State == pasar.Paused) {
			h.t.Fatalf("job %d is %s, and was to be %s: %+v", id, v.State, want, v.Verdict)
		}
		return v.State == want
	})
}

func (h *home) queue(ctx context.Context, s pasar.Spec) pasar.JobID {
	h.t.Helper()
	id, err := h.submit(ctx, s)
	if err != nil {
		h.t.Fatal(err)
	}
	return id
}

func (h *home) pause(ctx context.Context, id pasar.JobID, killAfter *pasar.Duration) {
	h.t.Helper()
	r := ipc.JobsRequest{Request: ipc.NewRequest(), Jobs: []pasar.JobID{id}, KillAfter: killAfter}
	h.change(ctx, r, (*ipc.Client).Pause)
}

func (h *home) change(ctx context.Context, r ipc.JobsRequest, f func(*ipc.Client, context.Context, ipc.JobsRequest) (ipc.JobsAnswer, error)) {
	h.t.Helper()
	err := h.with(ctx, func(c *ipc.Client) error {
		a, err := f(c, ctx, r)
		for _, j := range a.Jobs {
			if j.Error != nil {
				return j.Error
			}
		}
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) resume(ctx context.Context, id pasar.JobID) {
	h.t.Helper()
	h.change(ctx, ipc.JobsRequest{Request: ipc.NewRequest(), Jobs: []pasar.JobID{id}}, (*ipc.Client).Resume)
}

// output is what an attempt wrote.
func (h *home) output(id pasar.JobID, attempt int) string {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.data(), "jobs", id.String(), strconv.Itoa(attempt), pasar.OutputFile))
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "\r\n", "\n")
}

// newContractHome is a home whose daemon runs.
func newContractHome(t *testing.T) (*home, context.Context) {
	t.Helper()
	h := newHome(t)
	h.start()
	return h, longContext(t, time.Minute)
}

// oneGPU has a job claim the only GPU there is.
func oneGPU(s pasar.Spec) pasar.Spec {
	s.Claim = pasar.Claim{Kind: pasar.Whole, GPUs: 1}
	return s
}

// training is examples/train.py, for about two seconds.
func training(t *testing.T, args ...string) pasar.Spec {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("PASAR_CI") != "" {
			t.Fatal("python3 is wanted")
		}
		t.Skip("no python3")
	}
	path, err := filepath.Abs("../../examples/train.py")
	if err != nil {
		t.Fatal(err)
	}
	s := oneGPU(shell(""))
	s.Name = "train"
	s.Argv = pasar.Args(append([]string{"python3", "-B", path, "--steps", "200", "--save-every", "30"}, args...))
	s.Grace = pasar.Duration(30 * time.Second)
	return s
}

var trained = regexp.MustCompile(`trained 200 steps: .*weights [0-9a-f]{12}\n$`)

// undisturbed is the last line of a training that nobody interrupts.
func undisturbed(t *testing.T) string {
	t.Helper()
	argv := pasar.Strings(training(t, "--step-time", "0").Argv)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	out, err := cmd.Output()
	line := trained.FindString(string(out))
	if err != nil || line == "" {
		t.Fatalf("%v: %s", err, out)
	}
	return line
}

func TestAPreemptedTrainingLosesNothingItSavedAndEndsWithTheSameResult(t *testing.T) {
	want := undisturbed(t)
	for name, pausable := range map[string]bool{"by SIGTERM": false, "by its pause file": true} {
		t.Run(name, func(t *testing.T) {
			h, ctx := newContractHome(t)
			s := training(t, "--step-time", "0.01")
			s.Pausable = pausable
			id := h.queue(ctx, s)
			h.until(ctx, id, "at a checkpoint", func(v *pasar.JobView) bool { return v.LastCheckpoint != nil })
			urgent := oneGPU(shell("echo urgent"))
			urgent.Bid, urgent.Preempt = 2000, true
			other := h.queue(ctx, urgent)
			if code := h.exitCode(ctx, other); code != 0 {
				t.Errorf("the preempting job exited with %d", code)
			}
			v := h.awaitState(ctx, id, pasar.Completed)
			if got := trained.FindString(h.output(id, 2)); got != want {
				t.Errorf("got  %swant %s", got, want)
			}
			if len(v.Attempts) != 2 {
				t.Fatalf("%d attempts", len(v.Attempts))
			}
			first, second := &v.Attempts[0], &v.Attempts[1]
			code := 128 + 15
			if pausable {
				code = pasar.ExitPaused
			}
			if first.Verdict.Reason != pasar.CodePreempted || first.Stop == nil || first.Stop.Step == pasar.StepKill || *first.ExitCode != code {
				t.Errorf("the first attempt ended with %v: %+v, stop %+v", *first.ExitCode, first.Verdict, first.Stop)
			}
			if first.LastCheckpoint == nil || second.Resumed == nil || *second.Resumed.Step != *first.LastCheckpoint.Step {
				t.Fatalf("it saved %+v and resumed at %+v", first.LastCheckpoint, second.Resumed)
			}
			urged := h.view(ctx, other).Attempts[0]
			if until := first.StartedAt.Add(time.Duration(*first.RunTime)); urged.StartedAt.Before(until) {
				t.Errorf("the preempting job began at %s, and the other had its GPU until %s", urged.StartedAt, until)
			}
			// What the events say: work since the checkpoint, and what it took to go on.
			lost := time.Duration(*first.RunTime) - first.LastCheckpoint.At.Sub(*first.StartedAt) + second.Resumed.At.Sub(*second.StartedAt)
			if v.Lost.Preemptions == nil || !v.Lost.Known || math.Abs(time.Duration(*v.Lost.Preemptions).Seconds()-lost.Seconds()) > 0.5 {
				t.Errorf("lost %+v, and the events say %s", v.Lost, lost)
			}
			if v.Lost.Failures == nil || *v.Lost.Failures != 0 {
				t.Errorf("lost to failures: %+v", v.Lost)
			}
		})
	}
}

func TestAPausedTrainingGoesOnFromItsMarkerAndEndsWithTheSameResult(t *testing.T) {
	want := undisturbed(t)
	h, ctx := newContractHome(t)
	s := training(t, "--step-time", "0.01")
	s.Pausable = true
	id := h.queue(ctx, s)
	h.until(ctx, id, "at a checkpoint", func(v *pasar.JobView) bool { return v.LastCheckpoint != nil })
	h.pause(ctx, id, nil)
	v := h.awaitState(ctx, id, pasar.Paused)
	first := v.Attempts[0]
	if first.Verdict.Reason != pasar.CodePaused || *first.ExitCode != pasar.ExitPaused || first.Stop.Step != pasar.StepFile {
		t.Fatalf("%+v, stop %+v", first.Verdict, first.Stop)
	}
	// Its GPU is free meanwhile.
	if code := h.exitCode(ctx, h.queue(ctx, oneGPU(shell("true")))); code != 0 {
		t.Errorf("another job exited with %d", code)
	}
	h.resume(ctx, id)
	v = h.awaitState(ctx, id, pasar.Completed)
	if got := trained.FindString(h.output(id, 2)); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	if second := v.Attempts[1]; second.Resumed == nil || *second.Resumed.Step != *first.LastCheckpoint.Step {
		t.Errorf("it saved %+v and resumed at %+v", first.LastCheckpoint, second.Resumed)
	}
	if v.Lost.Preemptions == nil || *v.Lost.Preemptions != 0 {
		t.Errorf("a pause that holds lost %+v", v.Lost)
	}
}

// watching is a script that waits for its pause file and then does something; SIGTERM it only notes. In its second
// attempt it has nothing left to do.
func watching(then string) pasar.Spec {
	s := shell(`[ "$PASAR_RESUMING" ] && exit 0; trap 'echo term' TERM; echo ready; until [ -e "$PASAR_PAUSE_FILE" ]; do sleep 0.01; done; ` + then)
	s.Pausable = true
	return s
}

// saying leaves a marker, with programs that SIGTERM doesn't reach.
func saying(marker string) string {
	return `(trap '' TERM; printf '%s' '` + marker + `' > "$PASAR_CHECKPOINT_READY.new"; mv "$PASAR_CHECKPOINT_READY.new" "$PASAR_CHECKPOINT_READY"); `
}

// ready waits until a script has begun to watch.
func (h *home) ready(ctx context.Context, id pasar.JobID) {
	h.t.Helper()
	h.started(ctx, id)
	h.until(ctx, id, "ready", func(*pasar.JobView) bool { return strings.Contains(h.output(id, 1), "ready") })
}

func TestAPauseHoldsOnlyWithItsCodeAndAMarkerOfWhatIsThere(t *testing.T) {
	h, ctx := newContractHome(t)
	for name, c := range map[string]struct {
		then   string
		state  pasar.State
		reason pasar.Code
		says   string
	}{
		"saved":            {saying(`{"checkpoint": "/etc"}`) + "exit 75", pasar.Paused, pasar.CodePaused, "/etc"},
		"no marker":        {"exit 75", pasar.Failed, pasar.CodeExit, "marker"},
		"marker of naught": {saying(`{"checkpoint": "/no/such/ck"}`) + "exit 75", pasar.Failed, pasar.CodeExit, "/no/such/ck, which is not there"},
		"marker no JSON":   {saying(`/etc`) + "exit 75", pasar.Failed, pasar.CodeExit, "not JSON"},
		"another code":     {saying(`{"checkpoint": "/etc"}`) + "exit 3", pasar.Failed, pasar.CodeExit, "3"},
		"it was finished":  {"exit 0", pasar.Completed, pasar.CodeCompleted, ""},
	} {
		id := h.queue(ctx, watching(c.then))
		h.ready(ctx, id)
		h.pause(ctx, id, nil)
		v := h.awaitState(ctx, id, c.state)
		if v.Verdict.Reason != c.reason || !strings.Contains(v.Verdict.Summary, c.says) {
			t.Errorf("%s: %+v", name, v.Verdict)
		}
		if strings.Contains(h.output(id, 1), "term") {
			t.Errorf("%s: it got SIGTERM", name)
		}
	}
}

func TestAResumedJobRunsItsResumeCommandFromTheCheckpointOfItsMarker(t *testing.T) {
	h, ctx := newContractHome(t)
	s := watching(saying(`{"checkpoint": "/etc/hostname"}`) + "exit 75")
	s.Pausable = false // a command to resume with says as much
	s.ResumeCommand = pasar.Args([]string{"/bin/sh", "-c", `echo "resuming $PASAR_RESUMING from $PASAR_CHECKPOINT, $SSHGPU_CHECKPOINT"; test ! -e "$PASAR_PAUSE_FILE"`})
	id := h.queue(ctx, s)
	h.ready(ctx, id)
	h.pause(ctx, id, nil)
	h.awaitState(ctx, id, pasar.Paused)
	h.resume(ctx, id)
	h.awaitState(ctx, id, pasar.Completed)
	if out := h.output(id, 2); out != "resuming 1 from /etc/hostname, /etc/hostname\n" {
		t.Errorf("output %q", out)
	}
}

// cardBaton is a program written for CardBaton: it knows none but its variables.
const cardBaton = `import json, os, sys, time
state, n = sys.argv[1], 0
if os.environ.get("SSHGPU_CHECKPOINT"):
    n = json.load(open(os.environ["SSHGPU_CHECKPOINT"]))["n"]
    print("from", n, flush=True)
print("ready", flush=True)
while n < 100:
    n += 1
    if n == 50 and not os.environ.get("SSHGPU_CHECKPOINT"):
        while not os.path.exists(os.environ["SSHGPU_PAUSE_FILE"]):
            time.sleep(0.01)
    if os.path.exists(os.environ["SSHGPU_PAUSE_FILE"]):
        with open(state + ".tmp", "w") as f:
            json.dump({"n": n}, f)
        os.rename(state + ".tmp", state)
        ready = os.environ["SSHGPU_CHECKPOINT_READY"]
        with open(ready + ".tmp", "w") as f:
            json.dump({"checkpoint": state}, f)
        os.rename(ready + ".tmp", ready)
        sys.exit(75)
print("done", n, flush=True)
`

func TestAProgramWrittenForCardBatonRunsUnchanged(t *testing.T) {
	training(t) // skips without python3
	h, ctx := newContractHome(t)
	program := filepath.Join(h.dir, "baton.py")
	if err := os.WriteFile(program, []byte(cardBaton), 0o600); err != nil {
		t.Fatal(err)
	}
	s := shell("")
	s.Argv = pasar.Args([]string{"python3", "-B", program, filepath.Join(h.dir, "state.json")})
	s.Pausable = true
	id := h.queue(ctx, s)
	h.ready(ctx, id)
	h.pause(ctx, id, nil)
	h.awaitState(ctx, id, pasar.Paused)
	h.resume(ctx, id)
	h.awaitState(ctx, id, pasar.Completed)
	if out := h.output(id, 2); !strings.HasPrefix(out, "from 5") || !strings.HasSuffix(out, "done 100\n") {
		t.Errorf("output %q", out)
	}
}

func TestAJobWithoutSigtermGetsNoneAndItsGraceAllTheSame(t *testing.T) {
	for name, c := range map[string]struct {
		then  string
		grace time.Duration
		step  pasar.StopStep
	}{
		"it saves":        {saying(`{"checkpoint": "/etc"}`) + "exit 75", time.Minute, pasar.StepFile},
		"it does nothing": {"while :; do sleep 0.01; done", 300 * time.Millisecond, pasar.StepKill},
	} {
		t.Run(name, func(t *testing.T) {
			h, ctx := newContractHome(t)
			s := oneGPU(watching(c.then))
			s.NoSigterm, s.Grace = true, pasar.Duration(c.grace)
			id := h.queue(ctx, s)
			h.ready(ctx, id)
			urgent := oneGPU(shell("true"))
			urgent.Bid, urgent.Preempt = 2000, true
			if code := h.exitCode(ctx, h.queue(ctx, urgent)); code != 0 {
				t.Errorf("the preempting job exited with %d", code)
			}
			v := h.awaitState(ctx, id, pasar.Completed) // its second attempt
			first := v.Attempts[0]
			if first.Verdict.Reason != pasar.CodePreempted || first.Stop.Step != c.step {
				t.Errorf("%+v, stop %+v", first.Verdict, first.Stop)
			}
			if strings.Contains(h.output(id, 1), "term") {
				t.Error("it got SIGTERM")
			}
		})
	}
}

func TestAtItsTimeLimitAJobIsPausedIfItSavedAndElseFails(t *testing.T) {
	h, ctx := newContractHome(t)
	cases := map[string]struct {
		then  string
		state pasar.State
	}{
		"it saves":         {saying(`{"checkpoint": "/etc"}`) + "exit 75", pasar.Paused},
		"without a marker": {"exit 75", pasar.Failed},
		"it does nothing":  {"while :; do sleep 0.01; done", pasar.Failed},
	}
	ids := map[string]pasar.JobID{}
	for name, c := range cases {
		s := watching(c.then)
		s.Argv[2] = `echo "grace $PASAR_GRACE_SECONDS"; ` + s.Argv[2]
		// Long enough for a busy machine to have begun by then, and to save.
		s.TimeLimit, s.CheckpointGrace = pasar.Duration(3*time.Second), pasar.Duration(3*time.Second)
		ids[name] = h.queue(ctx, s)
	}
	for name, id := range ids {
		v := h.awaitState(ctx, id, cases[name].state)
		if v.Verdict.Reason != pasar.CodeTimeLimit || v.Attempts[0].Stop == nil || v.Attempts[0].Stop.Why != pasar.StopLimit {
			t.Errorf("%s: %+v, stop %+v", name, v.Verdict, v.Attempts[0].Stop)
		}
		if out := h.output(id, 1); !strings.HasPrefix(out, "grace 3\n") {
			t.Errorf("%s: output %q", name, out)
		}
	}
}

func TestAPauseByForceIsAPauseAndSaysSo(t *testing.T) {
	h, ctx := newContractHome(t)
	s := watching(`while :; do sleep 0.01; done`)
	s.Grace = pasar.Duration(200 * time.Millisecond)
	id := h.queue(ctx, s)
	h.ready(ctx, id)
	h.pause(ctx, id, nil) // it doesn't answer
	if v := h.view(ctx, id); v.State != pasar.Stopping {
		t.Errorf("asked to pause, it is %s", v.State)
	}
	after := pasar.Duration(100 * time.Millisecond)
	h.pause(ctx, id, &after)
	v := h.awaitState(ctx, id, pasar.Paused)
	if v.Verdict.Reason != pasar.CodePaused || v.Attempts[0].Stop.Step != pasar.StepKill || !strings.Contains(v.Verdict.Summary, "force") {
		t.Errorf("%+v, stop %+v", v.Verdict, v.Attempts[0].Stop)
	}
	h.resume(ctx, id)
	h.awaitState(ctx, id, pasar.Completed)
}

func TestACancelDuringAPauseIsACancel(t *testing.T) {
	h, ctx := newContractHome(t)
	s := watching(`while :; do sleep 0.01; done`)
	s.Grace = pasar.Duration(200 * time.Millisecond)
	id := h.queue(ctx, s)
	h.ready(ctx, id)
	h.pause(ctx, id, nil)
	h.change(ctx, ipc.JobsRequest{Request: ipc.NewRequest(), Jobs: []pasar.JobID{id}}, (*ipc.Client).Cancel)
	v := h.awaitState(ctx, id, pasar.Cancelled)
	if v.Verdict.Reason != pasar.CodeCancelled || v.Attempts[0].Stop.Step != pasar.StepKill || v.Attempts[0].Stop.Why != pasar.StopCancel {
		t.Errorf("%+v, stop %+v", v.Verdict, v.Attempts[0].Stop)
	}
}

func TestAPauseOutlivesItsDaemon(t *testing.T) {
	h, ctx := newContractHome(t)
	gate := filepath.Join(h.dir, "gate")
	saves := saying(`{"checkpoint": "/etc"}`) + "exit 75"
	during := h.queue(ctx, watching(`echo asked; until [ -e `+gate+` ]; do sleep 0.01; done; `+saves))
	later := h.queue(ctx, watching(`until [ -e `+gate+`2 ]; do sleep 0.01; done; `+saves))
	for _, id := range []pasar.JobID{during, later} {
		h.ready(ctx, id)
		h.pause(ctx, id, nil)
	}
	h.until(ctx, during, "asked", func(*pasar.JobView) bool { return strings.Contains(h.output(during, 1), "asked") })
	h.kill()
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(h.data(), "jobs", during.String(), "1", pasar.ExitFile)
	for {
		if _, err := os.Stat(record); err == nil {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatal("without a daemon the job doesn't pause")
		case <-time.After(5 * time.Millisecond): // the supervisor has nobody to tell
		}
	}
	h.start()
	h.awaitState(ctx, during, pasar.Paused)
	if v := h.view(ctx, later); v.State != pasar.Stopping {
		t.Errorf("asked to pause before the daemon's death, the other is %s", v.State)
	}
	if err := os.WriteFile(gate+"2", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.awaitState(ctx, later, pasar.Paused)
}

package examples

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"pasar"
	"pasar/jobproto"
)

// A job is train.py in an environment like a job's.
type job struct {
	dir    string // PASAR_PERSIST_DIR
	events string
	env    []string
}

func newJob(t *testing.T, env ...string) job {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("PASAR_CI") != "" {
			t.Fatal("python3 is wanted")
		}
		t.Skip("no python3")
	}
	dir := t.TempDir()
	j := job{dir: filepath.Join(dir, "persist"), events: filepath.Join(dir, "events.jsonl")}
	j.env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "PYTHONDONTWRITEBYTECODE=1",
		"PASAR_JOB_ID=1", "PASAR_PERSIST_DIR=" + j.dir, "PASAR_EVENTS=" + j.events}, env...)
	return j
}

func (j job) command(args ...string) *exec.Cmd {
	cmd := exec.Command("python3", append([]string{"train.py", "--step-time", "0"}, args...)...)
	cmd.Env = j.env
	return cmd
}

// slow leaves five seconds between the first tenth of 300 steps and the end: time to interrupt it.
var slow = []string{"--step-time", "0.02"}

// run runs it to its end and returns its output and exit code.
func (j job) run(t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := j.command(args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// runUntil runs it, calls f once a line of output holds text, and returns all output and how it ended.
func (j job) runUntil(t *testing.T, text string, f func(*os.Process) error, args ...string) (string, *os.ProcessState) {
	t.Helper()
	cmd := j.command(args...)
	r, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	done := false
	for sc := bufio.NewScanner(r); sc.Scan(); {
		fmt.Fprintln(&out, sc.Text())
		if !done && strings.Contains(sc.Text(), text) {
			done = true
			if err := f(cmd.Process); err != nil {
				t.Error(err)
			}
		}
	}
	_ = cmd.Wait()
	if !done {
		t.Fatalf("never printed %q:\n%s", text, out.String())
	}
	return out.String(), cmd.ProcessState
}

func (j job) reported(t *testing.T) map[pasar.EventKind][]pasar.Event {
	t.Helper()
	b, err := os.ReadFile(j.events)
	if err != nil {
		t.Fatal(err)
	}
	all := map[pasar.EventKind][]pasar.Event{}
	for line := range strings.Lines(string(b)) {
		e, err := jobproto.Decode([]byte(line))
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all[e.Kind] = append(all[e.Kind], e)
	}
	return all
}

var resultLine = regexp.MustCompile(`trained (\d+) steps: loss ([0-9.]+), accuracy ([0-9.]+) %, weights [0-9a-f]{12}\n$`)

func result(t *testing.T, out string) (line string, loss, accuracy float64) {
	t.Helper()
	m := resultLine.FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no result in:\n%s", out)
	}
	loss, _ = strconv.ParseFloat(m[2], 64)
	accuracy, _ = strconv.ParseFloat(m[3], 64)
	return m[0], loss, accuracy
}

func TestTheTrainingLearnsAndReportsIt(t *testing.T) {
	j := newJob(t)
	out, code := j.run(t)
	_, loss, accuracy := result(t, out)
	if code != 0 || loss > 0.1 || accuracy < 99 {
		t.Errorf("exit %d, loss %v, accuracy %v", code, loss, accuracy)
	}
	got := j.reported(t)
	progress := got[pasar.EventProgress]
	if len(progress) < 2 {
		t.Fatalf("%d progress events", len(progress))
	}
	first, last := progress[0], progress[len(progress)-1]
	if *last.Step != 2000 || *last.TotalSteps != 2000 || last.Metrics["loss"] >= first.Metrics["loss"]/2 {
		t.Errorf("progress from %+v to %+v", first, last)
	}
	cks := got[pasar.EventCheckpoint]
	if len(cks) != 10 || *cks[9].Step != 2000 || cks[9].Path != filepath.Join(j.dir, "train.json") {
		t.Errorf("checkpoints: %+v", cks)
	}
	if len(got[pasar.EventResumed]) != 0 {
		t.Error("a first attempt said that it resumed")
	}
}

func TestInterruptedTrainingEndsWithTheSameResult(t *testing.T) {
	args := []string{"--steps", "300", "--save-every", "20"}
	out, _ := newJob(t).run(t, args...)
	want, _, _ := result(t, out)
	for name, sig := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "terminated": syscall.SIGTERM, "interrupted": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t)
			out, st := j.runUntil(t, "10%", func(p *os.Process) error { return p.Signal(sig) }, append(slices.Clone(slow), args...)...)
			if resultLine.MatchString(out) {
				t.Fatalf("it was not interrupted:\n%s", out)
			}
			if code := st.ExitCode(); sig != syscall.SIGKILL && (code != 128+int(sig) || !strings.Contains(out, "saved")) {
				t.Errorf("exit %d:\n%s", code, out)
			}
			out, _ = j.run(t, args...)
			if got, _, _ := result(t, out); got != want {
				t.Errorf("got  %swant %s", got, want)
			}
			resumed := j.reported(t)[pasar.EventResumed]
			if len(resumed) != 1 || *resumed[0].Step < 20 || *resumed[0].Step >= 300 {
				t.Errorf("resumed: %+v", resumed)
			}
		})
	}
}

func TestAPausedTrainingNamesItsCheckpointAndGoesOn(t *testing.T) {
	dir := t.TempDir()
	pause, ready := filepath.Join(dir, "pause"), filepath.Join(dir, "ready")
	j := newJob(t, "PASAR_PAUSE_FILE="+pause, "PASAR_CHECKPOINT_READY="+ready)
	args := []string{"--steps", "300"}
	out, st := j.runUntil(t, "10%", func(*os.Process) error { return os.WriteFile(pause, nil, 0o600) }, append(slices.Clone(slow), args...)...)
	if st.ExitCode() != 75 || !strings.Contains(out, "pausing at step") {
		t.Fatalf("exit %d:\n%s", st.ExitCode(), out)
	}
	var marker struct{ Checkpoint string }
	b, err := os.ReadFile(ready)
	if err == nil {
		err = json.Unmarshal(b, &marker)
	}
	if err != nil || marker.Checkpoint != filepath.Join(j.dir, "train.json") {
		t.Errorf("marker %s, %v", b, err)
	}
	if err := os.Remove(pause); err != nil {
		t.Fatal(err)
	}
	resumedOut, _ := j.run(t, args...)
	plainOut, _ := newJob(t).run(t, args...)
	got, _, _ := result(t, resumedOut)
	if want, _, _ := result(t, plainOut); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

func TestOutsidePasarItTrainsAndLeavesNothing(t *testing.T) {
	j := newJob(t)
	j.env = j.env[:3] // PATH, HOME, PYTHONDONTWRITEBYTECODE
	out, code := j.run(t, "--steps", "50")
	if code != 0 {
		t.Errorf("exit %d:\n%s", code, out)
	}
	result(t, out)
	if _, err := os.Stat(j.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it made a directory: %v", err)
	}
}

func TestAFailureIsAFailure(t *testing.T) {
	out, code := newJob(t).run(t, "--steps", "50", "--fail-at", "20")
	if code != 1 || !strings.Contains(out, "RuntimeError: told to fail at step 20") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	if out, code := newJob(t).run(t, "--steps", "0"); code != 2 || !strings.Contains(out, "0 is not 1 or more") {
		t.Errorf("exit %d:\n%s", code, out)
	}
}

func TestOnATerminalTheBarIsOneLine(t *testing.T) {
	j := newJob(t)
	j.env = j.env[:3] // no checkpoints
	f, err := pty.StartWithSize(j.command("--steps", "100"), &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, _ := io.ReadAll(f) // ends with an error once the program has
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(b), "\r\n", "\n")), "\n")
	if len(lines) != 3 || strings.Count(lines[1], "\r") != 10 || !strings.Contains(lines[1], "100% |####") {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
	for _, state := range strings.Split(lines[1], "\r") {
		if len(state) > 80 {
			t.Errorf("wider than the terminal: %q", state)
		}
	}
}

func TestALineAboveTheBarLeavesNothingOfIt(t *testing.T) {
	f, err := pty.StartWithSize(newJob(t).command("--steps", "100", "--save-every", "50"), &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, _ := io.ReadAll(f)
	var shown []string
	for line := range strings.Lines(strings.ReplaceAll(string(b), "\r\n", "\n")) {
		states := strings.Split(strings.TrimSuffix(line, "\n"), "\r")
		last, erased := strings.CutPrefix(states[len(states)-1], "\x1b[K")
		shown = append(shown, last)
		if n := len(states); n > 1 && !erased && len(last) < len(states[n-2]) {
			t.Errorf("%q leaves a part of %q", last, states[n-2])
		}
	}
	if len(shown) != 5 || shown[1] != "saved step 50" || shown[2] != "saved step 100" || !strings.HasPrefix(shown[3], "100% |") {
		t.Errorf("shown: %q", shown)
	}
}

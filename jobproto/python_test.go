package jobproto

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pasar"
)

// python runs a program with the module beside it and returns its output and exit code.
func python(t *testing.T, dir, program string, env ...string) (string, int) {
	t.Helper()
	py, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("PASAR_CI") != "" {
			t.Fatal("python3 is wanted")
		}
		t.Skip("no python3")
	}
	if err := os.WriteFile(filepath.Join(dir, PythonFile), []byte(PythonModule()), 0o600); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "program.py")
	if err := os.WriteFile(script, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(py, "-W", "error", script)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "PYTHONDONTWRITEBYTECODE=1"}, env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

func events(t *testing.T, path string) []pasar.Event {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []pasar.Event
	for line := range strings.Lines(string(b)) {
		e, err := Decode([]byte(line))
		if err != nil {
			t.Fatalf("the module wrote %q: %v", line, err)
		}
		out = append(out, e)
	}
	return out
}

func TestWhatTheModuleReportsIsDecoded(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "events.jsonl")
	out, code := python(t, dir, `
import pasar_job as p
class Scalar:                       # as NumPy's and PyTorch's are
    def __float__(self): return 0.5
assert p.active() and p.job_id() == 42 and p.attempt() == 2 and p.resuming()
assert p.job_dir() == "/j" and p.persist_dir("x") == "/p" and p.memory_limit_bytes() == 1024
assert p.resumed(step=10)
assert p.progress(11, 100, loss=Scalar(), nan=float("nan"), word="low", flag=True, event=3)
assert not p.progress(12, 100)      # too soon
assert p.progress(100, 100, **{"m%d" % i: i for i in range(100)})
assert p.checkpoint(100, "ck/é.bin")
assert p.note("x" * 4095 + "é")
assert not p.note("")
`, "PASAR_EVENTS="+file, "PASAR_JOB_ID=42", "PASAR_ATTEMPT=2", "PASAR_RESUMING=1", "PASAR_JOB_DIR=/j",
		"PASAR_PERSIST_DIR=/p", "PASAR_MEM_LIMIT_BYTES=1024")
	if code != 0 {
		t.Fatal(out)
	}
	got := events(t, file)
	if len(got) != 5 {
		t.Fatalf("%d events: %+v", len(got), got)
	}
	want := pasar.Event{Kind: pasar.EventProgress, Step: ptr(11), TotalSteps: ptr(100),
		Metrics: map[string]float64{"loss": 0.5, "flag": 1}}
	if !reflect.DeepEqual(got[1], want) {
		t.Errorf("progress: %+v; want %+v", got[1], want)
	}
	if got[0].Kind != pasar.EventResumed || *got[0].Step != 10 {
		t.Errorf("resumed: %+v", got[0])
	}
	if len(got[2].Metrics) != MaxMetrics {
		t.Errorf("%d metrics; want %d", len(got[2].Metrics), MaxMetrics)
	}
	if got[3].Path != filepath.Join(realpath(t, dir), "ck/é.bin") {
		t.Errorf("checkpoint's path %q", got[3].Path)
	}
	if got[4].Text != strings.Repeat("x", 4095) {
		t.Errorf("note of %d bytes", len(got[4].Text))
	}
}

func realpath(t *testing.T, dir string) string {
	t.Helper()
	p, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const everyCall = `
import pasar_job as p
print(p.active(), p.job_id(), p.attempt(), p.resuming(), p.resumed(1), p.checkpoint(1, "x"),
      p.progress(1, 2, loss=1), p.note("hi"), p.should_pause(), p.should_stop(), p.job_dir(),
      p.persist_dir(), p.persist_dir("here"), p.memory_limit_bytes(), p.apply_memory_limit(),
      p.exit_paused("x"), p.checkpoint(object(), object()), p.progress("a", [], x=object()), p.note(b"\xff"))
`

func TestOutsidePasarEveryCallDoesNothing(t *testing.T) {
	dir := t.TempDir()
	out, code := python(t, dir, everyCall)
	want := "False None None False False False False False False False None None here None False False False False False\n"
	if code != 0 || out != want {
		t.Errorf("exit %d, %q; want %q", code, out, want)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 2 {
		t.Errorf("left behind: %v", names)
	}
}

func TestNoCallRaisesWhenNothingCanBeWritten(t *testing.T) {
	dir := t.TempDir()
	out, code := python(t, dir, everyCall, "PASAR_EVENTS=/nonexistent/dir/events", "PASAR_JOB_ID=x",
		"PASAR_PAUSE_FILE=/", "PASAR_CHECKPOINT_READY=/nonexistent/marker", "PASAR_MEM_LIMIT_BYTES=1")
	if code != 0 || strings.Contains(out, "Traceback") {
		t.Errorf("exit %d: %s", code, out)
	}
}

func TestLinesOfManyProcessesNeverMix(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "events.jsonl")
	out, code := python(t, dir, `
import os, pasar_job as p
kids = []
for k in range(4):
    pid = os.fork()
    if pid == 0:
        for i in range(200):
            p.checkpoint(i, "/" + "p" * 2000)
        os._exit(0)
    kids.append(pid)
assert all(os.waitpid(k, 0)[1] == 0 for k in kids)
`, "PASAR_EVENTS="+file)
	if code != 0 {
		t.Fatal(out)
	}
	if n := len(events(t, file)); n != 800 {
		t.Errorf("%d events; want 800", n)
	}
}

func TestTheModuleAnswersAPause(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"pause", "ck"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ready := filepath.Join(dir, "ready")
	out, code := python(t, dir, `
import pasar_job as p
assert p.should_pause()
assert p.exit_paused("missing") is False   # a checkpoint that isn't there is no answer
p.exit_paused("ck")
`, "PASAR_PAUSE_FILE="+filepath.Join(dir, "pause"), "PASAR_CHECKPOINT_READY="+ready)
	if code != 75 {
		t.Fatalf("exit %d: %s", code, out)
	}
	b, err := os.ReadFile(ready)
	want := fmt.Sprintf(`{"checkpoint": %q}`, filepath.Join(realpath(t, dir), "ck"))
	if err != nil || string(b) != want {
		t.Errorf("marker %s, %v; want %s", b, err, want)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".marker-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWhatIsSavedOnSIGTERMAnswersAPauseIfThereIsOne(t *testing.T) {
	const program = `
import os, signal, pasar_job as p
def save():
    open("ck", "w").close()
    return "ck"
p.on_preempt(save)
try:
    os.kill(os.getpid(), signal.SIGTERM)
    while True: pass
except BaseException:
    print("caught")
`
	for _, asked := range []bool{true, false} {
		dir := t.TempDir()
		pause, ready := filepath.Join(dir, "pause"), filepath.Join(dir, "ready")
		want := -1 // it dies of SIGTERM
		if asked {
			want = 75
			if err := os.WriteFile(pause, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out, code := python(t, dir, program, "PASAR_PAUSE_FILE="+pause, "PASAR_CHECKPOINT_READY="+ready)
		if code != want || out != "" {
			t.Errorf("asked %v: exit %d: %s", asked, code, out)
		}
		if b, err := os.ReadFile(ready); (err == nil) != asked {
			t.Errorf("asked %v: marker %s, %v", asked, b, err)
		} else if path, err := DecodeMarker(b); asked && (err != nil || path != filepath.Join(realpath(t, dir), "ck")) {
			t.Errorf("marker %s: %q, %v", b, path, err)
		}
	}
}

func TestTheModuleKeepsPyTorchWithinTheJobsMemory(t *testing.T) {
	dir := t.TempDir()
	// What the module asks of PyTorch: two GPUs of 80 GiB.
	const torch = `
asked = []
class Properties: total_memory = 80 << 30
class cuda:
    device_count = staticmethod(lambda: 2)
    get_device_properties = staticmethod(lambda i: Properties)
    set_per_process_memory_fraction = staticmethod(lambda f, i: asked.append((round(f, 4), i)))
`
	if err := os.WriteFile(filepath.Join(dir, "torch.py"), []byte(torch), 0o600); err != nil {
		t.Fatal(err)
	}
	out, code := python(t, dir, `
import torch, pasar_job as p
print(p.apply_memory_limit(), torch.asked)
`, "PASAR_MEM_LIMIT_BYTES=17179869184") // 16 GiB, of which 600 MiB are the context's
	if want := "True [(0.1927, 0), (0.1927, 1)]\n"; code != 0 || out != want {
		t.Errorf("exit %d: %q, want %q", code, out, want)
	}
}

func TestTheModuleNoticesSIGTERM(t *testing.T) {
	out, code := python(t, t.TempDir(), `
import os, signal, pasar_job as p
assert p.on_preempt() and not p.should_stop()
os.kill(os.getpid(), signal.SIGTERM)
assert p.should_stop()
`)
	if code != 0 {
		t.Errorf("remembering: exit %d: %s", code, out)
	}
	out, code = python(t, t.TempDir(), `
import os, signal, pasar_job as p
p.on_preempt(lambda: print("saved"))
os.kill(os.getpid(), signal.SIGTERM)
while True: pass
`)
	if code != -1 || out != "saved\n" { // ended by the signal itself
		t.Errorf("saving: exit %d: %s", code, out)
	}
}

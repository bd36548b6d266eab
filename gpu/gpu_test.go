package gpu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pasar"
)

// tool is a path in the tools beside the repository. Without it the test is skipped: the repository must do by
// itself.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "shared", "tools", name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Skipf("needs a tool that isn't beside the repository: %v", err)
	}
	return path
}

// buildDriver builds the fake driver library once for all tests.
var buildDriver = sync.OnceValues(func() (lib string, err error) {
	lib = filepath.Join(scratch, "libnvidia-ml.so.1")
	src := filepath.Join("..", "..", "shared", "tools", "fake-nvml")
	if out, err := exec.Command("make", "-s", "-C", src, "CFLAGS=-O0", "OUT="+scratch, lib).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the fake driver: %w\n%s", err, out)
	}
	return lib, nil
})

// scratch is a directory for all tests.
var scratch string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if scratch, err = os.MkdirTemp("", "pasar-gpu"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	return m.Run()
}

// fakeSMI is the fake nvidia-smi over a state file with these lines.
func fakeSMI(t *testing.T, state string) string {
	t.Helper()
	smi := tool(t, "fake-nvml/nvidia-smi")
	lib, err := buildDriver()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(file, []byte(state), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAKE_NVML_LIB", lib)
	t.Setenv("FAKE_NVML_STATE", file)
	return smi
}

// script is an nvidia-smi that does what a shell is told.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nvidia-smi")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func yes() bool { return true }
func no() bool  { return false }

func TestADriversGPUsAreFoundInBusOrder(t *testing.T) {
	smi := fakeSMI(t, `gpus 3
gpu.0.mem_total 81559
gpu.0.mem_reserved 559
gpu.0.name NVIDIA H100, the big one
gpu.0.bus 0000:C1:00.0
gpu.1.unified 1
gpu.1.name NVIDIA GB10
gpu.1.bus 0000:0A:00.0
gpu.2.mem_total 24576
gpu.2.mem_reserved 0
gpu.2.bus 0000:0B:00.0
`)
	got, err := discover(t.Context(), smi, yes)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 {
		t.Fatalf("found %+v", got)
	}
	byIndex := map[int]Device{}
	for _, d := range got {
		byIndex[d.Index] = d
	}
	if d := byIndex[0]; d.Total != 81000*pasar.MiB || d.Unified || d.Name != "NVIDIA H100, the big one" || d.UUID != "GPU-fa4e0000-0000-4000-8000-000000000000" {
		t.Errorf("discrete GPU %+v", d)
	}
	if d := byIndex[1]; !d.Unified || d.Total != 0 {
		t.Errorf("unified GPU %+v", d)
	}
	if !slices.IsSortedFunc(got, func(a, b Device) int { return strings.Compare(a.Bus, b.Bus) }) || got[0].Bus == got[1].Bus {
		t.Errorf("not in bus order: %+v", got)
	}
}

func TestNoDriverMeansNoGPUsOnlyWithoutHardware(t *testing.T) {
	smi := fakeSMI(t, "gpus 1\ninit DRIVER_NOT_LOADED\n")
	if got, err := discover(t.Context(), smi, no); err != nil || got != nil {
		t.Errorf("without hardware: %v, %v", got, err)
	}
	if got, err := discover(t.Context(), smi, yes); err == nil {
		t.Errorf("with hardware the broken driver is taken for no GPUs: %v", got)
	} else if !strings.Contains(err.Error(), "driver") {
		t.Errorf("the error doesn't say what nvidia-smi said: %v", err)
	}
}

func TestALostGPUIsAnErrorThatNamesIt(t *testing.T) {
	smi := fakeSMI(t, "gpus 2\ngpu.1.lost 1\n")
	if got, err := discover(t.Context(), smi, yes); err == nil || !strings.Contains(err.Error(), "GPU1") {
		t.Errorf("found %v, %v", got, err)
	}
}

func TestNoDevicesIsNoError(t *testing.T) {
	for _, body := range []string{"echo No devices were found; exit 6", "echo No devices were found", "exit 0"} {
		if got, err := discover(t.Context(), script(t, body), yes); err != nil || got != nil {
			t.Errorf("%s: %v, %v", body, got, err)
		}
	}
}

func TestAMachineWithoutTheToolHasNoGPUs(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if got, err := Discover(t.Context()); err != nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestAnOlderToolWithoutReservedMemoryWillDo(t *testing.T) {
	smi := script(t, `case "$1" in
*memory.reserved*) echo 'Field "memory.reserved" is not a valid field to query.'; exit 2;;
esac
echo '0, GPU-1, 00000000:01:00.0, 24576, NVIDIA RTX A5000'`)
	got, err := discover(t.Context(), smi, yes)
	if err != nil || len(got) != 1 || got[0].Total != 24*pasar.GiB || got[0].Name != "NVIDIA RTX A5000" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAToolThatHangsIsGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("waited enough")
	started := filepath.Join(t.TempDir(), "started")
	if err := exec.Command("mkfifo", started).Run(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = os.ReadFile(started) // returns once the tool has opened it
		cancel(enough)
	}()
	_, err := discover(ctx, script(t, "echo > "+started+"\nexec sleep 1000"), yes)
	if !errors.Is(err, enough) {
		t.Errorf("error %v", err)
	}
}

func TestEndlessOutputIsCut(t *testing.T) {
	if _, err := discover(t.Context(), script(t, "yes 2>/dev/null | head -c 3000000"), yes); err == nil {
		t.Error("3 MB of output were believed")
	}
}

func TestOutputThatIsNotWhatItShouldBeIsNamed(t *testing.T) {
	const good = "0, GPU-1, 00000000:01:00.0, 24576, 0, A"
	for name, out := range map[string]string{
		"too few fields":   "0, GPU-1, 24576",
		"a negative index": "-1, GPU-1, 00000000:01:00.0, 24576, 0, A",
		"a word for index": "zero, GPU-1, 00000000:01:00.0, 24576, 0, A",
		"no UUID":          "0, , 00000000:01:00.0, 24576, 0, A",
		"a strange UUID":   "0, GPU-1;rm, 00000000:01:00.0, 24576, 0, A",
		"no memory":        "0, GPU-1, 00000000:01:00.0, 0, 0, A",
		"negative memory":  "0, GPU-1, 00000000:01:00.0, -5, 0, A",
		"absurd memory":    "0, GPU-1, 00000000:01:00.0, 99999999999999999, 0, A",
		"a lost GPU":       "0, GPU-1, 00000000:01:00.0, [GPU is lost], 0, A",
		"a broken reserve": "0, GPU-1, 00000000:01:00.0, 24576, [Unknown Error], A",
		"terminal codes":   "0, GPU-1, 00000000:01:00.0, 24576, 0, \x1b[2J",
		"the same UUID":    good + "\n1, GPU-1, 00000000:02:00.0, 24576, 0, A",
		"the same index":   good + "\n0, GPU-2, 00000000:02:00.0, 24576, 0, A",
		"html":             "<html>",
	} {
		got, err := parse([]byte(out), true)
		if err == nil {
			t.Errorf("%s: read as %+v", name, got)
			continue
		}
		if text := err.Error(); !strings.Contains(text, "line") || pasar.Clean(text) != text {
			t.Errorf("%s: error %q doesn't name the line, or isn't clean", name, text)
		}
	}
	if got, err := parse([]byte(good+"\n"), true); err != nil || len(got) != 1 {
		t.Errorf("good output: %v, %v", got, err)
	}
}

func TestUnknownMemoryMeansUnified(t *testing.T) {
	for _, s := range []string{"[N/A]", "N/A", "[Not Supported]", "Not Supported"} {
		got, err := parse([]byte("0, GPU-1, 0000000F:01:00.0, "+s+", "+s+", NVIDIA GB10"), true)
		if err != nil || len(got) != 1 || !got[0].Unified || got[0].Total != 0 {
			t.Errorf("%s: %+v, %v", s, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("0, GPU-1, 00000000:01:00.0, 24576, 512, NVIDIA A\n1, GPU-2, 00000000:02:00.0, [N/A], [N/A], B, C\n"), true)
	f.Add([]byte("0, GPU-1, 00000000:01:00.0, 24576, NVIDIA A"), false)
	f.Add([]byte("\xff\x00,,,,,\n\n"), true)
	f.Fuzz(func(t *testing.T, out []byte, reserved bool) {
		got, err := parse(out, reserved)
		if err != nil {
			if text := err.Error(); pasar.Clean(text) != text {
				t.Errorf("error %q isn't clean", text)
			}
			return
		}
		for _, d := range got {
			if d.UUID == "" || strings.ContainsAny(d.UUID, ",= \n") || d.Index < 0 || d.Unified != (d.Total == 0) || d.Total < 0 || d.Total > maxMemory {
				t.Errorf("believed %+v", d)
			}
		}
	})
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// A gpuHome is a home on a machine with GPUs, as a fake driver has them.
type gpuHome struct {
	*home
	fake, state, kmsg string
}

// newGPUHome has a fake driver with a state of these lines, and a pasard that can ask it.
func newGPUHome(t *testing.T, lines string) *gpuHome {
	t.Helper()
	h := &gpuHome{home: newHome(t)}
	src, err := filepath.Abs("../../../shared/tools/fake-nvml")
	if err == nil {
		_, err = os.Stat(src)
	}
	if err != nil {
		t.Skipf("needs the fake driver, which is not beside the repository: %v", err)
	}
	for _, needed := range []string{"gcc", "make", "python3"} {
		if err == nil {
			_, err = exec.LookPath(needed)
		}
	}
	if err != nil {
		if os.Getenv("PASAR_CI") == "1" {
			t.Fatalf("in CI this must be there: %v", err)
		}
		t.Skipf("needs a tool that isn't there: %v", err)
	}
	h.fake, h.state, h.kmsg = filepath.Join(src, "fakejob"), h.dir+"/gpus", h.dir+"/kmsg"
	run := func(env string, argv ...string) {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), env)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", argv, err, out)
		}
	}
	run("CC=gcc", "make", "-s", "-C", src, "CFLAGS=-O0", "OUT="+h.dir, h.dir+"/libnvidia-ml.so.1")
	run("CGO_ENABLED=1", "go", "build", "-ldflags", "-extldflags=-Wl,-z,lazy", "-o", filepath.Join(bin, "pasard-gpu"), "pasar/cmd/pasard")
	h.config = h.dir + "/config.toml"
	h.write(h.config, fmt.Sprintf("nvml_library = %q\nkernel_log = %q\n", h.dir+"/libnvidia-ml.so.1", h.kmsg))
	h.write(h.state, lines)
	if err := syscall.Mkfifo(h.kmsg, 0o600); err != nil {
		t.Fatal(err)
	}
	h.begin()
	return h
}

// begin starts the pasard that can ask the fake driver.
func (h *gpuHome) begin() {
	h.t.Helper()
	h.spawnWith(func(cmd *exec.Cmd) {
		cmd.Path = filepath.Join(bin, "pasard-gpu")
		cmd.Env = append(cmd.Env, "FAKE_NVML_STATE="+h.state)
	})
}

func (h *gpuHome) write(path, text string) {
	h.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// add appends a line to a file or a pipe.
func (h *gpuHome) add(path, line string) {
	h.t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = fmt.Fprintln(f, line)
		_ = f.Close()
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// until looks at the GPUs until they are as they should be.
func (h *gpuHome) until(ctx context.Context, what string, ok func(m pasar.MachineView) bool) {
	h.t.Helper()
	var last []byte
	for {
		err := h.with(ctx, func(c *ipc.Client) (err error) { last, err = c.GPUs(ctx); return err })
		if err != nil {
			h.t.Fatalf("%s: %v\nlast seen: %s", what, err, last)
		}
		var v struct {
			Machines []pasar.MachineView `json:"machines"`
		}
		if err := json.Unmarshal(last, &v); err != nil {
			h.t.Fatal(err)
		}
		if len(v.Machines) == 1 && ok(v.Machines[0]) {
			return
		}
		select {
		case <-ctx.Done():
			h.t.Fatalf("%s: not within the time; last seen: %s", what, last)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestADaemonSeesItsGPUsTheirJobsAndTheirFaults(t *testing.T) {
	h := newGPUHome(t, "gpus 2\nproc 1 1 1000\n")
	ctx := longContext(t, 90*time.Second)
	h.until(ctx, "two GPUs", func(m pasar.MachineView) bool {
		return len(m.GPUs) == 2 && m.Source != nil && *m.Source == "nvml" && m.GPUs[1].Used != nil && *m.GPUs[1].Used == 1000*pasar.MiB &&
			len(m.GPUs[1].Processes) == 1 && m.GPUs[1].Processes[0].Job == nil && m.GPUs[1].Processes[0].User != ""
	})
	s := shell(fmt.Sprintf("FAKE_NVML_STATE=%s FAKE_NVML_LIB=%s exec python3 %s --mib 4096 --seconds 1000", h.state, h.dir+"/libnvidia-ml.so.1", h.fake))
	s.Claim = pasar.Claim{Kind: pasar.Whole, GPUs: 1, IDs: []string{"0"}}
	id, err := h.submit(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	h.until(ctx, "the job's process", func(m pasar.MachineView) bool {
		p := m.GPUs[0].Processes
		return len(p) == 1 && p[0].Job != nil && *p[0].Job == id && *p[0].Used == 4096*pasar.MiB && strings.HasPrefix(p[0].Name, "python3")
	})
	h.add(h.state, "hang 1 DeviceGetTemperature forever")
	h.until(ctx, "a GPU that hangs beside one that doesn't", func(m pasar.MachineView) bool {
		return *m.GPUs[0].Status == pasar.GPUOK && *m.GPUs[1].Status == pasar.GPUUnresponsive
	})
	h.add(h.state, "hang 1 DeviceGetTemperature 0")
	h.until(ctx, "the GPU that hung", func(m pasar.MachineView) bool { return *m.GPUs[1].Status == pasar.GPUOK })
	h.add(h.kmsg, "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.")
	h.until(ctx, "a GPU that fell off the bus", func(m pasar.MachineView) bool {
		return m.GPUs[0].Drained != nil && strings.Contains(m.GPUs[0].Drained.Reason, "79") && m.GPUs[1].Drained == nil
	})
}

func TestAGPUIsHotFromWhereTheConfigurationSaysAlsoAfterAReload(t *testing.T) {
	h := newGPUHome(t, "gpus 3\ngpu.1.temp_slowdown 50\ngpu.2.temp_slowdown NA\n")
	ctx := longContext(t, 90*time.Second)
	hot := func(a, b, c float64) func(pasar.MachineView) bool {
		return func(m pasar.MachineView) bool {
			ok := len(m.GPUs) == 3
			for i, want := range []float64{a, b, c} {
				ok = ok && m.GPUs[i].HotC != nil && *m.GPUs[i].HotC == want
			}
			return ok
		}
	}
	h.until(ctx, "as nobody set it", hot(85, 50, 85))
	usual, err := os.ReadFile(h.config)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		set     string
		a, b, c float64
	}{{"30", 30, 30, 30}, {"99", 90, 50, 99}} {
		h.write(h.config, string(usual)+"hot_temp_c = "+c.set+"\n")
		if out := h.pasar("reload"); !strings.Contains(out, "hot_temp_c") {
			t.Errorf("reload says %q", out)
		}
		h.until(ctx, "set to "+c.set, hot(c.a, c.b, c.c))
	}
}

func TestADaemonSaysWhatItsDriverLacksAndGoesOnWhenItIsThere(t *testing.T) {
	h := newGPUHome(t, "gpus 1\ninit LIB_RM_VERSION_MISMATCH\n")
	ctx := longContext(t, 3*time.Minute)
	drive := func(lines string) {
		t.Helper()
		h.write(h.state+".new", lines)
		if err := os.Rename(h.state+".new", h.state); err != nil {
			t.Fatal(err)
		}
	}
	whole := func(m pasar.MachineView) bool {
		return m.Trouble == nil && len(m.GPUs) == 1 && !m.GPUs[0].Virtual && m.GPUs[0].Status != nil && *m.GPUs[0].Status == pasar.GPUOK
	}
	drive("gpus 1\n")
	h.until(ctx, "the GPU of a driver that didn't answer at first", whole)
	if err := os.Remove(h.state); err != nil {
		t.Fatal(err)
	}
	h.until(ctx, "a driver that was unloaded", func(m pasar.MachineView) bool {
		return m.Trouble != nil && strings.Contains(*m.Trouble, "isn't loaded") && len(m.GPUs) == 1
	})
	drive("gpus 1\n")
	h.until(ctx, "the GPU of a driver that is back", whole)
}

func TestWhatGPUsDidIsKnownAfterARestart(t *testing.T) {
	h := newGPUHome(t, "gpus 2\nproc 1 1 1000\n")
	ctx := longContext(t, 90*time.Second)
	began := time.Now()
	history := func() (v pasar.GPUHistoryView) {
		t.Helper()
		err := h.with(ctx, func(c *ipc.Client) error {
			b, err := c.GPUHistory(ctx, ipc.GPUHistoryRequest{Points: ipc.MaxGPUPoints})
			if err == nil {
				err = json.Unmarshal(b, &v)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	two := func(m pasar.MachineView) bool { return len(m.GPUs) == 2 && m.GPUs[1].Used != nil }
	h.until(ctx, "two GPUs", two)
	first := history()
	if len(first.GPUs) != 2 || *first.GPUs[1].Index != 1 || *first.GPUs[1].Mem <= 0 || *first.GPUs[1].Points[0].Used != 1000*pasar.MiB {
		t.Fatalf("%+v", first)
	}
	was := first.GPUs[1].Points[0]
	still := func(when string) {
		t.Helper()
		h.until(ctx, "two GPUs "+when, two)
		v := history()
		if p := v.GPUs[1].Points[0]; !p.At.Equal(was.At) || *p.Used < *was.Used || p.At.After(began.Add(time.Minute)) {
			t.Errorf("%s: it begins with %+v; want %+v", when, p, was)
		}
	}
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-h.exited; err != nil {
		t.Fatal(err)
	}
	h.cmd = nil
	h.write(h.state, "gpus 2\n") // what is seen from now on is less than what was
	h.begin()
	still("after an end")
	h.kill()
	h.begin()
	still("after kill -9")
}

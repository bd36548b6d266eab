package supervisor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// BenchmarkLaunch is what a supervisor adds to the gap between two jobs: from LAUNCH to the word
// that an empty program runs, to the word that the claim is free, and to the record on disk. Each place
// takes its turn, so that whatever else the machine does is the same for all.
func BenchmarkLaunch(b *testing.B) {
	places := map[string]func() *rig{"session": func() *rig { return warm(b) }}
	if ownCgroup() != "" {
		places["cgroup"] = func() *rig { r, _ := celled(b); return r }
	}
	took := map[string][]time.Duration{}
	for range b.N {
		for place, start := range places {
			r := start()
			r.spec.Argv = pasar.Args([]string{"true"})
			eventually(b, patience, "the socket is there", func() bool { d, _ := os.ReadDir(r.run); return len(d) == 1 })
			began := time.Now()
			r.launch()
			for _, st := range []ipc.AttemptState{ipc.AttemptRunning, ipc.AttemptExited, ipc.AttemptEnded} {
				r.wait(st)
				key := place + "-" + string(st)
				took[key] = append(took[key], time.Since(began))
			}
			r.leave()
		}
	}
	for key, d := range took {
		slices.Sort(d)
		b.ReportMetric(float64(d[len(d)/2].Microseconds()), key+"-µs")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkOutput is the processor time that output costs when nobody watches.
func BenchmarkOutput(b *testing.B) {
	for name, command := range map[string]string{
		"lines": `seq -f 'step %.0f loss 0.12345 lr 0.0003 tokens 123456' 1 400000`,
		"bar":   `i=0; while [ $i -lt 20000 ]; do i=$((i+1)); printf '\r %d/20000 [=========>          ] 12.3 it/s' $i; done`,
	} {
		b.Run(name, func(b *testing.B) {
			var cpu time.Duration
			var bytes int64
			for range b.N {
				r := start(b, "sh", "-c", "sleep 0.1; "+command)
				before := cpuOf(b, r.cmd.Process.Pid)
				r.wait(ipc.AttemptEnded)
				cpu += cpuOf(b, r.cmd.Process.Pid) - before
				fi, err := os.Stat(r.dir + "/" + pasar.OutputFile)
				if err != nil {
					b.Fatal(err)
				}
				bytes += fi.Size()
				r.leave()
			}
			b.ReportMetric(cpu.Seconds()*1000/(float64(bytes)/1e6), "cpu-ms/MB")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkMemory is what a supervisor with a quiet job keeps to itself.
func BenchmarkMemory(b *testing.B) {
	for range b.N {
		r := start(b, "sh", "-c", "echo up; exec sleep 1000")
		c := r.attach(ipc.Hello{Mode: ipc.ModeType})
		c.until("up\r\n")
		_ = c.conn.Close()
		roll, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", r.cmd.Process.Pid))
		if err != nil {
			b.Fatal(err)
		}
		for line := range strings.Lines(string(roll)) {
			var kb float64
			for _, k := range []string{"Rss:", "Pss_Anon:", "Pss_File:"} {
				if n, _ := fmt.Sscanf(line, k+" %f", &kb); n == 1 {
					b.ReportMetric(kb, strings.ToLower(strings.TrimSuffix(k, ":"))+"-KiB")
				}
			}
		}
		r.cancel()
	}
	b.ReportMetric(0, "ns/op")
}

// cpuOf is the processor time of a process's living threads.
func cpuOf(t testing.TB, pid int) time.Duration {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		t.Fatal(err)
	}
	var sum time.Duration
	for _, f := range tasks {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		var ns int64
		_, _ = fmt.Sscan(string(b), &ns)
		sum += time.Duration(ns)
	}
	return sum
}

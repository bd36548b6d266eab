package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// A trace is all that jobs could leave behind outside of their own directories.
type trace struct {
	Processes   []string // that have the home in their environment or arguments
	Descriptors int      // of the daemon
	Run         []string // files of the run directory: sockets
	Temporary   []string
	Cgroups     []string
}

func (h *home) trace(t *testing.T) trace {
	t.Helper()
	var tr trace
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", h.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	tr.Descriptors = len(fds)
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		args, _ := os.ReadFile(d + "/cmdline")
		env, _ := os.ReadFile(d + "/environ")
		if strings.Contains(string(args)+string(env), h.dir) {
			tr.Processes = append(tr.Processes, filepath.Base(d)+" "+strings.ReplaceAll(string(args), "\x00", " "))
		}
	}
	for _, d := range []struct {
		to   *[]string
		path string
	}{{&tr.Run, h.data() + "/run"}, {&tr.Temporary, h.dir + "/tmp"}} {
		entries, _ := os.ReadDir(d.path)
		for _, e := range entries {
			*d.to = append(*d.to, e.Name())
		}
	}
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return fs.SkipDir
			}
			if e.IsDir() && strings.HasPrefix(e.Name(), "pasar-") && !slices.Contains(tr.Cgroups, path) && !h.otherwise(path) {
				tr.Cgroups = append(tr.Cgroups, path)
			}
			return nil
		})
	}
	return tr
}

// otherwise reports whether all that runs in a cgroup is another daemon's.
func (h *home) otherwise(dir string) bool {
	some := false
	for _, part := range []string{"sup", "job", "."} {
		procs, _ := os.ReadFile(filepath.Join(dir, part, "cgroup.procs"))
		for pid := range strings.FieldsSeq(string(procs)) {
			args, _ := os.ReadFile("/proc/" + pid + "/cmdline")
			env, _ := os.ReadFile("/proc/" + pid + "/environ")
			if strings.Contains(string(args)+string(env), h.dir) {
				return false
			}
			some = true
		}
	}
	return some
}

// TestShortJobsLeaveNothingBehind runs many jobs in a row, some of which try to leave something.
func TestShortJobsLeaveNothingBehind(t *testing.T) {
	jobs := 120
	if fullSize() {
		jobs = 2000
	}
	h := newHome(t)
	if err := os.Mkdir(h.dir+"/tmp", 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", h.dir+"/tmp")
	h.start()
	ctx := longContext(t, 10*time.Minute)
	scripts := []string{
		"true", "true", "echo one line", "exit 3", "kill -9 $$",
		"setsid sleep 600 >/dev/null 2>&1 </dev/null &",
		"sleep 600 &", "printf '\\033[?1049h\\033[2Jdrawn'", "nohup sleep 600 >/dev/null 2>&1 & exit 1",
	}
	run := func(n int) {
		var ids []pasar.JobID
		for i := range n {
			s := shell(scripts[i%len(scripts)])
			s.NoPTY = i%7 == 3
			id, err := h.submit(ctx, s)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		if err := h.with(ctx, func(c *ipc.Client) error {
			return c.Wait(ctx, ipc.WaitRequest{Jobs: ids}, func([]byte) error { return nil })
		}); err != nil {
			t.Fatal(err)
		}
	}
	run(2 * len(scripts)) // what is made once and kept is there from now on
	rest := func(ok func(trace) bool) trace {
		limit, cancel := context.WithTimeout(ctx, 90*time.Second) // a supervisor may linger for late readers
		defer cancel()
		for {
			tr := h.trace(t)
			if ok(tr) || limit.Err() != nil {
				return tr
			}
			select {
			case <-limit.Done():
			case <-time.After(100 * time.Millisecond): // the end of another's child can't be waited for
			}
		}
	}
	quiet := func(tr trace) bool { return len(tr.Processes) <= 2 } // the daemon and a warm supervisor
	before := rest(quiet)
	run(jobs)
	after := rest(func(tr trace) bool {
		return quiet(tr) && tr.Descriptors <= before.Descriptors && len(tr.Run) <= len(before.Run) && len(tr.Cgroups) <= len(before.Cgroups)
	})
	if !quiet(after) {
		t.Errorf("processes left: %q", after.Processes)
	}
	if after.Descriptors > before.Descriptors {
		t.Errorf("the daemon has %d descriptors, and had %d", after.Descriptors, before.Descriptors)
	}
	if len(after.Run) > len(before.Run) {
		t.Errorf("left in the run directory: %q; before: %q", after.Run, before.Run)
	}
	if len(after.Temporary) > len(before.Temporary) {
		t.Errorf("temporary files left: %q", after.Temporary)
	}
	if len(after.Cgroups) > len(before.Cgroups) {
		t.Errorf("cgroups left: %q", after.Cgroups)
	}
	known := []string{pasar.SpecFile, pasar.ClaimFile, pasar.OutputFile, pasar.IndexFile, pasar.EventsFile, pasar.ExitFile, pasar.SupLogFile}
	attempts, err := filepath.Glob(h.data() + "/jobs/*/*/*")
	if err != nil || len(attempts) == 0 {
		t.Fatalf("no attempt's files: %v", err)
	}
	for _, f := range attempts {
		if filepath.Base(filepath.Dir(f)) == "persist" {
			continue
		}
		if !slices.Contains(known, filepath.Base(f)) {
			t.Errorf("left in an attempt's directory: %s", f)
		}
	}
}

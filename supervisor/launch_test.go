package supervisor_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pasar"
	"pasar/ipc"
)

// run runs a command to its end and returns its record and raw output.
func run(t *testing.T, change func(*pasar.AttemptSpec), argv ...string) (pasar.ExitRecord, string) {
	t.Helper()
	r := warm(t)
	r.spec.Argv = pasar.Args(argv)
	if change != nil {
		change(&r.spec)
	}
	r.launch()
	rec := r.end()
	return rec, r.output()
}

func TestArgumentsAndEnvironmentArriveByteForByte(t *testing.T) {
	odd := "a\nb\x00"[:3] + "\xff\xfe\x80 \"'$\\ é"
	long := strings.Repeat("x", 100_000)
	r := warm(t)
	// The kernel itself says what a process was given.
	r.spec.Argv = pasar.Args([]string{"sh", "-c", "read x", odd, "", long})
	r.spec.Surroundings.Env = pasar.Args([]string{"PATH=" + os.Getenv("PATH"), "ODD=" + odd, "PASAR_NONCE=" + r.spec.Nonce, "EMPTY=", "=weird"})
	r.launch()
	st := r.wait(ipc.AttemptRunning)
	for name, want := range map[string][]pasar.Arg{"cmdline": r.spec.Argv, "environ": r.spec.Surroundings.Env} {
		var b bytes.Buffer
		for _, a := range want {
			b.WriteString(string(a) + "\x00")
		}
		got, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", st.Pid, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, b.Bytes()) {
			t.Errorf("%s: %d bytes, want %d: %.300q", name, len(got), b.Len(), got)
		}
	}
	r.stop(pasar.Stop{ID: "1", Now: true})
	r.end()
}

func TestAJobHasATerminalAsItsOwn(t *testing.T) {
	const py = `import os,sys,termios
print([os.isatty(i) for i in range(3)], os.getpgrp()==os.getpid(), os.tcgetpgrp(0)==os.getpgrp(), os.get_terminal_size(), bool(termios.tcgetattr(0)[0]&0o40000), sorted(int(f) for f in os.listdir('/proc/self/fd'))[:3], len(os.listdir('/proc/self/fd')))`
	_, out := run(t, func(s *pasar.AttemptSpec) { s.Cols, s.Rows = 100, 30 }, "python3", "-c", py)
	// The fourth descriptor is listdir's own.
	want := "[True, True, True] True True os.terminal_size(columns=100, lines=30) True [0, 1, 2] 4\r\n"
	if out != want {
		t.Errorf("got  %q\nwant %q", out, want)
	}
	_, out = run(t, nil, "stty", "size")
	if out != "40 120\r\n" {
		t.Errorf("size of a job nobody watches: %q", out)
	}
}

// Whoever leads a process group but no session can't make one.
func TestASupervisorWithoutASessionGivesTheJobOne(t *testing.T) {
	r := warmAs(t, &syscall.SysProcAttr{Setpgid: true})
	r.spec.Argv = pasar.Args([]string{"sh", "-c", `test -t 0 && echo $$ $(ps -o sid=,pgid=,tpgid= -p $$) > /dev/tty; sleep 600 & exit 2`})
	r.launch()
	rec := r.end()
	f := strings.Fields(r.output())
	if len(f) != 4 || f[1] != f[0] || f[2] != f[0] || f[3] != f[0] || rec.Exit.Code != 2 {
		t.Errorf("pid, session, group, foreground: %q; %+v", f, rec)
	}
}

func TestACommandIsFoundAsExecvpWould(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("a/tool", "#!/bin/sh\necho first\n", 0o600) // not executable: skipped
	write("b/tool", "#!/bin/sh\necho second $0 $1\n", 0o700)
	write("bare", "echo bare $1\n", 0o700) // no interpreter line
	write("here", "#!/bin/sh\npwd\n", 0o700)
	in := func(path string) func(*pasar.AttemptSpec) {
		return func(s *pasar.AttemptSpec) {
			s.Cwd = pasar.Arg(dir)
			s.Surroundings.Env = pasar.Args([]string{"PATH=" + path, "PASAR_NONCE=" + s.Nonce})
		}
	}
	for _, c := range []struct{ path, argv, want string }{
		{dir + "/a:" + dir + "/b:/bin", "tool x", "second " + dir + "/b/tool x\r\n"},
		{"a:b:/bin", "tool x", "second b/tool x\r\n"}, // relative to the working directory
		{"/bin", "./bare y", "bare y\r\n"},
		{":/bin", "here", dir + "\r\n"}, // an empty element is the working directory
	} {
		_, out := run(t, in(c.path), strings.Fields(c.argv)...)
		if out != c.want {
			t.Errorf("%s with PATH=%s: %q, want %q", c.argv, c.path, out, c.want)
		}
	}
	if rec, _ := run(t, in(dir+"/a"), "tool"); syscall.Errno(rec.Errno) != syscall.EACCES {
		t.Errorf("a file that may not be run: %+v", rec)
	}
}

func TestSurroundingsAreTheSubmitters(t *testing.T) {
	_, out := run(t, func(s *pasar.AttemptSpec) {
		s.Surroundings.Umask, s.Surroundings.Nice = 0o027, 7
		s.Surroundings.Limits = []pasar.Rlimit{
			{Resource: syscall.RLIMIT_NOFILE, Soft: 321}, {Resource: syscall.RLIMIT_CORE, Soft: 0},
			{Resource: syscall.RLIMIT_STACK, Soft: ^uint64(0)}, {Resource: syscall.RLIMIT_FSIZE, Soft: 1 << 30}, {Resource: 99, Soft: 1},
		}
	}, "sh", "-c", "umask; nice; ulimit -Sn; ulimit -Sc; ulimit -Hs; ulimit -Ss; ulimit -Sf")
	f := strings.Fields(out)
	if len(f) != 7 || f[0] != "0027" || f[1] != "7" || f[2] != "321" || f[3] != "0" || f[5] != f[4] || f[6] != strconv.Itoa(1<<21) {
		t.Errorf("umask, nice, limits: %q", f)
	}
}

func TestTheSupervisorKeepsItsOwnSurroundings(t *testing.T) {
	r := startWith(t, func(s *pasar.AttemptSpec) {
		s.Surroundings.Umask, s.Surroundings.Nice = 0o077, 5
		s.Surroundings.Limits = []pasar.Rlimit{{Resource: syscall.RLIMIT_NOFILE, Soft: 50}, {Resource: syscall.RLIMIT_FSIZE, Soft: 4096}}
	}, "sleep", "1000")
	read := func(name string) string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", r.cmd.Process.Pid, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for line := range strings.Lines(read("limits")) {
		f := strings.Fields(line)
		if strings.HasPrefix(line, "Max open files") && f[3] == "50" || strings.HasPrefix(line, "Max file size") && f[3] == "4096" {
			t.Errorf("it kept the job's limit: %s", line)
		}
	}
	if nice := strings.Fields(read("stat"))[18]; nice != "0" {
		t.Errorf("it kept the job's nice value: %s", nice)
	}
	r.stop(pasar.Stop{ID: "1", Now: true})
	r.end()
}

func TestTheJobIsKilledForMemoryBeforeItsSupervisor(t *testing.T) {
	r := warm(t)
	r.spec.Argv = pasar.Args([]string{"sleep", "1000"})
	r.launch()
	st := r.wait(ipc.AttemptRunning)
	score := func(pid int) int {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid))
		if err != nil {
			t.Fatal(err)
		}
		n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
		return n
	}
	job, sup := score(st.Pid), score(r.cmd.Process.Pid)
	if !(job == 0 && sup == -900) && job < sup+200 && job != 1000 {
		t.Errorf("oom_score_adj: job %d, supervisor %d", job, sup)
	}
	r.stop(pasar.Stop{ID: "1", Now: true})
	r.end()
}

func TestIgnoredSignalsOfTheStarterDoNotReachTheJob(t *testing.T) {
	const libc = 1<<31 | 1<<32 | 1<<33 // signals 32 to 34 are the C library's own, and no program's to set
	_, out := run(t, nil, "grep", "-E", "^Sig(Ign|Blk)", "/proc/self/status")
	for line := range strings.Lines(out) {
		mask, err := strconv.ParseUint(strings.Fields(line)[1], 16, 64)
		if err != nil || mask&^libc != 0 {
			t.Errorf("%q", line)
		}
	}
}

func TestExitCodesAndSignals(t *testing.T) {
	for _, c := range []struct {
		script string
		want   pasar.Exit
	}{
		{"exit 0", pasar.Exit{}}, {"exit 255", pasar.Exit{Code: 255}},
		{"kill -9 $$", pasar.Exit{Signal: 9}}, {"kill -15 $$", pasar.Exit{Signal: 15}},
	} {
		rec, _ := run(t, nil, "sh", "-c", c.script)
		rec.Exit.Core = false
		if rec.Exit != c.want {
			t.Errorf("%s: %+v", c.script, rec.Exit)
		}
	}
}

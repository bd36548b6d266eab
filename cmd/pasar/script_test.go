package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// bin is where the real programs are, built once.
var bin string

func TestMain(m *testing.M) {
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "pasar-bin")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-o", dir, "pasar/cmd/pasar", "pasar/cmd/pasard", "pasar/cmd/pasar-supervisor", "pasar/cmd/pasar-console")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the programs: %v\n%s", err, out)
		return 1
	}
	bin = dir
	return m.Run()
}

// TestScripts runs each script in a home of its own with a daemon of its own, which is ended with its
// jobs when the script is over.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		Deadline:      time.Now().Add(2 * time.Minute), // a script that hangs says where, long before the test run gives up
		Setup:         setupScript,
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "daemonpid": daemonPid, "killdaemon": killDaemon, "same": same},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

func setupScript(e *testscript.Env) error {
	home := filepath.Join(e.WorkDir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	e.Setenv("HOME", home)
	e.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	e.Setenv("USER", "ada")
	e.Setenv("LANG", "C.UTF-8")
	e.Setenv("PASAR_ADDRESS", "off") // the port is one for all of the machine
	vars := e.Vars
	e.Defer(func() {
		run := func(args ...string) {
			c := exec.Command(filepath.Join(bin, "pasar"), args...)
			c.Env = append(vars, "HOME="+home)
			if out, err := c.CombinedOutput(); err != nil && args[0] == "shutdown" {
				e.T().Log(fmt.Sprintf("%v: %v\n%s", args, err, out))
			}
		}
		out, err := func() ([]byte, error) {
			c := exec.Command(filepath.Join(bin, "pasar"), "version", "--json")
			c.Env = append(vars, "HOME="+home)
			return c.Output()
		}()
		if err == nil && strings.Contains(string(out), `"pid"`) {
			run("cancel", "--now", "1-200")
			run("wait", "--timeout", "20s", "1-200")
		}
		run("shutdown")
	})
	return nil
}

// exits CODE PROGRAM ARG… runs a program that must exit with that code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var e *exec.ExitError
		if !errors.As(err, &e) {
			ts.Fatalf("%v", err)
		}
		got = e.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// daemonpid FILE notes the daemon's process.
func daemonPid(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(pidOf(ts)), 0o600))
}

func pidOf(ts *testscript.TestScript) string {
	c := exec.Command(filepath.Join(bin, "pasar"), "version")
	c.Env = []string{"HOME=" + ts.Getenv("HOME")}
	out, err := c.Output()
	ts.Check(err)
	_, pid, ok := strings.Cut(string(out), "(pid ")
	pid, _, ok2 := strings.Cut(pid, ")")
	if !ok || !ok2 {
		ts.Fatalf("no daemon: %s", out)
	}
	return pid
}

// killdaemon ends the daemon as kill -9 does.
func killDaemon(ts *testscript.TestScript, neg bool, args []string) {
	pid, err := strconv.Atoi(pidOf(ts))
	ts.Check(err)
	p, err := os.FindProcess(pid)
	ts.Check(err)
	ts.Check(p.Kill())
}

// same FILE FILE compares bytes; testscript's cmp is about text.
func same(ts *testscript.TestScript, neg bool, args []string) {
	a, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	b, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	if (string(a) == string(b)) == neg {
		ts.Fatalf("%s and %s: equal is %v (%d and %d bytes)", args[0], args[1], !neg, len(a), len(b))
	}
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// gone waits until a text isn't on the screen any more.
func (p *pane) gone(text string) {
	p.t.Helper()
	p.until("doesn't show "+text, func() string {
		if strings.Contains(strings.Join(p.look(), "\n"), text) {
			return "it is there"
		}
		return ""
	})
}

// put checks that a terminal is as it was before: its modes, its screen, and what the shell on it shows.
func (p *pane) put() {
	p.t.Helper()
	p.shows("back at the shell")
	p.until("is put back", func() string {
		if s := p.state(); !strings.Contains(s, calm) {
			return s
		}
		return ""
	})
	p.keys("stty -a | tr ';' '\\n' | grep -c -w -e icanon -e echo -e isig -e icrnl && echo tty''ok", "Enter")
	p.shows("ttyok")
	if text := strings.Join(p.look(), "\n"); strings.Contains(text, "-icanon") || strings.Contains(text, "Jobs ─") {
		p.t.Errorf("it is not as it was:\n%s", text)
	}
}

// shell opens a terminal with a shell on it that says when a command has ended.
func (m *tmux) shell(name string, cols, rows int) *pane {
	p := m.open(name, cols, rows, "env", "PS1=$ ", "ENV=", "sh")
	p.shows("$")
	return p
}

// TestTheConsoleIsUsedInARealTerminal does what a person does all day: submit, watch, bid, attach, detach, find out why,
// cancel, leave, in a real terminal on a real daemon.
func TestTheConsoleIsUsedInARealTerminal(t *testing.T) {
	h := newHome(t)
	m := newTmux(h)
	h.pasar("submit", "--gpus", "0", "--name", "talker", "--", "sh", "-c", "i=0; while :; do i=$((i+1)); echo tick $i; sleep 0.2; done")
	h.pasar("submit", "--gpus", "0", "--name", "doomed", "--", "sh", "-c", "echo working; echo 'ValueError: bad shape'; exit 3")
	p := m.shell("console", 80, 24)
	p.keys("pasar; echo back at the shell $?", "Enter")
	p.shows("1 running")
	p.shows("doomed")
	p.keys("s") // submit
	p.shows("Submit a job")
	p.keys("-l", "sleep 600")
	p.keys("Tab", "Tab")
	p.keys("-l", "sleeper")
	p.keys("Tab", "Tab")
	p.keys("-l", "0")
	p.shows("#3 would start")
	p.keys("Enter")
	p.shows("#3 submitted")
	p.keys("b") // it is chosen: bid
	p.shows("Bid of #3 sleeper")
	p.keys("C-u")
	p.keys("-l", "1500")
	p.keys("Enter")
	p.until("bids", func() string { return differs(h.pasar("ls", "--format", "bid", "--state", "running"), "1500") })
	p.keys("Home", "Enter") // the first: watch its screen
	p.shows("tick")
	p.keys("a") // attach and detach
	p.shows("attached to #")
	p.keys("C-]", "d")
	p.shows("back from #")
	p.keys("q")
	p.keys("/")
	p.keys("-l", "doomed")
	p.keys("Enter")
	p.keys("w") // why
	p.shows("Why #2 doomed")
	p.shows("exit code 3")
	p.keys("q", "Escape")
	for _, size := range [][2]int{{120, 40}, {200, 60}, {40, 12}, {80, 24}} {
		p.resize(size[0], size[1])
		p.until("fits", func() string { return fillsScreen(p.look(), size[0], size[1]) })
	}
	p.keys("Home", "x") // cancel
	p.shows("Cancel #")
	p.keys("Enter")
	p.gone("Cancel #")
	p.until("cancels", func() string { return differs(h.pasar("show", "1"), "cancelled") })
	p.keys("q")
	p.put()
	p.shows("back at the shell 0")
}

func differs(text, want string) string {
	if strings.Contains(text, want) {
		return ""
	}
	return text
}

// fillsScreen checks that a screen of the console fills its size.
func fillsScreen(rows []string, cols, height int) string {
	if len(rows) != height {
		return fmt.Sprintf("%d rows", len(rows))
	}
	if !strings.Contains(rows[height-1], "help") {
		return "no hints in the bottom row: " + rows[height-1]
	}
	for _, r := range rows {
		if strings.HasPrefix(r, "─ Jobs ") {
			if n := len([]rune(r)); n > cols || n < cols && cols < 150 { // with another job beside it the row may end before
				return fmt.Sprintf("the rule above the jobs has %d columns", n)
			}
			return ""
		}
	}
	return "no jobs"
}

// pidOf is the process of a program that runs in a home.
func (h *home) pidOf(program string) int {
	h.t.Helper()
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		exe, _ := os.Readlink(filepath.Join(d, "exe"))
		env, _ := os.ReadFile(filepath.Join(d, "environ"))
		if filepath.Base(exe) == program && strings.Contains(string(env), "HOME="+h.dir+"\x00") {
			pid, _ := strconv.Atoi(filepath.Base(d))
			return pid
		}
	}
	return 0
}

func TestTheTerminalIsPutBackHoweverTheConsoleEnds(t *testing.T) {
	h := newHome(t)
	m := newTmux(h)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGABRT} {
		p := m.shell(sig.String()[:4], 80, 24)
		p.keys("pasar console; echo back at the shell $?", "Enter")
		p.shows("No jobs yet.")
		if err := syscall.Kill(h.pidOf("pasar-console"), sig); err != nil {
			t.Fatal(err)
		}
		p.put()
		p.shows("back at the shell 130")
		p.do("kill-session", "-t", p.name)
	}
}

func TestTheConsoleStepsBackToTheShellAndReturns(t *testing.T) {
	h := newHome(t)
	m := newTmux(h)
	needs(t, "bash")
	p := m.open("stopped", 80, 24, "env", "PS1=$ ", "bash", "--norc")
	p.shows("$")
	for range 3 {
		p.keys("pasar console; echo back at the shell", "Enter")
		p.shows("No jobs yet.")
		p.keys("C-z")
		p.put()
		p.keys("clear; fg", "Enter")
		p.shows("No jobs yet.")
		p.keys("?")
		p.shows("In the market")
		p.keys("q", "q")
		p.until("is left", func() string {
			if s := p.state(); !strings.Contains(s, calm) {
				return s
			}
			return ""
		})
		p.keys("clear", "Enter")
		p.gone("Jobs")
	}
}

func TestTheConsoleOutlivesItsDaemon(t *testing.T) {
	h := newHome(t)
	m := newTmux(h)
	h.pasar("submit", "--gpus", "0", "--name", "talker", "--", "sleep", "600")
	p := m.shell("console", 100, 30)
	p.keys("pasar console; echo back at the shell $?", "Enter")
	p.shows("1 running")
	for range 2 {
		pid := h.pidOf("pasard")
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		p.shows("no connection")
		p.gone("no connection") // it has started another
		p.shows("1 running")
		if now := h.pidOf("pasard"); now == pid || now == 0 {
			t.Errorf("the daemon's pid is %d, and it was %d", now, pid)
		}
	}
	h.pasar("shutdown")
	p.shows("the daemon was shut down")
	p.keys("R")
	p.gone("no connection")
	p.keys("q")
	p.put()
}

// TestNoConsoleOutlivesItsTerminal closes terminals with consoles on them, in whatever they are at.
func TestNoConsoleOutlivesItsTerminal(t *testing.T) {
	h := newHome(t)
	h.pasar("submit", "--gpus", "0", "--name", "talker", "--", "sh", "-c", "while :; do echo tick; sleep 0.1; done")
	m := newTmux(h)
	needs(t, "bash")
	for i, keys := range []string{"", "C-z", "a", "Enter", "s", "C-z"} {
		for range 2 {
			name := fmt.Sprintf("closed%d", i)
			p := m.open(name, 80, 24, "env", "PS1=$ ", "bash", "--norc")
			p.shows("$")
			p.keys("pasar console", "Enter")
			p.shows("talker")
			if keys != "" {
				p.keys(keys)
			}
			p.look()
			p.do("kill-session", "-t", name)
			p.gonePrograms("pasar-console")
		}
	}
}

// gonePrograms waits until no program of a name runs in this home any more.
func (p *pane) gonePrograms(program string) {
	p.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); p.h.pidOf(program) != 0; {
		if time.Now().After(deadline) {
			p.t.Fatalf("%s %d is still there without its terminal", program, p.h.pidOf(program))
		}
		<-time.After(20 * time.Millisecond)
	}
}

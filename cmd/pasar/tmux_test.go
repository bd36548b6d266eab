package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"

	"pasar/vt"
)

// A tmux is a terminal of its own for each session, whose screen can be read: the terminal of a person.
type tmux struct {
	t   *testing.T
	h   *home
	dir string
}

func newTmux(h *home) *tmux {
	h.t.Helper()
	needs(h.t, "tmux")
	m := &tmux{t: h.t, h: h, dir: filepath.Join(h.dir, "tmux")}
	if err := os.Mkdir(m.dir, 0o700); err != nil {
		h.t.Fatal(err)
	}
	// The server outlives its last session: one that ended just as the next began would take that along.
	conf := "set -g exit-empty off\nset -g status off\nset -g escape-time 0\nset -g history-limit 5000\nset -g focus-events on\nset -g default-shell /bin/sh\n"
	if err := os.WriteFile(filepath.Join(m.dir, "conf"), []byte(conf), 0o600); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _, _ = m.command("kill-server").CombinedOutput() })
	return m
}

func (m *tmux) command(args ...string) *exec.Cmd {
	c := exec.Command("tmux", append([]string{"-S", filepath.Join(m.dir, "socket"), "-f", filepath.Join(m.dir, "conf")}, args...)...)
	c.Env, c.Dir = slices.Concat(m.h.env, []string{"TERM=xterm-256color", "PS1=$ "}), m.h.dir
	return c
}

func (m *tmux) do(args ...string) string {
	m.t.Helper()
	out, err := m.command(args...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

// needs skips a test without a tool, where it may be missing.
func needs(t *testing.T, tool string) {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		if os.Getenv("PASAR_CI") != "" && tool != "htop" {
			t.Fatalf("%s is needed: %v", tool, err)
		}
		t.Skipf("no %s: %v", tool, err)
	}
}

// A pane is one person's terminal.
type pane struct {
	*tmux
	name string
}

// open starts a command in a terminal of its own.
func (m *tmux) open(name string, cols, rows int, command ...string) *pane {
	m.t.Helper()
	m.do(append([]string{"new-session", "-d", "-s", name, "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows), "env", "TERM=xterm-256color"}, command...)...)
	return &pane{m, name}
}

func (p *pane) keys(keys ...string) {
	p.t.Helper()
	p.do(append([]string{"send-keys", "-t", p.name}, keys...)...)
}

func (p *pane) resize(cols, rows int) {
	p.t.Helper()
	p.do("resize-window", "-t", p.name, "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows))
}

// look is the screen, a line for each row without trailing blanks.
func (p *pane) look() []string {
	p.t.Helper()
	lines := strings.Split(strings.TrimSuffix(p.do("capture-pane", "-p", "-t", p.name), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// colours is the screen with its colours, written in one way.
func (p *pane) colours() string {
	p.t.Helper()
	s := vt.NewScreen(200, 100)
	_, _ = s.Write([]byte(strings.ReplaceAll(p.do("capture-pane", "-p", "-e", "-t", p.name), "\n", "\r\n")))
	var b []byte
	for y, row := range s.Rows() {
		b = append(s.AppendRow(b, y, 0, runewidth.StringWidth(row)), '\n')
	}
	return string(b)
}

// state is what a terminal has beside its text.
func (p *pane) state() string {
	p.t.Helper()
	return strings.TrimSpace(p.do("display", "-p", "-t", p.name, "#{cursor_x},#{cursor_y} shown=#{cursor_flag} alternate=#{alternate_on} mouse=#{mouse_any_flag}#{mouse_standard_flag}#{mouse_button_flag}#{mouse_sgr_flag} "+
		"insert=#{insert_flag} keypad=#{keypad_flag}#{keypad_cursor_flag} origin=#{origin_flag} wrap=#{wrap_flag} region=#{scroll_region_upper},#{scroll_region_lower}"))
}

const calm = "shown=1 alternate=0 mouse=0000 insert=0 keypad=00 origin=0 wrap=1"

// until waits for the screen to be as f says; what it returns is why it isn't.
func (p *pane) until(what string, f func() string) {
	p.t.Helper()
	why := ""
	for deadline := time.Now().Add(time.Minute); ; {
		if why = f(); why == "" {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s: %s\nthe screen of %s:\n%s", what, why, p.name, strings.Join(p.look(), "\n"))
		}
		<-time.After(20 * time.Millisecond) // tmux tells nobody that a screen has changed
	}
}

func (p *pane) shows(text string) {
	p.t.Helper()
	p.until("shows "+text, func() string {
		if strings.Contains(strings.Join(p.look(), "\n"), text) {
			return ""
		}
		return "it isn't there"
	})
}

// same waits until two terminals look the same, with their cursors.
func (p *pane) same(as *pane) {
	p.t.Helper()
	p.until("looks as "+as.name, func() string {
		a, b := p.colours(), as.colours()
		if a != b {
			return fmt.Sprintf("%q\nwant %q", a, b)
		}
		if a, b := place1(p.state()), place1(as.state()); a != b {
			return fmt.Sprintf("cursor %q, want %q", a, b)
		}
		return ""
	})
}

// place1 is where the cursor is, and whether it is shown.
func place1(state string) string { s, _, _ := strings.Cut(state, " alternate"); return s }

// sameAsModel waits until a terminal shows what the supervisor says is on the screen.
func (p *pane) sameAsModel(job string) {
	p.t.Helper()
	p.until("shows job "+job, func() string {
		if want, got := p.h.pasar("screen", job), strings.TrimRight(strings.Join(p.look(), "\n"), "\n")+"\n"; got != want {
			return "it is\n" + want
		}
		return ""
	})
}

// windowed waits until a terminal of another size shows a part of the job's screen: that around the cursor.
func (p *pane) windowed(job string, cols, rows int) {
	p.t.Helper()
	p.until("shows a part of job "+job, func() string {
		whole := strings.Split(strings.TrimSuffix(p.h.pasar("screen", job), "\n"), "\n")
		got := p.look()
		for top := range len(whole) {
			ok := true
			for y := range min(rows, len(whole)-top) {
				want := strings.TrimRight(runewidth.Truncate(whole[top+y], cols-1, ""), " ")
				if have := strings.TrimRight(runewidth.Truncate(got[y], cols-1, ""), " "); have != want {
					ok = false
					break
				}
			}
			if ok {
				return ""
			}
		}
		return "no part of\n" + strings.Join(whole, "\n")
	})
}

// python is the interpreter itself, not a wrapper that chooses one.
func python(t *testing.T) string {
	t.Helper()
	needs(t, "python3")
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestAnAttachedScreenIsTheOneOfTheProgram(t *testing.T) {
	bar := `import sys, time
for i in range(101):
    sys.stdout.write("\r\x1b[32m%3d%%\x1b[0m |%s|" % (i, "#" * (i // 4))); sys.stdout.flush()
print("\nall done"); sys.stdout.flush()
sys.stdin.readline()`
	for _, tc := range []struct {
		name, program string
		args          []string
		drive         [][]string // keys, then what they bring
		modes         string     // that it has set in the terminal
	}{
		{"vim", "vim", []string{"-u", "NONE", "-N", "-n", "--cmd", "set mouse=a ttymouse=sgr", "text"}, [][]string{{"", "line 1"}, {"50G", "line 50"}, {"ihello wörld", "wörld"}}, "alternate=1 mouse=1"},
		{"less", "less", []string{"text"}, [][]string{{"", "line 1"}, {"G", "line 200"}, {"u", "line 180"}}, "alternate=1"},
		{"python", python(t), []string{"-i", "-q"}, [][]string{{"", ">>>"}, {"print('a' * 70); 6 * 7\n", "42"}, {"for i in range(40): print(i, '漢字')\n\n", "39"}}, ""},
		{"bar", python(t), []string{"-c", bar}, [][]string{{"", "all done"}}, ""},
		{"htop", "htop", []string{"-d", "600"}, [][]string{{"", "Load average"}}, "alternate=1 mouse=1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			needs(t, tc.program)
			t.Parallel() // most of it is waiting for a line to go away
			h := newHome(t)
			h.env = append(h.env, "TERM=xterm-256color", "LC_ALL=C.UTF-8", "PYTHON_BASIC_REPL=1")
			var text strings.Builder
			for i := range 200 {
				fmt.Fprintf(&text, "line %d %s\n", i+1, strings.Repeat("long ", i%20))
			}
			if err := os.WriteFile(filepath.Join(h.dir, "text"), []byte(text.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			m := newTmux(h)
			submit := append([]string{"submit", "--gpus", "0", "--size", "80x24", "--name", tc.name, "--", tc.program}, tc.args...)
			h.pasar(submit...)
			h.pasar("wait", "--for", "started", "1")

			direct := m.open("direct", 80, 24, append([]string{tc.program}, tc.args...)...)
			mine := m.open("mine", 80, 24, "sh")
			mine.keys("echo before; stty -a > stty", "Enter")
			mine.shows("before")
			mine.keys("pasar attach -i", "Enter")
			for _, d := range tc.drive {
				for _, p := range []*pane{direct, mine} {
					if d[0] != "" {
						p.keys("-l", d[0])
					}
					p.shows(d[1])
				}
			}
			compare := func(p *pane) {
				t.Helper()
				if tc.name == "htop" { // its numbers differ by themselves
					p.shows("Load average")
					return
				}
				p.same(direct)
			}
			compare(mine)
			if !strings.Contains(mine.state(), tc.modes) {
				t.Errorf("the terminal has %q, want %q", mine.state(), tc.modes)
			}

			// A watcher of another size sees a part, and changes nothing.
			other := m.open("other", 50, 10, "pasar", "attach", "1")
			if tc.name != "htop" {
				other.windowed("1", 50, 10)
			}
			other.resize(120, 40)
			if tc.name != "htop" {
				other.windowed("1", 120, 40)
			}
			compare(mine)

			// A resize of the holder's terminal is one of the job's.
			direct.resize(100, 30)
			mine.resize(100, 30)
			if !strings.HasPrefix(tc.modes, "alternate") { // on the main screen what comes into view is the terminal's choice
				compare = func(p *pane) { t.Helper(); p.sameAsModel("1") }
			}
			compare(mine)
			if tc.name != "htop" {
				other.windowed("1", 120, 40)
			}

			// The shell's terminal is as it was.
			mine.keys("C-]")
			mine.keys("d")
			mine.shows("left; job #1 goes on")
			mine.shows("before")
			if s := mine.state(); !strings.Contains(s, calm) {
				t.Errorf("the terminal is left %q, want %q", s, calm)
			}
			mine.keys("stty -a | sed 's/rows .*; col[^;]*;//' > b; sed 's/rows .*; col[^;]*;//' stty | cmp - b && echo sa''me", "Enter")
			mine.shows("same")

			// Whoever comes back sees it as it is.
			mine.keys("clear; pasar attach -i", "Enter")
			compare(mine)
			again := m.open("again", 100, 30, "pasar", "attach", "1")
			compare(again)
			if strings.Contains(again.state(), "mouse=1") {
				t.Errorf("a watcher's mouse goes to the job: %q", again.state())
			}
		})
	}
}

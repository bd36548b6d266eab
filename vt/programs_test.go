package vt

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A recording is a program in a tmux, and what it wrote there.
type recording struct {
	*tmuxPane
	file   string // gets the output
	screen *Screen
	read   int
}

// record starts a shell command in a new tmux.
func record(t *testing.T, cols, rows int, command string) *recording {
	t.Helper()
	r := &recording{tmuxPane: newTmuxPane(t, cols, rows), screen: NewScreen(cols, rows)}
	r.loose = true
	r.file = filepath.Join(filepath.Dir(r.socket), "output")
	r.run("set", "-g", "default-terminal", "xterm-256color")
	// The pane's cat gives way to the program, which starts only once its output is recorded.
	gate := filepath.Join(filepath.Dir(r.socket), "fifo")
	r.run("respawn-pane", "-k", "-t", "0", "exec 3<>'"+gate+"'; read go <&3; exec 3<&-; LC_ALL=C.UTF-8 TERM=xterm-256color; export LC_ALL TERM; "+command+"; echo left; exec sleep 60")
	r.run("clear-history")
	r.run("pipe-pane", "-O", "cat >>'"+r.file+"'")
	if _, err := r.fifo.WriteString("go\n"); err != nil {
		t.Fatal(err)
	}
	return r
}

// agrees waits until the program is where it shows some text, and the screen is as tmux has it.
func (r *recording) agrees(text string) {
	r.t.Helper()
	r.agreesWhen(text, func(s *Screen) bool { return strings.Contains(strings.Join(s.Rows(), "\n"), text) })
}

// agreesWhen waits until the screen is so, and as tmux has it.
func (r *recording) agreesWhen(what string, so func(s *Screen) bool) {
	r.t.Helper()
	r.waits(what, so, true)
}

// waits waits until the screen is so and, if it is to agree, as tmux has it.
func (r *recording) waits(what string, so func(s *Screen) bool, agree bool) {
	r.t.Helper()
	var d string
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		r.catchUp()
		if agree {
			d = r.difference(r.screen)
		}
		if d == "" && so(r.screen) {
			return
		}
	}
	raw, _ := os.ReadFile(r.file)
	r.t.Fatalf("it should show %q; %s\nthe end of its output: %q", what, d, raw[max(0, len(raw)-2000):])
}

func (r *recording) catchUp() {
	raw, err := os.ReadFile(r.file)
	if err == nil {
		_, _ = r.screen.Write(raw[r.read:])
		r.read = len(raw)
	}
}

func (r *recording) keys(keys ...string) { r.run(append([]string{"send-keys", "-t", "0"}, keys...)...) }

// resize changes the size between two outputs of the program.
func (r *recording) resize(cols, rows int) {
	r.t.Helper()
	r.catchUp()
	r.screen.Resize(cols, rows)
	r.run("resize-window", "-t", "0", "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows))
}

// numberedFile has lines with their numbers.
func numberedFile(t *testing.T, lines int) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "f.py")
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "def line_%d(x): return \"text %d\" # 世界 é\n", i, i)
	}
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestVimLooksAsInTmux(t *testing.T) {
	need(t, "vim")
	r := record(t, 80, 24, "vim -u NONE -i NONE -N '"+numberedFile(t, 200)+"'")
	r.agrees("line_1")
	r.keys(":syntax on", "Enter", ":set number ruler laststatus=2", "Enter")
	r.agrees("Top")
	r.keys("50Gzz", "ofunny \u4e16\u754c text", "Escape", "yyp")
	r.agrees("funny")
	r.keys(":split", "Enter", "C-d", ":vsplit", "Enter", "G", "dd", "10k", "u")
	r.agrees("line_199")
	r.keys("gg", "zt")
	r.agrees("line_0(")
	r.resize(60, 20)
	r.keys("w")
	r.agrees("line_0(")
	r.resize(100, 30)
	r.keys("/line_77", "Enter")
	r.agrees("line_77")
	r.keys(":qa!", "Enter")
	r.waits("left", func(*Screen) bool { return r.screen.Row(0) == "left" && r.screen.History() == 0 }, false) // tmux may have rows of vim's in its history
}

func TestLessLooksAsInTmux(t *testing.T) {
	need(t, "less")
	r := record(t, 80, 24, "seq 1 100; less -R '"+numberedFile(t, 300)+"'")
	r.agrees("line_1(")
	r.keys("Space", "Space", "j", "j", "k", "b")
	r.agrees("line_24(")
	r.keys("/line_250", "Enter")
	r.agrees("line_250(")
	r.keys("G")
	r.agrees("line_299(")
	r.resize(80, 15)
	r.agreesWhen("the prompt in the last row", func(s *Screen) bool { return strings.HasPrefix(s.Row(14), ":") }) // it drops keys before
	r.keys("g")
	r.agrees("line_0(")
	r.keys("q")
	r.agrees("left")
	checkSeq(t, r.screen, 100)
}

// checkSeq holds that every number of 1 to n is in history or screen, in order.
func checkSeq(t *testing.T, s *Screen, n int) {
	t.Helper()
	next := 1
	for _, l := range viewOf(s).lines {
		if strings.TrimSpace(l) == fmt.Sprint(next) {
			next++
		}
	}
	if next != n+1 {
		t.Fatalf("line %d is lost: %q", next, viewOf(s).lines)
	}
}

func TestNoLineIsLostByResizingBehindAFullScreenProgram(t *testing.T) {
	for _, how := range []string{"\x1b[?1049h", "\x1b[?47h", "\x1b[?1047h"} {
		s := NewScreen(80, 24)
		for i := 1; i <= 100; i++ {
			fmt.Fprintf(s, "%d\r\n", i)
		}
		fmt.Fprintf(s, "$ less%s\x1b[H\x1b[2Jpage", how)
		for _, size := range [][2]int{{80, 10}, {60, 40}, {80, 3}, {80, 1}, {40, 24}, {120, 50}, {80, 12}} {
			s.Resize(size[0], size[1])
			fmt.Fprint(s, "\x1b[H\x1b[2Jpage again\x1b[5;1Hend")
		}
		fmt.Fprint(s, strings.Replace(how, "h", "l", 1))
		if how != "\x1b[?1049h" { // the cursor stays where it was in the alternate screen
			fmt.Fprint(s, "\x1b[999H\r\n")
		}
		fmt.Fprint(s, "left")
		checkSeq(t, s, 100)
		if how == "\x1b[?1049h" && !strings.Contains(strings.Join(s.Rows(), "\n"), "$ lessleft") {
			t.Errorf("the cursor isn't back behind the prompt: %q", s.Rows())
		}
	}
}

func TestTopLooksAsInTmux(t *testing.T) {
	need(t, "top")
	r := record(t, 100, 30, "top -d 60")
	r.agrees("PID")
	r.keys("h")
	r.agrees("Help for Interactive Commands")
	r.keys("q")
	r.agrees("PID")
	r.keys("q")
	r.agrees("left")
}

func TestHtopLooksAsInTmux(t *testing.T) {
	need(t, "htop")
	r := record(t, 100, 30, "htop -d 100")
	r.agrees("PID")
	r.keys("F5")
	r.keys("Down", "Down")
	r.agrees("PID")
	r.keys("q")
	r.agrees("left")
}

func TestNanoLooksAsInTmux(t *testing.T) {
	need(t, "nano")
	r := record(t, 80, 24, "nano -I '"+numberedFile(t, 100)+"'")
	r.agrees("line_1(")
	r.keys("Down", "Down", "some text", "C-v", "C-v")
	r.agrees("line_40(")
	r.keys("C-x", "n")
	r.agrees("left")
}

func TestPythonLooksAsInTmux(t *testing.T) {
	need(t, "python3")
	r := record(t, 60, 15, "python3 -q -I")
	r.agrees(">>>")
	r.keys("for i in range(30): print('row', i, '世界' * (i % 7))", "Enter", "Enter")
	r.agrees("row 29")
	r.keys("import os, sys; print(sys.stdout.isatty(), 'x' * 150)", "Enter")
	r.agrees("True xxx")
	r.keys("exit()xyz", "BSpace", "BSpace", "BSpace", "Enter")
	r.agrees("left")
}

package vt

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// need skips a test that needs a program when it isn't there; in CI it is there.
func need(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		if os.Getenv("PASAR_CI") != "" {
			t.Fatalf("%s is not installed", program)
		}
		t.Skipf("%s is not installed", program)
	}
	return path
}

// A tmuxPane is a pane of a tmux of its own. What is written to it comes from a FIFO that cat copies.
type tmuxPane struct {
	t      testing.TB
	path   string // of tmux
	socket string
	fifo   *os.File
	n      int
	loose  bool // a wrap may be pending in tmux where it isn't on the screen: erasing the end of a row ends it as in xterm
}

const tmuxLines = 400 // of history that it keeps

func newTmuxPane(t testing.TB, cols, rows int) *tmuxPane {
	t.Helper()
	dir := t.TempDir()
	p := &tmuxPane{t: t, path: need(t, "tmux"), socket: filepath.Join(dir, "s")}
	name := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	p.fifo = f
	t.Cleanup(func() {
		_ = p.command("kill-server").Run()
		_ = f.Close()
	})
	c := p.command("-f", "/dev/null", "start-server", ";", "set", "-g", "history-limit", strconv.Itoa(tmuxLines), ";", "new-session", "-d", "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows), "exec 3<>'"+name+"'; stty raw -echo -opost; exec cat <&3")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("start tmux: %v: %s", err, out)
	}
	return p
}

func (p *tmuxPane) command(args ...string) *exec.Cmd {
	c := exec.Command(p.path, append([]string{"-u", "-S", p.socket}, args...)...)
	c.Env = []string{"LC_ALL=C.UTF-8", "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "SHELL=/bin/sh", "HOME=" + filepath.Dir(p.socket)}
	return c
}

func (p *tmuxPane) run(args ...string) string {
	p.t.Helper()
	out, err := p.command(args...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

// write lets the pane have output, which must not leave a sequence unfinished, and waits until tmux has read it.
func (p *tmuxPane) write(raw []byte) {
	p.t.Helper()
	p.n++
	name := "done" + strconv.Itoa(p.n)
	go func() {
		_, _ = p.fifo.Write(raw)
		_, _ = p.fifo.WriteString("\x1b]2;" + name + "\x1b\\")
	}()
	for deadline := time.Now().Add(20 * time.Second); ; {
		if strings.TrimSpace(p.run("display-message", "-p", "#{pane_title}")) == name {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("tmux has not read %q", raw)
		}
		time.Sleep(time.Millisecond)
	}
}

// reset brings it back to the beginning.
func (p *tmuxPane) reset() {
	p.t.Helper()
	p.write([]byte("\x1b[?1049l\x1bc\x1b[4l\x1b[?6l"))
	p.run("clear-history")
}

// A tmuxView is what tmux thinks of a pane. X is the number of columns while a wrap is pending.
type tmuxView struct {
	x, y     int
	alt      bool
	flags    string
	lines    []string // history and screen
	coloured []string // the screen, with SGR sequences
}

func (p *tmuxPane) view() (v tmuxView) {
	p.t.Helper()
	out := p.run("display-message", "-p", "#{cursor_x} #{cursor_y} #{alternate_on} #{cursor_flag} #{insert_flag} #{keypad_cursor_flag} #{keypad_flag} #{mouse_any_flag} #{mouse_sgr_flag} #{wrap_flag} #{origin_flag}",
		";", "capture-pane", "-p", "-S", "-", ";", "display-message", "-p", "=", ";", "capture-pane", "-p", "-e")
	head, rest, _ := strings.Cut(out, "\n")
	var on, cursor, insert, appCursor, keypad, mouse, sgrMouse, wrap, origin int
	if _, err := fmt.Sscan(head, &v.x, &v.y, &on, &cursor, &insert, &appCursor, &keypad, &mouse, &sgrMouse, &wrap, &origin); err != nil {
		p.t.Fatalf("%q: %v", head, err)
	}
	v.alt = on == 1
	v.flags = fmt.Sprint(cursor, insert, appCursor, keypad, mouse, sgrMouse, wrap, origin)
	plain, colour, _ := strings.Cut(rest, "=\n")
	v.lines = strings.Split(strings.TrimSuffix(plain, "\n"), "\n")
	v.coloured = strings.Split(strings.TrimSuffix(colour, "\n"), "\n")
	return v
}

var anySGR = regexp.MustCompile(`\x1b\[[0-9;:]*m`)

// viewOf is a screen as tmux would tell it.
func viewOf(s *Screen) (v tmuxView) {
	v.x, v.y, _ = s.Cursor()
	if s.cur.pending {
		v.x++
	}
	v.alt = s.Alternate()
	bit := func(on bool) int {
		if on {
			return 1
		}
		return 0
	}
	m := s.Modes()
	v.flags = fmt.Sprint(bit(!s.hidden), bit(s.insertMode), bit(m.AppCursor), bit(m.AppKeypad), bit(m.Mouse >= 1000), bit(m.MouseEncoding == 1006), bit(s.autowrap), bit(s.cur.origin))
	for line := range strings.Lines(string(s.AppendHistory(nil, 1e6))) {
		v.lines = append(v.lines, anySGR.ReplaceAllString(strings.TrimSuffix(line, "\r\n"), ""))
	}
	v.lines = append(v.lines, s.Rows()...)
	return v
}

// normal is rows with colours as a screen paints them, without blanks at their ends.
func normal(cols int, rows []string) []string {
	s := NewScreen(cols, len(rows))
	_, _ = s.Write([]byte("\x1b[?7l" + strings.Join(rows, "\r\n")))
	for y := range rows {
		rows[y] = string(s.AppendRow(nil, y, 0, len(s.now.row(y).slots[:textEnd(s.now.row(y))])))
	}
	return rows
}

// textEnd is where a row's last character that isn't blank ends, whatever its background.
func textEnd(r *row) int {
	n := len(r.slots)
	for n > 0 && (r.slots[n-1]&slotChar == 0 && r.slots[n-1]&slotTail == 0 || r.slots[n-1]&slotChar == ' ') {
		n--
	}
	return n
}

// difference says how a screen and tmux differ; empty: not at all.
func (p *tmuxPane) difference(s *Screen) string {
	p.t.Helper()
	want, got := p.view(), viewOf(s)
	var out strings.Builder
	if p.loose && want.x == s.cols {
		want.x, got.x = s.cols-1, min(got.x, s.cols-1)
	}
	if got.x != want.x || got.y != want.y || got.alt != want.alt || got.flags != want.flags {
		fmt.Fprintf(&out, "cursor %d,%d alternate %v flags %s, tmux says %d,%d %v %s\n", got.x, got.y, got.alt, got.flags, want.x, want.y, want.alt, want.flags)
	}
	if want.alt { // the main screen follows the size later in tmux
		want.lines, got.lines = lastOf(want.lines, s.rows), lastOf(got.lines, s.rows)
	}
	// Which blank rows become history when the screen is cleared depends on what once was in them.
	theirLines, ours := notBlank(want.lines), notBlank(got.lines)
	if len(want.lines) < tmuxLines && !slices.Equal(ours, theirLines) {
		fmt.Fprintf(&out, "lines\n%s\ntmux says\n%s\n", numbered(ours), numbered(theirLines))
	}
	coloured := make([]string, s.rows)
	for y := range coloured {
		coloured[y] = string(s.AppendRow(nil, y, 0, textEnd(s.now.row(y))))
	}
	theirs := normal(s.cols, want.coloured)
	for y := range coloured {
		if y < len(theirs) && coloured[y] != theirs[y] {
			fmt.Fprintf(&out, "row %d is %q, tmux says %q\n", y, coloured[y], theirs[y])
		}
	}
	return out.String()
}

func lastOf(lines []string, n int) []string { return lines[max(0, len(lines)-n):] }

func notBlank(lines []string) (out []string) {
	for _, l := range lines {
		if l = strings.TrimRight(l, " "); l != "" {
			out = append(out, l)
		}
	}
	return out
}

func numbered(lines []string) string {
	var b bytes.Buffer
	for i, l := range lines {
		fmt.Fprintf(&b, "%3d %q\n", i, l)
	}
	return b.String()
}

func TestScreenIsAsTmuxHasItAtRandom(t *testing.T) {
	r := rand.New(rand.NewSource(seed(t)))
	const cols, rows = 24, 7
	p := newTmuxPane(t, cols, rows)
	for i := range slowRounds(60) {
		p.reset()
		s := NewScreen(cols, rows)
		var pieces []string
		for range 120 {
			piece := tamePiece(r, s, i%3 == 0, i%2 == 0)
			pieces = append(pieces, piece)
			_, _ = s.Write([]byte(piece))
		}
		raw := strings.Join(pieces, "")
		p.write([]byte(raw))
		if d := p.difference(s); d != "" {
			t.Fatalf("%q:\n%s", raw, d)
		}
	}
}

func TestASnapshotLooksTheSameInTmux(t *testing.T) {
	r := rand.New(rand.NewSource(seed(t)))
	const cols, rows = 24, 7
	p := newTmuxPane(t, cols, rows)
	for i := range slowRounds(60) {
		p.reset()
		s := NewScreen(cols, rows)
		for range 80 {
			_, _ = s.Write([]byte(tamePiece(r, s, i%3 == 0, i%2 == 0)))
		}
		snap := s.AppendSnapshot(nil)
		p.write(snap)
		s.SetHistory(DefaultHistory) // which isn't in the snapshot
		if d := p.difference(s); d != "" {
			t.Fatalf("%q:\n%s", snap, d)
		}
	}
}

// tamePiece is a control function or text that tmux and xterm agree about, on this screen.
func tamePiece(r *rand.Rand, s *Screen, wide, saves bool) string {
	n := func(most int) string { return strconv.Itoa(1 + r.Intn(most)) }
	of := func(list ...string) string { return list[r.Intn(len(list))] }
	col, row, _ := s.Cursor()
	if s.cur.pending && r.Intn(3) > 0 {
		return of("\r", "\r\n", "x", "hello")
	}
	if s.cur.pending {
		return of("\r\n", "text", "\x1b[31m")
	}
	text := []string{"x", "hello", "the quick brown fox ", "0123456789", "a\u0301", "é█"}
	if wide {
		text = append(text, "世", "界世界", "👍")
	}
	region := row >= s.top && row <= s.bottom
	switch k := r.Intn(100); {
	case k < 40:
		return of(text...)
	case k < 52 && wide:
		return of("\r\n", "\r", "\x1bE")
	case k < 52:
		return of("\r\n", "\r\n", "\n", "\r", "\t", "\x1bD", "\x1bM", "\x1bE")
	case k < 60:
		return "\x1b[" + of("", "1", "31", "42", "7", "4:3", "38;5;200", "48;2;1;2;3", "39;49", "22;27", "4;9", "94;103") + "m"
	case wide: // nothing that could leave half a character
		return "\r"
	case k < 70:
		return "\x1b[" + n(s.rows) + ";" + n(s.cols) + "H"
	case k < 76:
		return "\x1b[" + n(5) + of("A", "B", "C", "E", "F", "G", "d", "`")
	case k < 80:
		return "\x1b[" + of("", "0", "1", "2") + of("J", "K", "K")
	case k < 86:
		if !region {
			return ""
		}
		return "\x1b[" + n(4) + of("L", "M")
	case k < 90:
		if col > s.cols-9 { // tmux leaves characters when it inserts near the edge
			return ""
		}
		return of("\x1b["+n(4)+of("X", "@", "P"), "\x1b[4hxyz\x1b[4l")
	case k < 93:
		top := 1 + r.Intn(s.rows-1)
		return fmt.Sprintf("\x1b[%d;%dr", top, top+1+r.Intn(s.rows-top))
	case k < 96:
		if saves { // tmux has one place for both screens
			return of("\x1b7", "\x1b8", "\x1b[s", "\x1b[u")
		}
		if s.Alternate() {
			return "\x1b[?1049l"
		}
		return of("\x1b[?1049h", "\x1bH", "\x1b[g", "\x1b[2S", "\x1b[T")
	case k < 98:
		return of("\x1b[?25l", "\x1b[?25h", "\x1b[?7h")
	default:
		return of("\x1b]8;;http://x\x1b\\", "\x1b[?2004h", "\x1b[?6l", "\x1b[c", "\x1b[?1h")
	}
}

func TestScreenIsAsTmuxHasIt(t *testing.T) {
	p := newTmuxPane(t, 20, 6)
	for _, c := range tmuxCases {
		p.reset()
		p.write([]byte(c))
		if d := p.difference(screenOf(20, 6, c)); d != "" {
			t.Errorf("%q:\n%s", c, d)
		}
	}
}

// tmuxCases are corners that a Screen must see as tmux does. Where tmux 3.3 is left on purpose, xterm is followed:
// lines aren't inserted or deleted outside the scroll region; the last column can be erased while a wrap is
// pending, and the cursor then is in it; a repeat may wrap; halves of wide characters don't stay.
var tmuxCases = []string{
	"", "hello\r\nworld", "a\nb\vc\fd",
	"01234567890123456789", "01234567890123456789x", "01234567890123456789\r\nx", "01234567890123456789\rx", "01234567890123456789\tx",
	"0123456789012345678世", "012345678901234567世x", "世世世世世世世世世世世", "世世世世世世世世世世\r\nx",
	"\x1b[?7l01234567890123456789xyz", "\x1b[?7l0123456789012345678世x", "\x1b[?7l01234567890123456789\x1b[?7hxyz",
	"1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8", "1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[41m\r\n7\r\n8x",
	"1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[2;4r\x1b[4H\n\nx", "1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[2;4r\x1b[6H\n\nx", "1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[3;5r\x1b[3H\x1bMx\x1b[1H\x1bMy",
	"1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[1;4r\x1b[4H\r\na\r\nb\r\nc",
	"\x1b[5;2rx", "\x1b[2;2rx", "\x1b[2;99rx\x1b[99Hy", "\x1b[0;3r\x1b[9H\n\nx",
	"\x1b[2;4r\x1b[?6hx\x1b[9;9Hy\x1b[2dz", "\x1b[2;4r\x1b[?6h\x1b[3H\x1b[9Ax\x1b[9By",
	"\x1b[3;4r\x1b[1H\x1b[9Bx\x1b[6H\x1b[9Ay", "\x1b[3;4r\x1b[6H\x1b[2Ex\x1b[3Fy",
	"1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[2H\x1b[2Lx", "1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[2H\x1b[2Mx", "1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[2;4r\x1b[3H\x1b[44m\x1b[Lx",
	"1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[2;5r\x1b[2Sx\x1b[Ty", "1\r\n2\r\n3\x1b[99Sx", "1\r\n2\r\n3\x1b[Sx",
	"abcdef\x1b[3G\x1b[2@x", "abcdef\x1b[3G\x1b[2Px", "abcdef\x1b[3G\x1b[2Xx", "abcdef\x1b[3G\x1b[99P", "abcdef\x1b[3G\x1b[99X",
	"01234567890123456789\x1b[5G\x1b[3@x", "01234567890123456789\x1b[5G\x1b[3Px",
	"abc\x1b[4hx\x1b[2Gy世\x1b[4lz", "01234567890123456789\x1b[4h\x1b[5Gxyz",
	"abcdef\x1b[3G\x1b[K", "abcdef\x1b[3G\x1b[1K", "abcdef\x1b[3G\x1b[2Kx", "abcdef\x1b[3G\x1b[41m\x1b[K\x1b[10Gx",
	"1\r\n2\r\n3\r\n4\x1b[2H\x1b[J", "1\r\n2\r\n3\r\n4\x1b[2H\x1b[1J", "1\r\n2\r\n3\r\n4\x1b[2Jx", "1\r\n2\r\n3\r\n4\x1b[H\x1b[Jx", "1\r\n2\x1b[2J\x1b[H3\x1b[3J",
	"1\x1b[2Jx\x1b[41m\x1b[2Jy", "\x1b[3H\x1b[2Jx", "\x1b[41m \x1b[2J",
	"\ta\tb\tc\td", "\x1b[3g\x1b[5G\x1bH\r\tx\ty", "\t\x1b[g\r\tx\x1b[Zy\x1b[2Zz",
	"ab\x1b7cd\x1b[31m\x1b8x", "ab\x1b[scd\x1b[ux", "\x1b[31;3Hab\x1b7\x1b[m\x1b[Hx\x1b8y", "\x1b8x",
	"main\x1b[?1049halt\x1b[2Hx", "main\x1b[?1049halt\x1b[?1049lx", "main\x1b[?47halt\x1b[?47lx", "main\x1b[?1047halt\x1b[?1047lx", "a\x1b[31m\x1b[?1049h\x1b[32mb\x1b[?1049lc",
	"\x1b[?1049h1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\x1b[2Jx", "\x1b[?1049ha\x1b[?1049hb\x1b[?1049lc",
	"1\r\n2\r\n3\x1b[H\x1bMx", "a\x1bDb\x1bEc\x1bMd", "\x1b#8", "\x1b[2;3r\x1b[3H\x1b#8x", "abc\x1bcx",
	"e\u0301x", "e\u0301\u0302x", "世\u0301x", "\u0301x", "👩\u200d👩\u200d👧x", "❤\ufe0fx", "🇩🇪x", "1\ufe0f\u20e3x", "01234567890123456789\u0301x", "é", "ｱx", "█▌░",
	"\x1b[1;2;3;4;5;7;8;9mx\x1b[22my\x1b[23;24mz\x1b[25;27;28;29mw", "\x1b[4:1ma\x1b[4:2mb\x1b[4:3mc\x1b[4:4md\x1b[4:5me\x1b[4:0mf\x1b[21mg\x1b[24mh",
	"\x1b[31;42mx\x1b[39my\x1b[49mz", "\x1b[91;102mx\x1b[97;107my", "\x1b[38;5;100;48;5;200mx\x1b[38;2;1;2;3;48;2;4;5;6my", "\x1b[38:5:100mx\x1b[38:2::1:2:3my\x1b[38:2:4:5:6mz",
	"\x1b[58:5:3;4mx\x1b[58:2::1:2:3my\x1b[59mz", "\x1b[;31mx\x1b[my\x1b[0;1mz", "\x1b[38;5mx\x1b[1my",
	"\x1b[?25l\x1b[?1h\x1b=\x1b[?1000h\x1b[?1006h", "\x1b[?25l\x1b[?25h\x1b[?1002h\x1b[?1002l", "\x1b[?1003h\x1b>", "\x1b[4h\x1b[?7l\x1b[?6h",
	"ab\x1b[3bc", "\x1b[5bx",
	"\x1b[3;5Hx\x1b[Hy\x1b[99;99Hz", "\x1b[0;0Hx", "\x1b[;5Hx", "\x1b[3;fx", "\x1b[5Cx\x1b[2Dy\x1b[Dz\x1b[99D!", "\x1b[99Cx", "\x1b[3Bx\x1b[2Ay\x1b[99A!", "\x1b[5`x\x1b[3dy",
	"a\x1b]0;title\ab\x1b]2;t\x1b\\c\x1b]52;c;aGk=\ad\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\e", "a\x1bP$qm\x1b\\b\x1b_apc\x1b\\c\x1b^pm\x1b\\d\x1bk\x1b\\e",
	"\x1b[31\x18x", "a\x1b[\x1b[1mb", "a\x1b[3\r1mc", "a\x00b\x07c\x7fd",
}

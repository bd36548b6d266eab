package supervisor

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"testing"

	"pasar/vt"
)

// newTestDisplay is a display behind an output whose log nobody writes.
func newTestDisplay(cols, rows int, answer func([]byte)) (*output, *display) {
	o := &output{log: quiet(), kick: make(chan struct{}, 1), ended: make(chan struct{}), written: make(chan struct{})}
	o.display = newDisplay(quiet(), o, cols, rows, answer)
	return o, o.display
}

// feed is output.add without a log.
func (o *output) feed(p []byte) {
	for len(p) > 0 {
		n := min(len(p), batchSize)
		o.mu.Lock()
		o.ring.append(p[:n])
		end := o.ring.end
		o.mu.Unlock()
		o.display.pass(p[:n], end)
		p = p[n:]
	}
}

// picture is all that a screen shows and remembers of the present.
func picture(s *vt.Screen) string {
	col, row, shown := s.Cursor()
	return fmt.Sprintf("%q\n%d %d %v %v %q\n%s", s.AppendSnapshot(nil), col, row, shown, s.Alternate(), s.Title(), strings.Join(s.Rows(), "\n"))
}

// A scribbler writes output of all kinds.
type scribbler struct {
	*rand.Rand
	b []byte
}

func (r *scribbler) pick(s ...string) { r.b = append(r.b, s[r.Intn(len(s))]...) }

func (r *scribbler) text(most int) {
	for range r.Intn(most + 1) {
		switch r.Intn(30) {
		case 0:
			r.pick("世", "e\u0301", "👩‍🚀", "─", "█", "\xff", "\u200b", "\xe2\x96", "\x7f")
		case 1:
			r.pick("\x1b[31m", "\x1b[0m", "\x1b[m", "\x1b[1;38;2;1;2;3m", "\x1b[48;5;9m", "\x1b[4:3m", "\x1b[7m")
		case 2:
			r.pick("\t", "\b", "\a")
		default:
			r.b = append(r.b, byte('!'+r.Intn(90)))
		}
	}
}

// bars writes progress bars on one line.
func (r *scribbler) bars(n int) {
	for i := range n {
		width := 10 + r.Intn(40)
		r.b = fmt.Appendf(r.b, "\r%s%3d%%|%s%s|%s", []string{"", "\x1b[32m", "\x1b[44m"}[r.Intn(3)], i%100,
			strings.Repeat("█", width/2), strings.Repeat(" ", width-width/2), []string{"", "\x1b[0m", " 12.3it/s"}[r.Intn(3)])
		switch r.Intn(40) {
		case 0:
			r.text(20)
		case 1:
			r.pick("\n", "\r\n", "\r")
		}
	}
}

// odd writes sequences that are cut off or mixed up.
func (r *scribbler) odd() {
	r.pick("\x1b[3", "\x1b", "\x1b[3\n1m", "\x1b[\r7m", "\x1b[1;\x1b[0m", "\x1b[0\x18")
}

// full does what full-screen programs do.
func (r *scribbler) full(n int) {
	for range n {
		switch r.Intn(16) {
		case 0:
			r.b = fmt.Appendf(r.b, "\x1b[%d;%dr", 1+r.Intn(6), 5+r.Intn(20))
		case 1:
			r.pick("\x1b[?1049h", "\x1b[?1049l", "\x1b[2J", "\x1b[J", "\x1b[3J")
		case 2:
			r.pick("\x1b[4h", "\x1b[4l", "\x1b[?7l", "\x1b[?7h", "\x1b[?6h", "\x1b[?6l", "\x1b[r", "\x1b[r")
		case 3:
			r.pick("\x1b7", "\x1b8", "\x1bM", "\x1bD", "\x1bE", "\x1bH", "\x1b[3g", "\x1b(0", "\x1b(B", "\x0e", "\x0f", "\v")
		case 4:
			r.pick("\x1b]2;title\a", "\x1b]8;;http://x\x1b\\", "\x1bPq#0\x1b\\", "\x1b]0;cut", "\x1b[?25l", "\x1b[?2026h")
		case 5:
			r.pick("\x1b[3L", "\x1b[2M", "\x1b[2@", "\x1b[3P", "\x1b[4X", "\x1b[2S", "\x1b[T", "\x1b[5b", "\x1b[2A")
		case 6:
			r.odd()
		case 7, 8:
			r.text(30)
		default:
			r.b = fmt.Appendf(r.b, "\x1b[%d;%dH", 1+r.Intn(30), 1+r.Intn(90))
			r.text(12)
			r.pick("", "\x1b[K")
		}
	}
}

func (r *scribbler) lines(n int) {
	end := []string{"\r\n", "\n", "\r\n", "\r\n"}[r.Intn(4)]
	most := []int{3, 40, 200, 3000}[r.Intn(4)]
	for range n {
		if len(r.b) > 400_000 {
			break
		}
		r.text(most)
		if r.Intn(2000) == 0 {
			r.odd()
		}
		r.b = append(r.b, end...)
	}
}

// some is a stretch of output of one kind.
func (r *scribbler) some() []byte {
	r.b = r.b[:0]
	switch r.Intn(12) {
	case 0, 1, 2:
		r.lines(1 + r.Intn(3000))
	case 3, 4:
		r.bars(1 + r.Intn(4000))
	case 5:
		r.full(1 + r.Intn(200))
	case 6:
		r.full(1 + r.Intn(10))
		r.pick("\x1b[?1049l\x1b[r\x1b[4l\x1b[?7h")
	case 7:
		r.text(100)
	case 8:
		for range r.Intn(100_000) {
			r.b = append(r.b, byte('a'+r.Intn(26)))
		}
	case 9:
		r.b = append(r.b, make([]byte, r.Intn(200))...)
		r.Read(r.b)
	default:
		r.pick("\x1b[r\x1b[4l\x1b[m\r\n")
		r.lines(r.Intn(200))
	}
	return r.b
}

func seed(t testing.TB) int64 {
	n := int64(1)
	if s := os.Getenv("PASAR_SEED"); s != "" {
		n, _ = strconv.ParseInt(s, 10, 64)
	} else if os.Getenv("PASAR_TORTURE") != "" {
		n = rand.Int63()
	}
	t.Logf("PASAR_SEED=%d", n)
	return n
}

func rounds(few, many int) int {
	if os.Getenv("PASAR_TORTURE") != "" {
		return many
	}
	return few
}

// What is shown is what a screen that was written every byte shows, whatever was passed over.
func TestAScreenThatIsBehindShowsWhatOneThatIsNeverBehindShows(t *testing.T) {
	base := seed(t)
	for round := range rounds(4, 2000) {
		r := &scribbler{Rand: rand.New(rand.NewSource(base + int64(round)))}
		cols, rows := 1+r.Intn(120), 1+r.Intn(50)
		if r.Intn(3) == 0 {
			cols, rows = 80, 24
		}
		var lazyAnswers, eagerAnswers []byte
		o, d := newTestDisplay(cols, rows, func(p []byte) { lazyAnswers = append(lazyAnswers, p...) })
		eager := vt.NewScreen(cols, rows)
		eager.SetHistory(displayHistory)
		eager.Answer(func(p []byte) { eagerAnswers = append(eagerAnswers, p...) })
		quiet := r.Intn(2) == 0 // seldom looked at
		for step := range rounds(15, 40) {
			p := r.some()
			for len(p) > 0 { // in batches as they may come
				n := min(len(p), 1+r.Intn(batchSize))
				o.feed(p[:n])
				_, _ = eager.Write(p[:n])
				p = p[n:]
			}
			if r.Intn(20) == 0 {
				cols, rows := 1+r.Intn(120), 1+r.Intn(50)
				d.resize(cols, rows)
				eager.Resize(cols, rows)
			}
			if quiet && r.Intn(10) > 0 && step%15 < 14 {
				continue
			}
			d.hold()
			d.look(func(s *vt.Screen, at int64) {
				if at != o.ring.end {
					t.Fatalf("round %d, step %d: it shows %d of %d", round, step, at, o.ring.end)
				}
				if got, want := picture(s), picture(eager); got != want {
					t.Fatalf("round %d, step %d, %dx%d: it shows\n%s\nnot\n%s", round, step, cols, rows, got, want)
				}
			})
			d.release()
			if !bytes.Equal(lazyAnswers, eagerAnswers) {
				t.Fatalf("round %d, step %d: answered %q, not %q", round, step, lazyAnswers, eagerAnswers)
			}
		}
	}
}

// The characters that bars are made of take one cell each, or passing them over would be wrong.
func TestWhatIsPassedOverIsOneCellWide(t *testing.T) {
	for r := rune(' '); r < 0x2600; r++ {
		if r == 0x7f {
			continue
		}
		n, ok := width([]byte(string(r)))
		if !ok {
			continue
		}
		s := vt.NewScreen(10, 1)
		_, _ = s.Write([]byte(string(r) + "\u0301" + "x"))
		if col, _, _ := s.Cursor(); n != 1 || col != 2 {
			t.Errorf("%U: %d cells, and the cursor in column %d", r, n, col)
		}
	}
}

func TestPlainOutputThatNobodyLooksAtIsNotParsed(t *testing.T) {
	o, d := newTestDisplay(80, 24, nil)
	for i := range 100_000 {
		o.feed(fmt.Appendf(nil, "step %d loss 0.12345\r\n", i))
	}
	if d.screen != nil {
		t.Error("a screen was made though nobody looks")
	}
	if rows := d.last(); rows != nil || d.screen != nil {
		t.Errorf("printed lines are a screen to the record: %q", rows)
	}
	d.look(func(s *vt.Screen, at int64) {
		if got := s.Row(22); got != "step 99999 loss 0.12345" {
			t.Errorf("%q", got)
		}
	})
}

func TestAScreenThatCanBeMadeAnewIsFreed(t *testing.T) {
	o, d := newTestDisplay(80, 24, nil)
	o.feed([]byte("\x1b[31mhello\r\n"))
	look := func() {
		d.hold()
		d.look(func(s *vt.Screen, _ int64) {
			if s.Row(0) != "hello" {
				t.Errorf("%q", s.Row(0))
			}
		})
		d.release()
	}
	look()
	if d.screen != nil {
		t.Error("it is kept")
	}
	o.feed([]byte("\x1b[2C"))
	look()
	if d.screen == nil {
		t.Error("a screen that was drawn on was freed")
	}
}

func TestTheRecordHasTheScreenOfAProgramThatDrewOnIt(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"lines", "a\r\nb\r\n", ""},
		{"bars and a title", "\x1b]2;x\a\r10%\x1b[K\r20%\x1b[K\r\n", ""},
		{"addressed", "\x1b[2J\x1b[1;1Htop\x1b[3;2Hx", "top|| x"},
		{"alternate", "sh\r\n\x1b[?1049hvi\r\n", "|vi"},
		{"left long ago", "\x1b[H\x1b[2Jtop" + strings.Repeat("\r\nline", 3000), ""},
		{"cleared", "\x1b[H\x1b[2J", ""},
	} {
		o, d := newTestDisplay(20, 5, nil)
		o.feed([]byte(c.raw))
		if got := strings.Join(d.last(), "|"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAScreenOfAnySizeFitsInTheRecord(t *testing.T) {
	o, d := newTestDisplay(2000, 1000, nil)
	o.feed(append([]byte("\x1b[?1049h"), bytes.Repeat([]byte("世"), 1_000_000)...))
	size := 0
	for _, row := range d.last() {
		size += len(row)
	}
	if size == 0 || size > screenMost {
		t.Errorf("%d bytes", size)
	}
}

// A carriage return within a sequence is no place to begin at.
func TestWhatIsPassedOverEndsBetweenSequences(t *testing.T) {
	for _, line := range []string{"\x1b[3\r1mX\n", "\x1b[3\n1m\r", "\x1b[\r\n4\rmX", "世\x1b\r[7mY\n", "\x1b[\x001mX\r\n", "\x1b\x0531mX\r\n"} {
		o, d := newTestDisplay(80, 24, nil)
		eager := vt.NewScreen(80, 24)
		eager.SetHistory(displayHistory)
		for range 80 { // more than the pages that count
			p := []byte(strings.Repeat(line, 3000/len(line)))
			o.feed(p)
			_, _ = eager.Write(p)
		}
		d.look(func(s *vt.Screen, _ int64) {
			if got, want := picture(s), picture(eager); got != want {
				t.Errorf("%q: it shows\n%s\nnot\n%s", line, got, want)
			}
		})
	}
}

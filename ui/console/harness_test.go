package console

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"

	"pasar/ui"
)

// A shown is a console on a simulated screen.
type shown struct {
	t      *testing.T
	c      *console
	screen tcell.SimulationScreen
	drawn  chan struct{}
	done   chan error // gets what the console ended with
	stop   context.CancelFunc

	sent, taken atomic.Int64 // keys

	mu     sync.Mutex // guards aside
	asides [][]string // programs that were run in its place
}

// show runs a console of so many columns and rows on a double.
func show(t *testing.T, d *double, cols, rows int, change ...func(*Options)) *shown {
	t.Helper()
	s := &shown{t: t, screen: tcell.NewSimulationScreen("UTF-8"), drawn: make(chan struct{}, 1), done: make(chan error, 1)}
	s.screen.SetSize(cols, rows)
	opt := Options{Socket: d.path, Env: []string{"HOME=/home/ada", "PATH=/bin"}, Bid: 1000, Theme: "dark", screen: &sized{SimulationScreen: s.screen, cols: cols, rows: rows},
		now: func() time.Time { return noon }, drawn: func() { ring(s.drawn) },
		aside: func(_ context.Context, argv []string) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.asides = append(s.asides, argv)
			return nil
		}}
	for _, f := range change {
		f(&opt)
	}
	ctx, stop := context.WithCancel(t.Context())
	s.stop = stop
	c, err := newConsole(ctx, opt)
	if err != nil {
		t.Fatal(err)
	}
	s.c = c
	c.app.SetInputCapture(func(ev *tcell.EventKey) *tcell.EventKey { s.taken.Add(1); return c.capture(ev) })
	go func() { s.done <- c.run() }()
	t.Cleanup(func() {
		stop()
		select {
		case err := <-s.done:
			s.done <- err
		case <-time.After(patience):
			t.Error("the console doesn't end")
		}
	})
	return s
}

// A sized screen has its size from the start on: the library's gets one at Init.
type sized struct {
	tcell.SimulationScreen
	cols, rows int
}

func (s *sized) Init() error {
	err := s.SimulationScreen.Init()
	s.SetSize(s.cols, s.rows)
	return err
}

// patience is how long something is waited for that surely comes.
const patience = 20 * time.Second

// in has f done by the console's loop; false if that has ended.
func (s *shown) in(f func()) bool {
	done := make(chan struct{})
	go s.c.app.QueueUpdate(func() { f(); close(done) })
	select {
	case <-done:
		return true
	case err := <-s.done:
		s.done <- err
		return false
	case <-time.After(patience):
		s.t.Fatal("the console hangs")
	}
	return false
}

// text is what is on the screen.
func (s *shown) text() string {
	var b strings.Builder
	s.in(func() {
		cells, w, h := s.screen.GetContents()
		for y := range h {
			var line strings.Builder
			for x := 0; x < w; x++ {
				r := cells[y*w+x].Runes
				if len(r) == 0 {
					line.WriteByte(' ')
					continue
				}
				line.WriteString(string(r))
				if ui.RuneWidth(r[0]) == 2 {
					x++ // its other half
				}
			}
			b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		}
	})
	return b.String()
}

// until waits until the screen is as it should be.
func (s *shown) until(what string, good func(text string) bool) string {
	s.t.Helper()
	deadline := time.After(patience)
	for {
		text := s.text()
		if good(text) {
			return text
		}
		select {
		case <-s.drawn:
		case <-time.After(20 * time.Millisecond): // a key that changes nothing draws before it is read
		case <-deadline:
			s.t.Fatalf("not seen: %s\n%s", what, text)
		}
	}
}

// sees waits until all of these are on the screen.
func (s *shown) sees(all ...string) string {
	s.t.Helper()
	return s.until(strings.Join(all, " and "), func(text string) bool {
		for _, w := range all {
			if !strings.Contains(text, w) {
				return false
			}
		}
		return true
	})
}

// misses waits until none of these is on the screen.
func (s *shown) misses(all ...string) string {
	s.t.Helper()
	return s.until("none of "+strings.Join(all, ", "), func(text string) bool {
		for _, w := range all {
			if strings.Contains(text, w) {
				return false
			}
		}
		return true
	})
}

// keysByName are keys as the table of keys names them.
var keysByName = func() map[string]tcell.Key {
	out := map[string]tcell.Key{"Backspace": tcell.KeyBackspace2}
	for k, n := range keyNames {
		out[n] = k
	}
	return out
}()

// press presses keys, by their names in the table of keys, one after the other.
func (s *shown) press(names ...string) {
	s.t.Helper()
	for _, n := range names {
		switch k, ok := keysByName[n]; {
		case ok:
			s.key(k, 0)
		case n == "Space":
			s.key(tcell.KeyRune, ' ')
		default:
			s.key(tcell.KeyRune, []rune(n)[0])
		}
	}
}

// key presses a key, and waits until it was taken: what is asked of the loop afterwards comes after it.
func (s *shown) key(k tcell.Key, r rune) {
	s.t.Helper()
	n := s.sent.Add(1)
	s.screen.InjectKey(k, r, tcell.ModNone)
	for deadline := time.Now().Add(patience); s.taken.Load() < n; {
		if !s.in(func() {}) {
			return // it has ended by it
		}
		if time.Now().After(deadline) {
			s.t.Fatal("a key is never taken")
		}
	}
}

// types types text.
func (s *shown) types(text string) {
	for _, r := range text {
		s.key(tcell.KeyRune, r)
	}
}

// clear empties the field that is typed into.
func (s *shown) clear() { s.key(tcell.KeyCtrlU, 0) }

// where is the place of a text on the screen.
func (s *shown) where(text string) (x, y int) {
	s.t.Helper()
	all := s.sees(text)
	for y, line := range strings.Split(all, "\n") {
		if i := strings.Index(line, text); i >= 0 {
			return len([]rune(line[:i])), y // tests click where nothing wide is before
		}
	}
	return 0, 0
}

// click clicks on a text.
func (s *shown) click(text string) {
	s.t.Helper()
	x, y := s.where(text)
	s.clickAt(x, y)
}

func (s *shown) clickAt(x, y int) {
	s.screen.InjectMouse(x, y, tcell.ButtonPrimary, tcell.ModNone)
	s.screen.InjectMouse(x, y, tcell.ButtonNone, tcell.ModNone)
}

func (s *shown) wheel(x, y int, b tcell.ButtonMask) {
	s.screen.InjectMouse(x, y, b, tcell.ModNone)
	s.screen.InjectMouse(x, y, tcell.ButtonNone, tcell.ModNone)
}

// ends waits until the console has ended.
func (s *shown) ends() error {
	s.t.Helper()
	select {
	case err := <-s.done:
		s.done <- err
		return err
	case <-time.After(patience):
		s.t.Fatal("the console doesn't end")
	}
	return nil
}

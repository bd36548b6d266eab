package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gdamore/tcell/v2"

	"pasar"
	"pasar/ipc"
	"pasar/ui"
	"pasar/vt"
)

// A logPage is a job's output as lines, from near its end on, followed over its attempts.
type logPage struct {
	c     *console
	id    pasar.JobID
	title string
	stop  func()
	find  finder

	mu      sync.Mutex // guards what follows
	lines   []string   // with colours, oldest first
	dropped int        // lines that were there before the first one
	note    string     // how it goes
	moved   chan struct{}

	top   int  // first line that is seen, of all that there ever were; the loop's own, as is the rest
	loose bool // it doesn't follow
	seen  int  // rows
	drawn int  // the line after the last one seen
}

// Bounds of a log.
const (
	logBack = 1 << 20 // bytes before the end that it begins with
	logMost = 20_000  // lines that are kept
	logWide = 40      // rows that one line takes at most
)

func newLogPage(c *console, id pasar.JobID, name string) *logPage {
	ctx, cancel := context.WithCancel(c.ctx)
	l := &logPage{c: c, id: id, title: "Output of " + name, stop: cancel, moved: make(chan struct{}, 1)}
	c.work(func() { l.read(ctx) })
	c.work(func() { c.drawOn(ctx, l.moved) })
	return l
}

func (l *logPage) place() ui.Place { return ui.InText }
func (l *logPage) changed()        {}
func (l *logPage) close()          { l.stop() }

// read follows the output until the page is left, over the loss of the daemon too.
func (l *logPage) read(ctx context.Context) {
	r := ipc.LogsRequest{Job: l.id, Offset: -logBack, Follow: true, Next: true}
	for ctx.Err() == nil {
		answer, err := l.follow(ctx, &r)
		var e *ipc.Error
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && answer.Over:
			l.say("it has ended")
			return
		case err == nil && answer.Attempt == 0:
			l.say("it has ended without another attempt")
			return
		case err == nil:
			l.line(fmt.Sprintf("\x1b[2m── attempt %d has ended ──\x1b[m", answer.Attempt))
			r.Attempt, r.Offset = answer.Attempt+1, 0
			continue
		case errors.As(err, &e) && e.Code != ipc.CodeNoDaemon && e.Code != ipc.CodeInterrupted:
			l.say(problem(err))
			return
		}
		l.say("no connection; it goes on here when there is one")
		select {
		case <-ctx.Done():
		case <-time.After(liveAgain):
		}
	}
}

// follow reads one attempt's output from an offset on, which it keeps up to date.
func (l *logPage) follow(ctx context.Context, r *ipc.LogsRequest) (ipc.LogsAnswer, error) {
	text := vt.NewColours(l.line)
	plain := false
	var answer ipc.LogsAnswer
	err := l.c.feed.call(ctx, func(ctx context.Context, d *ipc.Client) error {
		var err error
		answer, err = d.Logs(ctx, *r, ipc.LogsReader{
			Head: func(h ipc.LogsHead) error {
				r.Attempt, r.Offset, plain = h.Attempt, h.Offset, h.NoPTY
				l.say("")
				return nil
			},
			Mark: func(m ipc.LogsMark) error {
				if m.Gap > 0 {
					l.line(fmt.Sprintf("\x1b[2m── %s are not to be had ──\x1b[m", pasar.Bytes(m.Gap)))
				}
				return nil
			},
			Bytes: func(b []byte) error {
				r.Offset += int64(len(b))
				if plain {
					b = bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))
				}
				_, _ = text.Write(b)
				text.Flush()
				ring(l.moved)
				return nil
			},
		})
		return err
	})
	text.Close()
	ring(l.moved)
	return answer, err
}

func (l *logPage) say(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note = text
	ring(l.moved)
}

func (l *logPage) line(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) >= logMost {
		n := logMost / 10
		l.lines = append(l.lines[:0], l.lines[n:]...)
		l.dropped += n
	}
	l.lines = append(l.lines, text)
}

func (l *logPage) draw(p *painter, a area) {
	l.mu.Lock()
	defer l.mu.Unlock()
	state := "following"
	if l.loose {
		state = fmt.Sprintf("line %d of %d; End follows", l.top+1, l.dropped+len(l.lines))
	}
	if l.note != "" {
		state = l.note
	}
	l.find.heading(p, a, l.title+"  ("+ui.Shown(state)+")", l.c)
	a = a.rows(1, a.h)
	l.seen = a.h
	if len(l.lines) == 0 {
		if l.note == "" {
			p.text(a.cols(1, a.w), 1, ui.Faint, "It has written nothing yet.")
		}
		return
	}
	if a.w < 1 || a.h < 1 {
		return
	}
	if l.loose {
		l.from(p, a)
	} else {
		l.tail(p, a)
	}
}

// tail draws the last lines, so that the last one stands at the bottom.
func (l *logPage) tail(p *painter, a area) {
	s := newScreen(a.w, a.h)
	first := max(0, len(l.lines)-a.h)
	for i := first; i < len(l.lines); i++ {
		if i > first {
			_, _ = s.Write([]byte("\r\n"))
		}
		_, _ = s.Write([]byte(l.shown(i, a.w)))
	}
	l.top, l.drawn = l.dropped+first, l.dropped+len(l.lines)
	for y := range a.h {
		drawCells(p, a, y, s, y)
	}
}

// from draws lines from the one at the top on.
func (l *logPage) from(p *painter, a area) {
	l.top = min(max(l.top, l.dropped), l.dropped+len(l.lines)-1)
	s := newScreen(a.w, min(a.h+logWide, vt.MaxRows))
	i := l.top - l.dropped
	for first := i; i < len(l.lines); i++ {
		if _, row, _ := s.Cursor(); row >= a.h-1 && i > first {
			break
		}
		if i > first {
			_, _ = s.Write([]byte("\r\n"))
		}
		_, _ = s.Write([]byte(l.shown(i, a.w)))
	}
	l.drawn = l.dropped + i
	for y := range a.h {
		drawCells(p, a, y, s, y)
	}
}

// shown is a line as far as it may take room, marked where it has what is looked for.
func (l *logPage) shown(i, width int) string {
	text := l.lines[i]
	if most := logWide * width; len(text) > most && len([]rune(text)) > most {
		text = string([]rune(text)[:most-1]) + "\x1b[m…"
	}
	if l.find.hits(l.lines[i]) {
		text = "\x1b[1;36m»\x1b[m " + text
	}
	return text
}

func (l *logPage) act(act ui.Act) bool {
	switch act {
	case ui.ActUp:
		l.move(-1)
	case ui.ActDown:
		l.move(1)
	case ui.ActPageUp:
		l.move(-max(1, l.seen-1))
	case ui.ActPageDn:
		l.move(max(1, l.seen-1))
	case ui.ActFirst:
		l.top, l.loose = 0, true
	case ui.ActLast:
		l.loose = false
	case ui.ActSearch:
		l.find.ask(l.c)
	case ui.ActAgain:
		l.seek()
	case ui.ActBack:
		l.c.base.back()
	default:
		return false
	}
	return true
}

// move scrolls. At the end it follows again.
func (l *logPage) move(by int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.dropped + len(l.lines)
	if by > 0 && (!l.loose || l.drawn >= all) {
		l.loose = false
		return
	}
	l.top, l.loose = min(max(l.top+by, l.dropped), max(all-1, 0)), true
}

func (l *logPage) seek() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := l.find.above(len(l.lines), l.top-l.dropped, func(i int) string { return l.lines[i] }); at >= 0 {
		l.top, l.loose = l.dropped+at, true
	} else if l.find.text != "" {
		l.c.say(ui.Warn, "not found: "+l.find.text)
	}
}

func (l *logPage) wheel(_, _, by int) { l.move(3 * by) }

func (l *logPage) typed(ev *tcell.EventKey) bool { return l.find.typed(ev, l.seek) }

func (l *logPage) pasted(text string) { l.find.pasted(text) }

package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"pasar"
	"pasar/ipc"
	"pasar/ui"
	"pasar/vt"
)

// A live is a job's screen as it is now, or as it was at the end. It watches, and never types.
type live struct {
	c    *console
	stop func()

	mu     sync.Mutex // guards what follows
	screen *vt.Screen // nil: nothing is known yet
	note   string     // what to say instead of it, or beside it
	ended  bool       // it is the last screen
	partly bool       // a painting of it is arriving, in pieces
	moved  chan struct{}
}

// Bounds of a screen that is looked at.
const (
	liveEvery = 100 * time.Millisecond // it is drawn so often at most
	liveTail  = 64 << 10               // bytes of output that the last screen is made of
	liveSpeed = 512 << 10              // bytes of output a second that are drawn; of more, only where it has come to
	liveAgain = time.Second
)

// newLive looks at the screen of a job's latest attempt.
func newLive(c *console, v *pasar.JobView) *live {
	ctx, cancel := context.WithCancel(c.ctx)
	l := &live{c: c, stop: cancel, moved: make(chan struct{}, 1)}
	id, over := v.ID, !v.State.Active()
	c.work(func() { l.watch(ctx, id, over) })
	c.work(func() { c.drawOn(ctx, l.moved) })
	return l
}

// drawOn draws whenever something has moved, not too often.
func (c *console) drawOn(ctx context.Context, moved <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-moved:
		}
		c.post(func() {})
		select {
		case <-ctx.Done():
			return
		case <-time.After(liveEvery):
		}
	}
}

// errOver: the attempt has ended, and its screen with it.
var errOver = errors.New("it has ended")

func (l *live) watch(ctx context.Context, id pasar.JobID, over bool) {
	for ctx.Err() == nil {
		err := errOver
		if !over {
			err = l.attend(ctx, id)
		}
		if errors.Is(err, errOver) {
			if err = l.last(ctx, id); err == nil {
				return
			}
		}
		if ctx.Err() != nil {
			return
		}
		l.say("its screen can't be had: " + problem(err))
		select {
		case <-ctx.Done():
		case <-time.After(liveAgain):
		}
	}
}

func (l *live) say(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.note != text {
		l.note = text
		ring(l.moved)
	}
}

// attend follows the screen of a job that runs.
func (l *live) attend(ctx context.Context, id pasar.JobID) error {
	var at ipc.AttachAnswer
	err := l.c.feed.call(ctx, func(ctx context.Context, d *ipc.Client) (err error) {
		at, err = d.Attach(ctx, ipc.AttachRequest{Job: id})
		return err
	})
	switch {
	case err != nil:
		return err
	case at.Socket == "" && at.State == pasar.Starting:
		return errors.New("it starts")
	case at.Socket == "":
		return errOver
	}
	h := ipc.Hello{Mode: ipc.ModeWatch, Offset: -liveTail - 1, Paint: true}
	var conn *ipc.AttachConn
	var w ipc.Welcome
	if l.c.opt.Afar != nil {
		conn, w, err = l.c.opt.Afar.Attach(ctx, id, at.Attempt, h)
	} else {
		conn, w, err = ipc.DialAttach(at.Socket, h)
	}
	if err != nil {
		return fmt.Errorf("reach its supervisor: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() { stop(); _ = conn.Close() }()
	l.begin(w.Cols, w.Rows, w.NoPTY)
	speed := pace{since: time.Now(), most: liveSpeed}
	for {
		typ, body, err := conn.Recv()
		if err != nil {
			return fmt.Errorf("watch it: %w", err)
		}
		if typ == ipc.AttachOut { // who doesn't keep up is sent the screen as it is by then
			if err := speed.hold(ctx, len(body)); err != nil {
				return err
			}
		}
		if ended, err := l.frame(typ, body, w.NoPTY); err != nil {
			return err
		} else if ended {
			l.mu.Lock()
			l.ended, l.note = true, ""
			l.mu.Unlock()
			ring(l.moved)
			<-ctx.Done() // this screen is the last one
			return ctx.Err()
		}
	}
}

func (l *live) begin(cols, rows int, plain bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note = ""
	if plain || cols == 0 || rows == 0 {
		cols, rows = pasar.UsualCols, pasar.UsualRows
	}
	l.screen, l.partly = newScreen(cols, rows), false
}

func newScreen(cols, rows int) *vt.Screen {
	s := vt.NewScreen(cols, rows)
	s.SetHistory(0)
	return s
}

// frame takes what a supervisor sent, and reports whether it was the end.
func (l *live) frame(typ int, body []byte, plain bool) (ended bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch typ {
	case ipc.AttachSnap:
		var s ipc.Snap
		if err = ipc.DecodeBody(body, &s); err == nil {
			if !l.partly {
				l.screen = newScreen(s.Cols, s.Rows)
			}
			_, _ = l.screen.Write(s.Data)
			l.partly = s.More
		}
	case ipc.AttachOut:
		var o ipc.Out
		if err = ipc.DecodeBody(body, &o); err == nil {
			l.write(o.Data, plain)
		}
	case ipc.AttachSize:
		var s ipc.Size
		if err = ipc.DecodeBody(body, &s); err == nil {
			l.screen.Resize(s.Cols, s.Rows)
		}
	case ipc.AttachExit:
		return true, nil
	case ipc.AttachRefused:
		var r ipc.RefusedFrame
		if err = ipc.DecodeBody(body, &r); err == nil {
			err = &ipc.Error{Code: r.Code, Message: r.Message, Hint: r.Hint}
		}
	default:
		return false, nil
	}
	if err == nil {
		ring(l.moved)
	}
	return false, err
}

// write takes output. That of a job without a terminal has lines that no terminal has ended.
func (l *live) write(b []byte, plain bool) {
	if plain {
		b = bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))
	}
	_, _ = l.screen.Write(b)
}

// last makes the last screen of an attempt that has ended from the end of its output.
func (l *live) last(ctx context.Context, id pasar.JobID) error {
	var plain bool
	return l.c.feed.call(ctx, func(ctx context.Context, d *ipc.Client) error {
		_, err := d.Logs(ctx, ipc.LogsRequest{Job: id, Offset: -liveTail}, ipc.LogsReader{
			Head: func(h ipc.LogsHead) error {
				plain = h.NoPTY
				l.begin(h.Cols, h.Rows, plain)
				return nil
			},
			Mark: func(ipc.LogsMark) error { return nil },
			Bytes: func(b []byte) error {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.write(b, plain)
				return nil
			},
		})
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ended = err == nil
		ring(l.moved)
		return err
	})
}

// height is how many rows it would take to show all of it that isn't blank.
func (l *live) height() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.screen == nil {
		return 2
	}
	_, rows := l.screen.Size()
	if l.ended {
		rows = l.used()
	}
	return rows
}

// used is how many rows there are without the blank ones at the end.
func (l *live) used() int {
	_, rows := l.screen.Size()
	for rows > 0 && l.screen.Row(rows-1) == "" {
		rows--
	}
	return rows
}

// draw draws what fits of the screen: its left, and the rows where things happen.
func (l *live) draw(p *painter, a area) {
	l.mu.Lock()
	defer l.mu.Unlock()
	title, right := "Screen", ui.Line{}
	if l.ended {
		title = "Last screen"
	}
	if l.screen != nil {
		cols, rows := l.screen.Size()
		switch {
		case l.ended && l.used() > a.h-1:
			right = ui.Line{{Text: "part of it: f shows the output", Role: ui.Faint}}
		case !l.ended && (cols > a.w || rows > a.h-1):
			right = ui.Line{{Text: fmt.Sprintf("part of %d×%d: a shows all", cols, rows), Role: ui.Faint}}
		}
	}
	p.rule(a, 0, title, right)
	p.on(a, func() { l.c.act(ui.ActFollow) })
	a = a.rows(1, a.h)
	if l.screen == nil {
		p.text(a.cols(1, a.w), 0, ui.Faint, l.note)
		return
	}
	cols, rows := l.screen.Size()
	bottom := l.used()
	if _, row, shown := l.screen.Cursor(); shown && !l.ended {
		bottom = max(bottom, row+1)
	}
	top := min(max(0, bottom-a.h), max(0, rows-a.h))
	for y := range min(a.h, rows-top) {
		l.row(p, a, y, top+y, cols)
	}
	if l.note != "" {
		p.text(a, a.h-1, ui.Warn, " "+ui.Shown(l.note)+" ")
	}
}

// row draws one row of the screen.
func (l *live) row(p *painter, a area, y, row, cols int) {
	drawCells(p, a, y, l.screen, row)
	if cols > a.w && len(l.screen.Row(row)) > a.w {
		p.line(a.cols(a.w-1, 1), y, ui.Line{{Text: string(p.mark()), Role: ui.Accent}})
	}
	if col, at, shown := l.screen.Cursor(); shown && !l.ended && at == row && col < a.w {
		text, st, _ := p.screen.Get(a.x+col, a.y+y)
		p.screen.Put(a.x+col, a.y+y, text, st.Reverse(true))
	}
}

// drawCells draws a row of a screen, as far as it fits.
func drawCells(p *painter, a area, y int, s *vt.Screen, row int) {
	s.Cells(row, func(col, width int, text string, pen vt.Pen) {
		if col+width > a.w {
			return
		}
		st := p.theme.cell(pen)
		if pen.Concealed {
			text = " "
		}
		r, _ := utf8.DecodeRuneInString(text) // what is combined with it is left out
		if p.ascii {
			r = ui.ASCII(r)
		}
		if w := ui.RuneWidth(r); w != width { // a terminal might not agree on how wide that is
			r = '?'
		}
		p.screen.SetContent(a.x+col, a.y+y, r, nil, st)
		if width == 2 && ui.RuneWidth(r) == 1 {
			p.screen.SetContent(a.x+col+1, a.y+y, ' ', nil, st)
		}
	})
}

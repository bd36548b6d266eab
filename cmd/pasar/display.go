package main

import (
	"time"

	"pasar/vt"
)

// A display keeps the user's terminal showing a job's screen.
//
// It always has a model of that screen, which takes everything the job writes. As long as the terminal has the
// job's size and nothing else is shown on it, the job's bytes pass through a filter: what a program does arrives
// as it does it. Otherwise rows of the model are painted: the part that fits, where the sizes differ; with a line of
// ours over them; and the screen as it is now, when a terminal was too slow for all that led to it. From the one
// way to the other the screen is painted whole, from the model.
//
// The terminal shows its alternate screen meanwhile, as under tmux: the shell's own is untouched, comes back
// when the client leaves, and is not reflowed by a resize. The job's switches to its alternate screen and back
// are repaints then. What is lost is the scrollback, so whoever asks for history gets the main screen instead, as
// under docker: the history, and what scrolls off, is in the terminal's own scrollback. And when the job
// ends, its last screen is left on the shell's, since how it ended is what people look for.
type display struct {
	to         *outlet
	cols, rows int  // of the user's terminal
	history    int  // lines of earlier output that are wanted above the screen; with 0, the terminal's alternate screen is used
	types      bool // keys go to the job, so that its modes of keyboard and mouse are wanted

	job    *vt.Screen
	filter vt.Filter // of the job's bytes
	ready  bool      // there is a screen to show
	partly bool      // a snapshot is arriving, in pieces

	passing   bool // what the job writes passes; else rows are painted
	shown     bool // the terminal is prepared
	full      bool // nothing on the terminal is as it should be
	behind    bool // output was left out for a terminal that is slow
	alternate bool // with history: the terminal shows its alternate screen

	line    string // over the screen, for a while
	lineEnd *time.Timer
	lineAt  span // the rows where it is

	left, top int    // the first column and row that are in view
	pan       pan    // where a watcher wants them
	marks     []byte // at the end of each row in view, where something is cut
	set       keyModes

	last time.Time   // of painting
	due  *time.Timer // nil: nothing is to be painted
}

// maxBehind is how much a terminal may have to take yet before output is left out: a screen, not more.
const maxBehind = 64 << 10

// What is kept of history until it is shown, in bytes: a line as the model keeps it, and all.
const (
	historyLine     = 1 << 10
	maxHistoryBytes = 64 << 20
)

// between is the time between two paintings of rows, and lineTime how long a line of ours stays.
const (
	between  = 33 * time.Millisecond
	lineTime = 4 * time.Second
)

func newDisplay(to *outlet, cols, rows, history int) *display {
	d := &display{to: to, cols: cols, rows: rows, history: history}
	d.filter.Flat = history == 0
	return d
}

// begin starts over with an empty screen of the job's size.
func (d *display) begin(cols, rows int) {
	d.job = vt.NewScreen(cols, rows)
	d.job.SetHistory(0)
	if !d.shown {
		d.job.SetHistory(min(d.history*historyLine, maxHistoryBytes))
	}
	d.filter = vt.Filter{Flat: d.filter.Flat, Tabs: d.filter.Tabs}
	d.passing, d.full = false, true
}

// snapshot takes a piece of the screen as it is. With history, the first one also fills the scrollback.
func (d *display) snapshot(cols, rows int, piece []byte, more bool) {
	if !d.partly {
		d.begin(cols, rows)
		d.partly = true
	}
	_, _ = d.job.Write(piece) // it never fails
	d.filter.Pass(piece)
	if !more {
		d.partly, d.ready, d.filter.Broke = false, true, false
		d.soon()
	}
}

// write takes what the job wrote.
func (d *display) write(b []byte) {
	d.ready = true
	_, _ = d.job.Write(b)
	out := d.filter.Pass(b)
	switch {
	case d.filter.Broke:
		d.filter.Broke = false
		d.passing, d.full = false, true
	case d.passing && d.to.backlog() > maxBehind && d.history == 0:
		d.passing, d.full, d.behind = false, true, true
	case d.passing:
		d.alternate = d.history > 0 && d.filter.Alternate
		d.to.put(append(out, d.keys()...))
		return
	}
	d.soon()
}

// resize takes a new size of the job's terminal.
func (d *display) resize(cols, rows int) {
	if c, r := d.job.Size(); c == cols && r == rows {
		return
	}
	d.job.Resize(cols, rows)
	d.passing, d.full = false, true
	d.soon()
}

// window takes a new size of the user's terminal.
func (d *display) window(cols, rows int) {
	d.cols, d.rows = cols, rows
	d.passing, d.full = false, true
	d.soon()
}

// say shows a line over the screen for a while.
func (d *display) say(text string) {
	d.line = text
	if d.lineEnd != nil {
		d.lineEnd.Stop()
	}
	d.lineEnd = time.NewTimer(lineTime)
	d.full = d.full || d.passing
	d.passing = false
	d.soon()
}

// unsay takes the line away.
func (d *display) unsay() {
	if d.line == "" {
		return
	}
	d.lineEnd.Stop()
	d.line, d.lineEnd = "", nil
	d.soon()
}

// typing says whether keys go to the job.
func (d *display) typing(on bool) {
	d.types = on
	if d.shown {
		d.to.put(d.keys())
	}
}

// soon paints now, or when the last painting is long enough ago.
func (d *display) soon() {
	if d.due != nil || !d.ready {
		return
	}
	if wait := between - time.Since(d.last); wait > 0 {
		d.due = time.NewTimer(wait)
		return
	}
	d.paint()
}

// wake is when paint is to be called, and expiry when unsay is; nil channels are never.
func (d *display) wake() <-chan time.Time   { return channel(d.due) }
func (d *display) expiry() <-chan time.Time { return channel(d.lineEnd) }

func channel(t *time.Timer) <-chan time.Time {
	if t == nil {
		return nil
	}
	return t.C
}

// drained is called when the terminal has taken everything.
func (d *display) drained() {
	if d.behind && d.to.backlog() == 0 {
		d.behind = false
		d.soon()
	}
}

// fits reports whether the job's bytes may go to the terminal as they are.
func (d *display) fits() bool {
	c, r := d.job.Size()
	return c == d.cols && r == d.rows && d.line == ""
}

// paint brings the terminal up to date.
func (d *display) paint() {
	if d.due != nil {
		d.due.Stop()
		d.due = nil
	}
	if d.passing || d.behind || d.partly || !d.ready || d.cols < 1 || d.rows < 1 {
		return
	}
	if d.to.backlog() > maxBehind {
		d.behind = true
		return
	}
	d.last = time.Now()
	var b []byte
	if !d.shown {
		b = d.enter(b)
	}
	if d.fits() {
		b = d.paintWhole(b)
	} else {
		b = d.paintRows(b)
	}
	d.to.put(append(b, d.keys()...))
}

// finish brings the terminal up to date for the last time, however slow it is.
func (d *display) finish() {
	d.unsay()
	d.behind, d.partly = false, false
	if d.shown && d.history > 0 && !d.passing {
		d.to.put(d.paintRows(nil))
	}
}

// enter prepares the terminal.
func (d *display) enter(b []byte) []byte {
	d.shown, d.full = true, true
	if d.history > 0 {
		return d.enterMain(b)
	}
	return append(b, "\x1b[?1049h"...)
}

// paintWhole leaves the terminal as if it had been the job's all the time.
func (d *display) paintWhole(b []byte) []byte {
	f := vt.Filter{Flat: d.filter.Flat, Snapshot: true}
	b = d.reset(b)
	for y := range d.rows { // all at once, some terminals would move it into their scrollback
		b = append(moveTo(b, y, 0), "\x1b[K"...)
	}
	b = append(b, "\x1b[H"...)
	b = append(b, f.Pass(d.job.AppendSnapshot(nil))...)
	d.filter.Tabs, d.alternate = d.filter.Tabs || f.Tabs, d.history > 0 && f.Alternate
	d.passing, d.full, d.lineAt, d.left, d.top = true, false, span{}, 0, 0
	_ = d.job.Changed()
	return b
}

// reset makes the terminal one that knows nothing of the job, but for what stands on it.
func (d *display) reset(b []byte) []byte {
	if d.history > 0 {
		b = append(b, "\x1b[?1049l"...)
		d.alternate = false
	}
	b = append(b, vt.SoftReset...)
	if d.filter.Tabs {
		b = append(b, vt.TabStops(d.cols)...)
		d.filter.Tabs = false
	}
	return b
}

// again is for a terminal about which nothing is known: the client was stopped, and the shell had it.
func (d *display) again() {
	if !d.shown {
		return
	}
	d.shown, d.passing, d.full = d.history > 0, false, true
	d.set.Modes = vt.Modes{}
	d.soon()
}

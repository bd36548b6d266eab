package supervisor

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"pasar/vt"
)

// Bounds of what a display leaves unparsed.
const (
	behindMost  = ringMax - batchSize // bytes; what comes next would push the oldest out of the ring
	behindAfter = ringMax / 2         // what is left once it was too much
	displayRead = 16 << 10            // bytes taken from the ring at a time

	displayHistory = 64 << 10 // bytes of lines above the screen, which come back when it grows
)

// A display is the job's screen, kept no further than somebody needs it: while nobody looks, it is
// behind, and what can't matter to it any more is never parsed. Its terminal queries are answered as they
// pass, so each is answered once, whoever looks or looks again.
//
// What is shown is exactly what a screen that had been written every byte would show. Output that was
// plain lines (see vt.Scanner) may be passed over where what follows wipes out all that it did but for
// its colours; see pages.go and bars.go for the two ways in which it does. Anything else is parsed before
// it falls out of the ring.
type display struct {
	log    *slog.Logger
	out    *output
	answer func(reply []byte) // takes what the screen sends back; called with mu held

	scan    vt.Scanner   // of the goroutine that calls pass
	drawn   atomic.Int64 // behind the last byte that wasn't plain lines; 0: all were
	scanned atomic.Int64 // how far pass has come
	at      atomic.Int64 // how far the screen has come; changed with mu held

	mu         sync.Mutex // guards what follows; nothing is read, written or sent with it but from the ring
	cols, rows int
	screen     *vt.Screen // nil: nobody needed it yet
	pen        []byte     // colours passed over that the screen hasn't been told yet
	buf        []byte
	sized      bool // the size changed on the way
	painted    painting
	viewers    int // who look for longer than once

	sizes   sizes
	replays chan struct{} // holds one for each client for which history is made
}

func newDisplay(log *slog.Logger, out *output, cols, rows int, answer func([]byte)) *display {
	return &display{log: log, out: out, cols: cols, rows: rows, answer: answer, replays: make(chan struct{}, replaysMost)}
}

// pass is told of each batch of output, p, once it is in the ring, which then ends at end. What it costs
// is one look at each byte, except when a program asks something or the screen is too far behind.
func (d *display) pass(p []byte, end int64) {
	if d == nil {
		return
	}
	asked, drew := d.scan.Scan(p)
	if drew >= 0 {
		d.drawn.Store(end - int64(len(p)-drew))
	}
	d.scanned.Store(end)
	switch {
	case asked:
		d.mu.Lock()
		d.follow(end)
		d.mu.Unlock()
	case end-d.at.Load() > behindMost:
		d.mu.Lock()
		d.shed(end)
		d.mu.Unlock()
	}
}

// look brings the screen up to date and calls f with it and the offset of the output that it shows.
func (d *display) look(f func(s *vt.Screen, at int64)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.follow(d.scanned.Load())
	f(d.screen, d.at.Load())
}

// follow writes or passes over everything up to end; mu is held, as in all that follows.
func (d *display) follow(end int64) {
	d.make()
	d.write(min(d.drawn.Load(), end))
	if d.ordinary() {
		d.skip(d.lastPages(d.at.Load(), end))
	}
	d.writePlain(end)
}

// shed does as much of follow as keeps what is still needed in the ring for a while.
func (d *display) shed(end int64) {
	if drawn := min(d.drawn.Load(), end); drawn > d.at.Load() {
		d.make()
		d.write(drawn)
	}
	if end-d.at.Load() <= behindAfter {
		return
	}
	if d.ordinary() {
		if from := d.lastPages(d.at.Load(), end); end-from <= behindAfter {
			d.skip(from)
			return
		}
	}
	d.make()
	d.writePlain(end - behindAfter)
}

// ordinary reports whether plain lines do on the screen what they do on a new one: the whole page scrolls
// and characters overwrite what is there.
func (d *display) ordinary() bool {
	return d.drawn.Load() == 0 || d.screen.Ordinary()
}

// make makes the screen if there is none.
func (d *display) make() {
	if d.screen != nil {
		return
	}
	d.renew()
}

func (d *display) renew() {
	d.screen = vt.NewScreen(d.cols, d.rows)
	d.screen.SetHistory(displayHistory)
	d.screen.Answer(d.answer)
}

// write writes everything up to an offset to the screen.
func (d *display) write(to int64) {
	d.pieces(to, func(p []byte) { d.put(p) })
}

// writePlain is write for plain lines.
func (d *display) writePlain(to int64) {
	if !d.ordinary() {
		d.write(to)
		return
	}
	d.pieces(to, func(p []byte) { overwrite(p, d.cols, d.put, d.colour) })
}

// pieces calls f with the output up to an offset, piece by piece, and counts it as done.
func (d *display) pieces(to int64, f func(p []byte)) {
	for at := d.at.Load(); at < to; {
		p, next := d.piece(at, to)
		f(p)
		at = next
		d.at.Store(at)
	}
}

// piece is some of the output from an offset on, but not beyond to. The result is good until the next call.
func (d *display) piece(from, to int64) (p []byte, next int64) {
	if d.buf == nil {
		d.buf = make([]byte, displayRead)
	}
	p = d.buf[:min(int64(len(d.buf)), to-from)]
	d.out.mu.Lock()
	defer d.out.mu.Unlock()
	if start := d.out.ring.start(); from < start { // it is no longer there, which can't be
		return nil, min(start, to)
	}
	n := d.out.ring.read(p, from)
	return p[:n], from + int64(n)
}

// put writes to the screen. A fault in the model costs the screen, never the job.
func (d *display) put(p []byte) {
	defer func() {
		if r := recover(); r != nil {
			d.log.Error("panic in the screen", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			d.renew()
			d.painted = painting{}
		}
	}()
	if len(d.pen) > 0 {
		d.flush()
	}
	_, _ = d.screen.Write(p)
}

// resize gives the screen a new size, for what the job writes from now on. The terminal's own size is to
// be changed after that, so that nothing written for the new size is taken for the old one.
func (d *display) resize(cols, rows int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.scanned.Load()
	if at > 0 {
		d.follow(at)
		d.sized = true
	}
	d.cols, d.rows = cols, rows
	d.painted = painting{}
	if d.screen != nil {
		d.screen.Resize(cols, rows)
	}
	d.sizes.add(cols, rows, at)
	d.out.sized(cols, rows, at)
}

// hold says that somebody begins to look, release that they have ended.
func (d *display) hold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.viewers++
}

func (d *display) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.viewers--; d.viewers == 0 {
		d.rest()
	}
}

// rest lets go of what can be had again, once nobody looks any more: the whole screen, if all output is
// still in the ring and was plain lines.
func (d *display) rest() {
	d.painted, d.buf = painting{}, nil
	d.out.mu.Lock()
	whole := d.out.ring.start() == 0
	d.out.mu.Unlock()
	if whole && !d.sized && d.drawn.Load() == 0 {
		d.screen, d.pen = nil, nil
		d.at.Store(0)
	}
}

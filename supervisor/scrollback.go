package supervisor

import (
	"bytes"

	"pasar/vt"
)

// Bounds of what is read to show history, in bytes.
const (
	historyRead   = 16 << 10
	replayHistory = 1 << 20  // more than so much output makes
	historyReach  = 64 << 20 // back from the present; what is further away isn't shown
)

// scrollback sends the n lines above a screen, oldest first, as they would have scrolled off it: with
// their colours, each ended by "\r\n". They are made anew from the log, by a screen of the same size. What was before
// the first line that is read (colours, modes) isn't known there, and doesn't matter to most programs.
//
// The lines that are too many are known only at the end, so a first round counts what a second one sends.
func (a *attempt) scrollback(s painting, n int, send func(p []byte) error) error {
	from := a.output.linesBack(s.at, n+s.rows, historyReach)
	total := 0
	count := func(lines int, _ *vt.Screen) error { total += lines; return nil }
	if err := a.replay(from, s, count); err != nil {
		return err
	}
	skip := max(0, total-n)
	var b []byte
	return a.replay(from, s, func(lines int, screen *vt.Screen) error {
		drop := min(skip, lines)
		skip -= drop
		for b = screen.AppendHistory(b[:0], lines-drop); len(b) > 0; {
			piece := b[:min(len(b), snapPiece)]
			b = b[len(piece):]
			if err := send(piece); err != nil {
				return err
			}
		}
		return nil
	})
}

// replay writes output to a screen of a painting's size and calls f with how many lines scrolled off it since
// the last call.
func (a *attempt) replay(from int64, s painting, f func(lines int, screen *vt.Screen) error) error {
	screen := vt.NewScreen(s.cols, s.rows)
	screen.SetHistory(replayHistory)
	buf := make([]byte, historyRead)
	var scan vt.Scanner
	write := func(p []byte) { _, _ = screen.Write(p) }
	for at := from; at < s.at; {
		n, next := a.output.read(buf[:min(int64(len(buf)), s.at-at)], at)
		if next <= at {
			break
		}
		plain := 0
		if _, drew := scan.Scan(buf[:n]); drew > 0 {
			plain = drew
		}
		write(buf[:plain])
		overwrite(buf[plain:n], s.cols, write, write)
		at = next
		if lines := screen.History(); lines > 0 {
			if err := f(lines, screen); err != nil {
				return err
			}
			screen.SetHistory(replayHistory)
		}
	}
	return nil
}

// linesBack is where the last n lines before an offset begin, at most reach bytes before it: behind a line
// feed, where the output begins, or behind a gap.
func (o *output) linesBack(end int64, n int, reach int64) int64 {
	low := max(0, end-reach)
	buf := make([]byte, historyRead)
	for to := end; to > low; {
		from := max(low, to-historyRead)
		p, start := o.fill(buf[:to-from], from)
		for {
			i := bytes.LastIndexByte(p, '\n')
			if i < 0 {
				break
			}
			if n--; n < 0 { // the first one ends the last line
				return start + int64(i) + 1
			}
			p = p[:i]
		}
		if start > from {
			return start
		}
		to = from
	}
	return low
}

// fill reads output from an offset on to the end of p. If some of it is not to be had, it is what is behind
// that; start says where it begins.
func (o *output) fill(p []byte, from int64) (got []byte, start int64) {
	k := 0
	start = from
	for k < len(p) {
		at := start + int64(k)
		n, next := o.read(p[k:], at)
		if n > 0 {
			k += n
			continue
		}
		if next <= at {
			break
		}
		p = p[min(int64(len(p)), next-start):]
		k, start = 0, next
	}
	return p[:k], start
}

package supervisor

import (
	"bytes"
	"time"

	"pasar/ipc"
)

// snap sends the screen as it is, under the history that was asked for if it is the first one. Output goes
// on from there.
func (v *viewer) snap() error {
	screen := v.a.display.paint()
	if size := (ipc.Size{Cols: screen.cols, Rows: screen.rows, Offset: screen.at}); size.Cols != v.size.Cols || size.Rows != v.size.Rows {
		v.size = size
		if err := v.p.send(ipc.AttachSize, &size); err != nil {
			return err
		}
	}
	for { // the changes of size that the screen has seen
		size, n, ok := v.a.display.sizes.get(v.sizes)
		if !ok || size.Offset > screen.at || size.Offset == screen.at && (size.Cols != screen.cols || size.Rows != screen.rows) {
			break
		}
		v.sizes = n + 1
	}
	send := func(data []byte, more bool) error {
		return v.p.send(ipc.AttachSnap, &ipc.Snap{Offset: screen.at, Cols: screen.cols, Rows: screen.rows, Data: data, More: more})
	}
	n := v.lines
	v.lines = 0
	if n > 0 && v.turn() {
		defer func() { <-v.a.display.replays }()
		if err := v.a.scrollback(screen, n, func(p []byte) error { return send(p, true) }); err != nil {
			return err
		}
		// As many line ends as the terminal has rows push the lines out of its top.
		if err := send(append(bytes.Repeat([]byte("\r\n"), max(screen.rows, v.rows)-1), "\x1b[H"...), true); err != nil {
			return err
		}
	}
	for data := screen.data; ; {
		n := min(len(data), snapPiece)
		if err := send(data[:n], n < len(data)); err != nil {
			return err
		}
		if data = data[n:]; len(data) == 0 {
			break
		}
	}
	v.off = screen.at
	return nil
}

// Making history takes memory until the client has taken it all: so many may at a time, and others wait for a
// while and then do without.
const (
	replaysMost = 8
	replayWait  = 2 * time.Second
)

// turn waits until history may be made for this client. False: it goes without.
func (v *viewer) turn() bool {
	t := time.NewTimer(replayWait)
	defer t.Stop()
	select {
	case v.a.display.replays <- struct{}{}:
		return true
	case <-t.C:
		v.p.note(v.a, "too many clients are being shown history just now; attach again for it")
	case <-v.p.gone:
	}
	return false
}

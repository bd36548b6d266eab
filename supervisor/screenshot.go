package supervisor

import (
	"pasar/ipc"
	"pasar/vt"
)

// shotPiece bounds the text in one SCREEN frame, in bytes.
const shotPiece = 48 << 10

// screen serves who wants the screen as text, once.
func (p *peer) screen(a *attempt, h ipc.Hello) {
	f := a.display.shot()
	rows := f.Lines
	st, _ := a.history.last()
	holder, _ := a.keys.state()
	if err := p.send(ipc.AttachWelcome, &ipc.Welcome{Version: min(h.Max, ipc.MaxAttachVersion), Key: a.spec.Key.String(),
		State: st.State, Offset: f.Offset, Cols: f.Cols, Rows: f.Rows, Who: holder.name()}); err != nil {
		return
	}
	for f.More = true; f.More; {
		n, size := 0, 0
		for n < len(rows) && (n == 0 || size+len(rows[n]) <= shotPiece) {
			size += len(rows[n])
			n++
		}
		f.Lines, rows = rows[:n], rows[n:]
		f.More = len(rows) > 0
		if err := p.send(ipc.AttachScreen, &f); err != nil {
			return
		}
		f.Row += n
	}
}

// shot is the screen as text, in one piece.
func (d *display) shot() (f ipc.ScreenFrame) {
	d.look(func(s *vt.Screen, at int64) {
		f = ipc.ScreenFrame{Alternate: s.Alternate(), Title: s.Title(), Lines: s.Rows(), Offset: at}
		f.Cols, f.Rows = s.Size()
		f.CursorCol, f.CursorRow, f.CursorShown = s.Cursor()
	})
	for i, row := range f.Lines {
		f.Lines[i] = row[:min(len(row), shotPiece)]
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.viewers == 0 {
		d.rest()
	}
	return f
}

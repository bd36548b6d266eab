package supervisor

import (
	"encoding/json"
	"fmt"

	"pasar/ipc"
)

// lineMax is how many bytes the kernel takes of one line while it edits lines for the job (n_tty's
// buffer, less one); what is beyond is lost.
const lineMax = 4095

// note has the writing goroutine tell the person something; a few lines at most wait.
func (p *peer) note(a *attempt, text string) {
	p.noteMu.Lock()
	if len(p.notes) < 4 {
		p.notes = append(p.notes, text)
	}
	p.noteMu.Unlock()
	a.changed.ring()
}

func (p *peer) takeNotes() []string {
	p.noteMu.Lock()
	defer p.noteMu.Unlock()
	notes := p.notes
	p.notes = nil
	return notes
}

// readClient takes what a client sends.
func (p *peer) readClient(a *attempt, mode ipc.AttachMode) {
	line := 0 // bytes typed since the last end of a line
	for {
		typ, body, err := p.in.Recv()
		if err != nil || typ == ipc.AttachDetach {
			return
		}
		if mode != ipc.ModeType {
			continue // a watcher can't reach the job
		}
		switch typ {
		case ipc.AttachIn:
			var in ipc.In
			if ipc.DecodeBody(body, &in) != nil {
				return
			}
			var long bool
			if line, long = measure(line, in.Data); long && a.keys.editsLines() {
				p.note(a, fmt.Sprintf("the job reads whole lines, of which the terminal keeps %d bytes: the rest of this one is lost", lineMax))
			}
			a.keys.typed(p, in.Data, p.gone)
		case ipc.AttachResize:
			var s ipc.Size
			if ipc.DecodeBody(body, &s) != nil {
				return
			}
			a.keys.sized(p, s)
		case ipc.AttachSignal:
			var s ipc.SignalFrame
			if ipc.DecodeBody(body, &s) != nil {
				return
			}
			a.keys.signal(p, s.Signal)
		case ipc.AttachTake:
			a.keys.take(p)
		case ipc.AttachRelease:
			a.keys.release(p)
		}
	}
}

// measure returns the length of the line under way after data was typed, and whether a line grew too
// long in it.
func measure(line int, data []byte) (now int, long bool) {
	for _, c := range data {
		switch c {
		case '\r', '\n', 3, 4: // end of line, interrupt, end of file
			line = 0
		default:
			line++
			long = long || line == lineMax+1
		}
	}
	return line, long
}

// sendEvent tells a daemon of an event.
func (p *peer) sendEvent(ev numbered) error {
	b, err := json.Marshal(ev.event)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	err = p.send(ipc.AttachEvent, &ipc.EventFrame{Number: ev.number, Event: b})
	if err != nil && len(b) > ipc.MaxAttachFrame-64 {
		return nil // can't be told, and isn't worth a connection
	}
	return err
}

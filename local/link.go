package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/target"
)

// A link is a control connection to an attempt's supervisor. Anybody may send on it; one watch at a
// time reads it.
type link struct {
	conn    *ipc.AttachConn
	reading bool                 // guarded by Machine.mu, as is last
	last    target.Observation   // the latest status read
	early   []target.Observation // reports that came before the first status
}

// keep remembers a control connection on which a status was read, and reports before it.
func (m *Machine) keep(h target.Handle, c *ipc.AttachConn, s *ipc.Status, early []target.Observation) {
	o := observationOf(h, s)
	m.roster.enrol(h, pasar.Holding{}) // its claim is read when that matters: not on the way to a job
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		_ = c.Close()
		return
	}
	if old := m.links[h]; old != nil {
		_ = old.conn.Close()
	}
	m.links[h] = &link{conn: c, last: o, early: early}
}

// sender is a link to send on, nil if there is none.
func (m *Machine) sender(h target.Handle) *link {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.links[h]
}

// take is the link for one watch to read, nil if there is none to be had.
func (m *Machine) take(h target.Handle) *link {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.links[h]
	if l == nil || l.reading {
		return nil
	}
	l.reading = true
	return l
}

// enter makes a fresh link the attempt's if it has none, for its watch to read.
func (m *Machine) enter(h target.Handle, l *link) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l.reading = true
	if m.links[h] == nil && !m.closed {
		m.links[h] = l
	}
}

// leave gives a link back after a watch: it stays for later calls if it is sound.
func (m *Machine) leave(h target.Handle, l *link, sound bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l.reading = false
	if sound && m.links[h] == l {
		return
	}
	_ = l.conn.Close()
	if m.links[h] == l {
		delete(m.links, h)
	}
}

// sendLast sends the last frame on a link and waits until the supervisor has taken it: a frame sent
// right before a close can be lost, when the supervisor finds first that it can't write any more.
func (l *link) sendLast(typ int, body any) error {
	if err := l.conn.Send(typ, body); err != nil {
		return err
	}
	if err := l.conn.CloseWrite(); err != nil {
		return err
	}
	if err := l.conn.SetReadDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	for {
		if _, _, err := l.conn.Recv(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("wait until the supervisor has taken it: %w", err)
		}
	}
}

// next reads on until there is an observation. Frames it doesn't know are skipped.
func (l *link) next(h target.Handle) (target.Observation, error) {
	for {
		typ, body, err := l.conn.Recv()
		if err != nil {
			return target.Observation{}, err
		}
		switch typ {
		case ipc.AttachStatus:
			var s ipc.Status
			if err := ipc.DecodeBody(body, &s); err != nil {
				return target.Observation{}, err
			}
			return observationOf(h, &s), nil
		case ipc.AttachEvent:
			return reportIn(body)
		}
	}
}

// reportIn is what an EVENT frame reports.
func reportIn(body []byte) (target.Observation, error) {
	var f ipc.EventFrame
	var e pasar.Event
	if err := ipc.DecodeBody(body, &f); err != nil {
		return target.Observation{}, err
	}
	if err := json.Unmarshal(f.Event, &e); err != nil {
		return target.Observation{}, fmt.Errorf("decode event: %w", err)
	}
	return target.Observation{Event: &e, EventNum: f.Number}, nil
}

// observationOf is a supervisor's status as an observation. Ended has a record only if it fitted
// into the frame; the file has it then.
func observationOf(h target.Handle, s *ipc.Status) target.Observation {
	o := target.Observation{Handle: h, Pid: s.Pid, Exit: s.Exit, LogTrouble: pasar.Clean(s.Log)}
	if s.StartedAt > 0 {
		o.StartedAt = time.Unix(0, s.StartedAt)
	}
	switch s.State {
	case ipc.AttemptRunning:
		o.Status = target.Running
	case ipc.AttemptExited:
		o.Status = target.Exited
	case ipc.AttemptEnded:
		o.Status = target.Ended
		if r, err := decodeRecord(s.Record); err == nil {
			o.Record = r
		}
	default:
		o.Status = target.Claimed
	}
	return o
}

// dial opens a control connection to the supervisor that holds a claim and reads its first status.
// The supervisor is believed because its socket is ours, it holds the lock, and it knows the nonce.
func dial(ctx context.Context, h target.Handle, holding pasar.Holding) (*link, error) {
	if holding.Nonce == "" {
		return nil, errors.New("a supervisor has locked the claim and not said yet who it is")
	}
	if t, err := startTime(holding.Pid); err != nil || t != holding.StartTime {
		return nil, fmt.Errorf("supervisor %d isn't there, though its claim is locked", holding.Pid)
	}
	c, _, err := ipc.DialAttach(holding.Socket, ipc.Hello{Mode: ipc.ModeControl, Nonce: h.Nonce})
	if err != nil {
		return nil, fmt.Errorf("reach supervisor %d: %w", holding.Pid, err)
	}
	l := &link{conn: c}
	unhook := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer unhook()
	if err := l.readStatus(h); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("ask supervisor %d: %w", holding.Pid, err)
	}
	return l, nil
}

// readStatus reads up to the first status.
func (l *link) readStatus(h target.Handle) error {
	if err := l.conn.SetReadDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	for {
		o, err := l.next(h)
		if err != nil {
			return err
		}
		if o.Event == nil {
			l.last = o
			return l.conn.SetReadDeadline(time.Time{})
		}
		l.early = append(l.early, o)
	}
}

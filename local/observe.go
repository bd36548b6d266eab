package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"pasar"
	"pasar/attemptdir"
	"pasar/target"
)

// Observe says where an attempt is. Saying Absent bars the attempt: a supervisor that a dead daemon
// handed it to and that wakes up late can't run it any more. Launch lifts the bar.
func (m *Machine) Observe(ctx context.Context, h target.Handle) (target.Observation, error) {
	o, l, err := m.observe(ctx, h)
	if l != nil {
		_ = l.conn.Close()
	}
	if err != nil {
		return target.Observation{}, fmt.Errorf("observe %s: %w", h.Key, err)
	}
	return o, nil
}

// observe is Observe; while a supervisor lives it also returns a link to it.
func (m *Machine) observe(ctx context.Context, h target.Handle) (target.Observation, *link, error) {
	dir := m.attemptDir(h.Key)
	patience := newPatience()
	for {
		o, holding, err := m.onDisk(ctx, dir, h)
		if err != nil || o.Status != "" {
			return o, nil, err
		}
		m.roster.enrol(h, holding)
		// A supervisor lives. One on its way in or out doesn't answer for a moment.
		l, err := dial(ctx, h, holding)
		if err == nil && l.last.Status == target.Ended && l.last.Record == nil {
			_ = l.conn.Close() // its record was too long for a frame: the file has it
			err = errors.New("its end isn't on disk yet")
		} else if err == nil {
			return l.last, l, nil
		}
		if err := patience.wait(ctx, err); err != nil {
			return target.Observation{}, nil, err
		}
	}
}

// A patience waits longer and longer between tries, for settleTimeout in all.
type patience struct {
	next  time.Duration
	until time.Time
}

func newPatience() *patience {
	return &patience{next: time.Millisecond, until: time.Now().Add(settleTimeout)}
}

// wait waits before the next try; once patience is over it returns why the last one failed.
func (p *patience) wait(ctx context.Context, failure error) error {
	if time.Now().After(p.until) {
		return failure
	}
	t := time.NewTimer(p.next)
	defer t.Stop()
	p.next = min(2*p.next, 100*time.Millisecond)
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// onDisk is what the attempt's directory says: everything unless a supervisor lives; then the
// observation has no status, and the holding says whom to ask.
func (m *Machine) onDisk(ctx context.Context, dir string, h target.Handle) (target.Observation, pasar.Holding, error) {
	none := target.Observation{}
	absent := target.Observation{Handle: h, Status: target.Absent}
	for {
		if o, err := m.recorded(dir, h); o.Status != "" || err != nil && !errors.Is(err, errDamaged) {
			return o, pasar.Holding{}, err
		}
		c, err := lookAt(dir)
		if err != nil {
			return none, pasar.Holding{}, err
		}
		switch c.state {
		case claimHeld:
			if n := c.holding.Nonce; n != "" && n != h.Nonce {
				return absent, pasar.Holding{}, nil
			}
			return none, c.holding, nil
		case claimDead:
			if c.holding.Nonce != h.Nonce {
				return absent, pasar.Holding{}, nil
			}
			// The record may have come between the two looks.
			o, err := m.recorded(dir, h)
			if o.Status == "" && (err == nil || errors.Is(err, errDamaged)) {
				o, err = m.gone(ctx, dir, h, c.holding, err)
			}
			return o, pasar.Holding{}, err
		}
		if _, known, err := readSpec(dir); c.state == claimNone && err == nil && !known {
			if held, ok := m.bySocket(ctx, h); ok {
				return none, held, nil
			}
		}
		o, again, err := m.unclaimed(dir, h, c.state)
		if err != nil || !again {
			return o, pasar.Holding{}, err
		}
	}
}

// unclaimed is for an attempt whose claim nobody filled.
func (m *Machine) unclaimed(dir string, h target.Handle, st claimState) (o target.Observation, again bool, err error) {
	o = target.Observation{Handle: h, Status: target.Absent}
	s, ok, err := readSpec(dir)
	if err != nil {
		return target.Observation{}, false, err
	}
	if !ok || s.Nonce != h.Nonce {
		return o, false, nil // without its spec no supervisor can begin
	}
	if s.Boot != m.boot {
		return target.Observation{Handle: h, Status: target.Gone, Detail: "the machine rebooted"}, false, nil
	}
	if st == claimEmpty {
		return o, false, nil
	}
	barred, err := bar(dir)
	if err != nil {
		return target.Observation{}, false, err
	}
	return o, !barred, nil
}

// recorded is Ended if there is a record of this attempt, Absent if there is one of another, and
// has no status if there is none.
func (m *Machine) recorded(dir string, h target.Handle) (target.Observation, error) {
	r, err := readRecord(dir)
	switch {
	case err != nil || r == nil:
		return target.Observation{}, err
	case r.Nonce != h.Nonce || r.Key != h.Key:
		return target.Observation{Handle: h, Status: target.Absent}, nil
	}
	return target.Observation{Handle: h, Status: target.Ended, Pid: r.Pid, StartedAt: r.StartedAt, Exit: &r.Exit, Record: r}, nil
}

// gone is for an attempt whose supervisor died without a record. What is left of its processes is
// killed first, so that nothing of it runs beside the next attempt.
func (m *Machine) gone(ctx context.Context, dir string, h target.Handle, holding pasar.Holding, damaged error) (target.Observation, error) {
	o := target.Observation{Handle: h, Status: target.Gone, Tail: tail(dir)}
	if holding.Boot != m.boot {
		o.Detail = "the machine rebooted"
		return o, nil
	}
	o.Detail = fmt.Sprintf("its supervisor (pid %d) ended without an exit record", holding.Pid)
	if damaged != nil {
		o.Detail = fmt.Sprintf("its supervisor (pid %d) left a damaged exit record", holding.Pid)
	}
	m.mu.Lock()
	result, cleared := m.cleared[h]
	m.mu.Unlock()
	if cleared {
		o.UnitResult = result
		return o, nil
	}
	began := ctx
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	hunt := newHunter(h.Nonce, holding.Pid, holding.StartTime, m.o.Supervisor)
	var inCgroup int
	cgroup, own := cgroupOf(holding)
	if own {
		inCgroup = hunt.killCgroup(ctx, cgroup)
	}
	n, err := hunt.clear(ctx)
	n += inCgroup
	if own && holding.Place == pasar.PlaceCgroup {
		_ = removeCgroup(cgroup)
	}
	if err != nil {
		return target.Observation{}, err // not gone while it runs
	}
	m.removeSocket(holding.Socket)
	if n > 0 {
		m.log.Warn("killed what an attempt left", keyAttempt, h.Key.String(), "processes", n)
	}
	o.UnitResult = m.unitResult(began, holding) // now that the unit has ended
	m.mu.Lock()
	m.cleared[h] = o.UnitResult
	m.mu.Unlock()
	return o, nil
}

// tailRead is how much of the end of an output is looked at for its last lines.
const tailRead = 64 << 10

// tail is the last lines of an output for a record that will never be: the raw bytes split at line
// ends, with control characters made visible. They aren't rendered: a terminal's screen model is not
// for this package.
func tail(dir string) []string {
	l, err := attemptdir.OpenLog(dir)
	if err != nil {
		return nil
	}
	defer l.Close()
	var b []byte
	buf := make([]byte, tailRead)
	for off := max(0, l.End()-tailRead); ; {
		n, next, err := l.Read(buf, off)
		b = append(b, buf[:n]...)
		if err != nil || next == off {
			return lastLines(b)
		}
		off = next
	}
}

// lastLines are the last pasar.TailLines lines within pasar.TailBytes, cleaned. Of a line that was
// overwritten by carriage returns the last state is kept.
func lastLines(b []byte) []string {
	b = bytes.TrimRight(b, "\r\n")
	if len(b) == 0 {
		return nil
	}
	var lines []string
	size := 0
	for len(lines) < pasar.TailLines && b != nil {
		i := bytes.LastIndexByte(b, '\n')
		raw := bytes.TrimRight(b[i+1:], "\r")
		if j := bytes.LastIndexByte(raw, '\r'); j >= 0 {
			raw = raw[j+1:]
		}
		line := pasar.Clean(string(raw))
		if size += len(line); size > pasar.TailBytes {
			break
		}
		lines = append(lines, line)
		if i < 0 {
			break
		}
		b = b[:i]
	}
	for i, j := 0, len(lines)-1; i < j; i, j = i+1, j-1 {
		lines[i], lines[j] = lines[j], lines[i]
	}
	return lines
}

package supervisor

import (
	"log/slog"

	"pasar"
)

// A kit is what any attempt needs, made while the supervisor is warm so that no launch waits for it.
type kit struct {
	reap   *reaper
	forker *forker
	notify *notifier
	cell   *cell     // nil without a cgroup of our own
	term   *terminal // nil if it couldn't be made: the launch tries again, and says why not
}

// newKit makes one. A cgroup that can't be divided is no reason not to run jobs: it is done without.
func newKit(log *slog.Logger, place pasar.Place) *kit {
	k := &kit{reap: newReaper(), forker: newForker(), notify: newNotifier(log)}
	c, err := openCell(log, place)
	if err != nil {
		log.Warn("jobs are held without a cgroup", "error", err)
	}
	k.cell, k.forker.cell = c, c
	if t, err := openTerminal(usualCols, usualRows); err == nil {
		k.term = t
	}
	return k
}

// terminal is the terminal for an attempt, of a size; 0 is the usual one.
func (k *kit) terminal(cols, rows int) (*terminal, error) {
	t := k.term
	k.term = nil
	if t == nil {
		return openTerminal(cols, rows)
	}
	if err := t.resize(cols, rows); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

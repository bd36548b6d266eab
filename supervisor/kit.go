package supervisor

import (
	"log/slog"
)

// A kit is what any attempt needs, made while the supervisor is warm so that no launch waits for it.
type kit struct {
	reap   *reaper
	forker *forker
	notify *notifier
	term   *terminal // nil if it couldn't be made: the launch tries again, and says why not
}

func newKit(log *slog.Logger) *kit {
	k := &kit{reap: newReaper(), forker: newForker(), notify: newNotifier(log)}
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

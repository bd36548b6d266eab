package local

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"pasar"
)

func TestWhatBecameOfAUnitIsReadFromItsManagersJournal(t *testing.T) {
	const unit = "pasar-0123456789abcdef.service"
	good := pasar.Holding{Place: pasar.PlaceUnit, Boot: "b", Cgroup: "/sys/fs/cgroup/a/" + unit}
	with := func(edit func(*pasar.Holding)) pasar.Holding {
		h := good
		edit(&h)
		return h
	}
	for name, c := range map[string]struct {
		holding pasar.Holding
		said    []string // one after the other; the last one stays
		err     error
		want    string
		asked   int
	}{
		"killed for memory": {good, []string{unit + ": systemd-oomd killed 3 process(es) in this unit.\n" + unit + ": Main process exited, code=killed, status=9/KILL\n" + unit + ": Failed with result 'oom-kill'.\n"}, nil, "oom-kill", 1},
		"a moment later":    {good, []string{unit + ": Main process exited, code=killed, status=9/KILL\n", unit + ": Failed with result 'signal'.\n"}, nil, "signal", 2},
		"nothing is said":   {good, []string{"started\n"}, nil, "", unitTries},
		"what a job prints": {good, []string{"it Failed with result 'oom-kill'.\n"}, nil, "", unitTries},
		"no journal":        {good, []string{""}, errors.New("no journalctl"), "", 1},
		"no unit":           {with(func(h *pasar.Holding) { h.Place = pasar.PlaceCgroup }), nil, nil, "", 0},
		"another boot":      {with(func(h *pasar.Holding) { h.Boot = "a" }), nil, nil, "", 0},
		"no unit's cgroup":  {with(func(h *pasar.Holding) { h.Cgroup = "/sys/fs/cgroup/user.slice" }), nil, nil, "", 0},
		"an old claim":      {with(func(h *pasar.Holding) { h.Cgroup = "" }), nil, nil, "", 0},
	} {
		asked := 0
		m := &Machine{boot: "b", log: slog.New(slog.DiscardHandler), journal: func(_ context.Context, of string) ([]byte, error) {
			if of != unit {
				t.Errorf("%s: asked for %s", name, of)
			}
			asked++
			return []byte(c.said[min(asked, len(c.said))-1]), c.err
		}}
		if got := m.unitResult(t.Context(), c.holding); got != c.want || asked != c.asked {
			t.Errorf("%s: %q after %d times", name, got, asked)
		}
	}
}

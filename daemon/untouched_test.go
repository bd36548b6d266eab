package daemon

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
)

func TestAJobThatNeverUsedItsGPUIsToldOfGPUsZero(t *testing.T) {
	for name, c := range map[string]struct {
		claim pasar.Claim
		ran   time.Duration
		touch bool
		hint  bool
	}{
		"never used it": {whole(1), minute, false, true},
		"used it":       {whole(1), minute, true, false},
		"was too quick": {whole(1), time.Second, false, false},
		"has a slice":   {slice(10 * pasar.GiB), minute, false, false},
		"has no GPU":    {pasar.Claim{Kind: pasar.NoGPU}, minute, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, g := metered(newWorld(t, 1))
				d := w.start(nil)
				s := spec("a", 1000)
				s.Claim = c.claim
				id := d.submit(s)
				if c.touch {
					g.show(g.hold(0, 70, key(id, 1), pasar.GiB))
					time.Sleep(10 * time.Second)
					g.show(g.hold(0, 70, key(id, 1), 0))
				}
				time.Sleep(c.ran)
				w.machine.Finish(key(id, 1), 0)
				d.expect(id, pasar.Completed)
				if got := strings.Contains(d.lookupOrFind(id).Verdict.Hint, "--gpus 0"); got != c.hint {
					t.Errorf("the hint is %q", d.lookupOrFind(id).Verdict.Hint)
				}
			})
		})
	}
}

package console

import (
	"math"
	"time"

	"pasar"
	"pasar/ui"
)

// gauges keeps how busy each GPU was while the console was open.
type gauges struct {
	last time.Time
	use  map[string][]float64 // percent, by GPU; the newest last
}

const (
	gaugeEvery = 2 * time.Second
	gaugeMost  = 240
)

func newGauges() *gauges { return &gauges{use: map[string][]float64{}} }

// take notes what a snapshot says, unless the last was noted just before.
func (g *gauges) take(s *ui.Snapshot) {
	if s.GPUs == nil || s.Lost != "" || s.At.Sub(g.last) < gaugeEvery {
		return
	}
	g.last = s.At
	seen := map[string]bool{}
	for _, m := range s.GPUs.Machines {
		for i := range m.GPUs {
			v := &m.GPUs[i]
			key := gaugeKey(m.Name, v)
			seen[key] = true
			x := math.NaN()
			if v.Util != nil {
				x = *v.Util
			}
			series := append(g.use[key], x)
			g.use[key] = series[max(0, len(series)-gaugeMost):]
		}
	}
	for key := range g.use {
		if !seen[key] {
			delete(g.use, key)
		}
	}
}

func gaugeKey(machine string, g *pasar.GPUView) string { return machine + "/" + g.UUID }

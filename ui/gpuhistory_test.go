package ui

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pasar"
)

// ups is a history of three hours: a GPU that worked, one that idled with a gap, and one that is gone.
func ups() *pasar.GPUHistoryView {
	const n = 180
	v := &pasar.GPUHistoryView{Schema: pasar.Schema, Source: "samples", Step: pasar.Duration(time.Minute), From: now.Add(-n * time.Minute), Until: now}
	point := func(i int, gib, util float64) pasar.GPUSampleView {
		return pasar.GPUSampleView{At: v.From.Add(time.Duration(i) * time.Minute), Used: ptr(pasar.Bytes(gib * float64(pasar.GiB))), Util: ptr(util)}
	}
	busy := pasar.GPUSeriesView{Index: ptr(0), UUID: "GPU-0", Name: ptr("NVIDIA H200"), Mem: ptr(139 * pasar.GiB)}
	idle := pasar.GPUSeriesView{Index: ptr(1), UUID: "MIG-12345678-1234", Name: ptr("NVIDIA A100 MIG 3g.20gb")}
	gone := pasar.GPUSeriesView{UUID: "GPU-2\x1b[2J", Points: []pasar.GPUSampleView{{At: v.From, TempC: ptr(40.0)}}}
	for i := range n {
		busy.Points = append(busy.Points, point(i, 2+130*math.Abs(math.Sin(float64(i)/30)), 50+50*math.Sin(float64(i)/9)))
		if i > 20 && (i < 60 || i > 100) {
			idle.Points = append(idle.Points, point(i, 0, 0))
		}
	}
	v.GPUs = []pasar.GPUSeriesView{busy, idle, gone}
	return v
}

func TestAHistoryOfGPUsIsSeenAtAGlance(t *testing.T) {
	golden(t, "gpuhistory.txt", GPUHistory(ups(), now, Style{}))
	golden(t, "gpuhistory-80.txt", GPUHistory(ups(), now, Style{Width: 80}))
	longer := ups()
	longer.Source, longer.Note = "prometheus", ptr("all that\x1b[2J is known")
	if got := GPUHistory(longer, now, Style{}); !strings.HasPrefix(got, "all that\\x1b[2J is known\n") || !strings.Contains(got, "every 1m, from Prometheus\n") {
		t.Error(got)
	}
	if got := GPUHistory(&pasar.GPUHistoryView{}, now, Style{}); got != "no GPU was seen in that time\n" {
		t.Errorf("%q", got)
	}
}

func TestAnyHistoryOfGPUsIsDrawn(t *testing.T) {
	for seed := range uint64(300) {
		r := maker{rand.New(rand.NewPCG(seed, 11))}
		v := &pasar.GPUHistoryView{Step: pasar.Duration(r.Int64() >> r.IntN(60)), From: r.time(), Until: r.time()}
		for range r.IntN(3) {
			g := pasar.GPUSeriesView{Index: some(r, r.IntN(3)), UUID: r.name(), Name: some(r, r.name()), Mem: some(r, r.size())}
			for range r.IntN(30) {
				g.Points = append(g.Points, pasar.GPUSampleView{At: r.time(), Used: some(r, r.size()), Util: some(r, r.number())})
			}
			v.GPUs = append(v.GPUs, g)
		}
		GPUHistory(v, r.time(), Style{Width: r.IntN(90)})
	}
}

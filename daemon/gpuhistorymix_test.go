package daemon

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/ipc"
)

// A samplesPast has a point of each of its GPUs in each step.
type samplesPast []string

func (p samplesPast) View(since, until time.Time, points int) pasar.GPUHistoryView {
	step := until.Sub(since) / time.Duration(points)
	v := pasar.GPUHistoryView{Schema: pasar.Schema, Source: "samples", Step: pasar.Duration(step), From: since, Until: until, GPUs: []pasar.GPUSeriesView{}}
	for _, uuid := range p {
		v.GPUs = append(v.GPUs, seriesOf(uuid, since, until, step, "own"))
	}
	return v
}

func seriesOf(uuid string, from, to time.Time, step time.Duration, whose string) pasar.GPUSeriesView {
	s := pasar.GPUSeriesView{UUID: uuid}
	use := map[string]float64{"own": 1, "prometheus": 2}[whose]
	for at := from; at.Before(to); at = at.Add(step) {
		s.Points = append(s.Points, pasar.GPUSampleView{At: at, Util: &use})
	}
	return s
}

// A partLonger has of each of its GPUs the time that is asked for but for what lies between two times ago.
type partLonger map[string][2]time.Duration

func (l partLonger) View(_ context.Context, _ string, _ []string, since, until time.Time, points int) (pasar.GPUHistoryView, error) {
	step := (until.Sub(since) + time.Duration(points) - 1) / time.Duration(points)
	v := pasar.GPUHistoryView{Schema: pasar.Schema, Source: "prometheus", Step: pasar.Duration(step), From: since, Until: until, GPUs: []pasar.GPUSeriesView{}}
	for uuid, without := range l {
		s := seriesOf(uuid, since, until, step, "prometheus")
		s.Points = slices.DeleteFunc(s.Points, func(p pasar.GPUSampleView) bool {
			return !p.At.Before(until.Add(-without[0])) && p.At.Before(until.Add(-without[1]))
		})
		if len(s.Points) > 0 {
			v.GPUs = append(v.GPUs, s)
		}
	}
	return v, nil
}

func TestWhatAPrometheusLacksIsToldFromWhatPasarKept(t *testing.T) {
	const nothing = "this is of the last day, which pasar itself keeps: Prometheus has nothing of this time"
	const partly = "where Prometheus has nothing of the last day, this is what pasar itself kept"
	hour, all := time.Hour, [2]time.Duration{1000 * time.Hour, -time.Hour}
	whole := [2]time.Duration{}
	synctest.Test(t, func(t *testing.T) {
		d := newWorld(t, 2).start(nil)
		synctest.Wait()
		there := machineNow(t, d).GPUs
		a, b := there[0].UUID, there[1].UUID
		now := d.Clock.Now()
		s := *d.settings.Load()
		s.PrometheusURL = "http://p:9090"
		d.SetSettings(s)
		for name, c := range map[string]struct {
			past         samplesPast
			longer       partLonger
			since, until time.Duration // ago
			points       int
			source, note string
			own, theirs  map[string]int // points of each GPU
		}{
			"it has all":                   {samplesPast{a, b}, partLonger{a: whole, b: whole}, 168 * hour, 0, 168, "prometheus", "", nil, map[string]int{a: 168, b: 168}},
			"it has nothing":               {samplesPast{a, b}, partLonger{}, 168 * hour, 0, 24, "samples", nothing, map[string]int{a: 24, b: 24}, nil},
			"nobody has anything":          {nil, partLonger{}, 168 * hour, 0, 24, "samples", nothing, nil, nil},
			"it lacks a GPU":               {samplesPast{a, b}, partLonger{b: whole}, 168 * hour, 0, 168, "prometheus", partly, map[string]int{a: 24}, map[string]int{b: 168}},
			"it lacks one that is gone":    {samplesPast{"gone"}, partLonger{b: whole}, 168 * hour, 0, 168, "prometheus", partly, map[string]int{"gone": 24}, map[string]int{b: 168}},
			"it stopped five hours ago":    {samplesPast{a}, partLonger{a: {5 * hour, 0}}, 168 * hour, 0, 168, "prometheus", partly, map[string]int{a: 5}, map[string]int{a: 163}},
			"it began five hours ago":      {samplesPast{a}, partLonger{a: {1000 * hour, 5 * hour}}, 168 * hour, 0, 168, "prometheus", partly, map[string]int{a: 19}, map[string]int{a: 5}},
			"it was away in between":       {samplesPast{a}, partLonger{a: {9 * hour, 4 * hour}}, 168 * hour, 0, 168, "prometheus", partly, map[string]int{a: 5}, map[string]int{a: 163}},
			"it hasn't looked yet":         {samplesPast{a}, partLonger{a: {hour, 0}}, 168 * hour, 0, 168, "prometheus", "", map[string]int{a: 1}, map[string]int{a: 167}},
			"neither looked":               {nil, partLonger{a: {9 * hour, 4 * hour}}, 168 * hour, 0, 168, "prometheus", "", nil, map[string]int{a: 163}},
			"before what pasar keeps":      {samplesPast{a}, partLonger{}, 168 * hour, 48 * hour, 24, "prometheus", "Prometheus has nothing of this time", nil, nil},
			"a GPU of before that":         {samplesPast{a, b}, partLonger{b: whole}, 168 * hour, 48 * hour, 120, "prometheus", "", nil, map[string]int{b: 120}},
			"steps that fit no day":        {samplesPast{a, b}, partLonger{a: all, b: whole}, 168 * hour, 0, 24, "prometheus", partly, map[string]int{a: 3}, map[string]int{b: 24}},
			"a step that is over a day":    {samplesPast{a, b}, partLonger{b: whole}, 720 * hour, 0, 1, "prometheus", "", nil, map[string]int{b: 1}},
			"of one the most, of one none": {samplesPast{a, b}, partLonger{a: {3 * hour, 0}, b: whole}, 168 * hour, 0, 168, "prometheus", partly, map[string]int{a: 3}, map[string]int{a: 165, b: 168}},
		} {
			d.Past, d.Longer = c.past, c.longer
			v, err := d.gpuHistory(t.Context(), ipc.GPUHistoryRequest{Since: now.Add(-c.since), Until: now.Add(-c.until), Points: c.points})
			if err != nil {
				t.Fatal(err)
			}
			note := ""
			if v.Note != nil {
				note = *v.Note
			}
			if v.Source != c.source || note != c.note {
				t.Errorf("%s: from %s, with the note %q", name, v.Source, note)
			}
			for _, g := range v.GPUs {
				got := map[float64]int{}
				last := v.From.Add(-1)
				for _, p := range g.Points {
					got[*p.Util]++
					if !p.At.After(last) || p.At.Sub(v.From)%time.Duration(v.Step) != 0 || !p.At.Before(v.Until) {
						t.Errorf("%s: a point of %s at %s, after %s, by steps of %s from %s", name, g.UUID, p.At, last, v.Step, v.From)
					}
					last = p.At
				}
				if got[1] != c.own[g.UUID] || got[2] != c.theirs[g.UUID] {
					t.Errorf("%s: of %s %d points are pasar's own and %d are not", name, g.UUID, got[1], got[2])
				}
			}
			for _, want := range []map[string]int{c.own, c.theirs} {
				for uuid := range want {
					if !slices.ContainsFunc(v.GPUs, func(g pasar.GPUSeriesView) bool { return g.UUID == uuid }) {
						t.Errorf("%s: %s isn't told of", name, uuid)
					}
				}
			}
		}
	})
}

func TestWhatIsAddedToAHistoryFitsIntoAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newWorld(t, 2).start(nil)
		synctest.Wait()
		now := d.Clock.Now()
		var many samplesPast
		for i := range 64 {
			many = append(many, strings.Repeat("x", 1+i))
		}
		d.Past = many
		step := 2 * time.Minute
		v := pasar.GPUHistoryView{Schema: pasar.Schema, Step: pasar.Duration(step), From: now.Add(-24 * time.Hour), Until: now,
			GPUs: []pasar.GPUSeriesView{seriesOf("GPU", now.Add(-24*time.Hour), now, step, "prometheus")}}
		v, _ = d.completed(v, now.Add(-24*time.Hour))
		n := 0
		for _, g := range v.GPUs {
			n += len(g.Points)
		}
		if n > mostPoints || n < mostPoints-720 {
			t.Errorf("%d points", n)
		}
	})
}

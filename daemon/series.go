package daemon

import (
	"maps"
	"math"
	"slices"

	"pasar"
)

// A series is the progress that an attempt reported, thinned out evenly: one report in stride, and the latest. However
// much is reported, it has at most pasar.MaxMetrics points, and its JSON fits a frame.
type series struct {
	kept   []pasar.MetricsPoint // of the reports 0, stride, 2·stride, …
	latest pasar.MetricsPoint
	seen   int // reports so far
	stride int // a power of two; 0: nothing was seen
	weight int // of kept
}

const (
	// maxSeries bounds the weight of a series, in bytes of JSON. With the latest point it stays well below a frame.
	maxSeries = 3 << 20
	// maxPointMetrics is how many metrics of a point are kept, the first by name: no fewer than jobproto lets a job
	// report at once.
	maxPointMetrics = 64
)

func (s *series) add(p pasar.MetricsPoint) {
	n := s.seen
	s.seen++
	s.latest = p
	s.stride = max(s.stride, 1)
	w := weigh(&p)
	for n%s.stride == 0 && (len(s.kept) == pasar.MaxMetrics-1 || s.weight+w > maxSeries && len(s.kept) > 1) {
		s.halve()
	}
	if n%s.stride == 0 {
		s.kept = append(s.kept, p)
		s.weight += w
	}
}

// halve drops every second point.
func (s *series) halve() {
	s.stride *= 2
	s.weight = 0
	for i := 0; i < len(s.kept); i += 2 {
		s.kept[i/2] = s.kept[i]
		s.weight += weigh(&s.kept[i])
	}
	n := (len(s.kept) + 1) / 2
	clear(s.kept[n:])
	s.kept = s.kept[:n]
}

// points is a copy, oldest first; never nil.
func (s *series) points() []pasar.MetricsPoint {
	points := make([]pasar.MetricsPoint, 0, len(s.kept)+1)
	points = append(points, s.kept...)
	if s.seen > 0 && (s.seen-1)%s.stride != 0 {
		points = append(points, s.latest)
	}
	return points
}

// weigh is at least how many bytes a point's JSON has.
func weigh(p *pasar.MetricsPoint) int {
	const point, number = 128, 32
	w := point
	for name := range p.Metrics {
		w += number + len(name)
		for i := range len(name) {
			switch name[i] {
			case '<', '>', '&', '"', '\\', 0xe2: // escaped, as U+2028 is
				w += 5
			}
		}
	}
	return w
}

// pointOf is a report as a point of a series, without its time: what no JSON could have is left out.
func pointOf(e *pasar.Event) pasar.MetricsPoint {
	finite := func(f *float64) *float64 {
		if f == nil || math.IsNaN(*f) || math.IsInf(*f, 0) {
			return nil
		}
		return f
	}
	p := pasar.MetricsPoint{Step: finite(e.Step), Total: finite(e.TotalSteps), Metrics: e.Metrics}
	good := len(e.Metrics) <= maxPointMetrics
	for _, v := range e.Metrics {
		good = good && finite(&v) != nil
	}
	if good {
		return p // an event is never changed
	}
	p.Metrics = map[string]float64{}
	for _, name := range slices.Sorted(maps.Keys(e.Metrics)) {
		if v := e.Metrics[name]; finite(&v) != nil && len(p.Metrics) < maxPointMetrics {
			p.Metrics[name] = v
		}
	}
	return p
}

// samePoint reports whether two points say the same.
func samePoint(a, b *pasar.MetricsPoint) bool {
	same := func(x, y *float64) bool { return x == nil && y == nil || x != nil && y != nil && *x == *y }
	return same(a.Step, b.Step) && same(a.Total, b.Total) && maps.Equal(a.Metrics, b.Metrics)
}

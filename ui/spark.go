package ui

import (
	"math"
	"strings"

	"pasar"
)

var (
	sparks      = []rune("▁▂▃▄▅▆▇█")
	asciiSparks = []rune(" .:-=+*#")
)

// Spark draws a series of values in so many columns, the latest last, from its least value to its greatest. More values
// than columns are averaged; a value that is no number is a gap, and a series that never changes is level.
func Spark(values []float64, width int, ascii bool) string {
	lo, hi := math.Inf(1), math.Inf(-1)
	values = spread(values, width)
	for _, v := range values {
		if number(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	return sparkOf(values, width, lo, hi, ascii)
}

// SparkOf does the same from a value to another, whatever is in the series.
func SparkOf(values []float64, width int, lo, hi float64, ascii bool) string {
	return sparkOf(spread(values, width), width, lo, hi, ascii)
}

func sparkOf(values []float64, width int, lo, hi float64, ascii bool) string {
	signs := sparks
	if ascii {
		signs = asciiSparks
	}
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", max(0, width-len(values)))) // before it began
	for _, v := range values {
		if !number(v) {
			b.WriteByte(' ')
			continue
		}
		part := 0.5
		if lo < hi {
			part = (v/2 - lo/2) / (hi/2 - lo/2) // their difference may be beyond all numbers
		}
		b.WriteRune(signs[int(min(max(part, 0), 1)*float64(len(signs)-1)+0.5)])
	}
	return b.String()
}

func number(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// spread is a series in at most so many values, each the mean of as many as any other.
func spread(values []float64, width int) []float64 {
	if width <= 0 {
		return nil
	}
	n := len(values)
	if n <= width {
		return values
	}
	out := make([]float64, width)
	for i := range out {
		sum, count := 0.0, 0.0
		part := values[i*n/width : (i+1)*n/width]
		for _, v := range part {
			if number(v) {
				sum, count = sum+v/float64(len(part)), count+1
			}
		}
		if out[i] = math.NaN(); count > 0 {
			out[i] = sum * (float64(len(part)) / count)
		}
	}
	return out
}

var eighths = []rune("▏▎▍▌▋▊▉")

// Meter is a bar that is full to a part of 1, in so many columns.
func Meter(part float64, width int, ascii bool) string {
	if width <= 0 {
		return ""
	}
	if math.IsNaN(part) {
		part = 0
	}
	part = min(max(part, 0), 1)
	if ascii {
		n := int(part * float64(width))
		return strings.Repeat("#", n) + strings.Repeat(".", width-n)
	}
	n := int(part * float64(width) * 8)
	bar := strings.Repeat("█", n/8)
	if n%8 > 0 {
		bar += string(eighths[n%8-1])
	}
	return bar + strings.Repeat(" ", width-n/8-min(n%8, 1))
}

// maxSeries is how many metrics of a job are drawn.
const maxSeries = 8

// MetricSeries takes what an attempt reported apart: a series for each metric, by name, with a gap where a report
// lacks it.
func MetricSeries(m *pasar.MetricsView) (names []string, series map[string][]float64) {
	series = map[string][]float64{}
	if m == nil {
		return nil, series
	}
	seen := map[string]bool{}
	for i := range m.Points {
		for k := range m.Points[i].Metrics {
			seen[k] = true
		}
	}
	names = sortedKeys(seen)
	names = names[:min(maxSeries, len(names))]
	for _, k := range names {
		values := make([]float64, len(m.Points))
		for i := range m.Points {
			v, ok := m.Points[i].Metrics[k]
			if !ok {
				v = math.NaN()
			}
			values[i] = v
		}
		series[k] = values
	}
	return names, series
}

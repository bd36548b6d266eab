package ui

import (
	"math"
	"strconv"
	"strings"
	"time"

	"pasar"
)

const (
	leastSpark = 8
	mostSpark  = 72
	statsWidth = 50   // "min 2 GiB  mean 87.7 GiB  max 132 GiB of 139 GiB" and a little
	mostPoints = 8640 // of a day at 10 s, which is all that can be asked for
)

// GPUHistory is the memory and the use of each GPU over a time, as lines with the least, the mean and the most:
// `pasar gpus --history 6h`.
func GPUHistory(v *pasar.GPUHistoryView, now time.Time, s Style) string {
	p := &page{s: s}
	if v.Note != nil {
		p.hang(pasar.Clean(*v.Note), 2)
	}
	if len(v.GPUs) == 0 {
		p.line("no GPU was seen in that time")
		return p.b.String()
	}
	from := ""
	if v.Source == "prometheus" {
		from = ", from Prometheus"
	}
	p.hang(s.Dim(When(v.From, now)+" to "+When(v.Until, now)+", a point every "+v.Step.String()+from), 2)
	for i := range v.GPUs {
		g := &v.GPUs[i]
		p.hang(s.Bold(seriesName(g)), 2)
		most, of := math.NaN(), ""
		if g.Mem != nil && *g.Mem > 0 {
			most, of = float64(*g.Mem), " of "+g.Mem.String()
		}
		p.series("memory", grid(v, g, func(x *pasar.GPUSampleView) *float64 {
			if x.Used == nil {
				return nil
			}
			f := float64(*x.Used)
			return &f
		}), most, func(f float64) string { return pasar.Bytes(f).String() }, of)
		p.series("use", grid(v, g, func(x *pasar.GPUSampleView) *float64 { return x.Util }), 100,
			func(f float64) string { return strconv.FormatFloat(f, 'f', 0, 64) }, " %")
	}
	return p.b.String()
}

// seriesName says which GPU it is; one that isn't there any more has its UUID only.
func seriesName(g *pasar.GPUSeriesView) string {
	uuid := pasar.Clean(g.UUID)
	if g.Index == nil {
		return uuid + "  isn't there now"
	}
	name := "GPU " + strconv.Itoa(*g.Index)
	if g.Name != nil {
		name += "  " + strings.TrimPrefix(pasar.Clean(*g.Name), "NVIDIA ")
	}
	if strings.HasPrefix(uuid, "MIG-") {
		name += " " + uuid[:min(len(uuid), shortUUID)]
	}
	return name
}

// grid is a value at each step from the beginning to the end, no number where it isn't known.
func grid(v *pasar.GPUHistoryView, g *pasar.GPUSeriesView, value func(*pasar.GPUSampleView) *float64) []float64 {
	step := time.Duration(v.Step)
	if step <= 0 || !v.From.Before(v.Until) {
		return nil
	}
	out := make([]float64, min(mostPoints, (v.Until.Sub(v.From)-1)/step+1))
	for i := range out {
		out[i] = math.NaN()
	}
	for i := range g.Points {
		x := &g.Points[i]
		if at := x.At.Sub(v.From); at >= 0 && at/step < time.Duration(len(out)) {
			if f := value(x); f != nil {
				out[at/step] = *f
			}
		}
	}
	return out
}

// series is one line, drawn from 0 to the most that there could be, or that there was.
func (p *page) series(label string, values []float64, top float64, text func(float64) string, unit string) {
	const indent, labels = 2, 8
	least, most, sum, n := math.Inf(1), math.Inf(-1), 0.0, 0.0
	for _, f := range values {
		if number(f) {
			least, most, sum, n = min(least, f), max(most, f), sum+f, n+1
		}
	}
	line := strings.Repeat(" ", indent) + p.s.Dim(pad(label, labels))
	if n == 0 {
		p.hang(line+"not known", indent+labels)
		return
	}
	if !number(top) {
		top = most
	}
	if top <= 0 {
		top = 1 // nothing but zeros: they stand on the ground
	}
	words := "min " + text(least) + "  mean " + text(sum/n) + "  max " + text(most) + unit
	width := mostSpark
	if p.s.Width > 0 {
		width = min(width, max(leastSpark, p.s.Width-indent-labels-gap-statsWidth))
	}
	width = min(width, max(leastSpark, len(values)))
	p.hang(line+p.s.paint(green, SparkOf(values, width, 0, top, false))+strings.Repeat(" ", gap)+words, indent+labels)
}

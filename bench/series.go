package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// A series is repeated measurements of one thing in one unit.
type series struct {
	Unit   string // ms, jobs/s, MiB, ms/MB, count
	Values []float64
}

// quantile interpolates between the two nearest values; NaN when there is none.
func (s series) quantile(q float64) float64 {
	if len(s.Values) == 0 {
		return math.NaN()
	}
	v := slices.Sorted(slices.Values(s.Values))
	at := q * float64(len(v)-1)
	i := int(at)
	if i+1 == len(v) {
		return v[i]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}

func (s series) median() float64 { return s.quantile(0.5) }

// String is the median with the range: "2.31 ms (2.10–4.02)".
func (s series) String() string {
	switch len(s.Values) {
	case 0:
		return "–"
	case 1:
		return digits(s.Values[0]) + " " + s.Unit
	}
	return fmt.Sprintf("%s %s (%s–%s)", digits(s.median()), s.Unit, digits(s.quantile(0)), digits(s.quantile(1)))
}

// digits shows three significant digits, and whole numbers whole.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case a >= 100 || v == math.Trunc(v):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 0.1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// A contender is one side of a comparison. Each call of once gives one or more measurements.
type contender struct {
	unit string
	once func(ctx context.Context) ([]float64, error)
}

// interleave lets the contenders take turns, A B A B, with the first one changing from round to round,
// so that what else the machine does falls on all alike.
func interleave(ctx context.Context, rounds int, cs ...contender) ([]series, error) {
	out := make([]series, len(cs))
	for i, c := range cs {
		out[i].Unit = c.unit
	}
	for r := range rounds {
		for k := range cs {
			i := (r + k) % len(cs)
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			v, err := cs[i].once(ctx)
			if err != nil {
				return nil, err
			}
			out[i].Values = append(out[i].Values, v...)
		}
	}
	return out, nil
}

package daemon

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"pasar"
	"pasar/ipc"
)

func stepped(step float64) pasar.MetricsPoint { return pasar.MetricsPoint{Step: &step} }

func TestASeriesIsThinnedOutEvenlyAndEndsWithTheLatest(t *testing.T) {
	for _, n := range []int{0, 1, 2, 511, 512, 513, 1000, 1022, 1023, 5000, 131_072, 300_001} {
		var s series
		for i := range n {
			s.add(stepped(float64(i)))
		}
		points := s.points()
		if len(points) > pasar.MaxMetrics || len(points) < min(n, pasar.MaxMetrics/2) || points == nil {
			t.Fatalf("of %d reports %d are kept", n, len(points))
		}
		if n < pasar.MaxMetrics && len(points) != n {
			t.Errorf("of %d reports only %d are kept", n, len(points))
		}
		for i, p := range points {
			switch {
			case i == len(points)-1 && *p.Step != float64(n-1):
				t.Errorf("of %d reports the last kept is %v", n, *p.Step)
			case i < len(points)-1 && *p.Step != float64(i*s.stride):
				t.Fatalf("of %d reports point %d is %v; one in %d is kept", n, i, *p.Step, s.stride)
			}
		}
	}
}

func TestPointsThatWereReadStayAsTheyWere(t *testing.T) {
	var s series
	for i := range pasar.MaxMetrics - 1 {
		s.add(stepped(float64(i)))
	}
	read := s.points()
	for i := range 5000 {
		s.add(stepped(float64(-i)))
	}
	for i, p := range read {
		if *p.Step != float64(i) {
			t.Fatalf("point %d has become %v", i, *p.Step)
		}
	}
}

func TestTheLargestSeriesFitsAFrame(t *testing.T) {
	for _, char := range []string{"x", "<", "\u2028", "é"} {
		metrics := map[string]float64{}
		for i := range maxPointMetrics + 10 {
			metrics[fmt.Sprint(i, strings.Repeat(char, 97/len(char)))] = -math.MaxFloat64
		}
		var s series
		for i := range 3000 {
			step := float64(i)
			s.add(pointOf(&pasar.Event{Step: &step, Metrics: metrics}))
		}
		points := s.points()
		b, err := json.Marshal(pasar.MetricsView{Points: points})
		if err != nil || len(b) > ipc.MaxFrame-1024 || len(points) < 32 || *points[len(points)-1].Step != 2999 {
			t.Errorf("%q: %d points in %d bytes, %v", char, len(points), len(b), err)
		}
		if n := len(points[0].Metrics); n != maxPointMetrics {
			t.Errorf("%q: a point has %d metrics", char, n)
		}
	}
}

func TestWhatJSONCannotHaveIsNoPartOfAPoint(t *testing.T) {
	nan := math.NaN()
	e := &pasar.Event{Step: &nan, Metrics: map[string]float64{"a": 1, "b": math.Inf(1), "c": nan}}
	b, err := json.Marshal(pointOf(e))
	if want := `{"at":null,"step":null,"total":null,"metrics":{"a":1}}`; err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
	if len(e.Metrics) != 3 {
		t.Error("the event was changed")
	}
}

package ui

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pasar"
)

func TestASparkShowsTheLatestLastFromLeastToGreatest(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		values []float64
		width  int
		want   string
		ascii  string
	}{
		{nil, 3, "   ", "   "},
		{[]float64{1, 2, 3}, 0, "", ""},
		{[]float64{1, 2, 3}, -1, "", ""},
		{[]float64{0, 1, 2, 3, 4, 5, 6, 7}, 8, "▁▂▃▄▅▆▇█", " .:-=+*#"},
		{[]float64{0, 7}, 4, "  ▁█", "   #"},
		{[]float64{5, 5, 5}, 3, "▅▅▅", "==="},
		{[]float64{0, nan, inf, 7}, 4, "▁  █", "   #"},
		{[]float64{nan}, 2, "  ", "  "},
		{[]float64{0, 0, nan, 7, 7, 7}, 3, "▁██", " ##"},
		{[]float64{-math.MaxFloat64, math.MaxFloat64}, 2, "▁█", " #"},
	} {
		if got := Spark(c.values, c.width, false); got != c.want {
			t.Errorf("%v in %d: %q; want %q", c.values, c.width, got, c.want)
		}
		if got := Spark(c.values, c.width, true); got != c.ascii {
			t.Errorf("%v in %d: %q; want %q", c.values, c.width, got, c.ascii)
		}
	}
	if got := SparkOf([]float64{-5, 0, 50, 100, 200}, 5, 0, 100, false); got != "▁▁▅██" {
		t.Errorf("on a scale of its own: %q", got)
	}
}

func TestAMeterIsAsFullAsItsPart(t *testing.T) {
	for _, c := range []struct {
		part        float64
		want, ascii string
	}{
		{0, "    ", "...."}, {1, "████", "####"}, {0.5, "██  ", "##.."}, {0.54, "██▏ ", "##.."}, {0.97, "███▉", "###."},
		{-1, "    ", "...."}, {7, "████", "####"}, {math.NaN(), "    ", "...."},
	} {
		if got := Meter(c.part, 4, false); got != c.want {
			t.Errorf("%g: %q; want %q", c.part, got, c.want)
		}
		if got := Meter(c.part, 4, true); got != c.ascii {
			t.Errorf("%g: %q; want %q", c.part, got, c.ascii)
		}
	}
	if Meter(1, 0, false)+Meter(1, -3, true) != "" {
		t.Error("no columns")
	}
}

func TestMetricsAreSeriesWithGaps(t *testing.T) {
	v := &pasar.MetricsView{Points: []pasar.MetricsPoint{{Metrics: map[string]float64{"loss": 2, "acc": 0.1}}, {}, {Metrics: map[string]float64{"loss": 1}}}}
	names, series := MetricSeries(v)
	if got := fmt.Sprint(names, series["loss"], series["acc"]); got != "[acc loss] [2 NaN 1] [0.1 NaN NaN]" {
		t.Error(got)
	}
	for i := range 20 {
		v.Points = append(v.Points, pasar.MetricsPoint{Metrics: map[string]float64{strings.Repeat("x", i): 1}})
	}
	if names, series := MetricSeries(v); len(names) != maxSeries || len(series) != maxSeries {
		t.Errorf("%d names, %d series", len(names), len(series))
	}
	if names, _ := MetricSeries(nil); len(names) != 0 {
		t.Error("metrics of nothing")
	}
}

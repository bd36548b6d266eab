package ui

import (
	"fmt"
	"testing"

	"pasar"
)

func TestAJobKeepsItsHue(t *testing.T) {
	hue := func(name string, tags ...string) int { return Hue(&pasar.JobView{Name: name, Tags: tags}) }
	if hue("train-1") != hue("train-22") || hue("train-1") != hue("train-0001") {
		t.Error("jobs that differ in a number have different hues")
	}
	if hue("a", "vision", "x") != hue("b", "vision") {
		t.Error("jobs with the same first tag have different hues")
	}
	if got := []int{hue("train"), hue("eval"), hue("train", "vision"), Hue(nil)}; fmt.Sprint(got) != "[10 7 6 1]" {
		t.Errorf("hues have changed: %v", got)
	}
}

func TestHuesAreAllUsedAlike(t *testing.T) {
	var n [Hues + 1]int
	for i := range 1200 {
		n[Hue(&pasar.JobView{Tags: []string{fmt.Sprint("project-", i)}})]++
	}
	for h := 1; h <= Hues; h++ {
		if n[h] < 50 {
			t.Errorf("hue %d is that of %d in 1200", h, n[h])
		}
	}
}

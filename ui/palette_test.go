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

func TestJobsThatAreSeenTogetherHaveColoursOfTheirOwn(t *testing.T) {
	var jobs []*pasar.JobView
	for i := range Hues {
		jobs = append(jobs, &pasar.JobView{ID: pasar.JobID(i), Tags: []string{"tag" + string(rune('a'+i))}})
	}
	var p Palette
	p.See(jobs[:5])
	had := map[int]int{}
	for i, v := range jobs[:5] {
		had[i] = p.Hue(v)
	}
	p.See(jobs)
	seen := map[int]bool{}
	for i, v := range jobs {
		hue := p.Hue(v)
		if seen[hue] || hue < 1 || hue > Hues {
			t.Errorf("%d: hue %d", i, hue)
		}
		seen[hue] = true
		if was, ok := had[i]; ok && was != hue {
			t.Errorf("%d had hue %d and has %d", i, was, hue)
		}
	}
	p.See(append(jobs, nil, &pasar.JobView{Name: "one more"})) // more than there are colours
	if hue := p.Hue(&pasar.JobView{Name: "one more"}); hue < 1 || hue > Hues {
		t.Error(hue)
	}
	if p.Hue(nil) != 1 || (&Palette{}).Hue(jobs[0]) != Hue(jobs[0]) {
		t.Error("who isn't seen has the hue that it has alone")
	}
}

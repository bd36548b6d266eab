package ui

import (
	"hash/fnv"
	"strings"

	"pasar"
)

// Hues is how many colours jobs have. Each medium has its own for each of them.
const Hues = 12

// Hue is the colour of a job, 1 to Hues: the same for all jobs with the same first tag, else with the same name but for
// its numbers, so that the parts of an array or a sweep share it.
func Hue(v *pasar.JobView) int {
	if v == nil {
		return 1
	}
	return hueOf(hueKey(v))
}

// hueKey is what jobs of one colour have in common.
func hueKey(v *pasar.JobView) string {
	if len(v.Tags) > 0 {
		return "tag " + v.Tags[0]
	}
	return "name " + unnumbered(v.Name)
}

func hueOf(key string) int {
	h := fnv.New32a()
	h.Write([]byte(key))
	sum := h.Sum32()
	return 1 + int((sum^sum>>16)%Hues) // the low bits of FNV alone are worse mixed
}

// A Palette gives jobs that are seen together colours of their own, as far as there are enough: who comes later and would have
// one that is taken gets the next that is free. A colour stays with whoever has it for as long as one of its jobs is seen.
type Palette struct{ hues map[string]int }

// See takes up which jobs are seen. Those that are first in the list have the first choice.
func (p *Palette) See(jobs []*pasar.JobView) {
	next, taken := map[string]int{}, [Hues + 1]bool{}
	for _, v := range jobs {
		if v == nil {
			continue
		}
		key := hueKey(v)
		if hue := p.hues[key]; hue != 0 && next[key] == 0 {
			next[key], taken[hue] = hue, true
		}
	}
	for _, v := range jobs {
		if v == nil || next[hueKey(v)] != 0 {
			continue
		}
		key := hueKey(v)
		hue := hueOf(key)
		for range Hues {
			if !taken[hue] {
				break
			}
			hue = hue%Hues + 1
		}
		next[key], taken[hue] = hue, true
	}
	p.hues = next
}

// Hue is a job's colour, 1 to Hues; of one that isn't among those that are seen, the one that it would have alone.
func (p *Palette) Hue(v *pasar.JobView) int {
	if v != nil {
		if hue := p.hues[hueKey(v)]; hue != 0 {
			return hue
		}
	}
	return Hue(v)
}

// unnumbered is a name with every run of digits as one sign.
func unnumbered(name string) string {
	var b strings.Builder
	digits := false
	for _, r := range name {
		digit := r >= '0' && r <= '9'
		switch {
		case !digit:
			b.WriteRune(r)
		case !digits:
			b.WriteByte('#')
		}
		digits = digit
	}
	return b.String()
}

package ui

import (
	"slices"

	"pasar"
)

// Claims is what each job on a GPU may have of its memory: a slice its limit, whoever has it whole all of it.
func Claims(g *pasar.GPUView, jobs []*pasar.JobView) map[pasar.JobID]pasar.Bytes {
	out := map[pasar.JobID]pasar.Bytes{}
	if g == nil {
		return out
	}
	for _, v := range jobs {
		if v == nil || !slices.Contains(g.Jobs, v.ID) {
			continue
		}
		switch c := &v.Claim; {
		case c.Kind == pasar.Slice && c.Limit != nil:
			out[v.ID] = *c.Limit
		case c.Kind == pasar.Slice && c.Mem != nil:
			out[v.ID] = *c.Mem
		case c.Kind == pasar.Whole:
			out[v.ID] = g.Total
		}
	}
	return out
}

// A share is a part of a GPU's memory.
type share struct {
	size  pasar.Bytes
	sign  int // in barSigns
	look  Span
	job   pasar.JobID // 0: none
	shown bool        // it has a column if there is one to spare
}

// Signs of shares.
const (
	signUsed = iota
	signClaimed
	signStranger
	signLeft
	signFree
)

var (
	barSigns      = [...]string{signUsed: "█", signClaimed: "░", signStranger: "▒", signLeft: "▓", signFree: "·"}
	asciiBarSigns = [...]string{signUsed: "#", signClaimed: "-", signStranger: "/", signLeft: "x", signFree: "."}
)

// MemoryBar is a GPU's memory in so many columns: what each job uses, in its hue, and what it may have beyond that; what
// strangers use; what jobs that have ended left; what is free. Claims is as Claims gives it. It says for each column
// which job it is of; 0 is none.
func MemoryBar(g *pasar.GPUView, claims map[pasar.JobID]pasar.Bytes, hueOf func(pasar.JobID) int, width int, ascii bool) (Line, []pasar.JobID) {
	c := newCells(max(0, width))
	signs := &barSigns
	if ascii {
		signs = &asciiBarSigns
	}
	at := 0
	list := shares(g, claims, hueOf)
	for i, n := range apportion(list, len(c.chars)) {
		s := &list[i]
		for range n {
			c.set(at, signs[s.sign], s.look, s.job)
			at++
		}
	}
	for ; at < len(c.chars); at++ {
		c.set(at, signs[signFree], Span{Role: Faint}, 0)
	}
	return c.line(), c.jobs
}

// shares divides a GPU's memory; the last share is what is free.
func shares(g *pasar.GPUView, claims map[pasar.JobID]pasar.Bytes, hueOf func(pasar.JobID) int) (list []share) {
	if g == nil {
		return []share{{}}
	}
	used, foreign, byJob := occupied(g)
	jobs := slices.Clone(g.Jobs)
	slices.Sort(jobs)
	jobs = slices.Compact(jobs)
	var left pasar.Bytes
	for i := range g.Leaving {
		if u := g.Leaving[i].Used; u != nil {
			left += sane(*u)
		}
	}
	foreign = sane(foreign)
	rest := sane(used) - foreign - left
	for _, id := range jobs {
		rest -= sane(byJob[id])
	}
	if len(jobs) == 1 && byJob[jobs[0]] == 0 { // its processes aren't told apart
		byJob[jobs[0]] = sane(byJob[jobs[0]]) + sane(rest)
		rest = 0
	}
	for _, id := range jobs {
		look := Span{Role: Good}
		if hueOf != nil {
			look.Hue = hueOf(id)
		}
		has := sane(byJob[id])
		list = append(list, share{has, signUsed, look, id, true}, share{max(0, sane(claims[id])-has), signClaimed, look, id, false})
	}
	list = append(list, share{sane(rest), signUsed, Span{Role: Faint}, 0, true}, share{foreign, signStranger, Span{Role: Warn}, 0, true},
		share{left, signLeft, Span{Role: Bad}, 0, true})
	free := sane(g.Total)
	for i := range list {
		free -= min(free, list[i].size)
	}
	return append(list, share{free, signFree, Span{Role: Faint}, 0, false})
}

// sane is a size that can be added to others.
func sane(b pasar.Bytes) pasar.Bytes { return min(max(b, 0), pasar.MaxMem) }

// apportion gives each share its columns: to scale, but for one to each that must be seen, taken from the widest.
func apportion(list []share, width int) []int {
	var total, sum float64
	for i := range list {
		total += float64(list[i].size)
	}
	n := make([]int, len(list))
	if total <= 0 {
		return n
	}
	at := 0
	for i := range list {
		sum += float64(list[i].size)
		end := min(width, int(sum/total*float64(width)+0.5))
		n[i], at = end-at, end
	}
	for i := range list {
		if n[i] > 0 || !list[i].shown || list[i].size <= 0 {
			continue
		}
		widest, most := -1, 0
		for k := range n { // what need not be seen gives first, and its last column too
			spare := n[k]
			if list[k].shown {
				spare--
			} else if spare > 0 {
				spare += width
			}
			if spare > most {
				widest, most = k, spare
			}
		}
		if widest < 0 {
			break
		}
		n[widest]--
		n[i]++
	}
	return n
}

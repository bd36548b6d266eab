package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pasar"
)

// Headline is the market in a sentence, what matters most first: "2 running, 3 waiting · next #47 ~16:40".
func Headline(s *Snapshot, now time.Time) string {
	if s != nil && s.Lost != "" {
		return Shown(s.Lost)
	}
	if s == nil || s.Status == nil && s.Jobs == nil {
		return "nothing is known yet"
	}
	var parts []string
	if s.Status != nil && s.Status.Problem != nil {
		parts = append(parts, Shown(*s.Status.Problem))
	}
	n := s.counts()
	awaiting := n[pasar.Awaiting]
	if s.Approvals != nil {
		awaiting = max(awaiting, len(s.Approvals.Requests))
	}
	var counts []string
	count := func(n int, words string) {
		if n > 0 {
			counts = append(counts, strconv.Itoa(n)+" "+words)
		}
	}
	if awaiting > 0 {
		counts = append(counts, plural(awaiting, "awaits approval", "await approval"))
	}
	running := n[pasar.Starting] + n[pasar.Running]
	count(running, "running")
	if running == 0 {
		counts = append(counts, "nothing runs")
	}
	count(n[pasar.Queued], "waiting")
	if n[pasar.Queued] == 0 {
		counts = append(counts, "nothing waits")
	}
	count(n[pasar.Stopping], "stopping")
	count(n[pasar.Paused], "paused")
	parts = append(parts, strings.Join(counts, ", "))
	if next := s.next(); next != nil {
		parts = append(parts, "next #"+next.ID.String()+" "+clock(*next.Projected.Start, now))
	}
	return strings.Join(parts, " · ")
}

// counts are the jobs in each state: those at hand if they are all, else as the daemon counts them.
func (s *Snapshot) counts() map[pasar.State]int {
	if (s.Jobs == nil || s.Partial) && s.Status != nil {
		return s.Status.Jobs
	}
	n := map[pasar.State]int{}
	for _, v := range s.Jobs {
		if v != nil {
			n[v.State]++
		}
	}
	return n
}

// next is the first waiting job that is expected to start; nil if none is.
func (s *Snapshot) next() *pasar.JobView {
	for _, v := range s.Jobs {
		if v != nil && v.State == pasar.Queued && v.Projected.Start != nil {
			return v
		}
	}
	return nil
}

// clock is a time to come, to the minute, with the day unless it is today: "~16:40", "~Thu 09:00", "~2 Jan 09:00".
func clock(t, now time.Time) string {
	if !t.After(now) {
		return "now"
	}
	t = t.In(now.Location())
	layout := "15:04"
	switch y, m, d := t.Date(); {
	case t.Sub(now) > 6*24*time.Hour:
		layout = "2 Jan 15:04"
	case time.Date(y, m, d, 0, 0, 0, 0, now.Location()).After(now):
		layout = "Mon 15:04"
	}
	return "~" + t.Format(layout)
}

// Pool is what the machines have and how it is doing, without what isn't known: "2 × H200, 63/282 GiB, 97 %, 71 °C, 812 W".
func Pool(s *Snapshot) string {
	var p pool
	for _, m := range s.machines() {
		p.hostUsed, p.host = p.hostUsed+m.HostUsed, p.host+m.HostMemory
		for i := range m.GPUs {
			g := &m.GPUs[i]
			part := g.Parent != "" && slices.ContainsFunc(m.GPUs, func(o pasar.GPUView) bool { return o.UUID == g.Parent })
			if !g.Virtual && !part { // a part is in the whole
				p.add(g)
			}
		}
	}
	switch {
	case len(p.names) == 0 && p.host > 0:
		return "no GPU; host memory " + memory(&p.hostUsed, p.host) + " claimed"
	case len(p.names) == 0:
		return ""
	}
	return p.String()
}

// A pool is GPUs added up.
type pool struct {
	names          []string // in the order in which they come
	number         map[string]int
	used, total    pasar.Bytes
	unknown        bool // some use of memory isn't known
	util, watts    float64
	utils          int
	powered, warm  bool
	hottest        float64
	hostUsed, host pasar.Bytes
}

func (p *pool) add(g *pasar.GPUView) {
	name := strings.TrimPrefix(Shown(g.Name), "NVIDIA ")
	if p.number == nil {
		p.number = map[string]int{}
	}
	if p.number[name]++; p.number[name] == 1 {
		p.names = append(p.names, name)
	}
	p.total += g.Total
	if g.Used == nil {
		p.unknown = true
	} else {
		p.used += *g.Used
	}
	if g.Util != nil {
		p.util, p.utils = p.util+*g.Util, p.utils+1
	}
	if g.PowerW != nil {
		p.watts, p.powered = p.watts+*g.PowerW, true
	}
	if g.TempC != nil && (!p.warm || *g.TempC > p.hottest) {
		p.hottest, p.warm = *g.TempC, true
	}
}

// kinds is how many kinds of GPU a pool names; of more it only says how many GPUs there are.
const kinds = 2

// String is what there is, then its memory, mean use, the hottest, and the power of all.
func (p *pool) String() string {
	var parts []string
	all := 0
	for _, name := range p.names {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d × %s", p.number[name], name)))
		all += p.number[name]
	}
	if len(p.names) > kinds {
		parts = []string{plural(all, "GPU", "GPUs")}
	}
	if p.unknown {
		parts = append(parts, memory(nil, p.total))
	} else {
		parts = append(parts, memory(&p.used, p.total))
	}
	if p.utils > 0 {
		parts = append(parts, fmt.Sprintf("%.0f %%", p.util/float64(p.utils)))
	}
	if p.warm {
		parts = append(parts, fmt.Sprintf("%.0f °C", p.hottest))
	}
	if p.powered {
		parts = append(parts, fmt.Sprintf("%.0f W", p.watts))
	}
	return strings.Join(parts, ", ")
}

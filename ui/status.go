package ui

import (
	"fmt"
	"strings"
	"time"

	"pasar"
)

// Status is the pool and the queue in a few lines: `pasar status`.
func Status(v *pasar.StatusView, now time.Time, s Style) string {
	p := &page{s: s}
	if v.Problem != nil {
		p.line(s.paint(red, "problem: "+pasar.Clean(*v.Problem)))
	}
	p.field("jobs", counts(v.Jobs))
	for i := range v.Machines {
		p.machine(&v.Machines[i], now)
	}
	if v.Place != nil {
		p.field("supervisors", placed(v))
	}
	if v.Warning != nil {
		p.line(s.paint(yellow, "warning: "+pasar.Clean(*v.Warning)))
	}
	for _, in := range v.Incidents {
		p.field("incident", When(in.At, now)+" "+pasar.Clean(in.What)+": "+pasar.Clean(in.Detail))
	}
	p.field("daemon", fmt.Sprintf("pasard %s, pid %d, up %s, data in %s", pasar.Clean(v.Version), v.Pid, Ago(v.StartedAt, now), pasar.Clean(v.DataDir)))
	return p.b.String()
}

// placed says where supervisors and their jobs live, and why not in a better place.
func placed(v *pasar.StatusView) string {
	s := map[pasar.Place]string{
		pasar.PlaceUnit:    "each in a systemd unit of its own",
		pasar.PlaceCgroup:  "each in a cgroup of its own",
		pasar.PlaceSession: "each in a session of its own",
	}[*v.Place]
	if s == "" {
		s = pasar.Clean(string(*v.Place))
	}
	if v.PlaceNote != nil && *v.Place == pasar.PlaceSession {
		s += " (no cgroup: " + pasar.Clean(*v.PlaceNote) + ")"
	}
	return s
}

func counts(jobs map[pasar.State]int) string {
	var parts []string
	for _, st := range pasar.States {
		if n := jobs[st]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, st))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func (p *page) machine(m *pasar.MachineView, now time.Time) {
	line := fmt.Sprintf("%d of %d places without a GPU taken, %s of %s host memory claimed", m.CPUUsed, m.CPUJobs, m.HostUsed, m.HostMemory)
	if !m.Reachable {
		line = "not reachable"
	}
	p.field(pasar.Clean(m.Name), line)
	if m.Drained != nil {
		p.field("", p.s.paint(red, drainedWords(m.Drained, now)))
	}
	if m.Trouble != nil {
		p.field("", p.s.paint(red, "GPUs can't be looked at: "+pasar.Clean(*m.Trouble)))
	}
	for _, g := range m.GPUs {
		p.field("  GPU "+num(float64(g.Index)), gpu(&g))
		if g.Drained != nil {
			p.field("", p.s.paint(red, drainedWords(g.Drained, now)))
		}
		if g.Status != nil && *g.Status != pasar.GPUOK && g.Drained == nil {
			p.field("", p.s.paint(red, string(*g.Status)))
		}
		if strangers := p.strangers(&g); len(strangers) > 0 {
			p.field("", p.s.paint(yellow, "not pasar's: ")+strings.Join(strangers, ", "))
		}
	}
	for _, n := range m.Notes {
		p.field("  note", pasar.Clean(n))
	}
}

func gpu(g *pasar.GPUView) string {
	s := fmt.Sprintf("%s, %s free of %s", pasar.Clean(g.Name), g.Free, g.Total)
	if len(g.Jobs) == 0 {
		if g.Drained != nil || len(g.Processes) > 0 {
			return s
		}
		return s + ", idle"
	}
	const most = 8
	var ids []string
	for _, id := range g.Jobs[:min(most, len(g.Jobs))] {
		ids = append(ids, "#"+id.String())
	}
	s += ", jobs " + strings.Join(ids, " ")
	if n := len(g.Jobs) - most; n > 0 {
		s += fmt.Sprintf(" and %d more", n)
	}
	return s
}

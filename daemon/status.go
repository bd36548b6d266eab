package daemon

import (
	"slices"

	"pasar"
)

// status is the pool and the queue in a few numbers.
func (d *Daemon) status() pasar.StatusView {
	p := d.pub.Load()
	v := pasar.StatusView{
		Schema: pasar.Schema, Version: pasar.Version, Pid: d.Pid, StartedAt: d.started.UTC(),
		DataDir: d.DataDir, Socket: d.Socket, Jobs: map[pasar.State]int{},
		Machines: []pasar.MachineView{}, Problem: pasar.Known(p.problem), Incidents: []pasar.IncidentView{},
	}
	for _, s := range pasar.States {
		v.Jobs[s] = p.finished[s]
	}
	v.Jobs[pasar.Queued], v.Jobs[pasar.Paused] = len(p.waiting), len(p.paused)
	for _, j := range p.active {
		v.Jobs[j.state()]++
	}
	for _, name := range sortedKeys(p.machines) {
		v.Machines = append(v.Machines, machineView(p.machines[name], p.active))
	}
	for _, in := range p.incident {
		v.Incidents = append(v.Incidents, pasar.IncidentView{At: in.At.UTC(), What: in.What, Detail: pasar.Clean(in.Detail)})
	}
	d.place(&v)
	return v
}

// machineView adds up what the jobs that hold claims have of a machine.
func machineView(inv pasar.Inventory, active []*job) pasar.MachineView {
	v := pasar.MachineView{
		Name: inv.Machine, Reachable: true, Cores: inv.Cores, CPUJobs: inv.CPUJobs,
		RAM: inv.RAM, HostMemory: inv.HostMemory(), GPUs: []pasar.GPUView{}, Notes: append([]string{}, inv.Notes...),
	}
	for _, g := range inv.GPUs {
		gv := pasar.GPUView{GPU: g, Jobs: []pasar.JobID{}}
		for _, j := range active {
			if !j.holds() {
				continue
			}
			gr := j.current().Grant
			if gr.Machine != inv.Machine || !slices.ContainsFunc(gr.GPUs, func(r pasar.GPURef) bool { return r.UUID == g.UUID }) {
				continue
			}
			gv.Jobs = append(gv.Jobs, j.ID)
			if gr.Claim.Kind == pasar.Slice {
				gv.Claimed += gr.Claim.Limit
			} else {
				gv.Claimed = g.Total
			}
		}
		gv.Free = max(0, g.Total-gv.Claimed)
		v.GPUs = append(v.GPUs, gv)
		if g.Virtual || g.Unified {
			v.HostUsed += gv.Claimed
		}
	}
	for _, j := range active {
		if !j.holds() || j.current().Grant.Machine != inv.Machine {
			continue
		}
		c := j.current().Grant.Claim
		v.HostUsed += c.RAM
		if c.Kind == pasar.NoGPU {
			v.CPUUsed++
		}
	}
	return v
}

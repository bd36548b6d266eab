package daemon

import "pasar"

// status is the pool and the queue in a few numbers.
func (d *Daemon) status() pasar.StatusView {
	p := d.pub.Load()
	v := pasar.StatusView{
		Schema: pasar.Schema, Version: pasar.Version, Pid: d.Pid, StartedAt: d.started.UTC(),
		DataDir: d.DataDir, Socket: d.Socket, Jobs: map[pasar.State]int{}, Counts: p.counts(),
		Machines: d.machineViews(p), Problem: pasar.Known(p.problem), Incidents: []pasar.IncidentView{},
	}
	for _, s := range pasar.States {
		v.Jobs[s] = p.finished[s]
	}
	v.Jobs[pasar.Queued], v.Jobs[pasar.Paused] = len(p.waiting), len(p.paused)
	for _, j := range p.active {
		v.Jobs[j.state()]++
	}
	for _, in := range p.incident {
		v.Incidents = append(v.Incidents, pasar.IncidentView{At: in.At.UTC(), What: in.What, Detail: pasar.Clean(in.Detail)})
	}
	d.place(&v)
	return v
}

package daemon

import (
	"context"
	"slices"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/sched"
)

// serveGPUs answers with every GPU and what is on it.
func (d *Daemon) serveGPUs(ctx context.Context, c *ipc.Call) error {
	d.awaitMachines(ctx)
	d.lookFirst(ctx)
	return answerView(c, d.gpusView())
}

// gpusView is every machine with its GPUs, as last published and last read.
func (d *Daemon) gpusView() pasar.GPUsView {
	return pasar.GPUsView{Schema: pasar.Schema, Machines: d.machineViews(d.pub.Load())}
}

// firstLook is how long who asks about machines waits for a daemon that has just begun to look at its own.
const firstLook = 5 * time.Second

// awaitMachines waits until there is a machine to tell of, for a while.
func (d *Daemon) awaitMachines(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, firstLook)
	defer cancel()
	for {
		next := d.changed.next()
		if p := d.pub.Load(); len(p.machines) > 0 || len(p.incident) > 0 || p.problem != "" {
			return
		}
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
	}
}

// machineViews are all machines. One that nobody could look at since the data began is there as well, with why.
func (d *Daemon) machineViews(p *published) []pasar.MachineView {
	views := []pasar.MachineView{}
	for _, name := range sortedKeys(p.machines) {
		views = append(views, d.machineView(p, p.machines[name]))
	}
	if len(views) > 0 {
		return views
	}
	m := pasar.MachineView{Name: pasar.LocalMachine, GPUs: []pasar.GPUView{}, Notes: []string{}, Trouble: pasar.Known("they haven't been seen yet")}
	for _, in := range p.incident {
		if in.What == "gpu" {
			m.Trouble = cleaned(in.Detail)
		}
	}
	return append(views, m)
}

// machineView is a machine with what is given out of it and what the last reading saw there.
func (d *Daemon) machineView(p *published, inv pasar.Inventory) pasar.MachineView {
	m := pasar.MachineView{
		Name: inv.Machine, Reachable: true, Cores: inv.Cores, CPUJobs: inv.CPUJobs,
		RAM: inv.RAM, HostMemory: inv.HostMemory(), GPUs: []pasar.GPUView{}, Notes: append([]string{}, inv.Notes...),
		Drained: p.drains.of(inv.Machine, ""),
	}
	v := d.seeing(inv, p.active, p.leaving, d.Clock.Now())
	for _, j := range p.active {
		if a := j.current(); j.holds() && a.Grant.Machine == inv.Machine {
			m.HostUsed += a.Grant.Claim.RAM
			if a.Grant.Claim.Kind == pasar.NoGPU {
				m.CPUUsed++
			}
		}
	}
	views := make([]pasar.GPUView, len(inv.GPUs))
	for i := range inv.GPUs {
		views[i] = v.gpuView(&inv.GPUs[i], p.drains.of(inv.Machine, inv.GPUs[i].UUID))
		if g := &inv.GPUs[i]; g.Virtual || g.Unified {
			m.HostUsed += views[i].Claimed
		}
	}
	for i := range views { // host memory is shared, so it bounds them once all that use it are known
		if g := &inv.GPUs[i]; g.Virtual || g.Unified {
			views[i].Free = max(0, min(views[i].Free, m.HostMemory-m.HostUsed-v.sharedStrangers()))
		}
		m.GPUs = append(m.GPUs, views[i])
	}
	if inv.Machine == pasar.LocalMachine && v.sight != nil {
		r := &v.sight.reading
		m.Source, m.Driver, m.CUDA, m.Trouble = pasar.Known(r.Source), cleaned(r.Driver), cleaned(r.CUDA), cleaned(r.Trouble)
		m.LookedAt = known(v.sight.at)
		if r.Host.Total > 0 {
			m.Available = &r.Host.Available
		}
		m.Pressure = r.Host.Pressure
	}
	return m
}

// gpuView is one GPU.
func (v *seeing) gpuView(g *pasar.GPU, drained *pasar.Health) pasar.GPUView {
	gv := pasar.GPUView{GPU: *g, Jobs: []pasar.JobID{}, Leaving: []pasar.LeavingView{}, Drained: drained}
	for i := range v.tenants {
		t := &v.tenants[i]
		if takes, on := v.takes(t, g); on && !t.leaving {
			gv.Jobs = append(gv.Jobs, t.key.Job)
			gv.Claimed = min(g.Total, gv.Claimed+takes)
		}
	}
	seen, _ := v.gpu(g)
	gv.Settling = pasar.Known(seen.SettleFor)
	gv.Exclusive = seen.Exclusive
	gv.Free = max(0, v.room(g, &seen))
	if drained != nil || seen.Unhealthy != "" || seen.Exclusive {
		gv.Free = 0
	}
	for _, l := range v.leavers {
		if slices.ContainsFunc(l.grant.GPUs, func(r pasar.GPURef) bool { return r.UUID == g.UUID }) && !g.Virtual {
			lv := pasar.LeavingView{Job: l.key.Job, Since: l.exited.UTC(), Leaked: l.leaked}
			if left, ok := v.left(l, g); ok && left >= 0 && v.sight != nil {
				lv.Used = &left
			}
			gv.Leaving = append(gv.Leaving, lv)
		}
	}
	s := v.sight.gpu(g.UUID)
	if s == nil {
		return gv
	}
	gv.Status = &s.Status
	gv.Used, gv.Reserved, gv.Util, gv.TempC, gv.HotC, gv.PowerW = s.Used, s.Reserved, s.Util, s.TempC, v.hotFrom(s), s.PowerW
	gv.LimitW, gv.FanPct, gv.ClockMHz = s.LimitW, s.FanPct, s.ClockMHz
	gv.Throttle = append([]string{}, s.Throttle...)
	gv.Processes = []pasar.GPUProcessView{}
	for _, p := range s.Processes {
		gv.Processes = append(gv.Processes, pasar.GPUProcessView{Pid: p.Pid, Name: p.Name, User: p.User, Used: p.Used, Graphics: p.Graphics, Job: pasar.Known(p.Job.Job)})
	}
	return gv
}

// hotFrom is from where a GPU is shown as hot, in degrees.
func (v *seeing) hotFrom(s *gpuSight) *float64 {
	hot := v.set.HotC
	if s.HotC != nil {
		hot = min(hot, *s.HotC)
	}
	return &hot
}

// room is what a slice could have of a GPU: by the claims and what is used beyond them, or by the device if
// that is less. It may be negative. The host's part of shared memory is apart.
func (v *seeing) room(g *pasar.GPU, seen *sched.GPUSeen) pasar.Bytes {
	left := g.Total - seen.Strangers
	for i := range v.tenants {
		t := &v.tenants[i]
		takes, on := v.takes(t, g)
		if !on {
			continue
		}
		for _, u := range seen.Use {
			if u.ID == t.key.Job && t.grant.Claim.Kind == pasar.Slice {
				takes = max(takes, u.Mem)
			}
		}
		left -= takes
	}
	if seen.Free != nil {
		left = min(left, *seen.Free)
	}
	return left
}

// sharedStrangers is the host memory that strangers have by way of GPUs that share it.
func (v *seeing) sharedStrangers() pasar.Bytes {
	var sum pasar.Bytes
	for i := range v.inv.GPUs {
		if g := &v.inv.GPUs[i]; g.Unified {
			seen, _ := v.gpu(g)
			sum += seen.Strangers
		}
	}
	return sum
}

// measured adds to a job's view what it uses now and the most it was seen to use.
func (d *Daemon) measured(j *job, v *pasar.JobView) {
	a := j.current()
	if a == nil || !j.holds() || d.lookout == nil || a.Grant.Machine != pasar.LocalMachine {
		return
	}
	key := pasar.AttemptKey{Job: j.ID, Attempt: a.Attempt}
	if s := d.sight(); s != nil {
		if s.fresh(d.Clock.Now()) {
			v.Usage.GPU = s.use(key, &a.Grant)
		}
		if host, ok := s.reading.Host.Use[key]; ok {
			v.Usage.Host = &host
		}
		w := wardOf(j)
		v.OverLimit = w.overLimit(d.pub.Load().machines[a.Grant.Machine], s)
	}
	p := d.lookout.peak(key)
	v.Usage.PeakGPU, v.Usage.PeakHost = larger(v.Usage.PeakGPU, p.gpu), larger(v.Usage.PeakHost, pasar.Known(p.host))
}

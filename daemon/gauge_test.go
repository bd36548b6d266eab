package daemon

import (
	"context"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/target/targettest"
)

// A gauge is a meter that shows what a test says, at once or at the pace that it was told.
type gauge struct {
	mu    sync.Mutex // guards all
	now   pasar.Reading
	pace  pasar.Pace
	paces []pasar.Pace
	kick  chan struct{}
	dead  bool // shows nothing
	seen  int
}

// gaps are the real meter's.
var gaps = map[pasar.Pace]time.Duration{pasar.PaceIdle: 10 * time.Second, pasar.PaceSteady: 2 * time.Second, pasar.PaceUrgent: 250 * time.Millisecond}

// newGauge shows the GPUs of a machine with nothing on them.
func newGauge(inv pasar.Inventory) *gauge {
	g := &gauge{pace: pasar.PaceIdle, kick: make(chan struct{}, 1), now: pasar.Reading{Machine: inv.Machine, Source: "nvml", Driver: "570.1", CUDA: "12.8",
		Host: pasar.HostReading{Total: inv.RAM, Available: inv.RAM - 4*pasar.GiB}}}
	for _, d := range inv.GPUs {
		total, zero := d.Total, pasar.Bytes(0)
		r := pasar.GPUReading{UUID: d.UUID, Index: d.Index, Status: pasar.GPUOK, Total: &total, Reserved: &zero, Used: &zero}
		if d.Unified {
			r.Total, r.Used, r.Reserved = nil, nil, nil
		}
		g.now.GPUs = append(g.now.GPUs, r)
	}
	return g
}

// Run implements Meter.
func (g *gauge) Run(ctx context.Context, see func(pasar.Reading)) {
	for {
		g.mu.Lock()
		r, dead := g.now, g.dead
		r.At, r.GPUs, r.Xids = time.Now(), slices.Clone(g.now.GPUs), slices.Clone(g.now.Xids)
		gap := gaps[g.pace]
		if !dead {
			g.now.Xids = nil
			g.seen++
		}
		g.mu.Unlock()
		if !dead {
			see(r)
		}
		timer := time.NewTimer(gap)
		select {
		case <-ctx.Done():
			return
		case <-g.kick:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// Pace implements Meter.
func (g *gauge) Pace(p pasar.Pace) {
	g.mu.Lock()
	g.pace, g.paces = p, append(g.paces, p)
	g.mu.Unlock()
	g.look()
}

func (g *gauge) look() {
	select {
	case g.kick <- struct{}{}:
	default:
	}
}

// set changes what is shown from now on, without showing it.
func (g *gauge) set(f func(r *pasar.Reading)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now.GPUs = slices.Clone(g.now.GPUs)
	f(&g.now)
}

// show changes what is shown, and shows it.
func (g *gauge) show(f func(r *pasar.Reading)) {
	g.set(f)
	g.look()
	synctest.Wait()
}

// hold gives a process of an attempt so much of a GPU; 0 takes it away. The zero key is a stranger.
func (g *gauge) hold(gpu, pid int, key pasar.AttemptKey, mem pasar.Bytes) func(*pasar.Reading) {
	return func(r *pasar.Reading) {
		d := &r.GPUs[gpu]
		var ps []pasar.GPUProcess
		used := orZero(d.Used)
		for _, p := range d.Processes {
			if p.Pid == pid {
				used -= *p.Used
				continue
			}
			ps = append(ps, p)
		}
		if mem > 0 {
			name, user := "python", "ada"
			if key == (pasar.AttemptKey{}) {
				name, user = "notebook", "bob"
			}
			ps = append(ps, pasar.GPUProcess{Pid: pid, Used: &mem, Name: name, User: user, Job: key})
			used += mem
		}
		d.Processes = ps
		if d.Used != nil {
			d.Used = &used
		}
	}
}

// vanish takes a process away and leaves its memory.
func (g *gauge) vanish(gpu, pid int) func(*pasar.Reading) {
	return func(r *pasar.Reading) {
		d := &r.GPUs[gpu]
		d.Processes = slices.DeleteFunc(slices.Clone(d.Processes), func(p pasar.GPUProcess) bool { return p.Pid == pid })
	}
}

// used sets what is used of a GPU, by whomever.
func (g *gauge) used(gpu int, mem pasar.Bytes) func(*pasar.Reading) {
	return func(r *pasar.Reading) { r.GPUs[gpu].Used = &mem }
}

// metered is a world whose daemon looks at its GPUs.
func metered(w *world) (*world, *gauge) {
	inv, err := w.machine.View().Inventory(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	g := newGauge(inv)
	w.meter = g
	w.settings.External, w.settings.IdleMem = pasar.ExternalShare, 64*pasar.MiB
	w.settings.ReleaseTimeout, w.settings.Settle = 2*time.Minute, 10*time.Second
	w.settings.PressureSome, w.settings.PressureFree, w.settings.PressureFor = 0.1, 0.05, 30*time.Second
	return w, g
}

// meteredMachine is a metered world of any machine.
func meteredMachine(w *world, inv pasar.Inventory) (*world, *gauge) {
	w.machine = targettest.NewWorld(inv)
	return metered(w)
}

package main

import (
	"context"
	"log/slog"
	"time"

	"pasar"
	"pasar/config"
	"pasar/daemon"
	"pasar/gpu"
	"pasar/gpu/nvml"
	"pasar/local"
)

var (
	_ daemon.Meter        = remembered{}
	_ daemon.KernelReader = remembered{}
	_ daemon.GPUHistory   = (*gpu.History)(nil)
)

// newMeter is what looks at this machine's GPUs and memory. Whose processes are is for the machine to say,
// which in turn asks the meter for its GPUs: see attribute.
func newMeter(cfg *config.Config, whose *attribution, log *slog.Logger) *gpu.Meter {
	o := gpu.Options{
		Machine: pasar.LocalMachine, Library: cfg.NVMLLibrary != "", KernelLog: cfg.KernelLog, Log: log,
		AttemptOf: whose.attemptOf, AttemptIn: whose.attemptIn, HostUse: whose.hostUse,
	}
	if nvml.Built == nil {
		o.Probe = gpu.ProbeCommand(cfg.NVMLLibrary)
	}
	m := gpu.NewMeter(o)
	m.Exclude(cfg.GPUExclude)
	return m
}

// remembered is a meter of which every reading goes into a history first. Nothing is read for its sake.
type remembered struct {
	*gpu.Meter
	past *gpu.History
}

// Run implements daemon.Meter.
func (m remembered) Run(ctx context.Context, see func(pasar.Reading)) {
	m.Meter.Run(ctx, func(r pasar.Reading) {
		m.past.Add(r)
		see(r)
	})
}

// An attribution says whose processes are, once there is a machine to ask. The machine is set before
// anything runs.
type attribution struct{ machine *local.Machine }

func (a *attribution) attemptOf(pid int) (pasar.AttemptKey, bool) {
	if a.machine == nil {
		return pasar.AttemptKey{}, false
	}
	return a.machine.AttemptOf(pid)
}

func (a *attribution) attemptIn(cgroup string) (pasar.AttemptKey, bool) {
	if a.machine == nil {
		return pasar.AttemptKey{}, false
	}
	return a.machine.AttemptIn(cgroup)
}

func (a *attribution) hostUse() map[pasar.AttemptKey]pasar.Bytes {
	if a.machine == nil {
		return nil
	}
	return a.machine.HostUse()
}

func settings(c *config.Config) daemon.Settings {
	return daemon.Settings{
		Margin: c.Margin, RequireTime: c.RequireTime, Bid: c.DefaultBid, Grace: c.DefaultGrace, LogMax: c.LogMax,
		RetainAge: time.Duration(c.LogRetentionDays) * 24 * time.Hour, RetainSize: c.LogRetentionSize,
		External: c.External, IdleMem: pasar.Bytes(c.IdleMiB) * pasar.MiB, Prefer: c.GPUOrder, ByIndex: c.ByIndex,
		ReleaseTimeout: time.Duration(c.ReleaseTimeout), Settle: time.Duration(c.Settle),
		PressureSome: c.PressureSome, PressureFree: c.PressureFree, PressureFor: time.Duration(c.PressureSustain),
		HotC: float64(c.HotC), PrometheusURL: c.PrometheusURL,
	}
}

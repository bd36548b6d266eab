package daemon

import (
	"context"
	"syscall"

	"pasar"
	"pasar/autopsy"
)

// typedFor is how long before the end a key that interrupts may have been typed and still be why: a program may
// take a while to clean up.
const typedFor = pasar.Duration(30 * 1e9)

// recordEvidence adds what the record says of who ended the attempt.
func recordEvidence(rec *pasar.ExitRecord, e *autopsy.Evidence) {
	e.Asked, e.OOMKills, e.Screen = rec.Asked, rec.OOMKills, rec.Screen
	if k := rec.Typed; k != nil {
		if before := max(0, pasar.Duration(rec.ExitedAt.Sub(k.At))); before <= typedFor {
			e.Typed, e.Quit = k.Key == pasar.KeyInterrupt, k.Key == pasar.KeyQuit
			e.TypedBy, e.TypedBefore = k.By, before
		}
	}
}

// machineEvidence adds what the machine says: what was last seen of its memory and the attempt's, and the lines of
// its kernel's log that are about the attempt's processes. Pid is that of its main process, 0 if only the state may
// know it.
func (d *Daemon) machineEvidence(ctx context.Context, t *tender, j *job, pid int, e *autopsy.Evidence) {
	a, key := j.current(), t.handle.Key
	if now := d.lookup(t.job); now != nil && now.current() != nil && now.current().Attempt == t.attempt {
		a = now.current() // it may have started since
	}
	e.Phase = autopsy.Launching
	if pid = max(pid, a.Pid); t.seen || pid != 0 {
		e.Phase = autopsy.Running
	}
	d.recallPeaks(ctx, key, a)
	e.PeakGPU, e.LimitGPU = d.peakGPU(key), a.Grant.Claim.Limit
	if d.lookout != nil {
		e.HostPeak = d.lookout.peak(key).host
	}
	if a.Grant.Machine != pasar.LocalMachine {
		return
	}
	if k, ok := d.Meter.(KernelReader); ok && e.Phase == autopsy.Running {
		e.Kernel, e.KernelRead = k.Said(key, pid, a.LaunchedAt)
		if len(e.Kernel) == 0 && !e.KernelRead && kernelMayKnow(e) {
			e.Kernel = k.Search(ctx, key, pid, a.LaunchedAt)
		}
	}
	s := d.sight()
	if s == nil {
		return
	}
	if h := s.reading.Host; d.Clock.Now().Sub(s.at) < staleAfter {
		e.HostTotal, e.HostFree, e.Pressure = h.Total, h.Available, h.Pressure
	}
}

// kernelMayKnow reports whether an end is one of which the kernel may have said something: by a signal of its own, or
// by SIGKILL, of the main process or of a shell's child; or one that nobody saw.
func kernelMayKnow(e *autopsy.Evidence) bool {
	if e.Lost != "" {
		return true
	}
	if e.Exit == nil || e.Stop != nil {
		return false
	}
	switch syscall.Signal(e.Exit.Shell() - 128) {
	case syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGFPE, syscall.SIGTRAP, syscall.SIGSYS:
		return true
	}
	return false
}

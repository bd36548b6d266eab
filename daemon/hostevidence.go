package daemon

import (
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
func (d *Daemon) machineEvidence(t *tender, j *job, pid int, e *autopsy.Evidence) {
	a, key := j.current(), t.handle.Key
	if now := d.lookup(t.job); now != nil && now.current() != nil && now.current().Attempt == t.attempt {
		a = now.current() // it may have started since
	}
	e.Phase = autopsy.Launching
	if pid = max(pid, a.Pid); t.seen || pid != 0 {
		e.Phase = autopsy.Running
	}
	e.PeakGPU, e.LimitGPU = d.peakGPU(key), a.Grant.Claim.Limit
	if a.Grant.Machine != pasar.LocalMachine {
		return
	}
	if k, ok := d.Meter.(KernelReader); ok && e.Phase == autopsy.Running {
		e.Kernel, e.KernelRead = k.Said(key, pid, a.LaunchedAt)
	}
	s := d.sight()
	if s == nil {
		return
	}
	e.HostPeak = d.lookout.peak(key).host
	if h := s.reading.Host; d.Clock.Now().Sub(s.at) < staleAfter {
		e.HostTotal, e.HostFree, e.Pressure = h.Total, h.Available, h.Pressure
	}
}

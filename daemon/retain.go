package daemon

import (
	"context"
	"time"

	"pasar"
	"pasar/target"
)

// When old output is let go: not while the daemon is busy starting, and seldom.
const (
	retainFirst = time.Minute
	retainEvery = 6 * time.Hour
)

// retain lets go of the output of jobs that ended long ago, within the bounds that the settings give.
func (d *Daemon) retain(ctx context.Context) {
	r, ok := d.Target.(target.Retainer)
	if !ok {
		return
	}
	for wait := retainFirst; ; wait = retainEvery {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		set := d.settings.Load()
		if set.RetainAge == 0 && set.RetainSize == 0 {
			continue
		}
		gone, err := r.Retain(ctx, set.RetainAge, set.RetainSize, d.Clock.Now(), d.over)
		if err != nil && ctx.Err() == nil {
			d.Log.Warn("old output not let go", "error", err)
		}
		if gone.Attempts > 0 {
			d.Log.Info("old output let go", "attempts", gone.Attempts, "freed", gone.Freed.String())
		}
	}
}

// over reports whether a job is finished, as last committed. A job that isn't in memory is.
func (d *Daemon) over(id pasar.JobID) bool {
	j := d.lookup(id)
	return j == nil || j.Phase == phaseFinished
}

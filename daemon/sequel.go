package daemon

import (
	"slices"
	"time"

	"pasar"
)

// An attemptEnd is what a sequel is decided by.
type attemptEnd struct {
	spec    *pasar.Spec
	retried int
	asked   *pasar.Stop       // the latest stop that was decided, whether or not it got anywhere; nil: none
	exit    *pasar.ExitRecord // nil: nobody saw it end
	verdict pasar.Verdict
	xids    []pasar.Xid // of its GPUs while it ran
	mem     pasar.Bytes // what a slice that proved too small is raised to; 0: it isn't
	limit   pasar.Bytes
	now     time.Time
}

// sequel is what follows for a job from the end of an attempt.
func sequel(e attemptEnd) pasar.Sequel {
	if e.asked != nil && e.asked.Why == pasar.StopCancel {
		return pasar.Sequel{} // whatever came first, a person wants it to be over
	}
	switch e.verdict.Reason {
	case pasar.CodePaused:
		return pasar.Sequel{State: pasar.Paused}
	case pasar.CodePreempted:
		return pasar.Sequel{State: pasar.Queued}
	case pasar.CodeTimeLimit:
		if e.exit != nil && e.exit.Stop != nil && e.exit.Stop.Why == pasar.StopLimit && markerHolds(e.exit) {
			return pasar.Sequel{State: pasar.Paused}
		}
	case pasar.CodeGPUOOM, pasar.CodeOOM:
		if e.mem > 0 {
			return pasar.Sequel{State: pasar.Queued, Mem: e.mem, Limit: e.limit}
		}
	}
	if e.asked != nil && e.asked.Why == pasar.StopPause {
		return pasar.Sequel{} // a person wants it to leave: starting it again would be the contrary
	}
	if !e.retry() {
		return pasar.Sequel{}
	}
	return pasar.Sequel{State: pasar.Queued, Retry: true, NotBefore: e.now.Add(retryGap(e.retried))}
}

// retry reports whether the job is to be tried again after a failure.
func (e *attemptEnd) retry() bool {
	code := e.verdict.Reason
	if code == pasar.CodeCompleted || code == pasar.CodeCancelled || code == pasar.CodeDependency {
		return false
	}
	if code == pasar.CodeGPUXid && len(e.spec.RetryOn) == 0 && e.retried == 0 && len(e.xids) > 0 && !ownFault(e.xids) {
		return true // the GPU's fault, by its driver's word and not by what output says: once, also where nothing was asked
	}
	if e.retried >= e.spec.Retries {
		return false
	}
	if len(e.spec.RetryOn) > 0 {
		return slices.Contains(e.spec.RetryOn, code)
	}
	return code.RetriedByDefault()
}

// ownFault reports whether all that the GPUs complained of was the program's doing.
func ownFault(xids []pasar.Xid) bool {
	return len(xids) > 0 && !slices.ContainsFunc(xids, func(x pasar.Xid) bool { return x.Class != pasar.XidApp && x.Class != pasar.XidInfo })
}

// The gap before a retry: what keeps a job from running often needs some time to pass.
const (
	retryGapMin = 5 * time.Second
	retryGapMax = 5 * time.Minute
)

// retryGap is the gap before the next retry after so many.
func retryGap(retried int) time.Duration {
	gap := retryGapMin
	for range retried {
		if gap *= 2; gap >= retryGapMax {
			return retryGapMax
		}
	}
	return gap
}

package daemon

import "pasar"

// ranFor is how long a running attempt has run, by the boot clock where it can be told.
func (d *Daemon) ranFor(a *pasar.AttemptRecord) pasar.Duration {
	if a.StartBoot == d.Boot && a.StartMono > 0 {
		return max(0, d.Clock.Mono()-a.StartMono)
	}
	return max(0, pasar.Duration(d.Clock.Now().Sub(a.StartedAt)))
}

// attemptView is an attempt as clients see it, with what its end cost.
func attemptView(a *pasar.AttemptRecord, lost lostAttempt) pasar.AttemptView {
	v := pasar.AttemptView{
		Attempt: a.Attempt, Machine: a.Grant.Machine, GPUs: append([]pasar.GPURef{}, a.Grant.GPUs...),
		LaunchedAt: a.LaunchedAt.UTC(), StartedAt: known(a.StartedAt), EndedAt: known(a.EndedAt),
		Pid: pasar.Known(a.Pid), LastCheckpoint: a.Checkpoint, Resumed: a.Resumed, Verdict: a.Verdict,
		Notes: []pasar.Event{}, PeakGPU: a.PeakGPU, PeakHost: a.PeakHost, Xids: append([]pasar.Xid{}, a.Xids...),
		Wasted: lost.wasted, RestartCost: lost.restart,
	}
	if a.Exit == nil && !a.EndedAt.IsZero() && !a.StartedAt.IsZero() {
		v.RunTime = pasar.Known(attemptRan(a)) // at most: its end was not seen
	}
	for _, n := range a.Notes {
		n.Text = pasar.Clean(n.Text)
		v.Notes = append(v.Notes, n)
	}
	if a.Stop != nil {
		v.Stop = &pasar.StopView{Why: a.Stop.Why, By: cleaned(a.Stop.By)}
	}
	if e := a.Exit; e != nil {
		v.RunTime = &e.RunTime
		v.Output, v.Tail, v.PeakHost = &e.Output, e.Tail, larger(a.PeakHost, pasar.Known(e.PeakHost))
		v.Place, v.Cgroup = pasar.Known(e.Place), e.Cgroup.View()
		if v.Tail == nil {
			v.Tail = []string{}
		}
		if v.Stop != nil {
			v.Stop.Step = e.StopStep
		}
		switch {
		case e.LaunchError != "":
		case e.Exit.Signal != 0:
			v.Signal = &e.Exit.Signal
		default:
			v.ExitCode = &e.Exit.Code
		}
	}
	return v
}

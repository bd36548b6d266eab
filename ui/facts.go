package ui

import (
	"fmt"
	"strings"
	"time"

	"pasar"
)

// Fact is a record in one line: time, kind, the job and what else it says.
func Fact(r pasar.Record, now time.Time) string {
	parts := []string{When(r.At, now), fmt.Sprintf("%-17s", r.Fact.Kind())}
	switch f := r.Fact.(type) {
	case pasar.DaemonStarted:
		parts = append(parts, fmt.Sprintf("pid %d, version %s", f.Pid, f.Version))
	case pasar.Submitted:
		parts = append(parts, fmt.Sprintf("#%d %s: %s", f.Job, f.Spec.Name, pasar.Quote(f.Spec.Argv)))
	case pasar.BidChanged:
		s := fmt.Sprintf("#%d to %d%s", f.Job, f.Bid, byWhom(f.By))
		if f.Preempt {
			s += ", and it may stop running jobs"
		}
		parts = append(parts, s)
	case pasar.Edited:
		parts = append(parts, fmt.Sprintf("#%d %s%s", f.Job, f.Spec.Name, byWhom(f.By)))
	case pasar.ResumeAsked:
		parts = append(parts, fmt.Sprintf("#%d%s", f.Job, byWhom(f.By)))
	case pasar.Drained:
		parts = append(parts, place(f.Machine, f.GPU)+byWhom(f.By)+": "+f.Health.Reason)
	case pasar.Undrained:
		parts = append(parts, place(f.Machine, f.GPU)+byWhom(f.By))
	case pasar.XidSeen:
		s := place(f.Machine, f.Xid.UUID) + ": " + xid(&f.Xid)
		for _, id := range f.Jobs {
			s += " #" + id.String()
		}
		parts = append(parts, s)
	case pasar.Held:
		parts = append(parts, fmt.Sprintf("#%d%s", f.Job, byWhom(f.By)))
	case pasar.Released:
		parts = append(parts, fmt.Sprintf("#%d%s", f.Job, byWhom(f.By)))
	case pasar.CancelledWaiting:
		parts = append(parts, fmt.Sprintf("#%d%s", f.Job, byWhom(f.By)))
	case pasar.StopAsked:
		s := fmt.Sprintf("#%d.%d %s%s", f.Job, f.Attempt, f.Stop.Why, byWhom(f.Stop.By))
		if f.Stop.For != 0 {
			s += " for #" + f.Stop.For.String()
		}
		parts = append(parts, s)
	case pasar.Launched:
		parts = append(parts, fmt.Sprintf("#%d.%d on %s %s", f.Job, f.Attempt, f.Grant.Machine, GPUs(f.Grant.GPUs)))
	case pasar.Started:
		parts = append(parts, fmt.Sprintf("#%d.%d pid %d", f.Job, f.Attempt, f.Pid))
	case pasar.Exited:
		parts = append(parts, fmt.Sprintf("#%d.%d %s", f.Job, f.Attempt, Ending(&f.Exit.Code, &f.Exit.Signal)))
	case pasar.Ended:
		parts = append(parts, fmt.Sprintf("#%d.%d %s: %s%s", f.Job, f.Attempt, f.Verdict.Reason, f.Verdict.Summary, sequel(f.Sequel)))
	case pasar.Lost:
		parts = append(parts, fmt.Sprintf("#%d.%d %s%s", f.Job, f.Attempt, f.Verdict.Summary, sequel(f.Sequel)))
	case pasar.Restarted:
		parts = append(parts, fmt.Sprintf("#%d%s", f.Job, byWhom(f.By)))
	case pasar.Reported:
		s := fmt.Sprintf("#%d.%d %s", f.Job, f.Attempt, f.Event.Kind)
		if f.Event.Step != nil {
			s += " at step " + num(*f.Event.Step)
		}
		parts = append(parts, s)
	case pasar.GitRead:
		parts = append(parts, fmt.Sprintf("#%d at %s", f.Job, f.Git.Commit))
	case pasar.Answered:
		parts = append(parts, f.Verb)
	case pasar.MachineSeen:
		parts = append(parts, fmt.Sprintf("%s: %s, %s of memory", f.Inventory.Machine, plural(len(f.Inventory.GPUs), "GPU", "GPUs"), f.Inventory.RAM))
	case pasar.Incident:
		parts = append(parts, f.What+": "+f.Detail)
	}
	return strings.TrimRight(pasar.Clean(strings.Join(parts, "  ")), " ")
}

// place is a machine, or one GPU of it.
func place(machine, gpu string) string {
	if gpu == "" {
		return machine
	}
	return machine + " " + gpu
}

// sequel is what follows from an end that isn't for good.
func sequel(s pasar.Sequel) string {
	switch {
	case s.State == "":
		return ""
	case s.Retry:
		return "; it is tried again"
	}
	return "; it is " + string(s.State)
}

func byWhom(by string) string {
	if by == "" {
		return ""
	}
	return " by " + by
}

package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pasar"
)

func TestAPlanSaysWhoStartsWaitsAndStops(t *testing.T) {
	claim := pasar.Claim{Kind: pasar.Whole, GPUs: 1}.View()
	in := func(d time.Duration) *time.Time { return ptr(now.Add(d)) }
	alone := &pasar.PlanView{Claim: claim, Jobs: []pasar.PlannedJob{{ID: 43, Now: true, Start: &now, Finish: in(2 * time.Hour), Machine: ptr("local"), GPUs: []pasar.GPURef{{Index: 0}}}}}
	costly := &pasar.PlanView{Claim: claim, Jobs: []pasar.PlannedJob{{ID: 43, Start: in(20 * time.Second), Before: in(26 * time.Hour), Sentence: "would start in 20s; waits for #7 to stop", Waiting: &pasar.WaitingView{Sentence: "waits for #7 to stop"}}}, Limit: true,
		Stopped: []pasar.PreemptedJob{{ID: 7, Name: "train\x1b", Bid: 900, RunTime: ptr(pasar.Duration(time.Hour)), Loses: ptr(pasar.Duration(5 * time.Minute)), Pausable: true}, {ID: 8, Name: "mute", Bid: 1}},
		Delayed: []pasar.DelayedJob{{ID: 9, Name: "eval", From: now.Add(time.Minute), To: in(2 * time.Hour), Delay: ptr(pasar.Duration(119 * time.Minute))}, {ID: 10, From: now.Add(time.Hour)}}}
	never := &pasar.PlanView{Claim: claim, Jobs: []pasar.PlannedJob{{ID: 1, Sentence: "waits for a GPU held by #7"}}}
	group := &pasar.PlanView{Claim: claim}
	for i := range 25 {
		j := pasar.PlannedJob{ID: pasar.JobID(50 + i), Now: i == 0, Start: in(time.Duration(i) * time.Hour), Finish: in(time.Duration(i+1) * time.Hour), GPUs: []pasar.GPURef{{Index: 1}}, Sentence: "waits for a GPU held by #7"}
		group.Jobs = append(group.Jobs, j)
	}
	var b strings.Builder
	for _, v := range []*pasar.PlanView{alone, costly, never} {
		b.WriteString(Plan(v, now, Style{}) + "====\n")
	}
	golden(t, "plan.txt", b.String()+Plan(group, now, Style{Width: 80}))
	if n := strings.Count(Plan(group, now, Style{}), "\n"); n != 31 {
		t.Errorf("off a terminal, 25 jobs have %d lines", n)
	}
}

func TestStatsAddUpWhatBecameOfJobs(t *testing.T) {
	row := func(key string, n int) pasar.StatsRow {
		return pasar.StatsRow{Key: key, Jobs: n, States: map[pasar.State]int{pasar.Completed: n - 2, pasar.Failed: 1, pasar.Cancelled: 1}, Attempts: n + 3, RunTime: pasar.Duration(time.Duration(n) * time.Hour),
			Verdicts: map[pasar.Code]int{pasar.CodeCompleted: n, pasar.CodeExit: 1, pasar.CodeGPUOOM: 3, pasar.CodeCancelled: 9}, GPUHours: float64(n) * 1.25, MeanWait: pasar.Duration(time.Minute), MaxWait: pasar.Duration(2 * time.Hour),
			LostPreempt: pasar.Duration(20 * time.Minute), LostFailed: pasar.Duration(time.Hour), LostUnknown: n % 2}
	}
	v := &pasar.StatsView{Since: &start, By: "tag", Total: row("", 9), Rows: []pasar.StatsRow{row("sweep\x1b[2J", 4), row("", 5)}}
	why := func(code pasar.Code, attempts, jobs int, b pasar.Blame, lost time.Duration, unknown int, ago time.Duration) pasar.StatsRow {
		return pasar.StatsRow{Key: string(code), Attempts: attempts, Jobs: jobs, GPUHours: float64(attempts) * 2.5, Blame: &b, LostFailed: pasar.Duration(lost), LostUnknown: unknown, Last: ptr(now.Add(-ago)), LastJob: ptr(pasar.JobID(40 + attempts))}
	}
	reasons := &pasar.StatsView{Since: &start, By: "reason", Total: v.Total, Rows: []pasar.StatsRow{why(pasar.CodeGPUOOM, 9, 4, pasar.BlameJob, 90*time.Minute, 0, 20*time.Second), why(pasar.CodeKernelOOM, 3, 3, pasar.BlameMachine, 0, 2, 3*time.Hour),
		why("new\x1b[2J", 1, 1, pasar.BlameEnvironment, time.Hour, 1, 100*time.Hour)}}
	reasons.Total.GPUHoursLost = 7.25
	golden(t, "stats.txt", Stats(v, now, Style{Width: 100})+"====\n"+Stats(&pasar.StatsView{By: "day"}, now, Style{})+"====\n"+Stats(reasons, now, Style{Width: 80})+"====\n"+Stats(&pasar.StatsView{By: "reason", Total: v.Total}, now, Style{}))
	for l := range strings.Lines(Stats(v, now, Style{Width: 80}) + Stats(reasons, now, Style{Width: 80})) {
		if n := columns(strings.TrimSuffix(l, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, fmt.Sprint(l))
		}
	}
}

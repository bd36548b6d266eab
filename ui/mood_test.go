package ui

import (
	"strings"
	"testing"
	"time"

	"pasar"
)

// job is a job in a state, whose last attempt ended so long ago for a reason; with no reason there is none.
func job(id pasar.JobID, st pasar.State, code pasar.Code, ago time.Duration) *pasar.JobView {
	v := &pasar.JobView{ID: id, Name: "train", State: st}
	if code != "" {
		v.Attempts = []pasar.AttemptView{{Attempt: 1, EndedAt: ptr(now.Add(-ago)), Verdict: &pasar.Verdict{Reason: code}}}
	}
	return v
}

func waitsFor(id pasar.JobID, why pasar.WaitWhy) *pasar.JobView {
	v := job(id, pasar.Queued, "", 0)
	v.Waiting = &pasar.WaitingView{Why: why, Sentence: "waits"}
	return v
}

func startedAgo(d time.Duration) *pasar.JobView {
	v := job(1, pasar.Running, "", 0)
	v.Attempts = []pasar.AttemptView{{Attempt: 1, StartedAt: ptr(now.Add(-d))}}
	return v
}

// at is a snapshot of one machine that is well, but for what change does to it and its GPU.
func at(change func(m *pasar.MachineView, g *pasar.GPUView), jobs ...*pasar.JobView) *Snapshot {
	m := pasar.MachineView{Name: "local", Reachable: true, RAM: 100 * pasar.GiB, GPUs: []pasar.GPUView{{}}}
	if change != nil {
		change(&m, &m.GPUs[0])
	}
	return &Snapshot{At: now, Jobs: jobs, Status: &pasar.StatusView{}, GPUs: &pasar.GPUsView{Machines: []pasar.MachineView{m}}}
}

func TestTheMoodIsThatOfWhatMattersMost(t *testing.T) {
	type (
		machine = pasar.MachineView
		gpu     = pasar.GPUView
	)
	busy := job(9, pasar.Running, "", 0)
	incident := at(nil, busy)
	incident.Status.Incidents = []pasar.IncidentView{{At: now.Add(-time.Minute), What: "memory", Detail: "ran short"}}
	problem, lost, approval := at(nil, busy), at(nil, busy), at(nil)
	problem.Status.Problem, lost.Lost = ptr("the disk is full"), "the connection broke"
	approval.Approvals = &pasar.ApprovalsView{Requests: make([]pasar.ApprovalView, 2)}
	over, shoved := job(1, pasar.Running, "", 0), job(1, pasar.Running, pasar.CodePreempted, 10*time.Second)
	over.OverLimit = true
	shoved.Attempts = append(shoved.Attempts, pasar.AttemptView{Attempt: 2})
	oom := job(1, pasar.Failed, pasar.CodeGPUOOM, 20*time.Second)
	for _, c := range []struct {
		name  string
		s     *Snapshot
		want  Mood
		why   string
		until time.Duration // after now; 0: it won't change by time
	}{
		{"no snapshot", nil, MoodConfused, "nothing is known yet", 0},
		{"an empty one", &Snapshot{}, MoodConfused, "nothing is known yet", 0},
		{"no connection", lost, MoodConfused, "the connection broke", 0},
		{"out of memory", at(nil, busy, oom), MoodOOM, "#1 train ran out of memory", 40 * time.Second},
		{"out of memory, queued again", at(nil, job(1, pasar.Queued, pasar.CodeOOM, 59*time.Second)), MoodOOM, "#1 train", time.Second},
		{"failed", at(nil, busy, job(1, pasar.Failed, pasar.CodeExit, 30*time.Second)), MoodFailed, "#1 train failed: exit", 30 * time.Second},
		{"failed long ago", at(nil, busy, job(1, pasar.Failed, pasar.CodeExit, time.Minute)), MoodBusy, "1 job runs", 0},
		{"two that failed", at(nil, job(1, pasar.Failed, pasar.CodeExit, 30*time.Second), job(2, pasar.Failed, pasar.CodeExit, 10*time.Second)), MoodFailed, "#2", 50 * time.Second},
		{"hot", at(func(_ *machine, g *gpu) { g.TempC, g.HotC = ptr(91.0), ptr(90.0) }, busy), MoodHot, "GPU 0 is at 91 °C", 0},
		{"warm", at(func(_ *machine, g *gpu) { g.TempC, g.HotC = ptr(89.0), ptr(90.0) }, busy), MoodBusy, "", 0},
		{"as hot as can be, for all that is known", at(func(_ *machine, g *gpu) { g.TempC = ptr(91.0) }, busy), MoodBusy, "", 0},
		{"throttled", at(func(_ *machine, g *gpu) { g.Throttle = []string{"thermal"} }, busy), MoodHot, "slowed down by heat", 0},
		{"capped", at(func(_ *machine, g *gpu) { g.Throttle = []string{"power_cap"} }, busy), MoodBusy, "", 0},
		{"under pressure", at(func(m *machine, _ *gpu) { m.Pressure = ptr(0.2) }, busy), MoodSweat, "pressure 20 %", 0},
		{"nearly full", at(func(m *machine, _ *gpu) { m.Available = ptr(4 * pasar.GiB) }, busy), MoodSweat, "only 4 GiB", 0},
		{"over its limit", at(nil, over), MoodSweat, "#1 train uses more", 0},
		{"an incident", incident, MoodSweat, "memory: ran short", 4 * time.Minute},
		{"a problem", problem, MoodHmm, "the disk is full", 0},
		{"drained", at(func(_ *machine, g *gpu) { g.Drained = &pasar.Health{Reason: "Xid 79"} }, busy), MoodHmm, "GPU 0 takes no jobs: Xid 79", 0},
		{"unresponsive", at(func(_ *machine, g *gpu) { g.Status = ptr(pasar.GPUUnresponsive) }, busy), MoodHmm, "GPU 0 is unresponsive", 0},
		{"not reachable", at(func(m *machine, _ *gpu) { m.Reachable = false }, busy), MoodHmm, "local is not reachable", 0},
		{"a machine drained", at(func(m *machine, _ *gpu) { m.Drained = &pasar.Health{Reason: "by ada"} }, busy), MoodHmm, "local takes no jobs", 0},
		{"lost", at(nil, busy, job(1, pasar.Failed, pasar.CodeLost, 2*time.Minute)), MoodHmm, "#1 train was lost", 3 * time.Minute},
		{"preempted", at(nil, busy, job(1, pasar.Queued, pasar.CodePreempted, 10*time.Second)), MoodPreempted, "#1 train had to make way", 20 * time.Second},
		{"preempted, and back", at(nil, shoved), MoodPreempted, "", 20 * time.Second},
		{"completed", at(nil, busy, job(1, pasar.Completed, pasar.CodeCompleted, 4*time.Second)), MoodDone, "#1 train has completed", 6 * time.Second},
		{"starting", at(nil, job(1, pasar.Starting, "", 0)), MoodStart, "#1 train starts", 0},
		{"started", at(nil, startedAgo(2*time.Second)), MoodStart, "#1 train has just started", 3 * time.Second},
		{"settling", at(nil, busy, waitsFor(2, pasar.WaitSettle)), MoodThinking, "#2 waits", 0},
		{"releasing, nothing runs", at(nil, waitsFor(2, pasar.WaitRelease), waitsFor(3, pasar.WaitTurn)), MoodThinking, "", 0},
		{"nothing runs", at(nil, waitsFor(2, pasar.WaitMachine), waitsFor(3, pasar.WaitSettle)), MoodWaiting, "nothing runs", 0},
		{"approvals", approval, MoodWaiting, "2 await approval", 0},
		{"one awaits", at(nil, busy, job(1, pasar.Awaiting, "", 0)), MoodWaiting, "1 awaits approval", 0},
		{"busy", at(nil, busy, waitsFor(2, pasar.WaitGPU)), MoodBusy, "1 job runs", 0},
		{"all done", at(nil, job(1, pasar.Completed, pasar.CodeCompleted, time.Minute)), MoodHappy, "all is done", 9 * time.Minute},
		{"done, more to do", at(nil, busy, job(1, pasar.Completed, pasar.CodeCompleted, time.Minute)), MoodBusy, "", 0},
		{"done long ago", at(nil, job(1, pasar.Completed, pasar.CodeCompleted, time.Hour)), MoodIdle, "nothing runs", 0},
		{"nothing at all", at(nil), MoodIdle, "nothing runs", 0},
	} {
		m, why, until := MoodOf(c.s, now)
		if m != c.want || !strings.Contains(why, c.why) {
			t.Errorf("%s: %s (%s); want %s (%s)", c.name, m, why, c.want, c.why)
		}
		if c.until == 0 && !until.IsZero() || c.until > 0 && !until.Equal(now.Add(c.until)) {
			t.Errorf("%s: until %s; want after %s", c.name, until, c.until)
		} else if c.until > 0 {
			if after, _, _ := MoodOf(c.s, until); after == m {
				t.Errorf("%s: still %s afterwards", c.name, after)
			}
		}
	}
}

// TestTheMoodsOrderIsTheirPriority takes the causes of all moods away, the gravest first.
func TestTheMoodsOrderIsTheirPriority(t *testing.T) {
	oom, failed, done := job(1, pasar.Failed, pasar.CodeOOM, time.Second), job(2, pasar.Failed, pasar.CodeExit, time.Second), job(3, pasar.Completed, pasar.CodeCompleted, time.Second)
	shoved, starting, settling, awaiting := job(4, pasar.Paused, pasar.CodePreempted, time.Second), job(5, pasar.Starting, "", 0), waitsFor(6, pasar.WaitSettle), job(7, pasar.Awaiting, "", 0)
	s := at(func(m *pasar.MachineView, g *pasar.GPUView) {
		g.TempC, g.HotC, m.Pressure = ptr(99.0), ptr(85.0), ptr(0.5)
	},
		oom, failed, shoved, done, starting, settling, awaiting)
	s.Lost, s.Status.Problem = "gone", ptr("trouble")
	drop := func() { s.Jobs = s.Jobs[1:] }
	for _, step := range []struct {
		want Mood
		then func()
	}{
		{MoodConfused, func() { s.Lost = "" }}, {MoodOOM, drop}, {MoodFailed, drop},
		{MoodHot, func() { s.GPUs.Machines[0].GPUs[0].TempC = nil }}, {MoodSweat, func() { s.GPUs.Machines[0].Pressure = nil }},
		{MoodHmm, func() { s.Status.Problem = nil }}, {MoodPreempted, drop}, {MoodDone, drop}, {MoodStart, func() { starting.State = pasar.Running }},
		{MoodThinking, func() { settling.Waiting.Why = pasar.WaitGPU }}, {MoodWaiting, func() { s.Jobs = s.Jobs[:2] }},
		{MoodBusy, func() { s.Jobs = []*pasar.JobView{job(3, pasar.Completed, pasar.CodeCompleted, time.Minute)} }},
		{MoodHappy, func() { s.Jobs = nil }}, {MoodIdle, func() {}},
	} {
		if m, why, _ := MoodOf(s, now); m != step.want {
			t.Fatalf("%s (%s); want %s", m, why, step.want)
		}
		step.then()
	}
}

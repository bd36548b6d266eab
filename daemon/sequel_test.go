package daemon

import (
	"testing"
	"time"

	"pasar"
)

func TestWhatFollowsFromTheEndOfAnAttempt(t *testing.T) {
	now := epoch
	stop := func(why pasar.StopWhy) *pasar.Stop { return &pasar.Stop{ID: "s", Why: why} }
	saved := &pasar.Marker{Checkpoint: "/c"}
	exit := func(code int, s *pasar.Stop, m *pasar.Marker) *pasar.ExitRecord {
		return &pasar.ExitRecord{Exit: pasar.Exit{Code: code}, Stop: s, Marker: m}
	}
	retry := func(gap time.Duration) pasar.Sequel {
		return pasar.Sequel{State: pasar.Queued, Retry: true, NotBefore: now.Add(gap)}
	}
	hardware, program := []pasar.Xid{{Code: 43, Class: pasar.XidApp}, {Code: 79, Class: pasar.XidHW}}, []pasar.Xid{{Code: 31, Class: pasar.XidApp}}
	for _, c := range []struct {
		name    string
		retries int
		on      []pasar.Code
		retried int
		asked   *pasar.Stop
		exit    *pasar.ExitRecord
		reason  pasar.Code
		xids    []pasar.Xid
		mem     pasar.Bytes
		want    pasar.Sequel
	}{
		{name: "completed", retries: 3, reason: pasar.CodeCompleted},
		{name: "completed, though any reason is named", retries: 3, on: []pasar.Code{pasar.CodeCompleted}, reason: pasar.CodeCompleted},
		{name: "preempted", asked: stop(pasar.StopPreempt), reason: pasar.CodePreempted, want: pasar.Sequel{State: pasar.Queued}},
		{name: "preempted with retries, which it doesn't cost", retries: 2, asked: stop(pasar.StopPreempt), reason: pasar.CodePreempted, want: pasar.Sequel{State: pasar.Queued}},
		{name: "completed though it was to be preempted", asked: stop(pasar.StopPreempt), reason: pasar.CodeCompleted},
		{name: "preempted, then cancelled", retries: 2, asked: stop(pasar.StopCancel), reason: pasar.CodePreempted},
		{name: "paused", asked: stop(pasar.StopPause), reason: pasar.CodePaused, exit: exit(75, stop(pasar.StopPause), saved), want: pasar.Sequel{State: pasar.Paused}},
		{name: "paused by force", asked: stop(pasar.StopPause), reason: pasar.CodePaused, want: pasar.Sequel{State: pasar.Paused}},
		{name: "paused, then cancelled", asked: stop(pasar.StopCancel), reason: pasar.CodePaused},
		{name: "failed instead of pausing", retries: 3, asked: stop(pasar.StopPause), reason: pasar.CodeExit},
		{name: "time limit", asked: stop(pasar.StopLimit), reason: pasar.CodeTimeLimit, exit: exit(1, stop(pasar.StopLimit), nil)},
		{name: "time limit with retries", retries: 1, asked: stop(pasar.StopLimit), reason: pasar.CodeTimeLimit, exit: exit(1, stop(pasar.StopLimit), nil), want: retry(5 * time.Second)},
		{name: "time limit, saved", retries: 1, asked: stop(pasar.StopLimit), reason: pasar.CodeTimeLimit, exit: exit(75, stop(pasar.StopLimit), saved), want: pasar.Sequel{State: pasar.Paused}},
		{name: "time limit, marker but no 75", asked: stop(pasar.StopLimit), reason: pasar.CodeTimeLimit, exit: exit(0, stop(pasar.StopLimit), saved)},
		{name: "time limit, marker of nothing", asked: stop(pasar.StopLimit), reason: pasar.CodeTimeLimit, exit: exit(75, stop(pasar.StopLimit), &pasar.Marker{Missing: "no such file"})},
		{name: "timeout(1)", reason: pasar.CodeTimeLimit, exit: exit(124, nil, nil)},
		{name: "failed", reason: pasar.CodeExit},
		{name: "failed with retries", retries: 3, reason: pasar.CodeExit, want: retry(5 * time.Second)},
		{name: "failed again", retries: 3, retried: 2, reason: pasar.CodeSignal, want: retry(20 * time.Second)},
		{name: "failed once too often", retries: 3, retried: 3, reason: pasar.CodeExit},
		{name: "the gap has a bound", retries: 100, retried: 90, reason: pasar.CodeExit, want: retry(5 * time.Minute)},
		{name: "lost with retries", retries: 1, reason: pasar.CodeLost, want: retry(5 * time.Second)},
		{name: "cancelled", retries: 3, asked: stop(pasar.StopCancel), reason: pasar.CodeCancelled},
		{name: "failed while it was to be cancelled", retries: 3, asked: stop(pasar.StopCancel), reason: pasar.CodeExit},
		{name: "bad command", retries: 3, reason: pasar.CodeBadCommand},
		{name: "no file", retries: 3, reason: pasar.CodeFileMissing},
		{name: "bad command, as named", retries: 3, on: []pasar.Code{pasar.CodeBadCommand}, reason: pasar.CodeBadCommand, want: retry(5 * time.Second)},
		{name: "not one of those named", retries: 3, on: []pasar.Code{pasar.CodeOOM}, reason: pasar.CodeExit},
		{name: "the GPU's fault", reason: pasar.CodeGPUXid, xids: hardware, want: retry(5 * time.Second)},
		{name: "the GPU's fault again", retried: 1, reason: pasar.CodeGPUXid, xids: hardware},
		{name: "the GPU's fault, retries left", retries: 2, retried: 1, reason: pasar.CodeGPUXid, xids: hardware, want: retry(10 * time.Second)},
		{name: "the GPU's fault, other reasons named", retries: 2, on: []pasar.Code{pasar.CodeOOM}, reason: pasar.CodeGPUXid, xids: hardware},
		{name: "the program's fault", reason: pasar.CodeGPUXid, xids: program},
		{name: "out of GPU memory, raised", reason: pasar.CodeGPUOOM, mem: 9, want: pasar.Sequel{State: pasar.Queued, Mem: 9, Limit: 10}},
		{name: "out of GPU memory", reason: pasar.CodeGPUOOM},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := attemptEnd{spec: &pasar.Spec{Retries: c.retries, RetryOn: c.on}, retried: c.retried, asked: c.asked, exit: c.exit,
				verdict: pasar.Verdict{Reason: c.reason}, xids: c.xids, mem: c.mem, now: now}
			if c.mem > 0 {
				e.limit = c.mem + 1
			}
			if got := sequel(e); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

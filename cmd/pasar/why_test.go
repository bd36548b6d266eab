package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// dead is a job that failed for a line far above the end of its output.
func dead() (v pasar.JobView, log string) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "step %d\r\n", i+1)
	}
	b.WriteString("\x1b[31mRuntimeError: rank 3 gave up\x1b[0m\r\n")
	tail := []string{}
	for i := range 100 {
		line := fmt.Sprintf("[rank%d]: frame #%d", i%4, i)
		b.WriteString(line + "\r\n")
		if i >= 60 {
			tail = append(tail, line)
		}
	}
	v = job(42, pasar.Failed, pasar.CodeException)
	size := int64(b.Len())
	v.Verdict.Evidence = []pasar.Line{{Number: 3001, Text: "RuntimeError: rank 3 gave up"}}
	v.Attempts = []pasar.AttemptView{{Attempt: 1, Machine: "local", LaunchedAt: at, EndedAt: &at, Output: &size, Tail: tail, Verdict: v.Verdict}}
	return v, b.String()
}

// What a record keeps of an output is short: what stands around the line that matters is read from the log.
func TestWhyShowsWhatStandsAroundALineFarAboveTheEnd(t *testing.T) {
	v, log := dead()
	show := func(_ context.Context, c *ipc.Call) error { return c.Answer(ipc.ViewAnswer{JSON: jobView(t, v)}) }
	f := newFake(t, verbs{ipc.VerbShow: show, ipc.VerbLogs: logOf(t, log)}.handle)
	for _, args := range [][]string{{"why", "42"}, {"why", "--attempt", "1", "42"}} {
		r := f.run(args...)
		want := "  2998  step 2998\n  2999  step 2999\n  3000  step 3000\n> 3001  RuntimeError: rank 3 gave up\n  3002  [rank0]: frame #0\n        …\n"
		want = strings.Replace(want, "        …", "      …", 1)
		if r.code != 0 || r.stderr != "" || !strings.Contains(r.out, want) || !strings.Contains(r.out, "  3101  [rank3]: frame #99\n") {
			t.Errorf("%q: exit %d, %q\n%s", args, r.code, r.stderr, r.out)
		}
	}
	// Without the log it is what the record has.
	f = newFake(t, verbs{ipc.VerbShow: show}.handle)
	r := f.run("why", "42")
	if r.code != 0 || r.stderr != "" || !strings.Contains(r.out, "> 3001  RuntimeError: rank 3 gave up\n") || strings.Contains(r.out, "step 3000") {
		t.Errorf("exit %d, %q\n%s", r.code, r.stderr, r.out)
	}
}

func TestWhySaysThatARunningJobIsSilent(t *testing.T) {
	ran := pasar.Duration(time.Hour)
	v := job(42, pasar.Running, "")
	v.RunTime = &ran
	v.Attempts = []pasar.AttemptView{{Attempt: 1, Machine: "local", LaunchedAt: at, StartedAt: &at}}
	f := newFake(t, verbs{ipc.VerbShow: func(_ context.Context, c *ipc.Call) error { return c.Answer(ipc.ViewAnswer{JSON: jobView(t, v)}) }, ipc.VerbLogs: logOf(t, "")}.handle)
	if r := f.run("why", "42"); !strings.Contains(r.out, "it has written nothing so far\n") || r.stderr != "" {
		t.Errorf("%q, %q", r.out, r.stderr)
	}
}

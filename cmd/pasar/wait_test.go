package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// waits answers a wait with these views.
func waits(t *testing.T, views ...pasar.JobView) ipc.Handler {
	return func(_ context.Context, c *ipc.Call) error {
		for _, v := range views {
			if slices.Contains(bind[ipc.WaitRequest](t, c).Jobs, v.ID) {
				if err := c.Chunk(jobView(t, v)); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

func TestWaitExitsByTheTable(t *testing.T) {
	seven, segv := 7, 11
	failed := job(1, pasar.Failed, pasar.CodeExit)
	failed.Attempts[0].ExitCode = &seven
	crashed := job(1, pasar.Failed, pasar.CodeSignal)
	crashed.Attempts[0].Signal = &segv
	for _, tc := range []struct {
		name  string
		views []pasar.JobView
		args  string
		want  int
	}{
		{"completed", []pasar.JobView{job(1, pasar.Completed, pasar.CodeCompleted)}, "1", 0},
		{"failed", []pasar.JobView{failed}, "1", 1},
		{"out of GPU memory", []pasar.JobView{job(1, pasar.Failed, pasar.CodeGPUOOM)}, "1", 2},
		{"shm", []pasar.JobView{job(1, pasar.Failed, pasar.CodeShmFull)}, "1", 2},
		{"cancelled", []pasar.JobView{job(1, pasar.Cancelled, pasar.CodeCancelled)}, "1", 3},
		{"paused", []pasar.JobView{job(1, pasar.Paused, "")}, "1", 5},
		{"memory over failed", []pasar.JobView{failed, job(2, pasar.Failed, pasar.CodeOOM), job(3, pasar.Cancelled, "")}, "1,2,3", 2},
		{"failed over cancelled", []pasar.JobView{job(2, pasar.Cancelled, ""), failed, job(3, pasar.Completed, "")}, "1-3", 1},
		{"cancelled over completed", []pasar.JobView{job(2, pasar.Completed, ""), job(1, pasar.Cancelled, "")}, "1 2", 3},
		{"own code", []pasar.JobView{failed}, "--propagate 1", 7},
		{"own signal", []pasar.JobView{crashed}, "--propagate 1", 139},
		{"no own code", []pasar.JobView{job(1, pasar.Failed, pasar.CodeLaunchError)}, "--propagate 1", 1},
		{"started", []pasar.JobView{job(1, pasar.Running, "")}, "--for started 1", 0},
		{"any", []pasar.JobView{job(1, pasar.Cancelled, "")}, "--any 1 2", 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(t, verbs{ipc.VerbWait: waits(t, tc.views...)}.handle)
			r := f.run(append([]string{"wait"}, strings.Fields(tc.args)...)...)
			if r.code != tc.want {
				t.Errorf("exit %d, want %d\n%s%s", r.code, tc.want, r.out, r.stderr)
			}
			if n := strings.Count(r.out, "\n"); n != len(tc.views) {
				t.Errorf("%d lines for %d jobs: %q", n, len(tc.views), r.out)
			}
		})
	}
}

func TestWaitTellsWhyOnStandardErrorCleaned(t *testing.T) {
	f := newFake(t, verbs{ipc.VerbWait: waits(t, job(1, pasar.Failed, pasar.CodeExit))}.handle)
	r := f.run("wait", "1")
	if r.out != "#1 train failed: it was exit\n" || !strings.Contains(r.stderr, `boom\x1b[2J`) || !strings.Contains(r.stderr, "hint: try again\n") {
		t.Errorf("out %q\nerr %q", r.out, r.stderr)
	}
}

func TestWaitTimesOutWith4AndLeavesTheJob(t *testing.T) {
	f := newFake(t, verbs{ipc.VerbWait: func(ctx context.Context, c *ipc.Call) error { <-ctx.Done(); return ctx.Err() }}.handle)
	r := f.run("wait", "--timeout", "1ms", "1")
	if r.code != exitTimeout || r.out != "" || !strings.Contains(r.stderr, "job #1 isn't over") {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.stderr)
	}
	r = f.run("wait", "--timeout", "1ms", "--json", "1")
	if r.code != exitTimeout || r.out != `{"schema":1,"timed_out":true,"left":[1]}`+"\n" {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.stderr)
	}
}

func TestALookWithoutWaitingSaysSo(t *testing.T) {
	f := newFake(t, verbs{ipc.VerbWait: func(ctx context.Context, c *ipc.Call) error { <-ctx.Done(); return ctx.Err() }}.handle)
	if r := f.run("wait", "--timeout", "0s", "1"); r.code != exitTimeout || r.stderr != "pasar: job #1 isn't over, and --timeout 0s doesn't wait; nothing was stopped\n" {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
}

func TestWaitGoesOnWithAnotherDaemonAndSaysNothingTwice(t *testing.T) {
	var f *fake
	var asked [][]pasar.JobID
	second := verbs{ipc.VerbWait: func(ctx context.Context, c *ipc.Call) error {
		asked = append(asked, bind[ipc.WaitRequest](t, c).Jobs)
		return c.Chunk(jobView(t, job(2, pasar.Completed, "")))
	}}.handle
	first := verbs{ipc.VerbWait: func(ctx context.Context, c *ipc.Call) error {
		asked = append(asked, bind[ipc.WaitRequest](t, c).Jobs)
		if err := c.Chunk(jobView(t, job(1, pasar.Completed, ""))); err != nil {
			return err
		}
		f.shutDown(second)
		<-ctx.Done()
		return ctx.Err()
	}}.handle
	f = newFake(t, first)
	r := f.run("wait", "1", "2")
	if r.code != 0 || r.out != "#1 train completed\n#2 train completed\n" {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.stderr)
	}
	if want := [][]pasar.JobID{{1, 2}, {2}}; !slices.EqualFunc(asked, want, slices.Equal) {
		t.Errorf("asked for %v, want %v", asked, want)
	}
}

func TestADaemonThatWasShutDownIsNotStartedAgainBehindItsBack(t *testing.T) {
	defer func(d time.Duration) { reconnectFor = d }(reconnectFor)
	reconnectFor = 10 * time.Millisecond
	var f *fake
	f = newFake(t, verbs{ipc.VerbWait: func(ctx context.Context, c *ipc.Call) error {
		f.mu.Lock()
		stop := f.stop
		f.stop = nil
		f.mu.Unlock()
		go stop()
		<-ctx.Done()
		return ctx.Err()
	}}.handle)
	if err := os.WriteFile(f.dir+"/pasard", []byte("#!/bin/sh\ntouch "+f.dir+"/started\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := runIn(t, t.Context(), f.env("PATH="+f.dir+":/bin"), "wait", "1")
	if r.code != exitNoDaemon || !strings.HasPrefix(r.stderr, "pasar: the daemon was shut down\nhint: ") {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
	if _, err := os.Stat(f.dir + "/started"); err == nil {
		t.Error("a daemon was started")
	}
}

func TestAnInterruptIs130(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	f := newFake(t, verbs{ipc.VerbWait: func(ctx context.Context, c *ipc.Call) error {
		cancel(errInterrupted)
		<-ctx.Done()
		return ctx.Err()
	}}.handle)
	if r := runIn(t, ctx, f.env(), "wait", "1"); r.code != exitInterrupted {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
}

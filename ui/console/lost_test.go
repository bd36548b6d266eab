package console

import (
	"context"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

func TestALostDaemonIsSaidAndFoundAgain(t *testing.T) {
	d := someJobs(t)
	s := show(t, d, 100, 30)
	s.sees("train-1", "2 running")
	d.kill()
	s.sees("no connection: this is how it was at 12:00:30", "train-1")
	s.press("x")
	s.sees("Cancel #1")
	s.press("Enter")
	s.sees("there is no connection to the daemon just now")
	s.press("Esc")
	d.start()
	s.misses("no connection")
	d.change(func(d *double) { d.jobs = d.jobs[:1] })
	s.misses("train-2")
	s.press("q")
	if err := s.ends(); err != nil {
		t.Error(err)
	}
}

func TestADaemonThatWasShutDownIsStartedOnlyWhenAsked(t *testing.T) {
	d := someJobs(t)
	revived := make(chan struct{}, 16)
	s := show(t, d, 100, 30, func(o *Options) {
		o.revive = func(context.Context) error { revived <- struct{}{}; d.start(); return nil }
	})
	s.sees("train-1", "2 running")
	d.shutDown()
	s.sees("the daemon was shut down")
	if s.c.feed.revives(true, time.Hour) || !s.c.feed.revives(false, reviveAt) || s.c.feed.revives(false, reviveAt-1) {
		t.Error("only one that is lost, and for a while, is started without being asked for")
	}
	s.press("R")
	s.misses("no connection")
	if len(revived) != 1 {
		t.Errorf("started %d times", len(revived))
	}
}

func TestAKilledDaemonIsStartedAgain(t *testing.T) {
	d := someJobs(t)
	revived := make(chan struct{}, 16)
	s := show(t, d, 100, 30, func(o *Options) {
		o.revive = func(context.Context) error { revived <- struct{}{}; d.start(); return nil }
	})
	s.sees("train-1")
	d.kill()
	s.sees("no connection")
	s.misses("no connection")
	if len(revived) != 1 {
		t.Errorf("started %d times", len(revived))
	}
}

func TestWithoutADaemonTheConsoleWaits(t *testing.T) {
	d := newDouble(t)
	d.kill()
	s := show(t, d, 80, 24)
	s.sees("no daemon answers", "Nothing is known yet.")
	for _, k := range []string{"Enter", "b", "x", "w", "f", "a", "g", "q", "c", "q", "?", "q", "-", "Left", "o"} {
		s.press(k)
	}
	s.press("s")
	s.sees("Submit a job")
	s.types("true")
	s.press("Enter")
	s.sees("there is no connection")
	s.press("Esc")
	d.start()
	s.sees("No jobs yet.")
	d.change(func(d *double) { d.jobs = []pasar.JobView{job(1, pasar.Running)} })
	s.sees("train-1")
}

func TestEarlierJobsThatCantBeHadAreNotAskedForAgainAndAgain(t *testing.T) {
	d := someJobs(t)
	d.noPast = &ipc.Error{Code: ipc.CodeInternal, Message: "the disk is gone"}
	s := show(t, d, 100, 30)
	s.sees("earlier jobs can't be had: the disk is gone")
	for range 20 {
		s.press("Down") // draws
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.alls != 1 {
		t.Errorf("asked %d times within one moment", d.alls)
	}
}

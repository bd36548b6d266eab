package console

import (
	"context"
	"testing"

	"pasar"
	"pasar/ipc"
)

func TestAskingTwiceIsAskingOnce(t *testing.T) {
	d := someJobs(t)
	stall := make(chan struct{})
	d.stall = stall
	s := show(t, d, 100, 40)
	s.sees("train-1")
	s.press("s")
	s.types("sleep 300")
	s.press("Enter", "Enter", "Enter")
	s.sees("asking the daemon")
	s.press("Esc", "s")
	s.types("my precious long command")
	s.sees("my precious long command")
	close(stall)
	s.sees("#900 submitted", "my precious long command") // the other form stays
	if verbs, _ := d.told(); len(verbs) != 1 {
		t.Errorf("asked %v", verbs)
	}
}

func TestARepeatAfterALostConnectionIsTheSameRequest(t *testing.T) {
	d := someJobs(t)
	d.stall = make(chan struct{})
	s := show(t, d, 100, 40)
	s.sees("train-1")
	s.press("s")
	s.types("sleep 300")
	s.press("Enter")
	s.sees("asking the daemon")
	s.until("it was asked", func(string) bool { verbs, _ := d.told(); return len(verbs) == 1 })
	d.mu.Lock()
	stall := d.stall
	d.stall = nil
	conns := d.conns
	d.mu.Unlock()
	for _, c := range conns { // the answer never comes
		_ = c.Close()
	}
	close(stall)
	s.sees("the connection was lost before the answer came")
	s.until("a connection", func(string) (there bool) {
		s.in(func() { there = s.c.snap.Lost == "" && s.c.feed.call(t.Context(), nothing) == nil })
		return there
	})
	s.press("Enter")
	s.sees("#900 submitted")
	_, bodies := d.told()
	if len(bodies) != 2 || bodies[0].(ipc.SubmitRequest).Request != bodies[1].(ipc.SubmitRequest).Request {
		t.Errorf("asked %d times, as different requests", len(bodies))
	}
}

func TestSeveralPastedLinesAreNotJoined(t *testing.T) {
	d := someJobs(t)
	s := show(t, d, 100, 40)
	s.sees("train-1")
	s.press("s")
	s.sees("Submit a job")
	s.in(func() { s.c.dialog.PasteHandler()("echo one\necho two\n", nil) })
	s.press("Tab")
	s.sees("a field has one line, and 2 were pasted")
	s.misses("echo one")
}

func TestACommandIsALineForTheShell(t *testing.T) {
	for _, line := range []string{"true;false", "~/foo", "$HOME/foo", "echo>/tmp/x1", "python train.py"} {
		d := someJobs(t)
		s := show(t, d, 100, 40)
		s.sees("train-1")
		s.press("s")
		s.types(line)
		s.press("Enter")
		s.sees("#900 submitted")
		_, bodies := d.told()
		if argv := bodies[0].(ipc.SubmitRequest).Spec.Argv; len(argv) != 3 || argv[0] != "/bin/sh" || string(argv[2]) != line {
			t.Errorf("%s is run as %q", line, argv)
		}
		s.stop()
	}
}

func TestARefusalIsSeenOnTheSmallestTerminals(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {60, 14}, {40, 10}, {30, 8}} {
		s := show(t, someJobs(t), size[0], size[1])
		s.sees("train-1")
		s.press("s")
		s.sees("Submit a job")
		s.press("Enter")
		s.sees("no command is given")
		s.stop()
	}
}

func TestACancelSaysWhatTheJobIsByNow(t *testing.T) {
	d := someJobs(t)
	s := show(t, d, 100, 40)
	s.sees("train-3")
	s.press("Down", "Down", "x")
	s.sees("It waits, and leaves the queue.")
	d.change(func(d *double) { d.jobs[2] = job(3, pasar.Running) })
	s.sees("It runs. It gets SIGTERM")
}

func nothing(context.Context, *ipc.Client) error { return nil }

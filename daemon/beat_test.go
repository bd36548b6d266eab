package daemon

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pasar/ipc"
)

func TestABeatProvesThatTheLoopAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		var once sync.Once
		hung, release := make(chan struct{}), make(chan struct{})
		d := w.start(func(b Batch, done bool) bool {
			if !done && len(b.Specs) > 0 {
				once.Do(func() { close(hung) })
				<-release // a write that hangs, as on a disk that is gone
			}
			return false
		})
		beat := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			return d.Beat(ctx)
		}
		if err := beat(); err != nil {
			t.Errorf("idle: %v", err)
		}
		go func() {
			_, _ = d.do(t.Context(), d.Daemon.submit(ipc.SubmitRequest{Request: "x", Spec: spec("a", 1000)}))
		}()
		<-hung
		if err := beat(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a loop that is stuck answers: %v", err)
		}
		close(release)
		if err := beat(); err != nil {
			t.Errorf("free again: %v", err)
		}
		w.journal.setFail(true)
		_, _ = d.do(t.Context(), d.Daemon.submit(ipc.SubmitRequest{Request: "y", Spec: spec("b", 1000)}))
		if err := beat(); err != nil {
			t.Errorf("a journal that fails is no stuck loop: %v", err)
		}
	})
}

func TestTheLoadIsToldAtEachChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		idle, changed := d.Load()
		if idle != (Load{}) {
			t.Errorf("idle: %+v", idle)
		}
		d.submit(spec("a", 1000))
		d.submit(spec("b", 1000))
		<-changed
		if now, _ := d.Load(); now != (Load{Running: 1, Waiting: 1}) {
			t.Errorf("two jobs, one GPU: %+v", now)
		}
		w.journal.setFail(true)
		_, _ = d.do(t.Context(), d.Daemon.submit(ipc.SubmitRequest{Request: "y", Spec: spec("c", 1000)}))
		if now, _ := d.Load(); now.Problem == "" {
			t.Errorf("a journal that fails: %+v", now)
		}
	})
}

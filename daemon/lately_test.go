package daemon

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/ipc"
)

// listed are the ids of a listing.
func (r *running) listed(list ipc.ListRequest) (ids []pasar.JobID) {
	r.w.t.Helper()
	if _, err := r.selectJobs(context.Background(), &list, r.pub.Load(), func(j *job, _ int) error {
		ids = append(ids, j.ID)
		return nil
	}); err != nil {
		r.w.t.Fatal(err)
	}
	return ids
}

// TestWhatHappenedLatelyIsFoundInALongQueue: jobs of which an attempt is under way or has just ended, wherever they are.
func TestWhatHappenedLatelyIsFoundInALongQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		old := d.submit(spec("old", 1000))
		w.machine.Finish(key(old, 1), 0)
		d.expect(old, pasar.Completed)
		time.Sleep(time.Hour)
		again := spec("again", 900)
		again.Retries = 1
		failed := d.submit(again)
		w.machine.Finish(key(failed, 1), 1)
		d.expect(failed, pasar.Queued)
		done := d.submit(spec("done", 1000))
		w.machine.Finish(key(done, 1), 0)
		d.expect(done, pasar.Completed)
		runs := d.submit(spec("runs", 1000))
		for range 300 {
			d.submit(spec("waits", 1000))
		}
		d.expect(failed, pasar.Queued)
		lately := time.Now().Add(-10 * time.Minute)
		if got, want := d.listed(ipc.ListRequest{Lately: lately, Limit: 200}), []pasar.JobID{runs, failed, done}; !slices.Equal(got, want) {
			t.Errorf("%v; want %v", got, want)
		}
		if got, want := d.listed(ipc.ListRequest{Lately: lately, All: true, States: []pasar.State{pasar.Completed}}), []pasar.JobID{done}; !slices.Equal(got, want) {
			t.Errorf("of the completed %v; want %v", got, want)
		}
		if got := d.listed(ipc.ListRequest{Limit: 5}); len(got) != 5 || got[0] != runs {
			t.Errorf("%v", got)
		}
	})
}

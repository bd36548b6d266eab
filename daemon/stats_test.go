package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/target"
	"pasar/target/targettest"
)

func (r *running) statsBy(by string, since time.Time) *pasar.StatsView {
	r.w.t.Helper()
	v, err := r.stats(context.Background(), ipc.StatsRequest{By: by, Since: since})
	if err != nil {
		r.w.t.Fatal(err)
	}
	return v
}

func TestStatsAddUpWhatEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		w.machine.OnLaunch(func(a target.Attempt) targettest.Script {
			s := exact(a)
			if a.Spec.Key.Job == 3 {
				s.Exit = pasar.Exit{Code: 3}
			}
			return s
		})
		d := w.start(nil)
		tagged := func(run time.Duration, c pasar.Claim, tags ...string) pasar.JobID {
			s := timed(run, 1000, c)
			s.Tags = tags
			return d.submit(s)
		}
		// The fake's time starts at midnight. 1 and 2 have both GPUs for two hours; 3 waits for them.
		tagged(2*time.Hour, whole(1), "a", "b")
		tagged(2*time.Hour, whole(1), "a")
		failing := tagged(30*time.Hour, whole(2))
		tagged(8*time.Hour, slice(40*pasar.GiB), "b") // 44 of 80 GiB, after 3
		time.Sleep(3 * time.Hour)
		w.machine.Report(key(failing, 1), pasar.Event{Kind: pasar.EventCheckpoint, At: time.Now()})
		time.Sleep(72 * time.Hour)
		synctest.Wait()

		v := d.statsBy("", time.Time{})
		if v.By != "day" || v.Since != nil || len(v.Rows) != 2 || v.Rows[0].Key != "2000-01-01" || v.Rows[1].Key != "2000-01-02" {
			t.Fatalf("by day: %+v", v)
		}
		total := v.Total
		wantHours := 2.0 + 2 + 60 + 8*44.0/80
		if total.Jobs != 4 || total.Attempts != 4 || math.Abs(total.GPUHours-wantHours) > 1e-9 ||
			total.RunTime.Seconds() != 42*3600 || total.MaxWait.Seconds() != 32*3600 || total.MeanWait.Seconds() != 8.5*3600 {
			t.Errorf("total %+v, want %v GPU-hours", total, wantHours)
		}
		if total.States[pasar.Completed] != 3 || total.States[pasar.Failed] != 1 || total.Verdicts[pasar.CodeExit] != 1 || total.Verdicts[pasar.CodeCompleted] != 3 {
			t.Errorf("states %v, verdicts %v", total.States, total.Verdicts)
		}
		if total.LostFailed.Seconds() != 29*3600 || total.LostPreempt != 0 || total.LostUnknown != 0 {
			t.Errorf("lost %s and %s, %d unknown", total.LostFailed, total.LostPreempt, total.LostUnknown)
		}
		byTag := d.statsBy("tag", time.Time{})
		var keys []string
		var jobs []int
		for _, r := range byTag.Rows {
			keys, jobs = append(keys, r.Key), append(jobs, r.Jobs)
		}
		if !slices.Equal(keys, []string{"", "a", "b"}) || !slices.Equal(jobs, []int{1, 2, 2}) {
			t.Errorf("by tag: %v %v", keys, jobs)
		}
		if v := d.statsBy("submitter", time.Time{}); len(v.Rows) != 1 || v.Rows[0].Key != "ada" || v.Rows[0].Jobs != 4 {
			t.Errorf("by submitter: %+v", v.Rows)
		}
		if v := d.statsBy("machine", time.Time{}); len(v.Rows) != 1 || v.Rows[0].Key != pasar.LocalMachine {
			t.Errorf("by machine: %+v", v.Rows)
		}
		_, err := d.stats(context.Background(), ipc.StatsRequest{By: "colour"})
		var e *ipc.Error
		if !errors.As(err, &e) || e.Code != ipc.CodeBadRequest {
			t.Errorf("stats by colour: %v", err)
		}
	})
}

func TestStatsByReasonAreOfTheAttemptsThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		w.machine.OnLaunch(func(a target.Attempt) targettest.Script {
			s := exact(a)
			switch k := a.Spec.Key; {
			case k.Job == 1 && k.Attempt < 3:
				s.Exit = pasar.Exit{Code: 3}
			case k.Job == 2:
				s.Exit = pasar.Exit{Signal: 11}
			}
			return s
		})
		d := w.start(nil)
		again := timed(time.Hour, 1000, whole(2))
		again.Retries = 2
		first := d.submit(again) // fails twice, then completes
		d.submit(timed(2*time.Hour, 1000, whole(1)))
		d.submit(timed(time.Hour, 1000, whole(1)))
		time.Sleep(30 * time.Minute)
		w.machine.Report(key(first, 1), pasar.Event{Kind: pasar.EventCheckpoint, At: time.Now()})
		time.Sleep(24 * time.Hour)
		synctest.Wait()

		v := d.statsBy("reason", time.Time{})
		if v.By != "reason" || len(v.Rows) != 2 || v.Total.Jobs != 3 || v.Total.Attempts != 5 || v.Total.Blame != nil {
			t.Fatalf("%+v", v)
		}
		r := v.Rows[0]
		if r.Key != "exit" || r.Attempts != 2 || r.Jobs != 1 || r.States[pasar.Completed] != 1 || r.RunTime.Seconds() != 7200 || r.GPUHours != 4 {
			t.Errorf("exit: %+v", r)
		}
		if r.Blame == nil || *r.Blame != pasar.BlameJob || r.LastJob == nil || *r.LastJob != first || r.Last == nil {
			t.Errorf("exit: blame %v, last %v of %v", r.Blame, r.Last, r.LastJob)
		}
		// Half an hour of the first attempt was saved, of the second nothing.
		if r.LostFailed.Seconds() != 90*60 || r.GPUHoursLost != 3 || r.LostUnknown != 0 {
			t.Errorf("exit: lost %s, %v GPU-hours", r.LostFailed, r.GPUHoursLost)
		}
		r = v.Rows[1]
		if r.Key != "signal" || r.Attempts != 1 || r.LostUnknown != 1 || r.LostFailed != 0 || *r.LastJob != 2 {
			t.Errorf("signal: %+v", r)
		}
		if v.Total.GPUHoursLost != 3 || v.Total.LostFailed.Seconds() != 90*60 {
			t.Errorf("in all %v GPU-hours and %s lost", v.Total.GPUHoursLost, v.Total.LostFailed)
		}
	})
}

func TestStatsCountAsUnknownWhatNobodyReported(t *testing.T) {
	st := newTale(t)
	st.launch().after(10*minute).end(pasar.CodeExit, "", nil)
	if s := sumOf(st.job(), nil); s.LostUnknown != 1 || s.LostFailed != 0 {
		t.Errorf("%+v", s)
	}
	st = newTale(t)
	st.launch().after(10*minute).end(pasar.CodeCompleted, "", nil)
	if s := sumOf(st.job(), nil); s.LostUnknown != 0 {
		t.Errorf("a job that was never interrupted counts as unknown: %+v", s)
	}
}

// pagedHistory gives finished jobs a page at a time, as the store does, and counts the pages.
type pagedHistory struct {
	History
	rows  []HistoryRow // newest first
	pages int
}

func (h *pagedHistory) FinishedJobs(q HistoryQuery) ([]HistoryRow, error) {
	h.pages++
	i := 0
	if q.BeforeJob != 0 {
		i = slices.IndexFunc(h.rows, func(r HistoryRow) bool { return r.Job == q.BeforeJob }) + 1
	}
	end := i
	for end < len(h.rows) && end-i < q.Limit && !h.rows[end].Finished.Before(q.Since) {
		end++
	}
	return h.rows[i:end], nil
}

func TestStatsReadAllOfTheHistoryAPageAtATime(t *testing.T) {
	const n = 3*pageSize + 7
	h := &pagedHistory{}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range n {
		j := goneJob(pasar.JobID(n-i), "t", pasar.Completed, time.Minute, 0)
		j.Finished = noon.Add(-time.Duration(i) * time.Hour)
		h.rows = append(h.rows, j.row())
	}
	d := &Daemon{Deps: Deps{History: h}}
	d.pub.Store(&published{})
	v, err := d.stats(context.Background(), ipc.StatsRequest{})
	if err != nil || v.Total.Jobs != n || h.pages != 4 {
		t.Errorf("%d jobs in %d pages, %v", v.Total.Jobs, h.pages, err)
	}
	v, err = d.stats(context.Background(), ipc.StatsRequest{Since: noon.Add(-10 * time.Hour)})
	if err != nil || v.Total.Jobs != 11 || len(v.Rows) != 1 || v.Since == nil {
		t.Errorf("since ten hours ago: %+v, %v", v, err)
	}
	if b, err := json.Marshal(v); err != nil || len(b) == 0 {
		t.Errorf("%s, %v", b, err)
	}
}

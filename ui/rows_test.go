package ui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pasar"
)

// listed is rows in a line: headings, and the ids of jobs.
func listed(rows []Row) string {
	var parts []string
	for _, r := range rows {
		if r.View == nil {
			parts = append(parts, r.Heading+":")
		} else {
			parts = append(parts, r.View.ID.String())
		}
	}
	return strings.Join(parts, " ")
}

func TestRowsAreInTheOrderAskedForAndGroupedByState(t *testing.T) {
	made := func(id pasar.JobID, st pasar.State, name string, bid pasar.Bid, d time.Duration) *pasar.JobView {
		return &pasar.JobView{ID: id, State: st, Name: name, Bid: bid, RunTime: ptr(pasar.Duration(d)), QueueTime: now.Add(-d)}
	}
	jobs := []*pasar.JobView{
		made(7, pasar.Running, "b", 1, time.Hour), made(8, pasar.Stopping, "A", 1, time.Minute), nil, made(3, pasar.Queued, "c", 9, 2*time.Hour),
		made(9, pasar.Queued, "a", 5, time.Second), made(2, pasar.Awaiting, "x", 1, 0), made(4, pasar.Paused, "y", 1, 0),
		made(6, pasar.Failed, "z", 1, 0), made(5, pasar.Completed, "z", 1, 3*time.Hour), made(1, pasar.Starting, "q", 2, 0), made(10, "dreaming", "?", 0, 0),
	}
	before := slices.Clone(jobs)
	for _, c := range []struct {
		by               Sort
		reverse, grouped bool
		want             string
	}{
		{SortQueue, false, false, "7 8 3 9 2 4 6 5 1 10"},
		{SortQueue, true, false, "10 1 5 6 4 2 9 3 8 7"},
		{"", false, false, "7 8 3 9 2 4 6 5 1 10"},
		{SortID, false, false, "1 2 3 4 5 6 7 8 9 10"},
		{SortID, true, false, "10 9 8 7 6 5 4 3 2 1"},
		{SortName, false, false, "10 8 9 7 3 1 2 4 6 5"},
		{SortBid, false, false, "3 9 1 7 8 2 4 6 5 10"},
		{SortTime, false, false, "5 3 7 8 9 2 4 6 1 10"},
		{SortState, false, false, "7 1 8 2 3 9 4 5 6 10"},
		{SortQueue, false, true, "Running 3: 7 8 1 Awaiting approval 1: 2 Waiting 2: 3 9 Paused 1: 4 Finished 2: 6 5 Other 1: 10"},
		{SortID, true, true, "Running 3: 8 7 1 Awaiting approval 1: 2 Waiting 2: 9 3 Paused 1: 4 Finished 2: 6 5 Other 1: 10"},
	} {
		if got := listed(Rows(jobs, Filter{}, c.by, c.reverse, c.grouped, now)); got != c.want {
			t.Errorf("%s %v %v: %s\nwant %s", c.by, c.reverse, c.grouped, got, c.want)
		}
	}
	if !slices.Equal(jobs, before) {
		t.Error("the snapshot's own list was changed")
	}
	if got := Rows(jobs, ParseFilter("none such"), SortID, false, true, now); len(got) != 0 {
		t.Errorf("of nothing: %s", listed(got))
	}
	if len(Sorts()) != 6 || Sorts()[0] != SortQueue {
		t.Errorf("orders: %v", Sorts())
	}
}

func TestAFilterTakesJobsWithAllOfItsWords(t *testing.T) {
	v := &pasar.JobView{ID: 42, Group: ptr(pasar.JobID(40)), Name: "Train-large", State: pasar.Failed, Submitter: "ada", By: ptr("Grace"), Tags: []string{"vision", "Urgent"},
		Note: ptr("second try"), Command: "python train.py --lr 3e-4", Reason: ptr("gpu_oom")}
	for filter, want := range map[string]bool{
		"": true, "  ": true, "train": true, "TRAIN large": true, "train small": false, "#42": true, "42": true, "#4": false, "7": false, "#40": true,
		"@vision": true, "@urgent": true, "@vis": false, "vis": true, "tag:vision": true, "state:failed": true, "state:fail": false, "failed": true, "running": false,
		"by:ada": true, "by:grace": true, "by:ad": false, "grace": true, "second": true, "3e-4": true, "gpu_oom": true,
		"-train": false, "-eval": true, "train -@vision": false, "train -state:running": true, "-": true, "#": true, "@": true, "-@": true, "--lr": false, "[red]": false,
	} {
		if got := ParseFilter(filter).Match(v); got != want {
			t.Errorf("%q: %v", filter, got)
		}
	}
	if !(Filter{}).Match(nil) || ParseFilter("x").Match(nil) || !ParseFilter("").Match(&pasar.JobView{}) {
		t.Error("a job without anything")
	}
}

func BenchmarkRows(b *testing.B) {
	var jobs []*pasar.JobView
	for i := range 10_000 {
		jobs = append(jobs, &pasar.JobView{ID: pasar.JobID(i), Name: fmt.Sprint("train-", i), State: pasar.Queued, Command: "python train.py --lr 3e-4", Tags: []string{"a"}})
	}
	for b.Loop() {
		Rows(jobs, ParseFilter("train 3e-4"), SortName, false, true, now)
	}
}

package main

import (
	"context"

	"pasar"
	"pasar/daemon"
	"pasar/store"
)

// journal is the store as the daemon's Journal and History.
type journal struct{ *store.Store }

func (j journal) Append(b daemon.Batch) error {
	out := store.Batch{Records: b.Records, Unfinished: b.Unfinished}
	for _, s := range b.Specs {
		out.Specs = append(out.Specs, store.SpecRow(s))
	}
	for _, r := range b.Finished {
		out.Finished = append(out.Finished, store.JobRow(r))
	}
	return j.Store.Append(out)
}

func (j journal) RawFacts(ctx context.Context, after int64, limit int) ([][]byte, int64, error) {
	facts, err := j.Store.RawFacts(ctx, after, limit)
	if err != nil {
		return nil, after, err
	}
	lines := make([][]byte, len(facts))
	for i, f := range facts {
		lines[i], after = f.JSON, f.Seq
	}
	return lines, after, nil
}

func (j journal) FinishedJob(id pasar.JobID) ([]byte, bool, error) {
	row, ok, err := j.Job(id)
	return row.Body, ok, err
}

func (j journal) FinishedJobs(q daemon.HistoryQuery) ([]daemon.HistoryRow, error) {
	rows, err := j.Jobs(store.Query{
		Limit: q.Limit, Before: store.Place{Finished: q.BeforeTime, Job: q.BeforeJob},
		States: q.States, Tag: q.Tag, By: q.By, Submitter: q.Submitter, Machine: q.Machine, Since: q.Since, Until: q.Until,
		FromJob: q.FromJob, ToJob: q.ToJob,
	})
	if err != nil {
		return nil, err
	}
	out := make([]daemon.HistoryRow, len(rows))
	for i, r := range rows {
		out[i] = daemon.HistoryRow(r)
	}
	return out, nil
}

package daemon

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"pasar"
	"pasar/ipc"
)

// Stats are read from the history a page at a time: what is kept is a sum for each row.

func (d *Daemon) serveStats(ctx context.Context, c *ipc.Call) error {
	var r ipc.StatsRequest
	if err := c.Bind(&r); err != nil {
		return err
	}
	end, err := c.Turn(ctx)
	if err != nil {
		return err
	}
	defer end()
	v, err := d.stats(ctx, r)
	if err != nil {
		return err
	}
	return answerView(c, v)
}

// statsMany bounds the rows of stats, so that they fit a frame; what is over goes into the total alone.
const statsMany = 4000

func (d *Daemon) stats(ctx context.Context, r ipc.StatsRequest) (*pasar.StatsView, error) {
	by := cmp.Or(r.By, "day")
	keys, ok := statsKeys[by]
	if !ok {
		return nil, &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("stats can't be by %q", pasar.Clean(r.By)),
			Hint: "by day, tag, submitter or machine"}
	}
	memory := map[string]pasar.Bytes{}
	for _, inv := range d.pub.Load().machines {
		for _, g := range inv.GPUs {
			memory[g.UUID] = g.Total
		}
	}
	total := newStatsSum("")
	rows := map[string]*statsSum{}
	q := HistoryQuery{Limit: pageSize, Since: r.Since}
	for ctx.Err() == nil {
		page, err := d.History.FinishedJobs(q)
		if err != nil {
			return nil, fmt.Errorf("read history: %w", err)
		}
		for _, row := range page {
			j, err := decodeJob(row.Body)
			if err != nil {
				return nil, fmt.Errorf("job %d in the history: %w", row.Job, err)
			}
			one := sumOf(j, memory)
			total.add(&one)
			for _, k := range keys(j) {
				s := rows[k]
				if s == nil && len(rows) < statsMany {
					s = newStatsSum(k)
					rows[k] = s
				}
				if s != nil {
					s.add(&one)
				}
			}
		}
		if len(page) < pageSize {
			break
		}
		last := page[len(page)-1]
		q.BeforeTime, q.BeforeJob = last.Finished, last.Job
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	v := &pasar.StatsView{Schema: pasar.Schema, Since: known(r.Since), Total: total.row(), By: by, Rows: []pasar.StatsRow{}}
	for _, k := range sortedKeys(rows) {
		v.Rows = append(v.Rows, rows[k].row())
	}
	return v, nil
}

// statsKeys are the rows that a job belongs to. A job with several tags is in the row of each.
var statsKeys = map[string]func(*job) []string{
	"day": func(j *job) []string { return []string{j.Finished.UTC().Format(time.DateOnly)} },
	"tag": func(j *job) []string {
		tags := cleanedAll(j.Spec.Tags)
		slices.Sort(tags)
		if tags = slices.Compact(tags); len(tags) == 0 {
			tags = []string{""}
		}
		return tags
	},
	"submitter": func(j *job) []string { return []string{pasar.Clean(j.Spec.Submitter)} },
	"machine":   func(j *job) []string { return []string{machineOf(j)} },
}

// A statsSum sums jobs.
type statsSum struct {
	pasar.StatsRow
	waited pasar.Duration
	gpu    time.Duration // GPUs × run time
}

func newStatsSum(key string) *statsSum {
	s := &statsSum{}
	s.Key, s.States, s.Verdicts = key, map[pasar.State]int{}, map[pasar.Code]int{}
	return s
}

// sumOf is one job's part.
func sumOf(j *job, memory map[string]pasar.Bytes) statsSum {
	s := newStatsSum("")
	s.Jobs, s.States[j.End] = 1, 1
	for i := range j.Attempts {
		a := &j.Attempts[i]
		s.Attempts++
		if a.Verdict != nil {
			s.Verdicts[a.Verdict.Reason]++
		}
		ran := attemptRan(a)
		s.RunTime += ran
		s.gpu += time.Duration(gpusOf(a.Grant, memory) * float64(ran))
	}
	if len(j.Attempts) == 0 && j.Verdict != nil {
		s.Verdicts[j.Verdict.Reason]++
	}
	s.waited = queueWait(j)
	s.MaxWait = s.waited
	switch l := lostOf(j.Attempts); {
	case l.known:
		s.LostPreempt, s.LostFailed = l.preemptions, l.failures
	case l.interrupted:
		s.LostUnknown = 1
	}
	return *s
}

// gpusOf is how many GPUs' worth an attempt had: a slice is its part of each, where its memory is known.
func gpusOf(g pasar.Grant, memory map[string]pasar.Bytes) float64 {
	if g.Claim.Kind != pasar.Slice {
		return float64(len(g.GPUs))
	}
	n := 0.0
	for _, r := range g.GPUs {
		part := 1.0
		if total := memory[r.UUID]; total > 0 {
			part = min(1, float64(g.Claim.Limit)/float64(total))
		}
		n += part
	}
	return n
}

func (s *statsSum) add(o *statsSum) {
	s.Jobs += o.Jobs
	s.Attempts += o.Attempts
	s.RunTime += o.RunTime
	s.gpu += o.gpu
	s.waited += o.waited
	s.MaxWait = max(s.MaxWait, o.MaxWait)
	s.LostPreempt += o.LostPreempt
	s.LostFailed += o.LostFailed
	s.LostUnknown += o.LostUnknown
	for k, n := range o.States {
		s.States[k] += n
	}
	for k, n := range o.Verdicts {
		s.Verdicts[k] += n
	}
}

func (s *statsSum) row() pasar.StatsRow {
	s.GPUHours = s.gpu.Hours()
	if s.Jobs > 0 {
		s.MeanWait = s.waited / pasar.Duration(s.Jobs)
	}
	return s.StatsRow
}

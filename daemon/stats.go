package daemon

import (
	"cmp"
	"context"
	"fmt"
	"maps"
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
	if !ok && by != byReason {
		return nil, &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("stats can't be by %q", pasar.Clean(r.By)),
			Hint: "by day, tag, submitter, machine or reason"}
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
			put := func(k string, part *statsSum) {
				s := rows[k]
				if s == nil && len(rows) < statsMany {
					s = newStatsSum(k)
					rows[k] = s
				}
				if s != nil {
					s.add(part)
				}
			}
			if by == byReason {
				for code, part := range reasonsOf(j, memory) {
					put(string(code), part)
				}
				continue
			}
			for _, k := range keys(j) {
				put(k, &one)
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
	if by == byReason { // the most frequent first
		slices.SortStableFunc(v.Rows, func(a, b pasar.StatsRow) int { return cmp.Compare(b.Attempts, a.Attempts) })
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

// byReason has a row for each reason why attempts failed.
const byReason = "reason"

// A statsSum sums jobs.
type statsSum struct {
	pasar.StatsRow
	waited pasar.Duration
	gpu    time.Duration // GPUs × run time
	lost   time.Duration // GPUs × lost time
	blamed map[pasar.Blame]int
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
	lost := lostOf(j.Attempts)
	for i := range j.Attempts {
		a := &j.Attempts[i]
		s.Attempts++
		if a.Verdict != nil {
			s.Verdicts[a.Verdict.Reason]++
		}
		ran := attemptRan(a)
		s.RunTime += ran
		s.gpu += time.Duration(gpusOf(a.Grant, memory) * float64(ran))
		s.lost += time.Duration(gpusOf(a.Grant, memory) * float64(lostIn(lost.attempts[i])))
	}
	if len(j.Attempts) == 0 && j.Verdict != nil {
		s.Verdicts[j.Verdict.Reason]++
	}
	s.waited = queueWait(j)
	s.MaxWait = s.waited
	switch {
	case lost.known:
		s.LostPreempt, s.LostFailed = lost.preemptions, lost.failures
	case lost.interrupted:
		s.LostUnknown = 1
	}
	return *s
}

// lostIn is what is known to have been lost with an attempt: its unsaved work, and the time it took to get back to
// where the one before it was.
func lostIn(l lostAttempt) (d pasar.Duration) {
	if l.wasted != nil {
		d += *l.wasted
	}
	if l.restart != nil {
		d += *l.restart
	}
	return d
}

// reasonsOf is one job's part by the reasons for which attempts of it failed.
func reasonsOf(j *job, memory map[string]pasar.Bytes) map[pasar.Code]*statsSum {
	parts := map[pasar.Code]*statsSum{}
	part := func(v *pasar.Verdict, at time.Time) *statsSum {
		s := parts[v.Reason]
		if s == nil {
			s = newStatsSum(string(v.Reason))
			s.Jobs, s.States[j.End], s.waited, s.blamed = 1, 1, queueWait(j), map[pasar.Blame]int{}
			s.MaxWait = s.waited
			parts[v.Reason] = s
		}
		s.Verdicts[v.Reason]++
		s.blamed[v.Blame]++
		s.Last, s.LastJob = known(at), &j.ID
		return s
	}
	lost := lostOf(j.Attempts)
	for i := range j.Attempts {
		a := &j.Attempts[i]
		if a.Verdict == nil || !a.Verdict.Reason.Failure() || a.Sequel.State == pasar.Paused {
			continue
		}
		s := part(a.Verdict, a.EndedAt)
		gpus := gpusOf(a.Grant, memory)
		ran := attemptRan(a)
		s.Attempts++
		s.RunTime += ran
		s.gpu += time.Duration(gpus * float64(ran))
		if lost.known {
			d := lostIn(lostAttempt{wasted: lost.attempts[i].wasted})
			if i+1 < len(j.Attempts) { // what the next one took to get back is this one's doing
				d += lostIn(lostAttempt{restart: lost.attempts[i+1].restart})
			}
			s.LostFailed += d
			s.lost += time.Duration(gpus * float64(d))
		} else {
			s.LostUnknown = 1
		}
	}
	if len(j.Attempts) == 0 && j.Verdict != nil && j.Verdict.Reason.Failure() {
		part(j.Verdict, j.Finished)
	}
	return parts
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
	s.lost += o.lost
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
	if o.Last != nil && (s.Last == nil || o.Last.After(*s.Last)) {
		s.Last, s.LastJob = o.Last, o.LastJob
	}
	for k, n := range o.blamed {
		if s.blamed == nil {
			s.blamed = map[pasar.Blame]int{}
		}
		s.blamed[k] += n
	}
}

func (s *statsSum) row() pasar.StatsRow {
	s.GPUHours, s.GPUHoursLost = s.gpu.Hours(), s.lost.Hours()
	most := 0
	for _, b := range slices.Sorted(maps.Keys(s.blamed)) {
		if n := s.blamed[b]; n > most && b != "" {
			most, s.Blame = n, &b
		}
	}
	if s.Jobs > 0 {
		s.MeanWait = s.waited / pasar.Duration(s.Jobs)
	}
	return s.StatsRow
}

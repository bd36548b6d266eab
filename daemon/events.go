package daemon

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pasar"
	"pasar/ipc"
)

const (
	// maxAttemptProgress is how many reports of progress are told of an attempt: `metrics` tells all that are kept.
	maxAttemptProgress = 20
	// maxEventsWeight bounds an answer, in bytes of JSON, about; it stays below a frame.
	maxEventsWeight = 2 << 20
)

// serveEvents answers with what befell a job and what it reported.
func (d *Daemon) serveEvents(_ context.Context, c *ipc.Call) error {
	var r ipc.EventsRequest
	if err := c.Bind(&r); err != nil {
		return err
	}
	v, err := d.events(r)
	if err != nil {
		return err
	}
	return answerView(c, v)
}

func (d *Daemon) events(r ipc.EventsRequest) (*pasar.JobEventsView, error) {
	j, err := d.find(r.Job)
	if err != nil {
		return nil, err
	}
	v := &pasar.JobEventsView{Schema: pasar.Schema, ID: j.ID, Attempt: pasar.Known(r.Attempt), LeftOut: j.Forgotten}
	if r.Attempt != 0 {
		if _, err := attemptForMetrics(j, r.Attempt); err != nil {
			return nil, err
		}
	}
	v.Events = d.told(j)
	if r.Attempt != 0 {
		v.Events = slices.DeleteFunc(v.Events, func(e pasar.JobEventView) bool { return e.Attempt == nil || *e.Attempt != r.Attempt })
	}
	v.LeftOut += curtail(&v.Events)
	return v, nil
}

// curtail leaves out what is too much of a list: the oldest after the first, which says where all began.
func curtail(events *[]pasar.JobEventView) (out int) {
	all := *events
	keep, weight := 0, 0
	for keep < len(all) && keep < pasar.MaxJobEvents && weight <= maxEventsWeight {
		e := &all[len(all)-1-keep]
		weight += 400 + 3*len(e.Sentence) + 6*len(orZero(e.Text)) + 6*len(orZero(e.Path)) + 40*len(e.Metrics)
		keep++
	}
	if out = len(all) - keep; out > 0 {
		*events = slices.Delete(all, 1, 1+out)
	}
	return out
}

// told is what is known of a job's life, oldest first.
func (d *Daemon) told(j *job) []pasar.JobEventView {
	all := []pasar.JobEventView{{At: known(j.Created), Kind: pasar.JobSubmitted, By: cleaned(submitter(&j.Spec)), Sentence: "was submitted by " + submittedBy(&j.Spec)}}
	for i := range j.Happened {
		if h := &j.Happened[i]; h.Attempt == 0 {
			all = append(all, d.happened(j, h))
		}
	}
	for i := range j.Attempts {
		all = append(all, d.lifeOf(j, &j.Attempts[i])...)
	}
	sortEvents(all)
	return all
}

// sortEvents puts events in the order in which they happened, those of which it isn't known first.
func sortEvents(all []pasar.JobEventView) {
	slices.SortStableFunc(all, func(a, b pasar.JobEventView) int { return orZero(a.At).Compare(orZero(b.At)) })
}

// submitter is who submitted a job, in the name of somebody or not.
func submitter(s *pasar.Spec) string {
	if s.By != "" {
		return s.By
	}
	return s.Submitter
}

// submittedBy is who submitted a job and in whose name, as its page has it: "root for ada".
func submittedBy(s *pasar.Spec) string {
	if s.By == "" || s.Submitter == "" {
		return pasar.Clean(submitter(s))
	}
	return pasar.Clean(s.Submitter) + " for " + pasar.Clean(s.By)
}

// lifeOf is what is known of an attempt, in order where times are the same.
func (d *Daemon) lifeOf(j *job, a *pasar.AttemptRecord) (all []pasar.JobEventView) {
	n := a.Attempt
	if !a.StartedAt.IsZero() {
		s := "started on " + pasar.Clean(a.Grant.Machine)
		if len(a.Grant.GPUs) > 0 {
			s += ", " + gpuList(a.Grant.GPUs)
		}
		all = append(all, pasar.JobEventView{At: known(a.StartedAt), Attempt: &n, Kind: pasar.JobStarted, Sentence: s})
	}
	seen := map[pasar.EventKind]map[int64]bool{}
	for i := range j.Happened {
		h := &j.Happened[i]
		if h.Attempt != n {
			continue
		}
		if h.Event != nil {
			if seen[h.Event.Kind] == nil {
				seen[h.Event.Kind] = map[int64]bool{}
			}
			seen[h.Event.Kind][h.Event.At.UnixNano()] = true
		}
		all = append(all, d.happened(j, h))
	}
	// What the attempt's own record has besides: all of it for a job from before happenings were kept.
	for _, e := range []*pasar.Event{a.Resumed, a.Checkpoint} {
		if e != nil && !seen[e.Kind][e.At.UnixNano()] {
			all = append(all, reportedEvent(n, e))
		}
	}
	for i := range a.Notes {
		all = append(all, reportedEvent(n, &a.Notes[i]))
	}
	all = append(all, d.progressEvents(j, a)...)
	for i := range a.Xids {
		x := &a.Xids[i]
		s := "Xid " + strconv.Itoa(x.Code)
		if x.Meaning != "" {
			s += ": " + pasar.Clean(x.Meaning)
		}
		all = append(all, pasar.JobEventView{At: known(x.At), Attempt: &n, Kind: pasar.JobXid, Sentence: "one of its GPUs reported " + s})
	}
	sortEvents(all)
	if !a.EndedAt.IsZero() {
		all = append(all, endEvent(j, a))
	}
	return all
}

// progressEvents are some of the reports of progress of an attempt: those in memory while it runs, then the last.
func (d *Daemon) progressEvents(j *job, a *pasar.AttemptRecord) (all []pasar.JobEventView) {
	if a.Exit != nil && a.Exit.Progress != nil {
		return []pasar.JobEventView{reportedEvent(a.Attempt, a.Exit.Progress)}
	}
	if !j.underWay() || a != j.current() {
		return nil
	}
	points := slices.DeleteFunc(d.reported(j.ID, a.Attempt), func(p pasar.MetricsPoint) bool { return p.At == nil })
	step := max(1, (len(points)+maxAttemptProgress-1)/maxAttemptProgress)
	for i := len(points) - 1; i >= 0; i -= step { // the last is always there
		p := &points[i]
		all = append(all, reportedEvent(a.Attempt, &pasar.Event{Kind: pasar.EventProgress, At: *p.At, Step: p.Step, TotalSteps: p.Total, Metrics: p.Metrics}))
	}
	slices.Reverse(all)
	return all
}

// reportedEvent is what a job said.
func reportedEvent(attempt int, e *pasar.Event) pasar.JobEventView {
	v := pasar.JobEventView{At: known(e.At), Attempt: &attempt, Kind: pasar.JobEventKind(e.Kind), Step: e.Step, TotalSteps: e.TotalSteps,
		Path: cleaned(e.Path), Text: cleaned(e.Text), Metrics: e.Metrics}
	at := ""
	if e.Step != nil {
		at = " step " + figure(*e.Step)
	}
	switch e.Kind {
	case pasar.EventCheckpoint:
		if v.Sentence = "saved"; at != "" {
			v.Sentence += " at" + at
		}
		if e.Path != "" {
			v.Sentence += " to " + pasar.Clean(e.Path)
		}
	case pasar.EventResumed:
		if v.Sentence = "went on"; at != "" {
			v.Sentence += " from" + at
		}
	case pasar.EventNote:
		v.Sentence = pasar.Clean(e.Text)
	case pasar.EventProgress:
		if v.Sentence = "is"; at != "" {
			v.Sentence += " at" + at
			if e.TotalSteps != nil {
				v.Sentence += " of " + figure(*e.TotalSteps)
			}
		} else {
			v.Sentence = "goes on"
		}
	}
	return v
}

// figure shows a number as a program would have written it.
func figure(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// happened is something that was kept with the job, as clients see it.
func (d *Daemon) happened(j *job, h *pasar.Happening) pasar.JobEventView {
	if h.Event != nil {
		return reportedEvent(h.Attempt, h.Event)
	}
	v := pasar.JobEventView{At: known(h.At), Attempt: pasar.Known(h.Attempt), Kind: h.Kind, By: cleaned(h.By)}
	by := ""
	if h.By != "" {
		by = " by " + pasar.Clean(h.By)
	}
	switch h.Kind {
	case pasar.JobBidChanged:
		bid := h.Bid
		v.Bid, v.Sentence = &bid, "was given the bid "+strconv.FormatInt(int64(h.Bid), 10)+by
		if h.Preempt {
			v.Sentence += ", and may stop running jobs"
		}
	case pasar.JobEdited:
		v.Sentence = "was changed" + by
	case pasar.JobHeld:
		v.Sentence = "was held" + by
	case pasar.JobReleased:
		v.Sentence = "was released" + by
	case pasar.JobResumeAsked:
		v.Sentence = "was told to go on" + by
	case pasar.JobRestarted:
		v.Sentence = "was restarted" + by
	case pasar.JobCancelled:
		v.Sentence, v.Reason = "was cancelled"+by, pasar.Known(string(pasar.CodeCancelled))
		if j.Verdict != nil && j.Finished.Equal(h.At) {
			v.Reason = pasar.Known(string(j.Verdict.Reason))
			if j.Verdict.Reason != pasar.CodeCancelled {
				v.Sentence = pasar.Clean(j.Verdict.Summary)
			}
		}
	case pasar.JobStopAsked:
		v.Sentence = d.stopSentence(h.Stop, by)
		if h.Stop != nil {
			v.Reason = pasar.Known(string(h.Stop.Why))
			v.For = pasar.Known(h.Stop.For)
		}
	}
	return v
}

// stopSentence is that a job was asked to stop, and why.
func (d *Daemon) stopSentence(s *pasar.Stop, by string) string {
	switch {
	case s == nil:
		return "was asked to stop" + by
	case s.Why == pasar.StopPreempt:
		if who := d.named(s.For); who != "" {
			return "was asked to make room for " + who
		}
		return "was asked to make room for another job"
	case s.Why == pasar.StopPause:
		return "was asked to pause" + by
	case s.Why == pasar.StopLimit:
		return "reached its time limit and was asked to stop"
	case s.Why == pasar.StopWatchdog:
		return strings.TrimSuffix("was stopped because memory ran out: "+pasar.Clean(s.Detail), ": ")
	case s.Now:
		return "was killed" + by
	}
	return "was asked to stop" + by
}

// endEvent is the end of an attempt, and what followed.
func endEvent(j *job, a *pasar.AttemptRecord) pasar.JobEventView {
	n := a.Attempt
	v := pasar.JobEventView{At: known(a.EndedAt), Attempt: &n, Kind: pasar.JobEnded, Sentence: "ended"}
	if a.Verdict != nil {
		v.Reason = pasar.Known(string(a.Verdict.Reason))
		if a.Verdict.Summary != "" {
			v.Sentence = strings.TrimSuffix(pasar.Clean(a.Verdict.Summary), ".") // something may follow
		}
	}
	state := a.Sequel.State
	switch {
	case a.Sequel.Retry:
		v.Sentence += "; it is tried again"
	case state == pasar.Queued:
		v.Sentence += "; it waits again"
	case state == pasar.Paused:
		v.Sentence += "; it is paused"
	case a.Verdict != nil:
		state = endState(a.Verdict.Reason)
	}
	v.State = pasar.Known(state)
	return v
}

// gpuList is "GPU 0" or "GPUs 0 and 1".
func gpuList(refs []pasar.GPURef) string {
	names := make([]string, len(refs))
	for i := range refs {
		names[i] = strconv.Itoa(refs[i].Index)
	}
	if len(names) == 1 {
		return "GPU " + names[0]
	}
	return fmt.Sprintf("GPUs %s and %s", strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
}

package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"pasar"
	"pasar/ipc"
	"pasar/target"
)

// Serve answers one request; it is the ipc.Handler of the daemon's socket.
func (d *Daemon) Serve(ctx context.Context, c *ipc.Call) error {
	h, ok := handlers[c.Verb]
	if !ok {
		return &ipc.Error{Code: ipc.CodeUnsupported, Message: fmt.Sprintf("pasard %s doesn't know the request %q", pasar.Version, pasar.Clean(string(c.Verb)))}
	}
	if no := notByHTTP[c.Verb]; no != "" && c.Peer.Via != "" {
		return &ipc.Error{Code: ipc.CodeNotAllowed, Message: no}
	}
	return h(d, ctx, c)
}

// notByHTTP says why a request is refused on a connection that HTTP passed on. What would make of a token more than it is, a
// page of a person's or the next token, is had on the machine itself alone.
var notByHTTP = map[ipc.Verb]string{
	ipc.VerbApprove: personsOnly,
	ipc.VerbReject:  personsOnly,
	ipc.VerbWeb:     "a link that signs a browser in isn't given out over HTTP: `pasar web` prints one on that machine or by ssh",
	ipc.VerbToken:   "the token isn't given out over HTTP, nor another made: `pasar token` does that on that machine or by ssh",
}

const personsOnly = "only a person may approve or reject: in the console on that machine or by ssh, or in a page that `pasar web` opened"

// handlers has one entry for each of ipc.Requests; a test holds that.
var handlers = map[ipc.Verb]func(*Daemon, context.Context, *ipc.Call) error{
	ipc.VerbSubmit:     (*Daemon).serveSubmit,
	ipc.VerbList:       (*Daemon).serveList,
	ipc.VerbShow:       (*Daemon).serveShow,
	ipc.VerbLogs:       (*Daemon).serveLogs,
	ipc.VerbWait:       (*Daemon).serveWait,
	ipc.VerbCancel:     (*Daemon).serveCancel,
	ipc.VerbBid:        (*Daemon).serveBid,
	ipc.VerbRestart:    (*Daemon).serveRestart,
	ipc.VerbHold:       func(d *Daemon, ctx context.Context, c *ipc.Call) error { return d.serveHold(ctx, c, true) },
	ipc.VerbRelease:    func(d *Daemon, ctx context.Context, c *ipc.Call) error { return d.serveHold(ctx, c, false) },
	ipc.VerbEdit:       (*Daemon).serveEdit,
	ipc.VerbPause:      (*Daemon).servePause,
	ipc.VerbResume:     (*Daemon).serveResume,
	ipc.VerbDrain:      func(d *Daemon, ctx context.Context, c *ipc.Call) error { return d.serveDrain(ctx, c, true) },
	ipc.VerbUndrain:    func(d *Daemon, ctx context.Context, c *ipc.Call) error { return d.serveDrain(ctx, c, false) },
	ipc.VerbStatus:     (*Daemon).serveStatus,
	ipc.VerbFacts:      (*Daemon).serveFacts,
	ipc.VerbPlanSubmit: (*Daemon).servePlanSubmit,
	ipc.VerbPlanBid:    (*Daemon).servePlanBid,
	ipc.VerbStats:      (*Daemon).serveStats,
	ipc.VerbGPUs:       (*Daemon).serveGPUs,
	ipc.VerbGPUHistory: (*Daemon).serveGPUHistory,
	ipc.VerbAttach:     (*Daemon).serveAttach,
	ipc.VerbReload:     (*Daemon).serveReload,
	ipc.VerbShutdown:   (*Daemon).serveShutdown,
	ipc.VerbApprovals:  (*Daemon).serveApprovals,
	ipc.VerbApprove:    (*Daemon).serveApprove,
	ipc.VerbReject:     (*Daemon).serveReject,
	ipc.VerbMetrics:    (*Daemon).serveMetrics,
	ipc.VerbEvents:     (*Daemon).serveEvents,
	ipc.VerbUsage:      (*Daemon).serveUsage,
	ipc.VerbDiff:       (*Daemon).serveDiff,
	ipc.VerbToken:      (*Daemon).serveToken,
	ipc.VerbWeb:        (*Daemon).serveWeb,
	ipc.VerbChanges:    (*Daemon).serveChanges,
}

// maxRequestID bounds the random id of a mutating request.
const maxRequestID = 64

func checkRequestID(id string) error {
	if id == "" || len(id) > maxRequestID {
		return &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("a request needs a random id of 1 to %d bytes", maxRequestID)}
	}
	return nil
}

func (d *Daemon) serveSubmit(ctx context.Context, c *ipc.Call) error {
	var r ipc.SubmitRequest
	if err := errors.Join(c.Bind(&r), checkRequestID(r.Request), ipc.CheckAsked(r.Asked)); err != nil {
		return err
	}
	r.Asked = cmp.Or(r.Asked, ipc.Asked(r)) // before it is completed, from what may be otherwise the next time
	wrong := d.checkSubmit(&r)
	cmd := d.submit(r)
	if wrong != nil {
		cmd.refusedWith(wrong)
	}
	o, err := d.do(ctx, cmd)
	if err != nil {
		return err
	}
	return d.answerSubmit(ctx, c, o)
}

// checkSubmit completes a submit and says what is wrong with it, as far as that doesn't depend on the state.
func (d *Daemon) checkSubmit(r *ipc.SubmitRequest) error {
	if err := d.admit(); err != nil {
		return err
	}
	if err := d.fromAfar(r); err != nil {
		return err
	}
	if err := d.autoOfPoints(r); err != nil {
		return err
	}
	if err := d.prepare(&r.Spec); err != nil {
		return err
	}
	size := 0
	for _, v := range r.Surroundings.Env {
		size += len(v) + 1
	}
	if size > int(pasar.MaxEnv) {
		return &ipc.Error{Code: ipc.CodeOverLimit, Message: fmt.Sprintf("the environment is %s; at most %s", pasar.Bytes(size), pasar.Bytes(pasar.MaxEnv)),
			Hint: "submit with --no-env and name what the job needs with --env"}
	}
	return nil
}

// answerSubmit tells what became of a job that was queued, or found by its key.
func (d *Daemon) answerSubmit(ctx context.Context, c *ipc.Call, o outcome) error {
	id := o.jobs[0]
	j, err := d.find(id)
	if err != nil {
		return err
	}
	a := ipc.SubmitAnswer{Job: id, Jobs: o.jobs, Existing: o.existing, State: j.state()}
	if w := d.standing().Warning; w != nil {
		a.Warning, a.Hint = w.Why, w.Fix
	}
	p := d.pub.Load()
	var f *forecast
	if j.Phase == phaseWaiting && len(p.waiting) <= forecastFew {
		f = d.forecast(ctx, forecastSoon)
	}
	v := d.view(j, p.reasonFor(j), f)
	if !o.existing {
		a.Advice = d.usual(j.like).advice(&j.Spec)
	}
	switch {
	case len(o.jobs) > 1:
		a.Sentence = d.manySaid(o.jobs)
	case j.Phase == phaseWaiting:
		a.Sentence = *v.Summary
	case j.Phase == phaseFinished && j.Verdict != nil && len(j.Attempts) == j.Earlier:
		a.Sentence = j.Verdict.Summary
	case j.Phase == phaseLaunching && len(j.Attempts) == 1:
		a.Sentence = "starts now"
	default:
		a.Sentence = "is " + string(j.state())
	}
	if a.View, err = json.Marshal(v); err != nil {
		return fmt.Errorf("encode job: %w", err)
	}
	return c.Answer(a)
}

// manySaid says of the jobs of an array or sweep how many start now.
func (d *Daemon) manySaid(ids []pasar.JobID) string {
	starting, waiting := 0, 0
	for _, id := range ids {
		switch j := d.lookup(id); {
		case j == nil || j.Phase == phaseFinished:
		case j.Phase == phaseWaiting || j.Phase == phasePaused:
			waiting++
		default:
			starting++
		}
	}
	switch {
	case starting == len(ids):
		return "all start now"
	case waiting == len(ids):
		return "all wait"
	case starting+waiting < len(ids):
		return fmt.Sprintf("%d under way, %d waiting, %d ended", starting, waiting, len(ids)-starting-waiting)
	}
	return fmt.Sprintf("%d start now, %d wait", starting, waiting)
}

func (d *Daemon) serveShow(ctx context.Context, c *ipc.Call) error {
	var r ipc.ShowRequest
	if err := c.Bind(&r); err != nil {
		return err
	}
	b, err := d.viewJSON(ctx, r.Job)
	if err != nil {
		return err
	}
	return c.Answer(ipc.ViewAnswer{JSON: b})
}

func (d *Daemon) viewJSON(ctx context.Context, id pasar.JobID) ([]byte, error) {
	p := d.pub.Load()
	j, err := d.find(id)
	if err != nil {
		return nil, err
	}
	var f *forecast
	if j.Phase == phaseWaiting {
		f = d.forecast(ctx, forecastWait)
	}
	return json.Marshal(d.view(j, p.reasonFor(j), f))
}

func (d *Daemon) serveStatus(ctx context.Context, c *ipc.Call) error {
	d.awaitMachines(ctx)
	d.lookFirst(ctx)
	return answerView(c, d.status())
}

// answerView answers with one of package pasar's views.
func answerView(c *ipc.Call, view any) error {
	b, err := json.Marshal(view)
	if err != nil {
		return fmt.Errorf("encode %T: %w", view, err)
	}
	return c.Answer(ipc.ViewAnswer{JSON: b})
}

func (d *Daemon) serveCancel(ctx context.Context, c *ipc.Call) error {
	var r ipc.JobsRequest
	if err := errors.Join(c.Bind(&r), checkRequestID(r.Request)); err != nil {
		return err
	}
	return d.change(ctx, c, r.Jobs, d.cancel(r), func(j *job, _ bool) (string, *ipc.Error) {
		switch {
		case j.Phase == phaseFinished && j.End == pasar.Cancelled:
			return "cancelled", nil
		case j.Phase == phaseFinished:
			return "", wrongState(j, "cancelled")
		case j.Phase == phaseLeaving:
			return "has just ended", nil
		case r.Now:
			return "is being killed", nil
		}
		return fmt.Sprintf("is being stopped (SIGTERM, then SIGKILL after %s)", j.Spec.Grace), nil
	})
}

func (d *Daemon) serveHold(ctx context.Context, c *ipc.Call, held bool) error {
	var r ipc.JobsRequest
	if err := errors.Join(c.Bind(&r), checkRequestID(r.Request)); err != nil {
		return err
	}
	return d.change(ctx, c, r.Jobs, d.hold(r, held), func(j *job, changed bool) (string, *ipc.Error) {
		switch {
		case held && j.Phase != phaseWaiting:
			return "", wrongState(j, "held")
		case held:
			return "held", nil
		case changed: // it may run by now
			return "released", nil
		case j.Phase == phaseWaiting:
			return "wasn't held", nil
		}
		return "", &ipc.Error{Code: ipc.CodeWrongState, Message: fmt.Sprintf("job %d is %s: it isn't held", j.ID, j.state())}
	})
}

// change makes a change to several jobs and answers what became of each.
func (d *Daemon) change(ctx context.Context, c *ipc.Call, ids []pasar.JobID, cmd *command, say func(j *job, changed bool) (string, *ipc.Error)) error {
	if len(ids) == 0 {
		return &ipc.Error{Code: ipc.CodeBadRequest, Message: "no job named"}
	}
	o, err := d.do(ctx, cmd)
	if err != nil {
		return err
	}
	changed := make(map[pasar.JobID]bool, len(o.jobs))
	for _, id := range o.jobs {
		changed[id] = true
	}
	a := ipc.JobsAnswer{}
	for _, id := range ids {
		j, err := d.find(id)
		if err != nil {
			var e *ipc.Error
			if !errors.As(err, &e) {
				return err
			}
			a.Jobs = append(a.Jobs, ipc.JobOutcome{Job: id, Error: e})
			continue
		}
		out := ipc.JobOutcome{Job: id, State: j.state()}
		out.Sentence, out.Error = say(j, changed[id])
		a.Jobs = append(a.Jobs, out)
	}
	return c.Answer(a)
}

func (d *Daemon) serveAttach(ctx context.Context, c *ipc.Call) error {
	var r ipc.AttachRequest
	if err := c.Bind(&r); err != nil {
		return err
	}
	j, err := d.find(r.Job)
	if err != nil {
		return err
	}
	// One that is being launched has no supervisor to attach to for a moment.
	for j.Phase == phaseLaunching {
		next := d.changed.next()
		if j = d.lookup(r.Job); j == nil || j.Phase != phaseLaunching {
			break
		}
		select {
		case <-next:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if j, err = d.find(r.Job); err != nil {
		return err
	}
	a := ipc.AttachAnswer{State: j.state()}
	if at := j.current(); at != nil {
		a.Attempt = at.Attempt
		if t, ok := d.Target.(target.Attacher); ok && j.underWay() {
			h := target.Handle{Key: pasar.AttemptKey{Job: j.ID, Attempt: at.Attempt}, Nonce: at.Nonce}
			if a.Socket, err = t.AttachSocket(ctx, h); err != nil {
				return &ipc.Error{Code: ipc.CodeWrongState, Message: fmt.Sprintf("job %d can't be attached to: %v", j.ID, err)}
			}
		}
	}
	return c.Answer(a)
}

func (d *Daemon) serveReload(_ context.Context, c *ipc.Call) error {
	if d.Reload == nil {
		return &ipc.Error{Code: ipc.CodeUnsupported, Message: "this daemon has no configuration to reload"}
	}
	changed, restart, err := d.Reload()
	if err != nil {
		return &ipc.Error{Code: ipc.CodeBadInput, Message: err.Error(), Hint: "the daemon keeps its old configuration"}
	}
	return c.Answer(ipc.ReloadAnswer{Changed: changed, Restart: restart})
}

func (d *Daemon) serveShutdown(_ context.Context, _ *ipc.Call) error {
	d.Log.Info("shutdown asked for")
	// The answer goes out first: the server ends its calls before the connections.
	d.effects.Go(d.stopReq)
	return nil
}

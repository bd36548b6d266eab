package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pasar"
	"pasar/ipc"
)

// bid is the command that changes one job's bid.
func (d *Daemon) bid(r ipc.BidRequest) *command {
	return &command{verb: ipc.VerbBid, request: r.Request, asked: ipc.Asked(r), names: []pasar.JobID{r.Job}, check: func(s *state, _ time.Time) (change, error) {
		j := s.jobs[r.Job]
		if j == nil {
			return change{}, unknownJob(r.Job) // the handler has seen to finished ones
		}
		if j.Phase == phaseFinished {
			return change{}, wrongState(j, "given another bid")
		}
		bid := r.Bid
		if r.Promote {
			bid = s.promoted(j)
		}
		if bid < pasar.MinBid || bid > pasar.MaxBid {
			return change{}, &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("bid %d is outside %d..%d", bid, pasar.MinBid, pasar.MaxBid)}
		}
		if r.Preempt && j.Phase != phaseWaiting {
			return change{}, &ipc.Error{Code: ipc.CodeWrongState,
				Message: fmt.Sprintf("job %d is %s: only a job that waits can preempt", j.ID, j.state())}
		}
		ch := change{jobs: []pasar.JobID{r.Job}}
		if j.Spec.Bid != bid || r.Preempt && !j.Spec.Preempt {
			ch.facts = []pasar.Fact{pasar.BidChanged{Job: r.Job, Bid: bid, By: r.By, Preempt: r.Preempt}}
		}
		return ch, nil
	}}
}

// promoted is one more than the best bid of the jobs that wait, of the others: a job that has the best alone
// keeps it.
func (s *state) promoted(j *job) pasar.Bid {
	for _, w := range s.queue { // the best first
		if w.ID != j.ID {
			return max(j.Spec.Bid, w.Bid+1)
		}
	}
	return j.Spec.Bid
}

func (d *Daemon) serveBid(ctx context.Context, c *ipc.Call) error {
	var r ipc.BidRequest
	if err := errors.Join(c.Bind(&r), checkRequestID(r.Request)); err != nil {
		return err
	}
	j, err := d.find(r.Job)
	if err != nil {
		return err
	}
	cmd := d.bid(r)
	if j.Phase == phaseFinished {
		cmd.refusedWith(wrongState(j, "given another bid"))
	}
	if _, err := d.do(ctx, cmd); err != nil {
		return err
	}
	if j, err = d.find(r.Job); err != nil {
		return err
	}
	out := ipc.JobOutcome{Job: r.Job, State: j.state(), Sentence: fmt.Sprintf("bids %d", j.Spec.Bid)}
	if reason := d.pub.Load().reasonFor(j); reason != nil {
		out.Sentence += "; " + reason.Sentence()
	}
	return c.Answer(out)
}

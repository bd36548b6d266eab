package daemon

import (
	"errors"
	"fmt"
	"testing"

	"pasar"
	"pasar/ipc"
)

func TestNothingAwaitsApproval(t *testing.T) {
	c := newWire(t, 1)
	b, err := c.Approvals(c.ctx)
	if want := `{"schema":1,"mode":"amount","requests":[]}`; err != nil || string(b) != want {
		t.Errorf("approvals are %s, %v", b, err)
	}
	id := c.submit(spec("a", 1000)).Job
	c.await(id, 1)
	plans := []ipc.PlanRef{{Job: id, Plan: "x"}, {Job: 99, Plan: "y"}}
	check := func(what string, a ipc.JobsAnswer, err error) {
		t.Helper()
		want := "[{1 running  wrong_state: job #1 doesn't await approval} {99   unknown_job: there is no job 99}]"
		var got []string
		for _, o := range a.Jobs {
			if o.Error == nil {
				t.Fatalf("%s: job %d is no error", what, o.Job)
			}
			got = append(got, fmt.Sprintf("{%d %s %s %s: %s}", o.Job, o.State, o.Sentence, o.Error.Code, o.Error.Message))
		}
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	approve := ipc.ApproveRequest{Request: "r1", Plans: plans, AtMost: 12 * pasar.Dollar, By: "ada"}
	reject := ipc.RejectRequest{Request: "r2", Plans: plans, Why: "no", By: "ada"}
	for range 2 { // a repeat is answered alike
		a, err := c.Approve(c.ctx, approve)
		check("approve", a, err)
		a, err = c.Reject(c.ctx, reject)
		check("reject", a, err)
	}
	refused := func(err error, words string) {
		t.Helper()
		var e *ipc.Error
		if !errors.As(err, &e) || e.Code != ipc.CodeBadRequest || e.Message != words {
			t.Errorf("%v; want %q", err, words)
		}
	}
	reject.Request = "r1"
	_, err = c.Reject(c.ctx, reject)
	refused(err, "this request id was used for another request")
	_, err = c.Reject(c.ctx, ipc.RejectRequest{Plans: plans})
	refused(err, "a request needs a random id of 1 to 64 bytes")
	_, err = c.Approve(c.ctx, ipc.ApproveRequest{Request: "r3"})
	refused(err, "no plan named")
	_, err = c.Approve(c.ctx, ipc.ApproveRequest{Request: "r4", Plans: make([]ipc.PlanRef, maxPlans+1)})
	refused(err, "1001 plans named; at most 1000 at once")
}

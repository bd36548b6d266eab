package console

import (
	"slices"
	"testing"

	"pasar"
	"pasar/ipc"
)

// awaiting is a double where two jobs await approval, and one asks for more time.
func awaiting(t *testing.T) *double {
	d := someJobs(t)
	d.jobs = append(d.jobs, job(20, pasar.Awaiting), job(21, pasar.Awaiting))
	request := func(id pasar.JobID, kind pasar.ApprovalKind, most pasar.Money) pasar.ApprovalView {
		return pasar.ApprovalView{ID: id, Name: "big", Kind: kind, Plan: "plan-" + id.String(), Submitter: "ada", Command: "python big.py", Target: "modal", GPU: "1 × H100",
			Time: ptr(pasar.Duration(2 * 3600e9)), Estimate: most * 2 / 3, AtMost: most, Since: noon, Expires: ptr(noon.Add(24 * 3600e9)),
			Code: pasar.CodeView{Commit: ptr("abc123"), Dirty: true, Diff: ptr("3 files, +120 −4"), Hash: ptr("sha-1")}, Budget: pasar.BudgetView{Daily: ptr(50 * pasar.Dollar)}}
	}
	d.approvals = &pasar.ApprovalsView{Schema: pasar.Schema, Mode: "amount",
		Requests: []pasar.ApprovalView{request(20, pasar.ApproveStart, 12_500_000), request(21, pasar.ApproveStart, 6*pasar.Dollar), request(1, pasar.ApproveMore, pasar.Dollar)}}
	return d
}

func TestWhatAwaitsApprovalIsSaidAndShown(t *testing.T) {
	s := show(t, awaiting(t), 120, 40)
	s.sees("2 jobs await approval, 1 running job asks for more time, $19.50 at most: c shows it")
	s.click("2 jobs await approval")
	s.sees("#20 big", "start at modal, 1 × H100, 2h", "at most $12.50", "more time at modal", "ada", "python big.py", "commit abc123 with changes", "3 files, +120 −4", "$50.00 of the day's", "plan-20")
	s.press("Down")
	s.sees("plan-21")
}

func TestApprovingTakesTheAmountTyped(t *testing.T) {
	d := awaiting(t)
	s := show(t, d, 120, 40)
	s.sees("await approval")
	s.press("c", "Space", "Down", "Down", "Space")
	s.sees("2 meant, at most $13.50 together")
	s.press("a")
	s.sees("Approve $13.50 at most?", "#20 big", "#1 big")
	s.press("Enter")
	s.sees(`"" is no amount of dollars`)
	s.types("13.5x")
	s.press("Enter")
	s.sees(`"13.5x" is no amount of dollars`)
	s.clear()
	s.types("12.50")
	s.press("Enter")
	s.sees("they cost $13.50 at most: nothing was approved")
	if verbs, _ := d.told(); len(verbs) > 0 {
		t.Fatalf("asked for %v", verbs)
	}
	s.clear()
	s.types("13.50")
	s.press("Enter")
	s.sees("was approveed")
	_, bodies := d.told()
	r := bodies[0].(ipc.ApproveRequest)
	if r.AtMost != 13_500_000 || !slices.Equal(r.Plans, []ipc.PlanRef{{Job: 20, Plan: "plan-20"}, {Job: 1, Plan: "plan-1"}}) {
		t.Errorf("asked %+v", r)
	}
}

func TestRejectingSaysWhy(t *testing.T) {
	d := awaiting(t)
	s := show(t, d, 120, 40)
	s.sees("await approval")
	s.press("c", "Down", "x")
	s.sees("Reject?")
	s.types("too dear")
	s.press("Enter")
	s.sees("was rejected")
	_, bodies := d.told()
	if r := bodies[0].(ipc.RejectRequest); r.Why != "too dear" || !slices.Equal(r.Plans, []ipc.PlanRef{{Job: 21, Plan: "plan-21"}}) {
		t.Errorf("asked %+v", r)
	}
}

func TestApprovalsAreOnlyShownAndDecidedWhereThatMayBe(t *testing.T) {
	s := show(t, awaiting(t), 120, 40, func(o *Options) { o.ReadOnly = true })
	s.sees("await approval")
	s.press("c", "a")
	s.sees("this console only reads")
	s.stop()
	d := awaiting(t)
	d.approvals.Mode = "ssh-key"
	s = show(t, d, 120, 40)
	s.sees("await approval")
	s.press("c", "a")
	s.sees("wants approvals by ssh-key, which this console can't do")
	d.change(func(d *double) { d.approvals.Requests, d.jobs = nil, d.jobs[:7] })
	s.sees("Nothing awaits approval.")
}

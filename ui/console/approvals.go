package console

import (
	"context"
	"fmt"

	"pasar"
	"pasar/ipc"
	"pasar/ui"
)

// An approvals page is what awaits a person's approval, since it costs money.
type approvals struct {
	c    *console
	at   int             // the one that is chosen
	mark map[string]bool // plans that are marked
	top  int
}

// cloud shows rented GPUs, and what awaits approval.
func (c *console) cloud() {
	c.base.open(&approvals{c: c, mark: map[string]bool{}})
}

func (v *approvals) place() ui.Place { return ui.InApprovals }
func (v *approvals) close()          {}

func (v *approvals) requests() []pasar.ApprovalView {
	if v.c.snap.Approvals == nil {
		return nil
	}
	return v.c.snap.Approvals.Requests
}

// changed forgets marks of plans that are gone.
func (v *approvals) changed() {
	there := map[string]bool{}
	for _, r := range v.requests() {
		there[r.Plan] = true
	}
	for plan := range v.mark {
		if !there[plan] {
			delete(v.mark, plan)
		}
	}
	v.at = min(v.at, max(0, len(there)-1))
}

// meant is what is marked, or else what is chosen.
func (v *approvals) meant() (out []pasar.ApprovalView) {
	for i, r := range v.requests() {
		if v.mark[r.Plan] || len(v.mark) == 0 && i == v.at {
			out = append(out, r)
		}
	}
	return out
}

func (v *approvals) draw(p *painter, a area) {
	p.rule(a, 0, "Rented GPUs", ui.Line{{Text: "Esc back", Role: ui.Faint}})
	p.on(a.rows(0, 1), func() { v.c.act(ui.ActBack) })
	list := v.requests()
	in := a.rows(1, a.h).cols(1, a.w-2)
	if len(list) == 0 {
		p.text(in, 1, ui.Plain, "Nothing awaits approval.")
		for i, l := range ui.WrapLine(ui.Line{{Text: "A job on a rented GPU costs money, so a person approves each attempt here first, at what it costs at most. No rented GPUs are set up.", Role: ui.Faint}}, in.w) {
			p.line(in, 3+i, l)
		}
		return
	}
	now := v.c.opt.now()
	rows := min(len(list), max(1, in.h/3))
	v.top = min(max(v.top, v.at-rows+1), v.at)
	for y := range rows {
		i := v.top + y
		r := list[i]
		mark := "[ ] "
		if v.mark[r.Plan] {
			mark = "[x] "
		}
		l := append(ui.Line{{Text: mark, Role: ui.Accent}}, ui.ApprovalLine(&r, now)...)
		if i == v.at {
			p.chosen(in, y+1, l)
		} else {
			p.line(in, y+1, l)
		}
		p.on(in.rows(y+1, 1), func() {
			if v.at == i {
				v.act(ui.ActMark)
			}
			v.at = i
		})
	}
	sum := total(v.meant())
	p.rule(in, rows+2, "The plan", ui.Line{{Text: fmt.Sprintf("%d meant, at most %s together", len(v.meant()), sum), Role: ui.Warn}})
	for y, l := range ui.Approval(&list[v.at], now, in.w) {
		p.line(in, rows+3+y, l)
	}
}

func total(list []pasar.ApprovalView) (sum pasar.Money) {
	for _, r := range list {
		sum += r.AtMost
	}
	return sum
}

func (v *approvals) act(act ui.Act) bool {
	n := len(v.requests())
	switch act {
	case ui.ActUp:
		v.at = max(0, v.at-1)
	case ui.ActDown:
		v.at = min(max(0, n-1), v.at+1)
	case ui.ActMark:
		if n > 0 {
			plan := v.requests()[v.at].Plan
			if v.mark[plan] = !v.mark[plan]; !v.mark[plan] {
				delete(v.mark, plan)
			}
		}
	case ui.ActApprove:
		v.approve()
	case ui.ActReject:
		v.reject()
	case ui.ActBack:
		v.c.base.back()
	default:
		return false
	}
	return true
}

func (v *approvals) wheel(_, _, by int) { v.at = min(max(0, v.at+by), max(0, len(v.requests())-1)) }

// denied reports whether the person can't decide here, and says why.
func (v *approvals) denied(list []pasar.ApprovalView) bool {
	switch {
	case v.c.opt.ReadOnly:
		v.c.say(ui.Warn, "this console only reads (--read-only)")
	case len(list) == 0:
		v.c.say(ui.Plain, "nothing awaits approval")
	default:
		return false
	}
	return true
}

func refs(list []pasar.ApprovalView) (out []ipc.PlanRef) {
	for _, r := range list {
		out = append(out, ipc.PlanRef{Job: r.ID, Plan: r.Plan})
	}
	return out
}

// summary is what a decision is about, a line each.
func (v *approvals) summary(list []pasar.ApprovalView) (out []ui.Line) {
	const most = 8
	for _, r := range list[:min(most, len(list))] {
		out = append(out, ui.ApprovalLine(&r, v.c.opt.now()))
	}
	if n := len(list) - most; n > 0 {
		out = append(out, ui.Line{{Text: fmt.Sprintf("and %d more", n), Role: ui.Faint}})
	}
	return out
}

// approve has the person type what it costs at most: a guard against approving by accident.
func (v *approvals) approve() {
	list := v.meant()
	if v.denied(list) {
		return
	}
	if mode := v.c.snap.Approvals.Mode; mode != "amount" {
		v.c.say(ui.Warn, fmt.Sprintf("this daemon wants approvals by %s, which this console can't do", mode))
		return
	}
	sum := total(list)
	d := newDialog(v.c, fmt.Sprintf("Approve %s at most?", sum))
	d.head = func() []ui.Line { return v.summary(list) }
	d.room = 2
	d.field("Type the amount", "", sum.String())
	d.buttons("Approve")
	d.notes = []ui.Line{{{Text: "It is yours to say: what is approved is paid for.", Role: ui.Faint}}}
	d.do = func() []ui.Line {
		typed, err := pasar.ParseMoney(d.text("Type the amount"))
		if err != nil {
			return bad(err.Error())
		}
		if typed != sum {
			return bad(fmt.Sprintf("that is %s, and they cost %s at most: nothing was approved", typed, sum))
		}
		v.decide(d, func(ctx context.Context, cl *ipc.Client) (ipc.JobsAnswer, error) {
			return cl.Approve(ctx, ipc.ApproveRequest{Request: d.asks, Plans: refs(list), AtMost: sum})
		})
		return nil
	}
	d.open()
}

func (v *approvals) reject() {
	list := v.meant()
	if v.denied(list) {
		return
	}
	d := newDialog(v.c, "Reject?")
	d.head = func() []ui.Line { return v.summary(list) }
	d.field("Why", "", "for whoever submitted it")
	d.buttons("Reject")
	d.do = func() []ui.Line {
		why := d.text("Why")
		v.decide(d, func(ctx context.Context, cl *ipc.Client) (ipc.JobsAnswer, error) {
			return cl.Reject(ctx, ipc.RejectRequest{Request: d.asks, Plans: refs(list), Why: why})
		})
		return nil
	}
	d.open()
}

// decide sends a decision.
func (v *approvals) decide(d *dialog, ask func(ctx context.Context, cl *ipc.Client) (ipc.JobsAnswer, error)) {
	var answer ipc.JobsAnswer
	d.send(func(ctx context.Context, cl *ipc.Client) (err error) {
		answer, err = ask(ctx, cl)
		return err
	}, func() {
		clear(v.mark)
		v.c.outcome(answer, nil)
	})
}

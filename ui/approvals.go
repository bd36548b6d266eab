package ui

import (
	"fmt"
	"strings"
	"time"

	"pasar"
)

// AwaitsApproval says what awaits a person's approval, in a clause.
func AwaitsApproval(v *pasar.ApprovalsView) string {
	start, more := 0, 0
	var sum pasar.Money
	for i := range v.Requests {
		if v.Requests[i].Kind == pasar.ApproveMore {
			more++
		} else {
			start++
		}
		sum += v.Requests[i].AtMost
	}
	var parts []string
	if start > 0 {
		parts = append(parts, plural(start, "job awaits approval", "jobs await approval"))
	}
	if more > 0 {
		parts = append(parts, plural(more, "running job asks for more time", "running jobs ask for more time"))
	}
	return strings.Join(parts, ", ") + ", " + sum.String() + " at most"
}

// ApprovalLine is one request in a line.
func ApprovalLine(r *pasar.ApprovalView, now time.Time) Line {
	what := "start"
	if r.Kind == pasar.ApproveMore {
		what = "more time"
	}
	l := Line{{Text: Shown(fmt.Sprintf("#%d %s", r.ID, r.Name)), Bold: true}, {Text: "  " + what + " at " + Shown(r.Target) + ", " + Shown(r.GPU)}}
	if r.Time != nil {
		l = append(l, Span{Text: ", " + r.Time.String()})
	}
	l = append(l, Span{Text: "  " + r.Estimate.String() + ", at most ", Role: Faint}, Span{Text: r.AtMost.String(), Role: Warn, Bold: true})
	if r.Expires != nil {
		l = append(l, Span{Text: "  expires " + soon(*r.Expires, now), Role: Faint})
	}
	return l
}

// Approval is everything that a person should see of a request before it is approved.
func Approval(r *pasar.ApprovalView, now time.Time, width int) []Line {
	p := &page{s: Style{Color: true, Width: width}}
	p.line(p.s.Bold("#" + r.ID.String() + " " + pasar.Clean(r.Name)))
	if r.Warning != nil {
		p.line(p.s.paint(yellow, "look at this first: "+pasar.Clean(*r.Warning)))
	}
	who := pasar.Clean(r.Submitter)
	if r.By != nil && *r.By != "" {
		who += " for " + pasar.Clean(*r.By)
	}
	p.field("who", who+", "+When(r.Since, now))
	p.field("command", pasar.Clean(r.Command))
	p.field("code", code(&r.Code))
	p.field("where", pasar.Clean(r.Target)+", "+pasar.Clean(r.GPU))
	if r.Time != nil {
		p.field("time", "about "+r.Time.String())
	}
	p.field("estimate", r.Estimate.String())
	p.field("at most", p.s.paint(yellow, r.AtMost.String())+": there it is paused at a checkpoint, and asks again")
	p.field("budget left", budget(r.Budget))
	if r.Progress != nil {
		p.field("progress", Progress(r.Progress))
	}
	if r.Expires != nil {
		p.field("expires", soon(*r.Expires, now))
	}
	p.field("plan", pasar.Clean(r.Plan))
	return Lines(p.b.String())
}

func code(c *pasar.CodeView) string {
	var parts []string
	if c.Commit != nil {
		s := "commit " + pasar.Clean(*c.Commit)
		if c.Dirty {
			s += " with changes"
		}
		parts = append(parts, s)
	}
	if c.Diff != nil {
		parts = append(parts, pasar.Clean(*c.Diff))
	}
	if c.Hash != nil {
		parts = append(parts, "hash "+pasar.Clean(*c.Hash))
	}
	if len(parts) == 0 {
		return "not from a git repository"
	}
	return strings.Join(parts, ", ")
}

func budget(b pasar.BudgetView) string {
	var parts []string
	if b.Daily != nil {
		parts = append(parts, b.Daily.String()+" of the day's")
	}
	if b.Monthly != nil {
		parts = append(parts, b.Monthly.String()+" of the month's")
	}
	return strings.Join(parts, ", ")
}

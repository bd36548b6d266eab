package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pasar"
)

// A Sort is an order of jobs.
type Sort string

// Orders of jobs.
const (
	SortQueue Sort = "queue" // as the daemon has them
	SortID    Sort = "id"
	SortName  Sort = "name"
	SortBid   Sort = "bid"  // highest first
	SortTime  Sort = "time" // longest first
	SortState Sort = "state"
)

// Sorts lists the orders, the usual one first.
func Sorts() []Sort { return []Sort{SortQueue, SortID, SortName, SortBid, SortTime, SortState} }

// A Row is a job, or the heading of a group of them.
type Row struct {
	View    *pasar.JobView // nil: a heading
	Heading string         // "Running 2"
}

// groups are the headings in their order, and the states below each.
var groups = []struct {
	name   string
	states []pasar.State
}{
	{"Running", []pasar.State{pasar.Starting, pasar.Running, pasar.Stopping}},
	{"Awaiting approval", []pasar.State{pasar.Awaiting}},
	{"Waiting", []pasar.State{pasar.Queued}},
	{"Paused", []pasar.State{pasar.Paused}},
	{"Finished", []pasar.State{pasar.Completed, pasar.Failed, pasar.Cancelled}},
}

// groupOf is the place in groups of a state; one that this version doesn't know comes last.
func groupOf(st pasar.State) int {
	for i := range groups {
		if slices.Contains(groups[i].states, st) {
			return i
		}
	}
	return len(groups)
}

// Rows are the jobs that match, in an order, and grouped below headings if that is wanted. Jobs that are equal in the
// order stay as they are.
func Rows(jobs []*pasar.JobView, f Filter, by Sort, reverse, grouped bool, now time.Time) []Row {
	var list []*pasar.JobView
	for _, v := range jobs {
		if v != nil && f.Match(v) {
			list = append(list, v)
		}
	}
	if by == SortQueue && reverse {
		slices.Reverse(list)
	} else if before := order(by, now); before != nil {
		slices.SortStableFunc(list, func(a, b *pasar.JobView) int {
			if reverse {
				a, b = b, a
			}
			return before(a, b)
		})
	}
	rows := make([]Row, 0, len(list)+len(groups))
	if !grouped {
		for _, v := range list {
			rows = append(rows, Row{View: v})
		}
		return rows
	}
	parts := make([][]*pasar.JobView, len(groups)+1)
	for _, v := range list {
		g := groupOf(v.State)
		parts[g] = append(parts[g], v)
	}
	for g, part := range parts {
		if len(part) == 0 {
			continue
		}
		name := "Other"
		if g < len(groups) {
			name = groups[g].name
		}
		rows = append(rows, Row{Heading: fmt.Sprintf("%s %d", name, len(part))})
		for _, v := range part {
			rows = append(rows, Row{View: v})
		}
	}
	return rows
}

// order compares two jobs; nil leaves them as they are.
func order(by Sort, now time.Time) func(a, b *pasar.JobView) int {
	switch by {
	case SortID:
		return func(a, b *pasar.JobView) int { return cmp.Compare(a.ID, b.ID) }
	case SortName:
		return func(a, b *pasar.JobView) int { return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) }
	case SortBid:
		return func(a, b *pasar.JobView) int { return cmp.Compare(b.Bid, a.Bid) }
	case SortTime:
		return func(a, b *pasar.JobView) int { return cmp.Compare(spent(b, now), spent(a, now)) }
	case SortState:
		return func(a, b *pasar.JobView) int {
			return cmp.Or(cmp.Compare(groupOf(a.State), groupOf(b.State)), cmp.Compare(a.State, b.State))
		}
	}
	return nil
}

// spent is the time that a job's row shows.
func spent(v *pasar.JobView, now time.Time) time.Duration {
	switch {
	case v.State == pasar.Queued || v.State == pasar.Awaiting:
		return max(0, now.Sub(waitsSince(v)))
	case v.RunTime != nil:
		return time.Duration(*v.RunTime)
	}
	return -1
}

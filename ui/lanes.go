package ui

import (
	"cmp"
	"slices"
	"time"
)

// lanes lays the bars of each spot out, and keeps as many lanes as there may be.
func (m *market) lanes(most int) (lanes []Lane, hidden int) {
	type ranked struct {
		Lane
		rank int // the lowest are kept
	}
	var all []ranked
	for i, st := range append(slices.Clip(m.spots), &m.cpu, &m.queue) {
		extra := 0
		if i >= len(m.spots) {
			if extra = 1; len(st.bars) == 0 {
				continue
			}
		}
		rows, left := m.layOut(st.bars, min(max(1, most), deepest))
		hidden += left
		for depth, bars := range rows {
			l := ranked{Lane{Bars: bars}, depth + extra}
			if len(bars) == 0 {
				l.rank += deepest // where nothing happens goes first
			}
			if depth == 0 {
				l.Label = st.label
			}
			all = append(all, l)
		}
	}
	limit := -1 // the rank of which only some are kept
	ranks := make([]int, 0, len(all))
	for _, l := range all {
		ranks = append(ranks, l.rank)
	}
	some := 0
	if slices.Sort(ranks); len(all) > most {
		limit = ranks[most]
		some = most - slices.Index(ranks, limit)
	}
	for _, l := range all {
		keep := limit < 0 || l.rank < limit
		if l.rank == limit && some > 0 {
			keep, some = true, some-1
		}
		if keep {
			lanes = append(lanes, l.Lane)
		} else {
			hidden += len(l.Bars)
		}
	}
	return lanes, hidden
}

// deepest is how many lanes a place has at most.
const deepest = 100

// slack is by how much one bar may run into the next in a lane: ends and starts are seen at different times.
const slack = 2 * time.Second

// layOut puts each bar into the first row that has room for it, as they start. Left is how many have none.
func (m *market) layOut(bars []Bar, most int) (rows [][]Bar, left int) {
	slices.SortStableFunc(bars, func(a, b Bar) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Job, b.Job), cmp.Compare(a.Attempt, b.Attempt))
	})
	rows = [][]Bar{nil}
	for _, b := range bars {
		i := slices.IndexFunc(rows, func(row []Bar) bool {
			if len(row) == 0 {
				return true
			}
			last := &row[len(row)-1]
			end := last.To
			if last.Kind == BarRuns && last.Open { // what is drawn beyond now is only a guess
				end = m.now
			}
			return !end.After(b.From.Add(slack)) && last.From.Before(b.From) || !last.To.After(b.From)
		})
		if i < 0 && len(rows) >= most {
			left++
			continue
		}
		if i < 0 {
			i, rows = len(rows), append(rows, nil)
		}
		if n := len(rows[i]); n > 0 && rows[i][n-1].To.After(b.From) {
			rows[i][n-1].To = b.From
		}
		rows[i] = append(rows[i], b)
	}
	return rows, left
}

package ui

import (
	"time"
)

// Zooms lists the spans of time that the market is shown at, the shortest first.
func Zooms() []time.Duration {
	const day = 24 * time.Hour
	return []time.Duration{30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 3 * day, 7 * day, 30 * day}
}

// ticks are the steps between labels of an axis: minutes within a day, then days.
var (
	tickMinutes = []int{1, 5, 15, 30, 60, 3 * 60, 6 * 60, 12 * 60}
	tickDays    = []int{1, 2, 7, 14, 28, 91, 364}
)

// tickRoom is how many columns a label takes at most, with the gap behind it.
const tickRoom = len("31 Dec") + 1

// Axis labels the time below lanes: the hours at round times, the day where it changes, and now. A label begins at its
// time; none is cut, and none touches another. It is exactly width columns.
func Axis(from, to, now time.Time, width int) Line {
	width = max(0, width)
	c := newCells(width)
	if !from.Before(to) || width == 0 {
		return c.line()
	}
	taken := make([]bool, width)
	put := func(at int, text string, look Span) {
		n := len(text)
		if at < 0 || at+n > width {
			return
		}
		for i := max(0, at-1); i < min(width, at+n+1); i++ {
			if taken[i] {
				return
			}
		}
		for i := at; i < at+n; i++ {
			taken[i] = true
		}
		c.text(at, text, look, 0)
	}
	if at := columnAt(now, from, to, width); at >= 0 && at < float64(width) {
		const text = "now"
		put(min(int(at), max(0, width-len(text))), text, Span{Role: Accent, Bold: true})
	}
	next, ok := ticks(from, to, now.Location(), width)
	for i := 0; ok; i++ {
		t := next(i)
		if !t.Before(to) {
			break
		}
		if t.Before(from) {
			continue
		}
		text := t.Format("15:04")
		if t.Hour() == 0 && t.Minute() == 0 {
			text = t.Format("2 Jan")
		}
		put(int(columnAt(t, from, to, width)), text, Span{Role: Faint})
	}
	return c.line()
}

// ticks gives the round times of an axis one by one, from one before its begin; false: there is room for none.
func ticks(from, to time.Time, zone *time.Location, width int) (next func(i int) time.Time, ok bool) {
	perMinute := float64(width) / to.Sub(from).Minutes()
	y, m, d := from.In(zone).Date()
	for _, step := range tickMinutes {
		if float64(step)*perMinute >= float64(tickRoom) {
			first := int(from.Sub(time.Date(y, m, d, 0, 0, 0, 0, zone)).Minutes())/step - 1
			return func(i int) time.Time { return time.Date(y, m, d, 0, (first+i)*step, 0, 0, zone) }, true
		}
	}
	for _, step := range tickDays {
		if float64(step)*24*60*perMinute >= float64(tickRoom) {
			day := int(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60))
			first := d - day%step // the same days wherever the axis begins
			return func(i int) time.Time { return time.Date(y, m, first+i*step, 0, 0, 0, 0, zone) }, true
		}
	}
	return nil, false
}

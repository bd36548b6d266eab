package submission

import (
	"fmt"
	"strings"
	"time"

	"pasar"
)

// BeginForms are the forms of a time that ParseBegin reads.
const BeginForms = "write 22:00, +2h, tomorrow 08:00, or 2026-12-01T08:00"

// ParseBegin reads when a job may start at the earliest. A time of day is the next one that the clock
// shows; a date has the time zone of now unless it names another. "now" is the zero time.
func ParseBegin(s string, now time.Time) (time.Time, error) {
	word := strings.ToLower(strings.Join(strings.Fields(s), " "))
	if word == "now" {
		return time.Time{}, nil
	}
	if span, ok := strings.CutPrefix(word, "+"); ok {
		d, err := pasar.ParseDuration(span)
		return now.Add(time.Duration(d)), err
	}
	if day, clock, ok := strings.Cut(word, " "); ok && (day == "tomorrow" || day == "today") {
		t, ok := clockTime(clock)
		if !ok {
			return time.Time{}, pasar.BadWord(BeginForms, "bad time %q", s)
		}
		days := 0
		if day == "tomorrow" {
			days = 1
		}
		return ahead(s, onDay(now, days, t), now)
	}
	if t, ok := clockTime(word); ok {
		today := onDay(now, 0, t)
		if !today.After(now) {
			return onDay(now, 1, t), nil
		}
		return today, nil
	}
	if t, err := time.Parse(time.RFC3339, strings.TrimSpace(s)); err == nil {
		return ahead(s, t, now)
	}
	for _, layout := range []string{"2006-01-02t15:04", "2006-01-02t15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, word, now.Location()); err == nil {
			return ahead(s, t, now)
		}
	}
	if d, err := pasar.ParseDuration(word); err == nil {
		return time.Time{}, pasar.BadWord(fmt.Sprintf("+%s is that long from now", d), "%q is a span, not a time", s)
	}
	return time.Time{}, pasar.BadWord(BeginForms, "bad time %q", s)
}

func clockTime(s string) (time.Time, bool) {
	for _, layout := range []string{"15:04", "15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

func onDay(now time.Time, days int, clock time.Time) time.Time {
	return time.Date(now.Year(), now.Month(), now.Day()+days, clock.Hour(), clock.Minute(), clock.Second(), 0, now.Location())
}

// ahead refuses a time that is over: whoever writes one means another.
func ahead(s string, t, now time.Time) (time.Time, error) {
	if t.Before(now) {
		return time.Time{}, pasar.BadWord("without --begin a job starts as soon as it can", "%q was %s ago", s, pasar.Duration(now.Sub(t)))
	}
	return t, nil
}

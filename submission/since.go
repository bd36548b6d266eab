package submission

import (
	"time"

	"pasar"
)

// SinceForms are the forms of a time that ParseSince reads.
const SinceForms = "write 2h (ago), 14:30, 2026-01-31, or 2026-01-31T15:04:05Z"

// ParseSince reads a time of the past, as of --since and --until: a span before now, a time of day, which is the last one that
// the clock showed, or a date, with a time or without. All have the time zone of now unless they name another.
func ParseSince(s string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, nil
		}
	}
	if clock, ok := clockTime(s); ok {
		t := onDay(now, 0, clock)
		if t.After(now) {
			t = onDay(now, -1, clock)
		}
		return t, nil
	}
	d, err := pasar.ParseDuration(s)
	if err != nil {
		return time.Time{}, pasar.BadWord(SinceForms, "bad time %q", s)
	}
	return now.Add(-time.Duration(d)), nil
}

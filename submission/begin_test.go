package submission

import (
	"strings"
	"testing"
	"time"
)

func TestABeginIsTheNextTimeTheClockShows(t *testing.T) {
	zone := time.FixedZone("X", 2*3600)
	now := time.Date(2026, 3, 1, 21, 30, 0, 0, zone)
	for in, want := range map[string]string{
		"22:00": "2026-03-01 22:00:00", "21:30": "2026-03-02 21:30:00", "08:00": "2026-03-02 08:00:00", "08:00:30": "2026-03-02 08:00:30", "+2h": "2026-03-01 23:30:00", "+1d12h": "2026-03-03 09:30:00",
		"tomorrow 08:00": "2026-03-02 08:00:00", "Tomorrow  8:05": "2026-03-02 08:05:00", "today 23:00": "2026-03-01 23:00:00", "2026-12-01T08:00": "2026-12-01 08:00:00", "2026-12-01 08:00:01": "2026-12-01 08:00:01",
		"2026-12-01": "2026-12-01 00:00:00", "2026-03-01T20:00:00Z": "2026-03-01 22:00:00",
	} {
		got, err := ParseBegin(in, now)
		if s := got.In(zone).Format(time.DateTime); err != nil || s != want {
			t.Errorf("%q: %s, %v; want %s", in, s, err, want)
		}
	}
	if got, err := ParseBegin("now", now); err != nil || !got.IsZero() {
		t.Errorf("now: %v, %v", got, err)
	}
	for in, want := range map[string]string{
		"": "bad time", "noon": "bad time", "25:00": "bad time", "today 08:00": `"today 08:00" was 13h30m ago; without --begin`, "2025-03-01T21:30": "was 365d ago",
		"2h": `"2h" is a span, not a time; +2h is that long from now`, "+2": "a time needs a unit", "tomorrow": "bad time", "tomorrow noon": "bad time", "2026-13-01": "bad time",
	} {
		if got, err := ParseBegin(in, now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", in, got, err, want)
		}
	}
}

func FuzzParseBegin(f *testing.F) {
	now := time.Date(2026, 3, 1, 21, 30, 0, 0, time.UTC)
	for _, s := range []string{"22:00", "+2h", "tomorrow 08:00", "2026-12-01T08:00", "now"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := ParseBegin(s, now); err == nil && !got.IsZero() && got.Before(now) {
			t.Errorf("%q is %v", s, got)
		}
	})
}

package submission

import (
	"strings"
	"testing"
	"time"
)

func TestASinceIsATimeThatIsOver(t *testing.T) {
	zone := time.FixedZone("X", 2*3600)
	now := time.Date(2026, 3, 1, 0, 10, 0, 0, zone)
	for in, want := range map[string]string{
		"00:05": "2026-03-01 00:05:00", "23:50": "2026-02-28 23:50:00", "00:10": "2026-03-01 00:10:00", "06:00:30": "2026-02-28 06:00:30", "2h": "2026-02-28 22:10:00", "1d12h": "2026-02-27 12:10:00",
		"2026-01-31": "2026-01-31 00:00:00", "2026-01-31 15:04": "2026-01-31 15:04:00", "2026-01-31 15:04:05": "2026-01-31 15:04:05", "2026-01-31T15:04": "2026-01-31 15:04:00", "2026-01-31T15:04:05": "2026-01-31 15:04:05",
		"2026-01-31T15:04:05Z": "2026-01-31 17:04:05", "2026-01-31T15:04:05+02:00": "2026-01-31 15:04:05", "2027-01-01": "2027-01-01 00:00:00",
	} {
		got, err := ParseSince(in, now)
		if s := got.In(zone).Format(time.DateTime); err != nil || s != want {
			t.Errorf("%q: %s, %v; want %s", in, s, err, want)
		}
	}
	for _, in := range []string{"", "once", "25:00", "2026-13-01", "90", "2026-01-31T15:04:05 02:00", "+2h", "now"} {
		if got, err := ParseSince(in, now); err == nil || !strings.HasSuffix(err.Error(), "; "+SinceForms) {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
}

func FuzzParseSince(f *testing.F) {
	now := time.Date(2026, 3, 1, 21, 30, 0, 0, time.UTC)
	for _, s := range []string{"22:00", "2h", "2026-01-31", "2026-01-31 15:04", "2026-12-01T08:00:00Z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := ParseSince(s, now); err == nil && !strings.Contains(s, "-") && got.After(now) {
			t.Errorf("%q is %v", s, got)
		}
	})
}

package ipc

import (
	"testing"
	"time"

	"pasar"
)

func TestAListIsOfWhatWasCreatedOrFinishedInATime(t *testing.T) {
	at := func(hour int) time.Time {
		if hour < 0 {
			return time.Time{}
		}
		return time.Date(2026, 1, 31, hour, 0, 0, 0, time.UTC)
	}
	for _, c := range []struct {
		since, until, created, finished int // hours; -1: none
		want                            bool
	}{
		{-1, -1, 3, -1, true},
		{4, -1, 3, -1, false}, // it runs: neither was in that time
		{4, -1, 3, 4, true},
		{4, -1, 3, 3, false},
		{4, -1, 4, -1, true},
		{-1, 4, 3, 9, true},
		{-1, 4, 3, -1, true},
		{-1, 4, 4, 9, false}, // before, not at
		{4, 8, 3, 9, false},
		{4, 8, 3, 7, true},
		{4, 8, 7, 9, true},
		{4, 8, 8, -1, false},
		{4, 8, 3, -1, false},
	} {
		r := ListRequest{Since: at(c.since), Until: at(c.until)}
		if got := r.Matches(pasar.Running, pasar.Spec{}, "", at(c.created), at(c.finished)); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

package web

import (
	"context"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"pasar/ipc"
	"pasar/submission"
)

// TestATimeIsReadAlikeWhereverItIsAskedFor holds that every path reads a time as the commands do, in the daemon's time zone.
func TestATimeIsReadAlikeWhereverItIsAskedFor(t *testing.T) {
	s, d := newServer(t)
	now := time.Date(2026, 3, 1, 0, 10, 0, 0, time.FixedZone("X", 2*3600))
	s.Now = func() time.Time { return now }
	d.reply[ipc.VerbList] = func(context.Context, *ipc.Call) error { return &ipc.Error{Code: ipc.CodeUnavailable, Message: "asked"} }
	var list ipc.ListRequest
	var stats ipc.StatsRequest
	var gpu ipc.GPUHistoryRequest
	for _, form := range []string{"2h", "06:00", "23:50:10", "2026-01-31", "2026-01-31 15:04", "2026-01-31T15:04:05", "2026-01-31T15:04:05Z", "2026-01-31T15:04:05-07:00"} {
		want, err := submission.ParseSince(form, now)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			path, key string
			verb      ipc.Verb
			into      any
			got       *time.Time
		}{
			{"/api/jobs", "since", ipc.VerbList, &list, &list.Since},
			{"/api/jobs", "until", ipc.VerbList, &list, &list.Until},
			{"/api/stats", "since", ipc.VerbStats, &stats, &stats.Since},
			{"/api/gpu", "since", ipc.VerbGPUHistory, &gpu, &gpu.Since},
			{"/api/gpu", "until", ipc.VerbGPUHistory, &gpu, &gpu.Until},
		} {
			*c.got = time.Time{}
			ask(t, s, "GET", c.path+"?"+url.Values{c.key: {form}}.Encode(), "", nil)
			d.bound(t, c.verb, c.into)
			if !c.got.Equal(want) {
				t.Errorf("%s?%s=%s: %s; want %s", c.path, c.key, form, c.got, want)
			}
		}
		r := httptest.NewRequest("GET", "/api/jobs/1/logs?"+url.Values{"since": {form}}.Encode(), nil)
		r.SetPathValue("id", "1")
		q, err := s.logsQuery(r)
		if err != nil || !q.Since.Equal(want) {
			t.Errorf("logs since %s: %s, %v; want %s", form, q.Since, err, want)
		}
	}
	for _, path := range []string{"/api/jobs?since=", "/api/jobs?until=", "/api/stream?since=", "/api/stats?since=", "/api/gpu?until=", "/api/jobs/1/logs?since="} {
		if status, e := refusal(t, s, "GET", path+"noon", ""); status != 400 || e.Hint != submission.SinceForms {
			t.Errorf("%s: %d %+v", path, status, e)
		}
	}
}

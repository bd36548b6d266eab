package daemon

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/ipc"
)

// pointGap is how far the first point of a history may be from where it was asked to begin.
const pointGap = 10 * time.Second

// A fakePast has two GPUs, and remembers what it was asked.
type fakePast struct {
	since, until time.Time
	points       int
	uuids        []string
}

func (p *fakePast) View(since, until time.Time, points int) pasar.GPUHistoryView {
	p.since, p.until, p.points = since, until, points
	v := pasar.GPUHistoryView{Schema: pasar.Schema, Source: "samples", From: since.Add(pointGap - time.Nanosecond), Until: until}
	for _, uuid := range p.uuids {
		v.GPUs = append(v.GPUs, pasar.GPUSeriesView{UUID: uuid, Points: []pasar.GPUSampleView{{At: since}}})
	}
	return v
}

func codeOf(err error) ipc.Code {
	var e *ipc.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestAHistoryOfGPUsIsBoundedAndNotOfTheFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newWorld(t, 2).start(nil)
		if _, err := d.gpuHistory(t.Context(), ipc.GPUHistoryRequest{}); codeOf(err) != ipc.CodeUnsupported {
			t.Errorf("without a history: %v", err)
		}
		past := &fakePast{}
		d.Past = past
		now := d.Clock.Now()
		ago := func(h time.Duration) time.Time { return now.Add(-h * time.Hour) }
		for _, c := range []struct {
			name         string
			ask          ipc.GPUHistoryRequest
			since, until time.Time
			points       int
			code         ipc.Code
		}{
			{name: "nothing said", since: ago(24), until: now, points: 720},
			{name: "a span", ask: ipc.GPUHistoryRequest{Since: ago(6), Until: ago(3), Points: 8640}, since: ago(6), until: ago(3), points: 8640},
			{name: "more than a day, and the future", ask: ipc.GPUHistoryRequest{Since: ago(99), Until: ago(-5), Points: 1}, since: ago(24), until: now, points: 1},
			{name: "too many points", ask: ipc.GPUHistoryRequest{Points: 8641}, code: ipc.CodeBadRequest},
			{name: "fewer than none", ask: ipc.GPUHistoryRequest{Points: -1}, code: ipc.CodeBadRequest},
			{name: "backwards", ask: ipc.GPUHistoryRequest{Since: ago(1), Until: ago(2)}, code: ipc.CodeBadRequest},
		} {
			*past = fakePast{}
			_, err := d.gpuHistory(t.Context(), c.ask)
			if codeOf(err) != c.code || !past.since.Equal(c.since) || !past.until.Equal(c.until) || past.points != c.points {
				t.Errorf("%s: %v, asked for %+v", c.name, err, past)
			}
		}
	})
}

func TestNoHistoryEndsBeforeItBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newWorld(t, 2).start(nil)
		synctest.Wait()
		past, longer := &fakePast{}, &fakeLonger{}
		d.Past = past
		now := d.Clock.Now()
		day := 24 * time.Hour
		ago := []time.Duration{1000 * day, 40 * day, 30*day + time.Second, 30 * day, 3 * day, 2 * day, day + time.Minute, day + time.Second, day, time.Hour, 2 * time.Second, time.Second, 0, -time.Second, -day}
		for _, url := range []string{"", "http://p:9090"} {
			s := *d.settings.Load()
			s.PrometheusURL = url
			d.SetSettings(s)
			d.Longer = longer
			for i, since := range ago {
				for _, until := range ago[i+1:] {
					*past, *longer = fakePast{}, fakeLonger{}
					v, err := d.gpuHistory(t.Context(), ipc.GPUHistoryRequest{Since: now.Add(-since), Until: now.Add(-until)})
					told := v.From.Before(now.Add(-since)) && since > 0 || v.Until.After(now) || v.Until.After(now.Add(-until))
					if err != nil || v.From.After(v.Until) || told || past.since.After(past.until) || longer.since.After(longer.until) {
						t.Errorf("%q, from %v ago to %v ago: %v; %v to %v, asked for %v to %v, and of others %v to %v", url, since, until, err,
							now.Sub(v.From), now.Sub(v.Until), now.Sub(past.since), now.Sub(past.until), now.Sub(longer.since), now.Sub(longer.until))
					}
					if lacks := url == "" && since > day+time.Minute || until >= 30*day; lacks != (v.Note != nil) {
						t.Errorf("%q, from %v ago to %v ago: the note is %v", url, since, until, v.Note)
					}
				}
			}
		}
	})
}

func TestAHistoryNamesTheGPUsThatAreThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newWorld(t, 2).start(nil)
		synctest.Wait()
		there := machineNow(t, d).GPUs
		d.Past = &fakePast{uuids: []string{"A-gone", there[1].UUID, there[0].UUID}}
		v, err := d.gpuHistory(t.Context(), ipc.GPUHistoryRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range there {
			g := v.GPUs[i]
			if g.UUID != there[i].UUID || g.Index == nil || *g.Index != there[i].Index || g.Name == nil || *g.Name != there[i].Name || g.Mem == nil || *g.Mem != there[i].Total {
				t.Errorf("%+v", g)
			}
		}
		if g := v.GPUs[2]; g.UUID != "A-gone" || g.Index != nil || g.Name != nil || g.Mem != nil {
			t.Errorf("a GPU that isn't there now: %+v", g)
		}
	})
}

// A fakeLonger has what it was given, and remembers what it was asked.
type fakeLonger struct {
	url          string
	uuids        []string
	since, until time.Time
	points, n    int
	err          error
}

func (l *fakeLonger) View(_ context.Context, url string, uuids []string, since, until time.Time, points int) (pasar.GPUHistoryView, error) {
	l.url, l.uuids, l.since, l.until, l.points = url, uuids, since, until, points
	l.n++
	if l.err != nil {
		return pasar.GPUHistoryView{}, l.err
	}
	return pasar.GPUHistoryView{Schema: pasar.Schema, Source: "prometheus", From: since.Add(pointGap - time.Nanosecond), Until: until, GPUs: []pasar.GPUSeriesView{{UUID: uuids[len(uuids)-1]}}}, nil
}

func TestAHistoryOfLongerThanADayIsAskedOfWhoeverKeptIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newWorld(t, 2).start(nil)
		synctest.Wait()
		there := machineNow(t, d).GPUs
		past, longer := &fakePast{}, &fakeLonger{}
		var log bytes.Buffer
		d.Past, d.Longer, d.Log = past, longer, slog.New(slog.NewTextHandler(&log, nil))
		now := d.Clock.Now()
		ago := func(h time.Duration) time.Time { return now.Add(-h * time.Hour) }
		ask := func(r ipc.GPUHistoryRequest) pasar.GPUHistoryView {
			t.Helper()
			v, err := d.gpuHistory(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		week := ipc.GPUHistoryRequest{Since: ago(7 * 24), Points: 10}
		if v := ask(week); v.Source != "samples" || v.Note == nil || !strings.Contains(*v.Note, "`prometheus_url`") || longer.n > 0 || !past.since.Equal(ago(24)) {
			t.Errorf("nobody to ask: %+v", v)
		}
		s := *d.settings.Load()
		s.PrometheusURL = "http://p:9090"
		d.SetSettings(s)
		if v := ask(ipc.GPUHistoryRequest{Since: ago(24).Add(-time.Second)}); v.Source != "samples" || v.Note != nil || longer.n > 0 {
			t.Errorf("a day: %+v", v)
		}
		v := ask(week)
		if v.Source != "prometheus" || v.Note != nil || longer.url != s.PrometheusURL || len(longer.uuids) != 2 || longer.uuids[0] != there[0].UUID || !longer.since.Equal(ago(7*24)) || !longer.until.Equal(now) || longer.points != 10 {
			t.Errorf("a week: %+v, asked for %+v", v, longer)
		}
		if g := v.GPUs[0]; g.UUID != there[1].UUID || g.Index == nil || *g.Index != there[1].Index || g.Name == nil || g.Mem == nil {
			t.Errorf("its GPU: %+v", g)
		}
		if ask(ipc.GPUHistoryRequest{Since: ago(24 * 365), Until: ago(48)}); !longer.since.Equal(ago(30*24)) || !longer.until.Equal(ago(48)) {
			t.Errorf("a year: asked for %+v", longer)
		}
		longer.err = errors.New("http://p:9090: connection refused\x1b[2J")
		for range 3 {
			v = ask(week)
			if v.Source != "samples" || v.Note == nil || !strings.Contains(*v.Note, "connection refused") || strings.Contains(*v.Note, "\x1b") || !past.since.Equal(ago(24)) {
				t.Errorf("it can't be asked: %+v", v)
			}
		}
		longer.err = nil
		ask(week)
		ask(week)
		if n := strings.Count(log.String(), "\n"); n != 2 || !strings.Contains(log.String(), "can't be asked") || !strings.Contains(log.String(), "again") {
			t.Errorf("%d lines: %s", n, log.String())
		}
		old := d.pub.Load()
		p := *old
		p.machines = nil
		d.pub.Store(&p)
		n := longer.n
		if v := ask(week); v.Source != "samples" || v.Note != nil || longer.n != n {
			t.Errorf("of no GPU: %+v", v)
		}
		d.pub.Store(old)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		longer.err = context.Canceled
		if _, err := d.gpuHistory(gone, week); !errors.Is(err, context.Canceled) {
			t.Errorf("who asked is gone: %v", err)
		}
	})
}

package daemon

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/ipc"
)

// A fakePast has two GPUs, and remembers what it was asked.
type fakePast struct {
	since, until time.Time
	points       int
	uuids        []string
}

func (p *fakePast) View(since, until time.Time, points int) pasar.GPUHistoryView {
	p.since, p.until, p.points = since, until, points
	v := pasar.GPUHistoryView{Schema: pasar.Schema, Source: "samples"}
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
		if _, err := d.gpuHistory(ipc.GPUHistoryRequest{}); codeOf(err) != ipc.CodeUnsupported {
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
			_, err := d.gpuHistory(c.ask)
			if codeOf(err) != c.code || !past.since.Equal(c.since) || !past.until.Equal(c.until) || past.points != c.points {
				t.Errorf("%s: %v, asked for %+v", c.name, err, past)
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
		v, err := d.gpuHistory(ipc.GPUHistoryRequest{})
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

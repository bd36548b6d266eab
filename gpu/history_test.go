package gpu

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"
	"unsafe"

	"pasar"
)

// noon begins a slot.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func after(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

// sampleOf is a reading of one GPU that has so much memory in use; NaN is not known.
func sampleOf(at time.Time, uuid string, mib, util, temp, power float64) pasar.Reading {
	known := func(v float64) *float64 {
		if math.IsNaN(v) {
			return nil
		}
		return &v
	}
	g := pasar.GPUReading{UUID: uuid, Status: pasar.GPUOK, Util: known(util), TempC: known(temp), PowerW: known(power)}
	if !math.IsNaN(mib) {
		b := pasar.Bytes(mib) * pasar.MiB
		g.Used = &b
	}
	return pasar.Reading{At: at, GPUs: []pasar.GPUReading{g}}
}

// told is a history as text: the points of each GPU, by seconds after noon.
func told(h *History, since, until time.Time, points int) string {
	out := ""
	num := func(v *float64) string {
		if v == nil {
			return "?"
		}
		return fmt.Sprint(*v)
	}
	for _, g := range h.View(since, until, points).GPUs {
		out += g.UUID + ":"
		for _, p := range g.Points {
			used := "?"
			if p.Used != nil {
				used = fmt.Sprint(int64(*p.Used / pasar.MiB))
			}
			out += fmt.Sprintf(" %d=%s/%s/%s/%s", int(p.At.Sub(noon)/time.Second), used, num(p.Util), num(p.TempC), num(p.PowerW))
		}
		out += "\n"
	}
	return out
}

func wantTold(t *testing.T, h *History, want string) {
	t.Helper()
	if got := told(h, after(-3600), after(3600), 8640); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

var nan = math.NaN()

func TestASlotHasTheMostMemoryAndHeatAndTheMeanOfTheRest(t *testing.T) {
	h := NewHistory()
	for _, r := range []pasar.Reading{
		sampleOf(after(0), "a", 100, 10, 50, 200), sampleOf(after(2), "a", 300, 20, 60, 300), sampleOf(after(9), "a", 200, 60, 55, 100),
		sampleOf(after(10), "a", nan, nan, nan, nan), sampleOf(after(12), "a", nan, 5, nan, nan),
		sampleOf(after(20), "a", nan, nan, nan, nan), // nothing known is no point
		sampleOf(after(30), "a", 0, 0, 0, 0),         // and 0 is known
	} {
		h.Add(r)
	}
	wantTold(t, h, "a: 0=300/30/60/200 10=?/5/?/? 30=0/0/0/0\n")
}

func TestWhatIsOldOrDoesNotAnswerIsNoSample(t *testing.T) {
	h := NewHistory()
	r := sampleOf(after(0), "a", 1, 1, 1, 1)
	r.Trouble = "the driver is silent"
	h.Add(r)
	r = sampleOf(after(0), "a", 1, 1, 1, 1)
	r.GPUs[0].Status = pasar.GPUUnresponsive
	h.Add(r)
	h.Add(sampleOf(after(0), "", 1, 1, 1, 1))
	h.Add(pasar.Reading{At: after(0)})
	wantTold(t, h, "")
	if len(h.gpus) != 0 {
		t.Error("memory was taken for a GPU of which nothing is known")
	}
}

func TestAClockThatJumpsLeavesSlotsInOrder(t *testing.T) {
	for _, c := range []struct {
		name string
		at   []int
		want string
	}{
		{"forth, within a day", []int{0, 600}, "a: 0=1/1/1/1 600=2/2/2/2\n"},
		{"forth, by days", []int{0, 10 * 86400, 0}, "a: 0=3/3/3/3\n"},
		{"back, to a slot that is there", []int{0, 10, 20, 10}, "a: 0=1/1/1/1 10=4/3/4/3\n"},
		{"back, between slots", []int{0, 100, 50}, "a: 0=1/1/1/1 50=3/3/3/3\n"},
		{"back, by days", []int{0, 10, -3 * 86400, 20}, "a: 20=4/4/4/4\n"},
		{"to before any time", []int{0, -1 << 31, 10}, "a: 0=1/1/1/1 10=3/3/3/3\n"},
		{"to a time beyond all", []int{0, 1 << 40, 10}, "a: 0=1/1/1/1 10=3/3/3/3\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := NewHistory()
			for i, s := range c.at {
				v := float64(i + 1)
				at := after(s)
				if s == 1<<40 {
					at = time.Unix(1<<40, 0)
				}
				h.Add(sampleOf(at, "a", v, v, v, v))
			}
			wantTold(t, h, c.want)
		})
	}
}

func TestADayIsKeptAndNoMore(t *testing.T) {
	h := NewHistory()
	for i := range 2*historySlots + 7 {
		h.Add(sampleOf(noon.Add(time.Duration(i)*slotTime), "a", 1, float64(i%100), 1, 1))
	}
	end := noon.Add(time.Duration(2*historySlots+7) * slotTime)
	ps := h.View(noon, end, 8640).GPUs[0].Points
	if int64(len(ps)) != historySlots || !ps[0].At.Equal(end.Add(-24*time.Hour)) {
		t.Errorf("%d points from %s to %s", len(ps), ps[0].At, end)
	}
	h.Add(sampleOf(end.Add(25*time.Hour), "b", 1, 1, 1, 1))
	if len(h.gpus) != 1 {
		t.Error("a GPU that wasn't seen for a day still takes memory")
	}
}

func TestPointsAreMergedEvenly(t *testing.T) {
	h := NewHistory()
	for i := range 12 {
		if i != 6 && i != 7 { // a gap that is a whole point
			h.Add(sampleOf(after(10*i), "a", float64(100+i), float64(i), float64(50-i), float64(i)))
		}
	}
	for _, c := range []struct {
		since, until time.Time
		points       int
		want         string
	}{
		{after(0), after(120), 6, "a: 0=101/0.5/50/0.5 20=103/2.5/48/2.5 40=105/4.5/46/4.5 80=109/8.5/42/8.5 100=111/10.5/40/10.5\n"},
		{after(0), after(120), 7, "a: 0=101/0.5/50/0.5 20=103/2.5/48/2.5 40=105/4.5/46/4.5 80=109/8.5/42/8.5 100=111/10.5/40/10.5\n"},
		{after(0), after(120), 1, "a: 0=111/5.3/50/5.3\n"},
		{after(5), after(25), 8640, "a: 10=101/1/49/1 20=102/2/48/2\n"},
		{after(10), after(20), 8640, "a: 10=101/1/49/1\n"},
		{after(20), after(10), 8640, ""},
		{time.Time{}, time.Unix(-5, 0), 1, ""},
		{time.Unix(1<<50, 0), time.Unix(1<<51, 0), 8640, ""},
	} {
		if got := told(h, c.since, c.until, c.points); got != c.want {
			t.Errorf("%s to %s, %d points:\n%swant\n%s", c.since, c.until, c.points, got, c.want)
		}
	}
	if v := h.View(after(0), after(120), 5); v.Step != pasar.Duration(30*time.Second) {
		t.Errorf("5 points of 12 slots: a step of %s", v.Step)
	}
}

func many(at time.Time, from, to int) (r pasar.Reading) {
	r.At = at
	for i := from; i < to; i++ {
		r.GPUs = append(r.GPUs, sampleOf(at, fmt.Sprintf("GPU-%032d", i), 1e8-1, 99.9, 99.9, 9999.9).GPUs[0])
	}
	return r
}

func TestTheNumberOfGPUsIsBounded(t *testing.T) {
	h := NewHistory()
	h.Add(many(after(0), 0, 10))
	h.Add(many(after(10), 10, 200)) // more than fit: those of before make room, and none of now
	for i := range 3 {
		h.Add(many(after(20+10*i), 9, 200))
	}
	if len(h.gpus) != maxHistoryGPUs || h.gpus[fmt.Sprintf("GPU-%032d", 0)] != nil {
		t.Errorf("%d GPUs", len(h.gpus))
	}
	if got := len(h.View(after(0), after(60), 10).GPUs[0].Points); got < 4 {
		t.Errorf("GPUs push each other out: %d points", got)
	}
}

func TestAnAnswerFitsIntoAFrame(t *testing.T) {
	const frame = 4 << 20
	for _, gpus := range []int{1, 2, 3, 8, maxHistoryGPUs} {
		h := NewHistory()
		h.Add(many(noon, 0, gpus))
		for _, tr := range h.gpus {
			for i := range tr.ring {
				tr.ring[i] = sample{unknownMemory - 1, 99.9, 99.9, 99999.9}
			}
		}
		v := h.View(noon.Add(-24*time.Hour+slotTime), noon.Add(slotTime), 8640)
		b, err := json.Marshal(v)
		if err != nil || len(b) > frame-frame/8 {
			t.Errorf("%d GPUs: %d bytes, %v", gpus, len(b), err)
		}
		t.Logf("%d GPUs: %d points each, %d bytes", gpus, len(v.GPUs[0].Points), len(b))
	}
}

func TestAGPUTakesLittleMemory(t *testing.T) {
	if size := unsafe.Sizeof(track{}); size > 150<<10 {
		t.Errorf("%d bytes", size)
	}
}

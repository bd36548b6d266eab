package gpu

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"pasar"
)

const (
	// slotTime is how long a slot is: the gap between readings of an idle machine, so that none stays empty there.
	slotTime = 10 * time.Second
	// historySlots are 24 h.
	historySlots = int64(24 * time.Hour / slotTime)
	// maxHistoryGPUs bounds the GPUs and MIG instances that are remembered: eight GPUs of seven instances each.
	maxHistoryGPUs = 64
	// maxHistoryUUID is the longest UUID of which there is a history, in bytes.
	maxHistoryUUID = 255
	// maxHistoryPoints bounds the points of an answer, over all GPUs. As JSON one takes at most 130 bytes, so that
	// the answer stays below a frame of the protocol, which is 4 MiB.
	maxHistoryPoints = 24_576
	// memoryUnit is what memory is counted in: the page of a GPU's memory, so that nothing is lost, up to 256 TiB.
	memoryUnit = 64 * pasar.KiB
	// unknownMemory is the count that stands for no count.
	unknownMemory = math.MaxUint32
)

// A sample is one slot of one GPU. Of what isn't known, used is unknownMemory and the rest NaN.
type sample struct {
	used  uint32  // the most, in memoryUnit
	util  float32 // mean, in percent
	temp  float32 // the most, in °C
	power float32 // mean, in watts
}

func unknownSample() sample {
	nan := float32(math.NaN())
	return sample{unknownMemory, nan, nan, nan}
}

func (s *sample) known() bool {
	return s.used != unknownMemory || s.util == s.util || s.temp == s.temp || s.power == s.power
}

// A track is the last 24 h of one GPU: the slots after last-historySlots up to last, in a ring by their number.
// Every other slot is unknown, and so is each of the ring in which the GPU wasn't seen.
type track struct {
	uuid string
	last int64 // newest slot: Unix time in slots of 10 s
	ring [historySlots]sample

	util, power mean // of the newest slot

	number  int   // by which the file knows it; -1: it doesn't
	written int64 // slots up to this one are in the file
}

// A mean is the mean of what was added.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(v float64) float32 {
	m.sum += v
	m.n++
	return float32(m.sum / float64(m.n))
}

// meanOf begins with a mean that is known already, as if of one value.
func meanOf(v float32) mean {
	if v != v {
		return mean{}
	}
	return mean{float64(v), 1}
}

func newTrack(uuid string, slot int64) *track {
	t := &track{uuid: uuid, last: slot, number: -1, written: slot - historySlots}
	for i := range t.ring {
		t.ring[i] = unknownSample()
	}
	return t
}

func (t *track) at(slot int64) *sample { return &t.ring[slot%historySlots] }

// move makes a slot the newest. Where the clock went back, what is newer is of a time that hasn't come, and goes.
func (t *track) move(slot int64) {
	from, to := t.last+1, slot
	if slot < t.last {
		from, to = slot+1, t.last
		t.written = min(t.written, slot-1)
	}
	for s := max(from, to-historySlots+1); s <= to; s++ {
		*t.at(s) = unknownSample()
	}
	if slot != t.last {
		t.last = slot
		t.resume()
	}
}

// resume begins the means of the newest slot with what it holds.
func (t *track) resume() {
	s := t.at(t.last)
	t.util, t.power = meanOf(s.util), meanOf(s.power)
}

func (t *track) add(slot int64, g *pasar.GPUReading) {
	t.move(slot)
	s := t.at(slot)
	if g.Used != nil && *g.Used >= 0 {
		n := uint32(min((*g.Used+memoryUnit-1)/memoryUnit, unknownMemory-1))
		if s.used == unknownMemory || n > s.used {
			s.used = n
		}
	}
	if v, ok := plausible(g.Util); ok {
		s.util = t.util.add(v)
	}
	if v, ok := plausible(g.TempC); ok && !(float32(v) <= s.temp) {
		s.temp = float32(v)
	}
	if v, ok := plausible(g.PowerW); ok {
		s.power = t.power.add(v)
	}
}

// plausible keeps out what isn't a number that JSON could have.
func plausible(v *float64) (float64, bool) {
	if v == nil || !(math.Abs(*v) < 1e6) {
		return 0, false
	}
	return *v, true
}

// A History is how each GPU was used over the last 24 h, in slots of 10 s that are aligned to the wall clock. It
// takes 135 KiB a GPU, of at most 64 GPUs; of more, the one that wasn't seen for longest goes. It may be used by
// several goroutines.
type History struct {
	file *historyFile // nil: it is in memory only

	mu      sync.Mutex // guards what follows
	gpus    map[string]*track
	newest  int64         // slot of the last reading
	flushed int64         // slot when the file was last told to write
	due     chan struct{} // tells the file to write; nil: it is closed, or there is none
}

// NewHistory is an empty history in memory.
func NewHistory() *History { return &History{gpus: map[string]*track{}} }

// slotOf is the number of the slot that a time lies in; ok is false of times that no slot has.
func slotOf(at time.Time) (slot int64, ok bool) {
	slot = at.Unix() / int64(slotTime/time.Second)
	return slot, at.Unix() >= 0 && slot <= math.MaxUint32
}

// Add takes a reading. It never waits for a disk. A GPU that doesn't answer has no numbers, and what a reading with
// trouble says of GPUs is old.
func (h *History) Add(r pasar.Reading) {
	slot, ok := slotOf(r.At)
	if !ok || r.Trouble != "" || len(r.GPUs) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var fresh []*pasar.GPUReading
	for i := range r.GPUs {
		g := &r.GPUs[i]
		if g.Status != pasar.GPUOK {
			continue
		}
		if t := h.gpus[g.UUID]; t != nil {
			t.add(slot, g)
		} else {
			fresh = append(fresh, g) // after those that are known, none of which is to make room for it then
		}
	}
	for _, g := range fresh {
		if t := h.track(g.UUID, slot); t != nil {
			t.add(slot, g)
		}
	}
	if slot == h.newest {
		return
	}
	maps.DeleteFunc(h.gpus, func(_ string, t *track) bool { return t.last <= slot-historySlots })
	h.newest = slot
	h.wakeFile(slot)
}

// track is the track of a GPU, made if need be; nil if there is no room.
func (h *History) track(uuid string, slot int64) *track {
	if t := h.gpus[uuid]; t != nil {
		return t
	}
	if uuid == "" || len(uuid) > maxHistoryUUID {
		return nil
	}
	if len(h.gpus) >= maxHistoryGPUs {
		oldest := slices.MinFunc(slices.Collect(maps.Values(h.gpus)), func(a, b *track) int {
			return cmp.Or(cmp.Compare(a.last, b.last), cmp.Compare(a.uuid, b.uuid))
		})
		if oldest.last == slot {
			return nil // all are there just now
		}
		delete(h.gpus, oldest.uuid)
	}
	t := newTrack(uuid, slot)
	h.gpus[uuid] = t
	return t
}

// sorted are the tracks by UUID.
func (h *History) sorted() []*track {
	return slices.SortedFunc(maps.Values(h.gpus), func(a, b *track) int { return cmp.Compare(a.uuid, b.uuid) })
}

// View is the history of the slots that begin at a time or later, and before another, by UUID; of each GPU at most so
// many points, 1 or more, and of many GPUs fewer, so that the answer fits into a frame. GPUs that have none are left
// out. What only the inventory knows of a GPU is null.
func (h *History) View(since, until time.Time, points int) pasar.GPUHistoryView {
	first, last := slotFrom(since), slotFrom(until)-1
	first = max(first, last-historySlots+1)
	h.mu.Lock()
	defer h.mu.Unlock()
	points = max(1, min(points, maxHistoryPoints/max(1, len(h.gpus))))
	step := max(1, (last-first+int64(points))/int64(points)) // rounded up
	v := pasar.GPUHistoryView{Schema: pasar.Schema, Source: "samples", Step: pasar.Duration(time.Duration(step) * slotTime),
		From: timeOf(first), Until: until.UTC(), GPUs: []pasar.GPUSeriesView{}}
	for _, t := range h.sorted() {
		if ps := t.points(first, last, step); len(ps) > 0 {
			v.GPUs = append(v.GPUs, pasar.GPUSeriesView{UUID: t.uuid, Points: ps})
		}
	}
	return v
}

// slotFrom is the first slot that begins at a time or later. Times that no slot has are at either end.
func slotFrom(at time.Time) int64 {
	if at.Unix() < 0 {
		return 0
	}
	slot := at.Unix() / int64(slotTime/time.Second)
	if at.After(timeOf(slot)) {
		slot++
	}
	return min(slot, math.MaxUint32+1)
}

// timeOf is when a slot begins.
func timeOf(slot int64) time.Time { return time.Unix(slot*int64(slotTime/time.Second), 0).UTC() }

// points are the slots from one to another, each step of them merged into one.
func (t *track) points(first, last, step int64) (out []pasar.GPUSampleView) {
	for from := first; from <= last; from += step {
		most, util, power := unknownSample(), mean{}, mean{}
		for s := max(from, t.last-historySlots+1, 0); s < from+step && s <= min(last, t.last); s++ {
			one := t.at(s)
			if one.used != unknownMemory && (most.used == unknownMemory || one.used > most.used) {
				most.used = one.used
			}
			if one.util == one.util {
				most.util = util.add(float64(one.util))
			}
			if one.temp == one.temp && !(one.temp <= most.temp) {
				most.temp = one.temp
			}
			if one.power == one.power {
				most.power = power.add(float64(one.power))
			}
		}
		if !most.known() {
			continue
		}
		p := pasar.GPUSampleView{At: timeOf(from), Util: tenths(most.util), TempC: tenths(most.temp), PowerW: tenths(most.power)}
		if most.used != unknownMemory {
			used := pasar.Bytes(most.used) * memoryUnit
			p.Used = &used
		}
		out = append(out, p)
	}
	return out
}

// tenths is a value as it is shown; nil: not known.
func tenths(v float32) *float64 {
	if v != v {
		return nil
	}
	f := math.Round(float64(v)*10) / 10
	return &f
}

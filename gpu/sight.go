package gpu

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pasar"
)

// A Sight is what the probe saw of one GPU, or of one MIG instance.
type Sight struct {
	Device Device
	Now    pasar.GPUReading // processes without user and job, which the probe doesn't know

	odd bool // it was found not to answer by check alone: nothing hangs
}

// An Event is an Xid as the driver's library tells it.
type Event struct {
	Index    int    // of the GPU
	Bus      string // its PCI address
	UUID     string
	Code     int
	Instance int // GPU instance; below 0: of none, or not said
}

// Bounds of what a probe is believed.
const (
	maxSights    = 256
	maxProcesses = 4096 // on one GPU
	maxThrottle  = 16
	maxVersion   = 64 // bytes of a version
)

// check says what in a sight can't be of any GPU, and makes the rest fit to be believed: a sensor's number that
// can't be is unknown, and a GPU whose memory or name can't be is one that doesn't answer, whatever the others
// are.
func (s *Sight) check() error {
	d, r := &s.Device, &s.Now
	if d.Index < 0 || d.Index >= maxDevices {
		return fmt.Errorf("bad index %d", d.Index)
	}
	switch r.Status {
	case pasar.GPUOK, pasar.GPUUnresponsive, pasar.GPULost:
	default:
		return fmt.Errorf("GPU %d: bad status", d.Index)
	}
	d.Name, d.Left, r.Detail, r.Recovery = tidy(d.Name), tidy(d.Left), tidy(r.Detail), tidy(r.Recovery)
	if d.Bus != "" && (len(d.Bus) > maxField || !plain(d.Bus)) {
		d.Bus = ""
	}
	s.checkUUID()
	s.checkMemory()
	for _, n := range []struct {
		of          **float64
		least, most float64
	}{
		{&r.Util, 0, 100}, {&r.TempC, -100, 300}, {&r.HotC, -100, 300}, {&r.PowerW, 0, 1e5}, {&r.LimitW, 0, 1e5},
		{&r.FanPct, 0, 1000}, {&r.ClockMHz, 0, 1e5},
	} {
		if f := *n.of; f != nil && !(*f >= n.least && *f <= n.most) {
			*n.of = nil
		}
	}
	r.Processes = r.Processes[:min(len(r.Processes), maxProcesses)]
	r.Processes = slices.DeleteFunc(r.Processes, func(p pasar.GPUProcess) bool { return p.Pid <= 0 || p.Pid > math.MaxInt32 })
	for i := range r.Processes {
		p := &r.Processes[i]
		if p.Used != nil && !validMemory(*p.Used) {
			p.Used = nil
		}
		p.Name, p.User, p.Job = tidy(p.Name), "", pasar.AttemptKey{}
	}
	r.Throttle = r.Throttle[:min(len(r.Throttle), maxThrottle)]
	for i, t := range r.Throttle {
		r.Throttle[i] = tidy(t)
	}
	r.UUID, r.Index = d.UUID, d.Index
	return nil
}

// checkUUID has no GPU known by a name that can't be: then it can't be had at all.
func (s *Sight) checkUUID() {
	d := &s.Device
	switch {
	case d.UUID == "" && s.Now.Status == pasar.GPUOK:
		s.nameless("the driver gives it no UUID")
	case d.UUID != "" && !validUUID(d.UUID), d.Parent != "" && !validUUID(d.Parent):
		s.nameless("the driver gives it a UUID that can't be")
	}
}

// nameless takes the UUID from a GPU and has it not answer.
func (s *Sight) nameless(why string) {
	s.Device.UUID, s.Device.Parent = "", ""
	s.distrust(why)
	s.Device.Left = why
}

// checkMemory has a GPU not answer whose memory can't be: nothing can be placed by such numbers.
func (s *Sight) checkMemory() {
	d, r := &s.Device, &s.Now
	if d.Unified {
		d.Total = 0
	}
	for _, m := range []struct {
		what string
		of   *pasar.Bytes
	}{{"memory", r.Total}, {"reserved memory", r.Reserved}, {"used memory", r.Used}, {"memory", &d.Total}} {
		if m.of != nil && !validMemory(*m.of) {
			s.distrust(fmt.Sprintf("the driver says %d MiB of %s, which can't be", uint64(*m.of)/uint64(pasar.MiB), m.what))
			d.Total, r.Total, r.Reserved, r.Used = 0, nil, nil, nil
			return
		}
	}
}

// distrust has a GPU not answer, because what it answers can't be. One that is lost stays lost.
func (s *Sight) distrust(why string) {
	if s.Now.Status == pasar.GPUOK {
		s.Now.Status, s.Now.Detail, s.odd = pasar.GPUUnresponsive, why, true
	}
}

func validMemory(b pasar.Bytes) bool { return b >= 0 && b <= maxMemory }

// validUUID reports whether s may be a UUID. It goes into an environment variable with commas between, so
// its letters matter.
func validUUID(s string) bool {
	return len(s) <= maxField && (strings.HasPrefix(s, "GPU-") || strings.HasPrefix(s, "MIG-")) && plain(s)
}

// tidy makes foreign text one line that is safe to show, cut to what a field may have.
func tidy(s string) string {
	if len(s) > maxField {
		s = strings.ToValidUTF8(s[:maxField], "") + "…"
	}
	return pasar.Clean(s)
}

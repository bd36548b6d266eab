package gpu

import (
	"fmt"
	"math"
	"strings"

	"pasar"
)

// A Sight is what the probe saw of one GPU, or of one MIG instance.
type Sight struct {
	Device Device
	Now    pasar.GPUReading // processes without user and job, which the probe doesn't know
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
	maxVersion   = 64   // bytes of a version
)

// check says what in a sight can't be, and cleans its texts.
func (s *Sight) check() error {
	d, r := &s.Device, &s.Now
	switch {
	case d.Index < 0 || d.Index >= maxDevices:
		return fmt.Errorf("bad index %d", d.Index)
	case d.UUID == "" && r.Status == pasar.GPUOK:
		return fmt.Errorf("GPU %d has no UUID", d.Index)
	case d.UUID != "" && !validUUID(d.UUID), d.Parent != "" && !validUUID(d.Parent):
		return fmt.Errorf("GPU %d: bad UUID", d.Index)
	case d.Bus != "" && (len(d.Bus) > maxField || !plain(d.Bus)):
		return fmt.Errorf("GPU %d: bad PCI address", d.Index)
	case d.Total < 0 || d.Total > maxMemory || d.Unified && d.Total != 0:
		return fmt.Errorf("GPU %d: bad memory size", d.Index)
	case len(r.Processes) > maxProcesses || len(r.Throttle) > 16:
		return fmt.Errorf("GPU %d: more processes than there can be", d.Index)
	}
	switch r.Status {
	case pasar.GPUOK, pasar.GPUUnresponsive, pasar.GPULost:
	default:
		return fmt.Errorf("GPU %d: bad status", d.Index)
	}
	for _, b := range []*pasar.Bytes{r.Total, r.Reserved, r.Used} {
		if b != nil && (*b < 0 || *b > maxMemory) {
			return fmt.Errorf("GPU %d: bad memory size", d.Index)
		}
	}
	for _, f := range []*float64{r.Util, r.TempC, r.HotC, r.PowerW, r.LimitW, r.FanPct, r.ClockMHz} {
		if f != nil && (math.IsNaN(*f) || *f < -300 || *f > 1e6) {
			return fmt.Errorf("GPU %d: bad number", d.Index)
		}
	}
	for i := range r.Processes {
		p := &r.Processes[i]
		if p.Pid <= 0 || p.Pid > math.MaxInt32 || p.Used != nil && (*p.Used < 0 || *p.Used > maxMemory) {
			return fmt.Errorf("GPU %d: bad process", d.Index)
		}
		p.Name, p.User, p.Job = tidy(p.Name), "", pasar.AttemptKey{}
	}
	for i, t := range r.Throttle {
		r.Throttle[i] = tidy(t)
	}
	d.Name, d.Left, r.Detail, r.Recovery = tidy(d.Name), tidy(d.Left), tidy(r.Detail), tidy(r.Recovery)
	r.UUID, r.Index = d.UUID, d.Index
	return nil
}

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

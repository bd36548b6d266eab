package gpu

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"pasar"
)

// Options are what a Meter needs.
type Options struct {
	Machine   string
	Probe     []string // the command that is the probe; nil: this build has none
	Library   bool     // a library was named: there are GPUs to be looked for, whatever the hardware says
	KernelLog string   // path; empty: it isn't read
	Log       *slog.Logger

	AttemptOf func(pid int) (pasar.AttemptKey, bool)       // whose a process is; nil: nobody's
	AttemptIn func(cgroup string) (pasar.AttemptKey, bool) // whose a cgroup is, by its path; nil: nobody's
	HostUse   func() map[pasar.AttemptKey]pasar.Bytes      // nil: not known
}

// Times between readings at each pace.
var gaps = map[pasar.Pace]time.Duration{
	pasar.PaceIdle: 10 * time.Second, pasar.PaceSteady: 2 * time.Second, pasar.PaceUrgent: 250 * time.Millisecond,
}

const (
	smiGap         = time.Second     // the least between runs of nvidia-smi, which take a while themselves
	devicePatience = 5 * time.Second // for Devices
	lookTimeout    = 10 * time.Second
)

// A Meter looks at this machine's GPUs and memory for as long as it runs.
type Meter struct {
	o      Options
	log    *slog.Logger
	prober *Prober // nil: this build has none
	paces  chan pasar.Pace
	owners owners
	words  words

	searches chan struct{} // holds one while somebody searches the journal

	// Tests have others.
	journal func(context.Context, time.Time) (string, error)
	sources func(context.Context) (Look, string, error)
	host    func() (pasar.HostReading, error)

	mu      sync.Mutex // guards what follows
	exclude []string
	floors  floors
	smi     *smi
	last    Look // the newest that is whole
	from    string
	trouble string    // the one that was logged
	noHint  time.Time // when nothing hinted at a GPU; zero: something did
}

// NewMeter makes a meter. Nothing is looked at before Devices or Run.
func NewMeter(o Options) *Meter {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m := &Meter{o: o, log: o.Log, paces: make(chan pasar.Pace, 1), host: readHost, from: "none", searches: make(chan struct{}, 1), journal: readKernelJournal}
	if len(o.Probe) > 0 {
		m.prober = NewProber(o.Probe, o.Log)
	}
	m.sources = m.ask
	return m
}

// Close ends the probe. Run must have returned.
func (m *Meter) Close() {
	if m.prober != nil {
		m.prober.Close()
	}
}

// Exclude names the GPUs, by index or UUID, that are as good as not there from now on.
func (m *Meter) Exclude(gpus []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.exclude = slices.Clone(gpus)
}

// Pace implements daemon.Meter.
func (m *Meter) Pace(p pasar.Pace) {
	for {
		select {
		case m.paces <- p:
			return
		default:
		}
		select { // only the newest counts
		case <-m.paces:
		default:
		}
	}
}

// Devices lists the GPUs in PCI bus order, within a few seconds. There are none, and no error, on a machine
// without NVIDIA hardware; a driver that is there and doesn't answer is an error.
func (m *Meter) Devices(ctx context.Context) ([]Device, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, devicePatience, fmt.Errorf("no answer within %s", devicePatience))
	defer cancel()
	look, source, err := m.sources(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for GPUs: %w", err)
	}
	var out []Device
	left := 0
	for _, s := range m.included(m.keep(look, source).Sights) {
		d := s.Device
		if d.Left == "" && s.Now.Status != pasar.GPUOK && d.Name == "" {
			d.Left = s.Now.Detail
		}
		if d.Left != "" {
			left++
		}
		out = append(out, d)
	}
	if left > 0 && left == len(out) {
		return nil, fmt.Errorf("look for GPUs: GPU %d: %s", out[0].Index, out[0].Left)
	}
	slices.SortStableFunc(out, func(a, b Device) int {
		if a.Bus == "" || b.Bus == "" {
			return a.Index - b.Index
		}
		return compareBus(a, b)
	})
	return out, nil
}

// Look is one look at the GPUs, and what was asked: "nvml", "nvidia-smi", or "none" where there are none.
func (m *Meter) Look(ctx context.Context) (look Look, source string, err error) {
	return m.sources(ctx)
}

// ask looks through what there is, and has what the driver keeps of each GPU's memory apart.
func (m *Meter) ask(ctx context.Context) (Look, string, error) {
	look, source, err := m.through(ctx)
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		look.Sights = m.floors.apart(look.Sights)
	}
	return look, source, err
}

// through looks through the driver's library, else nvidia-smi, else nothing.
func (m *Meter) through(ctx context.Context) (Look, string, error) {
	tool, _ := exec.LookPath("nvidia-smi")
	if !m.o.Library && tool == "" && !m.hinted() {
		return Look{}, "none", nil
	}
	if m.prober != nil {
		look, err := m.prober.Look(ctx)
		if err == nil {
			return look, "nvml", nil
		}
		switch FaultOf(err) {
		case FaultNoLibrary, FaultNoCgo:
		case FaultNoDriver:
			if !m.o.Library && !hasHardware() {
				return Look{}, "none", nil
			}
			return Look{}, "nvml", err
		default: // nvidia-smi would fare no better, and may hang
			return Look{}, "nvml", err
		}
	}
	if tool == "" {
		if hasHardware() {
			return Look{}, "none", &Broken{FaultNoLibrary, "there is an NVIDIA GPU, but neither NVIDIA's library nor nvidia-smi to ask"}
		}
		return Look{}, "none", nil
	}
	m.mu.Lock()
	if m.smi == nil || m.smi.path != tool {
		m.smi = &smi{path: tool}
	}
	s := m.smi
	m.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, &Broken{FaultSilent, fmt.Sprintf("no answer within %s", timeout)})
	defer cancel()
	look, err := s.look(ctx)
	return look, "nvidia-smi", err
}

// hintFor is how long it is believed that nothing hints at a GPU.
const hintFor = time.Minute

// hinted is signs, looked for once in a while: on a machine with much on its bus that reads many files.
func (m *Meter) hinted() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.noHint.IsZero() && time.Since(m.noHint) < hintFor {
		return false
	}
	if signs() {
		m.noHint = time.Time{}
		return true
	}
	m.noHint = time.Now()
	return false
}

// signs reports whether anything hints at a GPU of NVIDIA's or its driver.
func signs() bool {
	for _, f := range []string{"/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg", "/dev/nvhost-gpu"} {
		if _, err := os.Stat(f); err == nil {
			return true
		}
	}
	return hasHardware()
}

// keep has a look at hand for when there is none. A GPU that doesn't answer stays what it was, with the
// instances that it had.
func (m *Meter) keep(look Look, source string) Look {
	m.mu.Lock()
	defer m.mu.Unlock()
	var sights []Sight
	for _, s := range look.Sights {
		known := false
		for _, old := range m.last.Sights {
			if s.Now.Status == pasar.GPUOK || old.Device.Index != s.Device.Index || old.Device.UUID == "" ||
				s.Device.UUID != "" && s.Device.UUID != old.Device.UUID && s.Device.UUID != old.Device.Parent {
				continue
			}
			known = true
			old.Now = pasar.GPUReading{Status: s.Now.Status, Detail: s.Now.Detail, Recovery: s.Now.Recovery,
				Total: old.Now.Total, Reserved: old.Now.Reserved, Exclusive: old.Now.Exclusive}
			sights = append(sights, old)
		}
		if !known {
			if s.odd && s.Device.Left == "" {
				s.Device.Left = s.Now.Detail // its size was never known
			}
			sights = append(sights, s)
		}
	}
	look.Sights = sights
	m.last, m.from = look, source
	return look
}

// included are the sights that aren't to be left out.
func (m *Meter) included(sights []Sight) []Sight {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Sight
	for _, s := range sights {
		d := s.Device
		if !slices.ContainsFunc(m.exclude, func(x string) bool {
			return x == strconv.Itoa(d.Index) && d.Parent == "" || x == d.UUID || d.Parent != "" && x == d.Parent
		}) {
			out = append(out, s)
		}
	}
	return out
}

// Run implements daemon.Meter.
func (m *Meter) Run(ctx context.Context, see func(pasar.Reading)) {
	var (
		xids   merger
		events <-chan Event
		log    kernelLog
		pace   = pasar.PaceIdle
	)
	if m.prober != nil {
		events = m.prober.events
	}
	log.hear = m.hear
	if log.start(ctx, m.o.KernelLog, m.log); log.readable {
		m.words.begin(time.Now())
	}
	defer log.stop()
	xids.pairs = log.readable && events != nil
	timer := time.NewTimer(0)
	defer timer.Stop()
	var last time.Time
	due := func() time.Time { // when the next reading is; zero: at no time
		if last.IsZero() {
			return time.Now()
		}
		at := time.Time{}
		if gap, ok := m.gap(pace); ok {
			at = last.Add(gap)
		}
		if x := xids.next(); !x.IsZero() && (at.IsZero() || x.Before(at)) {
			at = x
		}
		return at
	}
	for {
		if at := due(); at.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(at))
		}
		select {
		case <-ctx.Done():
			return
		case pace = <-m.paces:
		case e := <-events:
			if !xids.add(m.ofEvent(e), e.Bus, time.Now()) {
				m.log.Warn("an Xid was dropped: too many at a time", "xid", e.Code)
			}
		case k := <-log.xids:
			if x, ok := m.ofKernel(k); ok && !xids.add(x, k.Bus, time.Now()) {
				m.log.Warn("an Xid was dropped: too many at a time", "xid", k.Code)
			}
		case <-timer.C:
			r, ok := m.reading(ctx)
			if !ok {
				return
			}
			last = time.Now()
			r.Xids = xids.take(last)
			see(r)
		}
	}
}

// gap is the time between readings; ok is false when none is wanted: nothing changes on an idle machine
// without GPUs.
func (m *Meter) gap(pace pasar.Pace) (gap time.Duration, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	gap, known := gaps[pace]
	if !known {
		gap, pace = gaps[pasar.PaceIdle], pasar.PaceIdle
	}
	switch {
	case m.from == "none" && pace == pasar.PaceIdle && m.trouble == "":
		return 0, false
	case m.from == "none" && pace == pasar.PaceSteady:
		gap = gaps[pasar.PaceIdle] // only host memory is looked at, of which no decision waits for the next look
	case m.from == "nvidia-smi":
		gap = max(gap, smiGap)
	}
	return gap, true
}

// reading is one look at everything; ok is false when ctx is done.
func (m *Meter) reading(ctx context.Context) (r pasar.Reading, ok bool) {
	lctx, cancel := context.WithTimeoutCause(ctx, lookTimeout, &Broken{FaultSilent, fmt.Sprintf("no answer within %s", lookTimeout)})
	defer cancel()
	look, source, err := m.sources(lctx)
	if ctx.Err() != nil {
		return r, false
	}
	r = pasar.Reading{Machine: m.o.Machine, At: time.Now(), Source: source}
	if err != nil {
		r.Trouble = tidy(err.Error())
	} else {
		m.keep(look, source)
	}
	m.mu.Lock()
	look = m.last
	if err != nil && source == "none" && len(look.Sights) > 0 {
		r.Source = m.from
	}
	if r.Trouble != m.trouble {
		if m.trouble = r.Trouble; r.Trouble != "" {
			m.log.Warn("the GPUs can't be looked at", "error", r.Trouble)
		} else {
			m.log.Info("the GPUs can be looked at again")
		}
	}
	m.mu.Unlock()
	r.Driver, r.CUDA = look.Driver, look.CUDA
	for _, s := range m.included(look.Sights) {
		if s.Device.UUID == "" || s.Device.Left != "" {
			continue // never known, or not to be had: the inventory has no such GPU
		}
		g := s.Now
		g.UUID, g.Index = s.Device.UUID, s.Device.Index
		if FaultOf(err) == FaultSilent {
			g.Status, g.Detail = pasar.GPUUnresponsive, r.Trouble
		}
		g.Processes = m.named(g.Processes)
		r.GPUs = append(r.GPUs, g)
	}
	if h, err := m.host(); err == nil {
		r.Host = h
	}
	if m.o.HostUse != nil {
		r.Host.Use = m.o.HostUse()
	}
	return r, true
}

// named says whose processes are.
func (m *Meter) named(ps []pasar.GPUProcess) []pasar.GPUProcess {
	out := slices.Clone(ps)
	for i := range out {
		p := &out[i]
		name, who := m.owners.of(p.Pid)
		if p.User = who; name != "" {
			p.Name = name
		}
		if m.o.AttemptOf != nil {
			if key, ok := m.o.AttemptOf(p.Pid); ok {
				p.Job = key
			}
		}
	}
	return out
}

// ofEvent is an Xid of the driver's library.
func (m *Meter) ofEvent(e Event) pasar.Xid {
	x := pasar.Xid{UUID: m.instance(e.UUID, e.Instance), Code: e.Code, Source: "nvml"}
	DescribeXid(&x)
	return x
}

// ofKernel is an Xid of the kernel's log; ok is false if it is of a GPU that nobody knows.
func (m *Meter) ofKernel(k KernelXid) (x pasar.Xid, ok bool) {
	x = k.xid()
	m.mu.Lock()
	for _, s := range m.last.Sights {
		if bus, known := busOf(s.Device.Bus); known && bus == k.Bus {
			if x.UUID = s.Device.UUID; s.Device.Parent != "" {
				x.UUID = s.Device.Parent
			}
			break
		}
	}
	m.mu.Unlock()
	if x.UUID == "" {
		m.log.Debug("an Xid of a GPU that isn't known", "xid", k.Code, "bus", k.Bus)
		return x, false
	}
	x.UUID = m.instance(x.UUID, k.Instance)
	if x.Pid != nil {
		name, _ := m.owners.of(*x.Pid)
		if x.Name == nil && name != "" {
			x.Name = &name
		}
		if m.o.AttemptOf != nil {
			if key, ok := m.o.AttemptOf(*x.Pid); ok {
				x.Job = &key
			}
		}
	}
	return x, true
}

// instance is the UUID of a GPU's instance; of the GPU if it has no such.
func (m *Meter) instance(uuid string, instance int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.last.Sights {
		if d := s.Device; instance >= 0 && d.Parent == uuid && d.Instance == instance {
			return d.UUID
		}
	}
	return uuid
}

// ProbeCommand is the command with which a program runs itself as the probe: the very file that it is, even
// if another has its name by now.
func ProbeCommand(library string) []string {
	self := "/proc/self/exe"
	argv := []string{self, "probe"}
	if library != "" {
		argv = append(argv, "--library", filepath.Clean(library))
	}
	return argv
}

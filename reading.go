package pasar

import "time"

// A Reading is what one look at a machine saw. Readings are samples: they live in memory, and only what a
// decision or a record needs of them becomes a fact.
type Reading struct {
	Machine string
	At      time.Time
	Source  string // what was asked: "nvml", "nvidia-smi", or "none" when there are no GPUs
	Driver  string // version of the driver; empty: not known
	CUDA    string // version that the driver supports, "13.0"; empty: not known
	Trouble string // why GPUs can't be looked at just now; GPUs then has them as last seen
	GPUs    []GPUReading
	Host    HostReading
	Xids    []Xid // since the last reading
}

// A Pace says how soon readings are wanted.
type Pace string

// Paces. Looking at a GPU costs its driver something, so it is done as seldom as will do.
const (
	PaceIdle   Pace = "idle"   // nothing runs on a GPU: every 10 s, for people who look
	PaceSteady Pace = "steady" // every 2 s
	PaceUrgent Pace = "urgent" // every 250 ms: something waits for memory to be free, or it is about to run out
)

// A GPUStatus says whether a GPU answers.
type GPUStatus string

// Whether a GPU answers.
const (
	GPUOK           GPUStatus = "ok"
	GPUUnresponsive GPUStatus = "unresponsive" // a call on it hangs
	GPULost         GPUStatus = "lost"         // the driver says that it is gone
)

// A GPUReading is one GPU, or one MIG instance, at one time. What the driver doesn't say is nil.
type GPUReading struct {
	UUID      string
	Index     int // physical, in PCI bus order; of a MIG instance, its parent's
	Status    GPUStatus
	Detail    string // of a status that isn't ok
	Exclusive bool   // compute mode exclusive-process: whole claims only
	Total     *Bytes // of it the driver keeps Reserved
	Reserved  *Bytes
	Used      *Bytes // without Reserved
	Util      *float64
	TempC     *float64
	HotC      *float64 // where it begins to slow down
	PowerW    *float64
	LimitW    *float64 // power limit
	FanPct    *float64
	ClockMHz  *float64
	Throttle  []string // why its clocks are held back: "thermal", "power_brake", "power_cap"; nil: they aren't
	Recovery  string   // what NVML says would mend it: "none", "reset", "reboot", "drain_and_reset", …; empty: not said
	Processes []GPUProcess
}

// A GPUProcess is a process that has memory of a GPU.
type GPUProcess struct {
	Pid      int
	Used     *Bytes     // nil: the driver doesn't say
	Graphics bool       // only draws; it doesn't count as a compute process
	Name     string     // of its program
	User     string     // whose it is
	Job      AttemptKey // the attempt that it belongs to; zero: a stranger
}

// A HostReading is a machine's memory at one time. What isn't known is nil.
type HostReading struct {
	Total     Bytes
	Available Bytes
	Pressure  *float64             // memory "some avg10" of PSI, as a part of 1
	Use       map[AttemptKey]Bytes // host memory of running attempts, where it can be told
}

// XidAction is what a scheduler does about an Xid.
type XidAction string

// Actions, from the table of NVIDIA's catalogue.
const (
	XidNote          XidAction = "note"
	XidFailJob       XidAction = "fail_job"
	XidFailJobReset  XidAction = "fail_job_reset_when_idle"
	XidResetWhenIdle XidAction = "reset_when_idle"
	XidDrainReset    XidAction = "drain_reset"
	XidDrainReboot   XidAction = "drain_reboot"
	XidDrainOperator XidAction = "drain_operator"
	XidReadRecovery  XidAction = "read_recovery_action" // also of a code that no table has
)

// Drains reports whether nothing more may start on the GPU.
func (a XidAction) Drains() bool {
	switch a {
	case XidFailJobReset, XidResetWhenIdle, XidDrainReset, XidDrainReboot, XidDrainOperator:
		return true
	}
	return false
}

// XidClass says what an Xid is a fault of.
type XidClass string

// Classes of Xid.
const (
	XidApp    XidClass = "app" // the program's
	XidHW     XidClass = "hw"
	XidLink   XidClass = "link"
	XidGPU    XidClass = "gpu"
	XidDriver XidClass = "driver"
	XidInfo   XidClass = "info"
)

// An Xid is an error that NVIDIA's driver reported of a GPU.
type Xid struct {
	At      time.Time   `json:"at"`
	UUID    string      `json:"uuid"`
	Code    int         `json:"code"`
	Class   XidClass    `json:"class"`
	Action  XidAction   `json:"action"`
	Meaning string      `json:"meaning"`
	Pid     *int        `json:"pid"`    // of the process at fault; nil: not said
	Name    *string     `json:"name"`   // of its program
	Job     *AttemptKey `json:"job"`    // whose the process is; nil: not known, or a stranger's
	Source  string      `json:"source"` // "nvml" or "kernel"
}

// A Health is why a GPU takes no jobs, as the daemon keeps it over restarts.
type Health struct {
	Reason string    `json:"reason"` // one clause: "Xid 79: GPU has fallen off the bus"
	Remedy string    `json:"remedy"` // what a person is to do: "restart the machine"
	Xid    *int      `json:"xid"`
	Since  time.Time `json:"since"`
	Boot   string    `json:"boot"`   // a fault that a restart mends is over in another boot
	Mends  bool      `json:"mends"`  // by a restart of the machine
	Person bool      `json:"person"` // a person drained it
}

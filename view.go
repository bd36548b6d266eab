package pasar

import "time"

// A JobView is a job as every client sees it: the JSON of `pasar show --json`, of the HTTP API and
// of hooks. Unknown values are null, never missing. Times are RFC 3339 UTC, spans are seconds,
// sizes are bytes. Foreign text in it has been cleaned of control characters, except argv.
type JobView struct {
	Schema         int           `json:"schema"`
	ID             JobID         `json:"id"`
	Name           string        `json:"name"`
	State          State         `json:"state"`
	Reason         *string       `json:"reason"`  // verdict's code when ended, what it waits for when waiting
	Summary        *string       `json:"summary"` // one sentence for people; of a job that ended, the verdict's
	Bid            Bid           `json:"bid"`
	QueueTime      time.Time     `json:"queue_time"`
	Created        time.Time     `json:"created"`
	Claim          ClaimView     `json:"claim"`
	Machine        *string       `json:"machine"`
	GPUs           []GPURef      `json:"gpus"`
	Usage          UsageView     `json:"usage"`
	OverLimit      bool          `json:"over_limit"`
	EstRuntime     *Duration     `json:"est_runtime"`
	EstSource      *string       `json:"est_source"` // estimate, history or progress
	RunTime        *Duration     `json:"run_time"`
	Remaining      *Duration     `json:"remaining"`
	Projected      ProjectedView `json:"projected"`
	Waiting        *WaitingView  `json:"waiting"`
	Progress       *ProgressView `json:"progress"`
	LastCheckpoint *Event        `json:"last_checkpoint"`
	Retries        RetriesView   `json:"retries"`
	Attempts       []AttemptView `json:"attempts"`
	Lost           LostView      `json:"lost"`
	Command        string        `json:"command"` // as a shell would need it, cleaned
	Argv           []Arg         `json:"argv"`    // exactly
	Cwd            Arg           `json:"cwd"`
	Submitter      string        `json:"submitter"`
	By             *string       `json:"by"`
	Tags           []string      `json:"tags"`
	Note           *string       `json:"note"`
	Git            *Git          `json:"git"`
	Group          *JobID        `json:"group"`
	Index          *int          `json:"index"`
	Params         ParamsView    `json:"params"`
	MaxConcurrent  *int          `json:"max_concurrent"`
	Key            *string       `json:"key"`
	Grace          Duration      `json:"grace"`
	TimeLimit      *Duration     `json:"time_limit"`
	Preempt        bool          `json:"preempt"`     // it may stop running jobs with a lower bid to start
	Preemptible    bool          `json:"preemptible"` // it may be stopped for such a job
	Pausable       bool          `json:"pausable"`
	ResumeCommand  *string       `json:"resume_command"` // as a shell would need it, cleaned
	After          []Dependency  `json:"after"`
	Begin          *time.Time    `json:"begin"`
	Verdict        *Verdict      `json:"verdict"`
	Cloud          *struct{}     `json:"cloud"`
}

// ParamsView is a sweep's parameters by name; null outside of one.
type ParamsView map[string]string

// A ClaimView is a claim with unknown and unasked values as null.
type ClaimView struct {
	Kind  ClaimKind `json:"kind"`
	GPUs  int       `json:"gpus"`
	Mem   *Bytes    `json:"mem"`
	Limit *Bytes    `json:"limit"`
	RAM   *Bytes    `json:"ram"`
	Type  *string   `json:"type"`
	IDs   []string  `json:"ids"`

	External *External `json:"external"` // null: as the machine does
	Auto     bool      `json:"auto"`     // mem comes from history
}

// View turns a claim into its JSON form.
func (c Claim) View() ClaimView {
	return ClaimView{c.Kind, c.GPUs, Known(c.Mem), Known(c.Limit), Known(c.RAM), Known(c.Type), c.IDs, Known(c.External), c.Auto}
}

// Asked is the claim as it was asked for: without its limit, which follows from it.
func (c ClaimView) Asked() Claim {
	a := Claim{Kind: c.Kind, GPUs: c.GPUs, IDs: c.IDs, Auto: c.Auto}
	if c.Mem != nil {
		a.Mem = *c.Mem
	}
	if c.RAM != nil {
		a.RAM = *c.RAM
	}
	if c.Type != nil {
		a.Type = *c.Type
	}
	if c.External != nil {
		a.External = *c.External
	}
	return a
}

// Known is a pointer to v, or nil when v is the zero value: null in JSON.
func Known[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// UsageView is measured memory.
type UsageView struct {
	GPU      *Bytes `json:"gpu"`
	Host     *Bytes `json:"host"`
	PeakGPU  *Bytes `json:"peak_gpu"`
	PeakHost *Bytes `json:"peak_host"`
}

// ProjectedView is when the scheduler expects a job to start and finish, and where.
type ProjectedView struct {
	Start   *time.Time `json:"start"`
	Finish  *time.Time `json:"finish"`
	Machine *string    `json:"machine"` // of a running job, where it runs; null: not known yet
	GPUs    []GPURef   `json:"gpus"`    // on that machine; empty: none, or not known yet
}

// WaitingView is a waiting job's reason.
type WaitingView struct {
	Why       WaitWhy `json:"why"`
	Sentence  string  `json:"sentence"`
	Ahead     int     `json:"ahead"`
	Holders   []JobID `json:"holders"`
	BidNeeded *Bid    `json:"bid_needed"`

	Since    time.Time  `json:"since"`
	Until    *time.Time `json:"until"`    // begin, retry, settle: when that is over
	Reserved *time.Time `json:"reserved"` // start of its reservation, or of the one it must not delay
	Detail   *string    `json:"detail"`
}

// ProgressView is the latest progress a running attempt reported.
type ProgressView struct {
	Step    *float64           `json:"step"`
	Total   *float64           `json:"total"`
	Rate    *float64           `json:"rate"` // steps per second, over the attempt
	At      time.Time          `json:"at"`
	Metrics map[string]float64 `json:"metrics"`
}

// RetriesView counts retries.
type RetriesView struct {
	Max  int    `json:"max"`
	Used int    `json:"used"`
	On   []Code `json:"on"` // null: every reason that may pass
}

// LostView is time lost to interruptions, in seconds; null while unknown.
type LostView struct {
	Preemptions *Duration `json:"preemptions"`
	Failures    *Duration `json:"failures"`
	Known       bool      `json:"known"`
	QueueWait   Duration  `json:"queue_wait"` // spent waiting, before every attempt; not lost time
}

// An AttemptView is one launch of a job.
type AttemptView struct {
	Attempt        int         `json:"attempt"`
	Machine        string      `json:"machine"`
	GPUs           []GPURef    `json:"gpus"`
	LaunchedAt     time.Time   `json:"launched_at"`
	StartedAt      *time.Time  `json:"started_at"`
	EndedAt        *time.Time  `json:"ended_at"`
	RunTime        *Duration   `json:"run_time"`
	Pid            *int        `json:"pid"`
	ExitCode       *int        `json:"exit_code"`
	Signal         *int        `json:"signal"`
	Output         *int64      `json:"output"` // bytes written, once ended
	Stop           *StopView   `json:"stop"`
	PeakHost       *Bytes      `json:"peak_host"` // the most that it was seen to have, or its largest process had
	Place          *Place      `json:"place"`     // where it lived, once ended: systemd, cgroup or session
	Cgroup         *CgroupView `json:"cgroup"`    // what its cgroup counted, once ended; null without one
	LastCheckpoint *Event      `json:"last_checkpoint"`
	Resumed        *Event      `json:"resumed"`
	Notes          []Event     `json:"notes"` // the last MaxNotes that the job reported
	Verdict        *Verdict    `json:"verdict"`
	Certificate    *string     `json:"certificate"`  // file with the whole evidence of its end, which goes with its output; null: none was kept
	PeakGPU        *Bytes      `json:"peak_gpu"`     // of all of its GPUs together; null: nobody looked
	Xids           []Xid       `json:"xids"`         // of its GPUs while it ran
	Wasted         *Duration   `json:"wasted"`       // work lost with its end; null: none, or not known
	RestartCost    *Duration   `json:"restart_cost"` // from its start until it said that it resumed; null: none, or not known
	Tail           []string    `json:"tail"`         // last lines as rendered text, without control characters; null until ended
	Untrusted      AttemptMark `json:"untrusted"`    // keys beside it that are in the job's own words: data, never instructions
}

// A CgroupView is what the cgroup of an attempt counted; null is what it doesn't count.
type CgroupView struct {
	MemoryMax  *Bytes `json:"memory_max"`  // the limit that counted: one that was hit, else the smallest; null: none
	OwnLimit   bool   `json:"own_limit"`   // it is the attempt's own, from --ram, and not that of a cgroup above
	MemoryPeak *Bytes `json:"memory_peak"` // largest use, page cache included
	SwapPeak   *Bytes `json:"swap_peak"`
	MaxEvents  *int64 `json:"max_events"` // how often the limit was hit
	OOM        *int64 `json:"oom"`        // how often nothing could be reclaimed below it
	OOMKill    *int64 `json:"oom_kill"`   // processes that the kernel killed for want of memory
	PidsMax    *int64 `json:"pids_max"`   // forks refused for a limit on processes
}

// View turns counts into their JSON form.
func (u *CgroupUse) View() *CgroupView {
	if u == nil {
		return nil
	}
	return &CgroupView{counted(u.MemoryMax), u.OwnLimit, counted(u.MemoryPeak), counted(u.SwapPeak),
		counted(u.MaxEvents), counted(u.OOM), counted(u.OOMKill), counted(u.PidsMax)}
}

// counted is a pointer to a count; nil when it is -1: not counted.
func counted[T Bytes | int64](n T) *T {
	if n < 0 {
		return nil
	}
	return &n
}

// A StopView is how an attempt was asked to stop and how far that went.
type StopView struct {
	Why  StopWhy  `json:"why"`
	By   *string  `json:"by"`
	Step StopStep `json:"step"`
}

// A StatusView is the pool and the queue in a few numbers: `pasar status --json`.
type StatusView struct {
	Schema    int            `json:"schema"`
	Version   string         `json:"version"`
	Pid       int            `json:"pid"`
	StartedAt time.Time      `json:"started_at"`
	DataDir   string         `json:"data_dir"`
	Socket    string         `json:"socket"`
	Jobs      map[State]int  `json:"jobs"` // active and waiting ones; the finished are counted since the daemon's data began
	Counts    CountsView     `json:"counts"`
	Machines  []MachineView  `json:"machines"`
	Problem   *string        `json:"problem"` // why the daemon can't take or start work
	Incidents []IncidentView `json:"incidents"`
	Place     *Place         `json:"place"`      // where supervisors and their jobs are put: systemd, cgroup or session; null: not known yet
	PlaceNote *string        `json:"place_note"` // why not in a better place; null: it is the best
	PlaceRAM  *bool          `json:"place_ram"`  // --ram is a bound that the kernel enforces there; null: not known
	PlaceFix  *string        `json:"place_fix"`  // what would give a better one; null: nothing needed or known
	Warning   *string        `json:"warning"`    // what threatens jobs here, such as a logout; null: nothing
}

// A CountsView has what only grows, over restarts of the daemon too, and however jobs are restarted: since the daemon's data
// began, or since a pasar that counts it has that data.
type CountsView struct {
	Submitted   int64          `json:"submitted"`        // jobs
	Attempts    map[Code]int64 `json:"attempts"`         // that ended, by reason; reasons that none ended for are left out
	LostPreempt Duration       `json:"lost_preemptions"` // lost time of jobs when they ended for good, of those for which it is known
	LostFailed  Duration       `json:"lost_failures"`
}

// A MachineView is one machine and what is given out of it.
type MachineView struct {
	Name       string    `json:"name"`
	Reachable  bool      `json:"reachable"`
	Cores      int       `json:"cores"`
	CPUJobs    int       `json:"cpu_jobs"`
	CPUUsed    int       `json:"cpu_used"`
	RAM        Bytes     `json:"ram"`
	HostMemory Bytes     `json:"host_memory"` // RAM less the system's reserve
	HostUsed   Bytes     `json:"host_used"`   // claimed
	GPUs       []GPUView `json:"gpus"`
	Notes      []string  `json:"notes"`

	Drained   *Health    `json:"drained"`   // why nothing starts there; null: it does
	Available *Bytes     `json:"available"` // host memory that nobody uses just now; null: not known
	Pressure  *float64   `json:"pressure"`  // memory pressure (PSI some avg10), as a part of 1
	Source    *string    `json:"source"`    // what is asked about GPUs: nvml, nvidia-smi, none; null: nobody has looked
	Driver    *string    `json:"driver"`
	CUDA      *string    `json:"cuda"`
	Trouble   *string    `json:"trouble"` // why GPUs can't be looked at just now
	LookedAt  *time.Time `json:"looked_at"`
}

// A GPUView is one GPU and what is on it. What isn't known is null.
type GPUView struct {
	GPU
	Claimed Bytes   `json:"claimed"`
	Free    Bytes   `json:"free"` // what a slice could have now
	Jobs    []JobID `json:"jobs"`

	Status    *GPUStatus       `json:"status"` // whether it answers; null: nobody has looked
	Drained   *Health          `json:"drained"`
	Exclusive bool             `json:"exclusive"`
	Used      *Bytes           `json:"used"` // by everybody
	Reserved  *Bytes           `json:"reserved"`
	Util      *float64         `json:"util"` // percent
	TempC     *float64         `json:"temp_c"`
	HotC      *float64         `json:"hot_c"` // from where it is shown as hot: hot_temp_c, or where its driver slows it down, if that is earlier
	PowerW    *float64         `json:"power_w"`
	LimitW    *float64         `json:"limit_w"`
	FanPct    *float64         `json:"fan_pct"`
	ClockMHz  *float64         `json:"clock_mhz"`
	Throttle  []string         `json:"throttle"`
	Processes []GPUProcessView `json:"processes"`
	Leaving   []LeavingView    `json:"leaving"`  // ended jobs whose memory isn't free yet
	Settling  *JobID           `json:"settling"` // the slice whose memory still grows; others wait for it
}

// A GPUProcessView is a process on a GPU: a job's, or a stranger's.
type GPUProcessView struct {
	Pid      int    `json:"pid"`
	Name     string `json:"name"`
	User     string `json:"user"`
	Used     *Bytes `json:"used"`
	Graphics bool   `json:"graphics"`
	Job      *JobID `json:"job"` // null: a stranger's
}

// A LeavingView is a job that has ended and whose memory on a GPU isn't free yet.
type LeavingView struct {
	Job    JobID     `json:"job"`
	Since  time.Time `json:"since"`
	Used   *Bytes    `json:"used"`   // what is still there
	Leaked bool      `json:"leaked"` // it has had its time: what is left stays charged
}

// A GPUsView is `pasar gpus --json`.
type GPUsView struct {
	Schema   int           `json:"schema"`
	Machines []MachineView `json:"machines"`
}

// An IncidentView is something about the machine that people should see.
type IncidentView struct {
	At     time.Time `json:"at"`
	What   string    `json:"what"`
	Detail string    `json:"detail"`
}

package pasar

import "time"

// A StatsView is `pasar stats --json`: what became of jobs over a span of time.
type StatsView struct {
	Schema int        `json:"schema"`
	Since  *time.Time `json:"since"`
	Total  StatsRow   `json:"total"`
	By     string     `json:"by"` // what rows are by: day, tag, submitter, machine, reason
	Rows   []StatsRow `json:"rows"`
}

// A StatsRow sums the jobs that ended in a day, or with a tag, and so on. Jobs that run or wait aren't in it. By
// reason it sums attempts instead: those that failed for it, and with them their run time, GPU-hours and what they
// lost; jobs are those that have any, however they ended.
type StatsRow struct {
	Key         string        `json:"key"` // "2026-11-29", a tag, a user, a reason; of the total, empty
	Jobs        int           `json:"jobs"`
	States      map[State]int `json:"states"`
	Verdicts    map[Code]int  `json:"verdicts"` // of attempts, of which a job may have several
	Attempts    int           `json:"attempts"`
	RunTime     Duration      `json:"run_time"`
	GPUHours    float64       `json:"gpu_hours"` // GPUs × run time; a slice counts as its part of the GPU where that is known, else as one
	MeanWait    Duration      `json:"mean_wait"` // in the queue, over all attempts of a job
	MaxWait     Duration      `json:"max_wait"`
	LostPreempt Duration      `json:"lost_preemptions"` // of the jobs for which it is known
	LostFailed  Duration      `json:"lost_failures"`
	LostUnknown int           `json:"lost_unknown"` // interrupted jobs that never reported events

	GPUHoursLost float64    `json:"gpu_hours_lost"` // GPUs × lost time, of the jobs for which it is known
	Blame        *Blame     `json:"blame"`          // by reason: whose fault most of them were; else null
	Last         *time.Time `json:"last"`           // by reason: when the last of them ended; else null
	LastJob      *JobID     `json:"last_job"`       // and whose it was
}

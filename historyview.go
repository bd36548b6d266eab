package pasar

import "time"

// A GPUHistoryView is `pasar gpus --history 6h --json`: how GPUs were used, from pasar's own samples, or of longer ago than a
// day from a Prometheus.
type GPUHistoryView struct {
	Schema int             `json:"schema"`
	Source string          `json:"source"` // where it comes from: samples, which are pasar's own; or prometheus
	Note   *string         `json:"note"`   // why it isn't all that was asked for, or not all from there; null: it is
	Step   Duration        `json:"step"`   // from one point to the next; a multiple of 10 s
	From   time.Time       `json:"from"`   // of the first point, if there is one
	Until  time.Time       `json:"until"`
	GPUs   []GPUSeriesView `json:"gpus"` // those that were seen in that time
}

// A GPUSeriesView is the history of one GPU or MIG instance.
type GPUSeriesView struct {
	Index  *int            `json:"index"` // null: it isn't there now
	UUID   string          `json:"uuid"`
	Name   *string         `json:"name"`   // null: it isn't there now
	Mem    *Bytes          `json:"mem"`    // its memory; null: not known
	Points []GPUSampleView `json:"points"` // in order; when it wasn't seen there are none
}

// A GPUSampleView is what a GPU did in the time of one step. What isn't known is null.
type GPUSampleView struct {
	At     time.Time `json:"at"`      // when the step begins
	Used   *Bytes    `json:"used"`    // memory, by everybody: the most
	Util   *float64  `json:"util"`    // percent, mean
	TempC  *float64  `json:"temp_c"`  // the most
	PowerW *float64  `json:"power_w"` // mean
}

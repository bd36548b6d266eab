package pasar

// A TraceView is what became of a trace that was played by the scheduler's rules: the JSON that plan answers with. Its
// numbers are those that papers on scheduling give. Times are in seconds.
type TraceView struct {
	Schema    int     `json:"schema"`
	Policy    string  `json:"policy"` // pasar, easy or fifo
	GPUs      int     `json:"gpus"`
	Jobs      int     `json:"jobs"`
	Skipped   int     `json:"skipped"` // jobs that ask for more GPUs than there are, or ran for no time
	MeanWait  float64 `json:"mean_wait_s"`
	P50Wait   float64 `json:"p50_wait_s"`
	P99Wait   float64 `json:"p99_wait_s"`
	MaxWait   float64 `json:"max_wait_s"`
	MeanSlow  float64 `json:"mean_bsld"` // bounded slowdown: (wait + run) / max(run, 10 s), at least 1
	P99Slow   float64 `json:"p99_bsld"`
	Util      float64 `json:"util"`       // part of the GPUs' time in use between the first and the last submit
	Makespan  float64 `json:"makespan_s"` // from the first submit to the last end
	Estimates string  `json:"estimates"`  // whence: "trace" (some may be missing), or "exact", where the trace has none
}

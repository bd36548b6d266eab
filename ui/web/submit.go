package web

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"pasar"
	"pasar/answer"
	"pasar/ipc"
	"pasar/submission"
)

// submitWords are the body of a submit.
type submitWords struct {
	changeWords
	groupWords
	Command line              `json:"command"`
	Cwd     string            `json:"cwd"` // below the user's home directory unless absolute
	Bid     *pasar.Bid        `json:"bid"`
	Preempt bool              `json:"preempt"`
	Tags    []string          `json:"tags"`
	Key     string            `json:"key"`
	Hold    bool              `json:"hold"`
	NoPTY   bool              `json:"no_pty"`
	Cols    int               `json:"cols"`
	Rows    int               `json:"rows"`
	Env     map[string]string `json:"env"` // beside the daemon's own
	DryRun  bool              `json:"dry_run"`
	Request string            `json:"request"` // a repeat with the same one gets the first answer
}

// request is what the daemon is asked now.
func (in *submitWords) request(now time.Time) (ipc.SubmitRequest, error) {
	var none ipc.SubmitRequest
	argv, err := in.Command.argv()
	if err != nil {
		return none, err
	}
	claim, err := in.claim(submission.Default())
	if err != nil {
		return none, err
	}
	ch, err := in.change(now)
	if err != nil {
		return none, err
	}
	all, most, err := in.points()
	if err != nil {
		return none, err
	}
	if err := in.sized(); err != nil {
		return none, err
	}
	var add []pasar.Arg
	for _, k := range slices.Sorted(maps.Keys(in.Env)) {
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.ContainsRune(in.Env[k], 0) {
			return none, refuse(ipc.CodeBadRequest, "", "env: %s can't be the name of a variable, or its value holds a NUL", quoted(k))
		}
		add = append(add, pasar.Arg(k+"="+in.Env[k]))
	}
	spec := pasar.Spec{Argv: argv, Cwd: pasar.Arg(in.Cwd), Claim: claim, Tags: in.Tags, By: in.By, Key: in.Key,
		Hold: in.Hold, NoPTY: in.NoPTY, Cols: in.Cols, Rows: in.Rows, Preempt: in.Preempt, MaxConcurrent: most,
		Name: submission.Name(words(argv))}
	put(&spec.Bid, in.Bid)
	put(&spec.Name, in.Name)
	put(&spec.Note, in.Note)
	put(&spec.Time, (*pasar.Duration)(in.Time))
	put(&spec.Grace, (*pasar.Duration)(in.Grace))
	put(&spec.TimeLimit, ch.TimeLimit)
	put(&spec.NonPreemptible, ch.NonPreemptible)
	put(&spec.Pausable, ch.Pausable)
	put(&spec.ResumeCommand, ch.ResumeCommand)
	put(&spec.CheckpointGrace, ch.CheckpointGrace)
	put(&spec.NoSigterm, ch.NoSigterm)
	put(&spec.Retries, ch.Retries)
	put(&spec.RetryOn, ch.RetryOn)
	put(&spec.After, ch.After)
	put(&spec.Begin, ch.Begin)
	// Whoever asks here has no process whose surroundings could be meant: they are the daemon's, as for a command from afar.
	req := ipc.SubmitRequest{Request: requestID(in.Request), Spec: spec, Surroundings: pasar.Surroundings{Env: add}, Points: all,
		Afar: &ipc.Afar{Bid: in.Bid == nil, Grace: in.Grace == nil}}
	req.Asked = ipc.Asked(*in) // where it begins depends on when it is asked
	spec.Cwd = "/"             // the daemon makes it absolute
	return req, understood(submission.Validate(spec))
}

// sized says what is wrong with a terminal's size, which is one flag of the command line and two keys of a body.
func (in *submitWords) sized() error {
	switch {
	case in.Cols == 0 && in.Rows == 0:
		return nil
	case in.NoPTY:
		return refuse(ipc.CodeBadRequest, "", "cols and rows are the size of a terminal; they can't go with no_pty")
	case in.Cols < pasar.MinCols || in.Cols > pasar.MaxCols:
		return refuse(ipc.CodeBadRequest, "", "cols: %d to %d, not %d", pasar.MinCols, pasar.MaxCols, in.Cols)
	case in.Rows < pasar.MinRows || in.Rows > pasar.MaxRows:
		return refuse(ipc.CodeBadRequest, "", "rows: %d to %d, not %d", pasar.MinRows, pasar.MaxRows, in.Rows)
	}
	return nil
}

func words(argv []pasar.Arg) []string {
	out := make([]string, len(argv))
	for i, a := range argv {
		out[i] = string(a)
	}
	return out
}

// requestID is the id of a change: the caller's own, so that it may repeat it, or a fresh one.
func requestID(given string) string {
	if given != "" {
		return given
	}
	return ipc.NewRequest()
}

func (s *Server) submit(w http.ResponseWriter, r *http.Request) error {
	var in submitWords
	if err := body(r, &in); err != nil {
		return err
	}
	req, err := in.request(s.Now())
	if err != nil {
		return err
	}
	if in.DryRun {
		return s.view(w, r, func(ctx context.Context, c *ipc.Client) ([]byte, error) { return planned(c.PlanSubmit(ctx, req)) })
	}
	var a ipc.SubmitAnswer
	if err := s.with(r, func(ctx context.Context, c *ipc.Client) (err error) {
		a, err = c.Submit(ctx, req)
		return inKeys(err)
	}); err != nil {
		return err
	}
	line, err := answer.Submitted(a)
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if a.Existing {
		status = http.StatusOK
	}
	where := "/api/jobs/" + a.Job.String()
	if len(a.Jobs) > 1 {
		where = "/api/jobs?group=" + a.Job.String()
	}
	w.Header().Set("Location", where)
	writeJSON(w, status, line)
	return nil
}

// planned is a plan, or why there is none in the words of bodies.
func planned(b []byte, err error) ([]byte, error) { return b, inKeys(err) }

// plan answers what would happen to a job that asks for so much: GET /api/plan?time=2h&mem=24G.
func (s *Server) plan(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	in := submitWords{Command: line{"true"}}
	for k := range q {
		v := q.Get(k)
		var err error
		switch k {
		case "time":
			in.Time = new(span)
			*(*pasar.Duration)(in.Time), err = pasar.ParseDuration(v)
		case "mem":
			in.Mem = new(slice)
			*(*submission.Memory)(in.Mem), err = submission.ParseMemory(v)
		case "ram":
			in.RAM = new(size)
			*(*pasar.Bytes)(in.RAM), err = pasar.ParseBytes(v)
		case "gpus":
			var n int
			n, err = submission.ParseCount(v)
			in.GPUs = &n
		case "gpu_type":
			in.GPUType = &v
		case "bid":
			var b pasar.Bid
			b, err = submission.ParseBid(v)
			in.Bid = &b
		case "preempt":
			in.Preempt, err = flag(q, k)
		default:
			return refuse(ipc.CodeBadRequest, "it takes time, mem, ram, gpus, gpu_type, bid and preempt", "plan knows no %s", quoted(k))
		}
		if err != nil {
			return refuse(ipc.CodeBadRequest, "", "%s: %v", k, err)
		}
	}
	req, err := in.request(s.Now())
	if err != nil {
		return err
	}
	return s.view(w, r, func(ctx context.Context, c *ipc.Client) ([]byte, error) { return planned(c.PlanSubmit(ctx, req)) })
}

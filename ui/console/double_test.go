package console

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// A double stands for a daemon: it answers on a real socket, and notes what is asked of it.
type double struct {
	t    *testing.T
	path string

	mu        sync.Mutex // guards what follows
	jobs      []pasar.JobView
	older     []pasar.JobView // that are listed when all are asked for
	status    pasar.StatusView
	approvals *pasar.ApprovalsView
	plan      pasar.PlanView
	metrics   pasar.MetricsView
	logs      string         // of every job
	logged    map[int]string // of attempts, in place of logs; the last one is followed
	behind    int64          // bytes before logs
	stall     chan struct{}  // answers to changes wait for it; nil: they don't
	attach    string         // where supervisors listen
	refuse    *ipc.Error     // for whatever changes something
	asked     []ipc.Verb     // changes
	bodies    []any          // and what they said
	alls      int            // of them, those for all jobs
	noPast    *ipc.Error     // answers them
	lists     int            // answered
	facts     map[int]chan struct{}
	conns     []net.Conn
	stop      func()
	number    int
}

func newDouble(t *testing.T) *double {
	t.Helper()
	dir, err := os.MkdirTemp("", "pasar")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := &double{t: t, path: filepath.Join(dir, "d.sock"), facts: map[int]chan struct{}{}, status: statusOf()}
	d.start()
	t.Cleanup(d.kill)
	return d
}

type noting struct {
	net.Listener
	d *double
}

func (n noting) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	if err == nil {
		n.d.mu.Lock()
		n.d.conns = append(n.d.conns, c)
		n.d.mu.Unlock()
	}
	return c, err
}

func (d *double) start() {
	l, err := ipc.ListenUnix(d.path)
	if err != nil {
		d.t.Error(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	s := &ipc.Server{Handler: d.handle, Log: slog.New(slog.DiscardHandler), Version: pasar.Version, UID: os.Geteuid()}
	go func() { defer close(done); _ = s.Serve(ctx, noting{l, d}) }()
	d.mu.Lock()
	d.stop = func() { cancel(); <-done }
	d.mu.Unlock()
}

// shutDown ends it in order.
func (d *double) shutDown() {
	d.mu.Lock()
	stop := d.stop
	d.conns, d.stop = nil, nil
	d.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// kill ends it as kill -9 does.
func (d *double) kill() {
	d.mu.Lock()
	conns := d.conns
	d.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
	d.shutDown()
}

// change changes what it answers, and says that something happened.
func (d *double) change(f func(d *double)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(d)
	for _, c := range d.facts {
		ring(c)
	}
}

// told is what it was asked to change.
func (d *double) told() ([]ipc.Verb, []any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.asked), slices.Clone(d.bodies)
}

func (d *double) handle(ctx context.Context, c *ipc.Call) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch c.Verb {
	case ipc.VerbFacts:
		return d.followFacts(ctx, c)
	case ipc.VerbList:
		d.lists++
		var lines []byte
		jobs := d.jobs
		if bound[ipc.ListRequest](d.t, c).All {
			d.alls++
			if d.noPast != nil {
				return d.noPast
			}
			jobs = slices.Concat(jobs, d.older)
		}
		for i := range jobs {
			lines = append(append(lines, encoded(d.t, jobs[i])...), '\n')
			if len(lines) > 1<<20 {
				if err := c.Chunk(lines); err != nil {
					return err
				}
				lines = nil
			}
		}
		return c.Chunk(lines)
	case ipc.VerbStatus:
		return c.Answer(ipc.ViewAnswer{JSON: encoded(d.t, d.status)})
	case ipc.VerbApprovals:
		return c.Answer(ipc.ViewAnswer{JSON: encoded(d.t, d.approvals)})
	case ipc.VerbPlanBid, ipc.VerbPlanSubmit:
		return c.Answer(ipc.ViewAnswer{JSON: encoded(d.t, d.plan)})
	case ipc.VerbMetrics:
		return c.Answer(ipc.ViewAnswer{JSON: encoded(d.t, d.metrics)})
	case ipc.VerbShow:
		r := bound[ipc.ShowRequest](d.t, c)
		for _, v := range slices.Concat(d.jobs, d.older) {
			if v.ID == r.Job {
				return c.Answer(ipc.ViewAnswer{JSON: encoded(d.t, v)})
			}
		}
		return &ipc.Error{Code: ipc.CodeUnknownJob, Message: fmt.Sprintf("there is no job %d", r.Job)}
	case ipc.VerbAttach:
		return c.Answer(ipc.AttachAnswer{Attempt: 1, Socket: d.attach, State: pasar.Running})
	case ipc.VerbLogs:
		return d.serveLogs(ctx, c)
	}
	return d.mutate(c)
}

// mutate notes what was asked for, and answers as if it were done.
func (d *double) mutate(c *ipc.Call) error {
	var answer any
	var body any
	outcomes := func(ids []pasar.JobID) ipc.JobsAnswer {
		var a ipc.JobsAnswer
		for _, id := range ids {
			a.Jobs = append(a.Jobs, ipc.JobOutcome{Job: id, State: pasar.Queued, Sentence: "was " + string(c.Verb) + "ed"})
		}
		return a
	}
	plans := func(refs []ipc.PlanRef) (ids []pasar.JobID) {
		for _, r := range refs {
			ids = append(ids, r.Job)
		}
		return ids
	}
	switch c.Verb {
	case ipc.VerbSubmit:
		r := bound[ipc.SubmitRequest](d.t, c)
		body, answer = r, ipc.SubmitAnswer{Job: 900, State: pasar.Running, Sentence: "starts now"}
	case ipc.VerbRestart:
		r := bound[ipc.RestartRequest](d.t, c)
		body, answer = r, ipc.SubmitAnswer{Job: r.Job, State: pasar.Queued, Sentence: "waits"}
	case ipc.VerbBid:
		r := bound[ipc.BidRequest](d.t, c)
		body, answer = r, ipc.JobOutcome{Job: r.Job, Sentence: fmt.Sprintf("bids %d", r.Bid)}
	case ipc.VerbCancel, ipc.VerbHold, ipc.VerbRelease, ipc.VerbPause, ipc.VerbResume:
		r := bound[ipc.JobsRequest](d.t, c)
		body, answer = r, outcomes(r.Jobs)
	case ipc.VerbApprove:
		r := bound[ipc.ApproveRequest](d.t, c)
		body, answer = r, outcomes(plans(r.Plans))
	case ipc.VerbReject:
		r := bound[ipc.RejectRequest](d.t, c)
		body, answer = r, outcomes(plans(r.Plans))
	default:
		return &ipc.Error{Code: ipc.CodeUnsupported, Message: "no " + string(c.Verb)}
	}
	d.asked, d.bodies = append(d.asked, c.Verb), append(d.bodies, body)
	if stall := d.stall; stall != nil {
		d.mu.Unlock()
		<-stall
		d.mu.Lock()
	}
	if d.refuse != nil {
		return d.refuse
	}
	return c.Answer(answer)
}

// followFacts tells of changes until the client leaves.
func (d *double) followFacts(ctx context.Context, c *ipc.Call) error {
	d.number++
	n, changed := d.number, make(chan struct{}, 1)
	d.facts[n] = changed
	defer delete(d.facts, n)
	for {
		d.mu.Unlock()
		var err error
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-changed:
			err = c.Chunk([]byte("{}\n"))
		}
		d.mu.Lock()
		if err != nil {
			return err
		}
	}
}

func (d *double) serveLogs(ctx context.Context, c *ipc.Call) error {
	r := bound[ipc.LogsRequest](d.t, c)
	attempt, text := 1, d.logs
	if len(d.logged) > 0 {
		if attempt = r.Attempt; attempt == 0 {
			attempt = len(d.logged)
		}
		text = d.logged[attempt]
	}
	if err := c.Chunk(encoded(d.t, ipc.LogsHead{Attempt: attempt, Marked: true, Offset: d.behind, Cols: 160, Rows: 12})); err != nil {
		return err
	}
	if err := c.Chunk(append([]byte{ipc.LogsBytes}, text...)); err != nil {
		return err
	}
	if r.Follow && attempt >= len(d.logged) {
		d.mu.Unlock()
		<-ctx.Done()
		d.mu.Lock()
		return context.Cause(ctx)
	}
	return c.Answer(ipc.LogsAnswer{Attempt: attempt, Offset: int64(len(text)), Ended: true, Over: attempt >= len(d.logged)})
}

func encoded(t *testing.T, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		t.Error(err)
	}
	return b
}

func bound[R any](t *testing.T, c *ipc.Call) R {
	var r R
	if err := c.Bind(&r); err != nil {
		t.Error(err)
	}
	return r
}

// noon is when it always is in these tests.
var noon = time.Date(2026, 3, 4, 12, 0, 30, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// statusOf is a machine with two GPUs.
func statusOf() pasar.StatusView {
	gpu := func(i int) pasar.GPUView {
		ok := pasar.GPUOK
		return pasar.GPUView{GPU: pasar.GPU{Index: i, UUID: fmt.Sprintf("GPU-%d", i), Name: "NVIDIA H200", Total: 140 * pasar.GiB}, Free: 100 * pasar.GiB,
			Status: &ok, Used: ptr(20 * pasar.GiB), Util: ptr(50.0), TempC: ptr(60.0), PowerW: ptr(300.0), Jobs: []pasar.JobID{}}
	}
	return pasar.StatusView{Schema: pasar.Schema, Version: "1.2", StartedAt: noon.Add(-time.Hour), Jobs: map[pasar.State]int{},
		Machines: []pasar.MachineView{{Name: "local", Reachable: true, Cores: 8, CPUJobs: 8, RAM: 64 * pasar.GiB, HostMemory: 48 * pasar.GiB, GPUs: []pasar.GPUView{gpu(0), gpu(1)}}}}
}

// job is a job in a state.
func job(id pasar.JobID, st pasar.State) pasar.JobView {
	v := pasar.JobView{Schema: pasar.Schema, ID: id, Name: fmt.Sprintf("train-%d", id), State: st, Bid: 1000, QueueTime: noon.Add(-10 * time.Minute), Created: noon.Add(-10 * time.Minute),
		Claim: pasar.Claim{Kind: pasar.Whole, GPUs: 1}.View(), Command: "python train.py", Argv: []pasar.Arg{"python", "train.py"}, Cwd: "/home/ada", Submitter: "ada",
		Grace: pasar.Duration(time.Minute), Preemptible: true, Tags: []string{}, Projected: pasar.ProjectedView{GPUs: []pasar.GPURef{}}}
	began, ended := noon.Add(-5*time.Minute), noon.Add(-2*time.Minute)
	gpu := []pasar.GPURef{{Index: int(id) % 2, UUID: fmt.Sprintf("GPU-%d", id%2)}}
	switch {
	case st == pasar.Queued:
		v.Waiting = &pasar.WaitingView{Why: pasar.WaitGPU, Sentence: "waits for a GPU", Since: v.QueueTime}
		v.Projected.Start = ptr(noon.Add(time.Duration(id) * time.Minute))
	case st.Active():
		v.RunTime = ptr(pasar.Duration(5 * time.Minute))
		v.GPUs = gpu
		v.Attempts = []pasar.AttemptView{{Attempt: 1, Machine: "local", GPUs: gpu, LaunchedAt: began, StartedAt: &began}}
		v.Projected.Start, v.Projected.Finish = &began, ptr(noon.Add(20*time.Minute))
	case st.Finished(), st == pasar.Paused:
		v.RunTime = ptr(pasar.Duration(3 * time.Minute))
		v.Attempts = []pasar.AttemptView{{Attempt: 1, Machine: "local", GPUs: gpu, LaunchedAt: began, StartedAt: &began, EndedAt: &ended, RunTime: v.RunTime, Tail: []string{"Traceback", "ValueError: bad"}}}
	}
	if st == pasar.Failed {
		v.Verdict = &pasar.Verdict{Reason: pasar.CodeException, Summary: "ValueError: bad", Hint: "mend it", Confidence: "certain",
			Evidence: []pasar.Line{{Number: 2, Text: "ValueError: bad"}}}
		v.Attempts[0].Verdict = v.Verdict
	}
	return v
}

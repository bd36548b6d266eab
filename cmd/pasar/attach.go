package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/term"

	"pasar"
	"pasar/ipc"
)

func attachCommand() *command {
	return &command{
		name: "attach", section: sectionJobs, args: "[JOB]", brief: "watch a job's terminal, or type into it", takes: takesJob,
		long: `Watching: q, Ctrl-C or Ctrl-D leave and can't reach the job; i takes the keyboard. Typing (-i): every key goes to
the job, and Ctrl-] then d leaves. One client at a time holds the keyboard; --take takes it. The job goes on
whichever way you leave. It works without a daemon, too.`,
		examples: []example{
			{"pasar attach", "watch your last job"},
			{"pasar attach -i 42", "type into it"},
		},
		setup: func(f *flags) action {
			typing := f.BoolP("interactive", "i", false, "type into the job")
			take := f.Bool("take", false, "with -i: take the keyboard from whoever holds it")
			return func(ctx context.Context, c *call) error {
				switch {
				case c.json:
					return usagef("attach has no JSON").hint("`pasar logs -f --json` follows the output")
				case *take && !*typing:
					return usagef("--take goes with -i")
				case *typing && !term.IsTerminal(int(c.stdin.Fd())):
					return usagef("-i needs a terminal on standard input").hint("without one, `pasar attach` and `pasar logs -f` follow the output")
				}
				where, err := c.supervisor(ctx)
				if err != nil {
					return err
				}
				a := &attachment{call: c, at: where, take: *take, offset: -backlog - 1}
				return a.run(ctx, *typing)
			}
		},
	}
}

// A place is where a job's supervisor listens.
type place struct {
	job    pasar.JobID
	socket string
	nonce  string // known when the place was found without a daemon
}

// supervisor asks the daemon where to attach; with none to be had it looks itself, since a supervisor
// needs no daemon.
func (c *call) supervisor(ctx context.Context) (place, error) {
	id, err := c.job(ctx, c.args)
	if err == nil {
		var ans ipc.AttachAnswer
		err = c.ask(ctx, func(d *ipc.Client) error {
			ans, err = d.Attach(ctx, ipc.AttachRequest{Job: id})
			return err
		})
		if err == nil && ans.Socket == "" {
			return place{}, notRunning(id, ans.State)
		}
		if err == nil {
			return place{job: id, socket: ans.Socket}, nil
		}
	}
	var e *ipc.Error
	if !errors.As(err, &e) || e.Code != ipc.CodeNoDaemon || len(c.args) != 1 {
		return place{}, err
	}
	refs, rerr := parseRefs(c.args)
	if rerr != nil || len(refs) != 1 || refs[0].from == 0 || refs[0].from != refs[0].to {
		return place{}, err
	}
	cfg, cerr := c.config()
	if cerr != nil {
		return place{}, cerr
	}
	if p, ok := findClaim(cfg.Paths.Jobs(), refs[0].from); ok {
		return p, nil
	}
	return place{}, err
}

func notRunning(id pasar.JobID, st pasar.State) error {
	e := problemf(ipc.CodeWrongState, "job #%d is %s: there is nothing to attach to", id, st)
	if st.Finished() {
		return e.hint("`pasar logs " + id.String() + "` shows its output")
	}
	return e.hint("`pasar logs -f " + id.String() + "` waits for it to start")
}

// findClaim looks for the supervisor of a job's latest attempt in the job's directory. Whether it is the
// one, its answer to the nonce says.
func findClaim(jobs string, id pasar.JobID) (place, bool) {
	dir := filepath.Join(jobs, id.String())
	attempt := latestAttempt(dir)
	if attempt == 0 {
		return place{}, false
	}
	b, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(attempt), pasar.ClaimFile))
	var h pasar.Holding
	if err != nil || json.Unmarshal(b, &h) != nil || h.Socket == "" {
		return place{}, false
	}
	return place{job: id, socket: h.Socket, nonce: h.Nonce}, true
}

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
	"pasar/answer"
	"pasar/config"
	"pasar/ipc"
)

func attachCommand() *command {
	return &command{
		name: "attach", section: sectionJobs, args: "[JOB]", brief: "watch a job's terminal, or type into it", takes: takesJob,
		jobCodes: true,
		long: `Watching: q, Ctrl-C or Ctrl-D leave and can't reach the job; i takes the keyboard, and i again takes it from who
holds it. Typing (-i): every key goes to the job, and Ctrl-] then d leaves; Ctrl-] twice types it once. One client at a time
holds the keyboard, and the job's terminal has the size of that one's. A terminal of another size shows what fits around
the cursor, with marks where it is cut.

The job goes on whichever way you leave, with exit code 0. If it ends meanwhile, its last screen stays on yours, and attach
exits as wait does. It works without a daemon, too. Where there is no terminal to show it on, it follows the output, as
` + "`pasar logs -f`" + ` does.

What a job writes is filtered: it can't set your clipboard or titles, ask your terminal anything, or resize it.`,
		examples: []example{
			{"pasar attach", "watch your last job"},
			{"pasar attach -i 42", "type into it"},
			{"pasar attach --history 1000 42", "with earlier output to scroll back to"},
			{"pasar attach -i --detach-keys ctrl-b,d 42", "leave by Ctrl-B then d"},
		},
		setup: func(f *flags) action {
			typing := f.BoolP("interactive", "i", false, "type into the job")
			readOnly := f.Bool("read-only", false, "only watch: no key takes the keyboard")
			take := f.Bool("take", false, "with -i: take the keyboard from whoever holds it")
			history := f.number("history", "", "show `N` lines of earlier output above the screen, to scroll back to", 0, ipc.MaxHistory)
			keys := f.String("detach-keys", "", "`KEYS` that leave while typing, such as ctrl-p,ctrl-q; else detach_keys of the configuration, or "+config.DefaultDetachKeys)
			return func(ctx context.Context, c *call) error {
				switch {
				case c.json:
					return usagef("attach has no JSON").hint("`pasar logs -f --json` follows the output; `pasar screen --json` is the screen")
				case *readOnly && *typing:
					return usagef("--read-only and -i exclude each other")
				case *take && !*typing:
					return usagef("--take goes with -i")
				case *typing && !term.IsTerminal(int(c.stdin.Fd())):
					return usagef("-i needs a terminal on standard input").hint("without one, `pasar attach` and `pasar logs -f` follow the output, and `pasar send` types")
				case *typing && !c.term.is:
					return usagef("-i needs a terminal on standard output")
				}
				leaveBy, err := c.detachKeys(*keys)
				if err != nil {
					return err
				}
				where, err := c.supervisor(ctx, c.args)
				if err != nil {
					return err
				}
				if c.client != nil { // a stay may be long
					_ = c.client.Close()
					c.client = nil
				}
				a := &attachment{call: c, at: where, leaveBy: leaveBy, history: int(*history), readOnly: *readOnly}
				if why := a.noScreen(); why != "" {
					err = (&follower{attachment: a, why: why}).run(ctx)
				} else {
					err = a.run(ctx, *typing, *take)
				}
				if missed := new(missedError); errors.As(err, &missed) {
					if _, now := c.supervisor(ctx, c.args); now != nil {
						return now // it tells what became of the job
					}
				}
				return err
			}
		},
	}
}

// detachKeys are the keys that leave: those given, else those of the configuration.
func (c *call) detachKeys(given string) ([]config.Key, error) {
	if c.flags.given("detach-keys") {
		keys, err := config.ParseDetachKeys(given)
		if err != nil {
			return nil, usagef("--detach-keys %q: %v", given, err)
		}
		return keys, nil
	}
	cfg, err := c.config()
	if err != nil {
		return nil, err
	}
	return config.ParseDetachKeys(cfg.DetachKeys)
}

// noScreen says why the screen can't be shown here; empty if it can.
func (a *attachment) noScreen() string {
	cols, rows := a.size()
	switch {
	case !a.term.is:
		return "standard output is no terminal"
	case !term.IsTerminal(int(a.stdin.Fd())):
		return "standard input is no terminal"
	case a.getenv("TERM") == "dumb":
		return "this terminal can't show a screen (TERM is dumb)"
	case cols < 1 || rows < 1:
		return "this terminal has no size"
	}
	return ""
}

// A place is where a job's supervisor listens.
type place struct {
	job  pasar.JobID
	name string // of the job; empty if it isn't known
	dial func(ipc.Hello) (*ipc.AttachConn, ipc.Welcome, error)
}

// onSocket reaches a supervisor on this machine. The nonce is known when it was found without a daemon.
func onSocket(socket, nonce string) func(ipc.Hello) (*ipc.AttachConn, ipc.Welcome, error) {
	return func(h ipc.Hello) (*ipc.AttachConn, ipc.Welcome, error) {
		h.Nonce = nonce
		return ipc.DialAttach(socket, h)
	}
}

// String is the job as people know it: "#42 train".
func (p place) String() string {
	if p.name == "" {
		return "#" + p.job.String()
	}
	return "#" + p.job.String() + " " + pasar.Clean(p.name)
}

// supervisor asks the daemon where to attach to the job that args name; with none to be had it looks itself, since
// a supervisor needs no daemon.
func (c *call) supervisor(ctx context.Context, args []string) (place, error) {
	id, err := c.job(ctx, args)
	if err == nil {
		var ans ipc.AttachAnswer
		err = c.ask(ctx, func(d *ipc.Client) error {
			ans, err = d.Attach(ctx, ipc.AttachRequest{Job: id})
			return err
		})
		if err == nil && ans.Socket == "" {
			return place{}, answer.NotAttachable(id, ans.State)
		}
		if err == nil {
			p := place{job: id, dial: onSocket(ans.Socket, "")}
			if c.far != nil {
				p.dial = c.over(ctx, id, ans.Attempt)
			}
			if b, err := c.fetch(ctx, id); err == nil {
				if v, err := parseView(b); err == nil {
					p.name = v.Name
				}
			}
			return p, nil
		}
	}
	if !isNoDaemon(err) || isCut(err) || len(args) != 1 {
		return place{}, err
	}
	refs, rerr := parseRefs(args)
	if rerr != nil || len(refs) != 1 || refs[0].from == 0 || refs[0].from != refs[0].to {
		return place{}, err
	}
	if c.far != nil {
		return place{job: refs[0].from, dial: c.over(ctx, refs[0].from, 0)}, nil // the other end looks
	}
	cfg, cerr := c.config()
	if cerr != nil {
		return place{}, cerr
	}
	if h, ok := findClaim(cfg.Paths.Jobs(), refs[0].from); ok {
		return place{job: refs[0].from, dial: onSocket(h.Socket, h.Nonce)}, nil
	}
	return place{}, err
}

// findClaim looks for the supervisor of a job's latest attempt in the job's directory. Whether it is the
// one, its answer to the nonce says.
func findClaim(jobs string, id pasar.JobID) (pasar.Holding, bool) {
	dir := filepath.Join(jobs, id.String())
	attempt := latestAttempt(dir)
	if attempt == 0 {
		return pasar.Holding{}, false
	}
	b, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(attempt), pasar.ClaimFile))
	var h pasar.Holding
	if err != nil || json.Unmarshal(b, &h) != nil || h.Socket == "" {
		return pasar.Holding{}, false
	}
	return h, true
}

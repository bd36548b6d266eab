package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/answer"
	"pasar/ipc"
	"pasar/submission"
)

func submitCommand() *command {
	return &command{
		name: "submit", section: sectionJobs, args: "[--] CMD [ARG…]", brief: "queue a job", takes: takesCommand, wordsEndFlags: true, jobCodes: true,
		long: `The command runs under a terminal of its own, with this environment, directory, umask, nice value and
soft limits, once it is its turn: higher bids first, then first come, first served. Flags end at the first
word that isn't one. The arguments arrive exactly as given; a single argument with spaces in it is a line
for ` + submission.Shell + `. Without --mem or --gpus a job gets one whole GPU.

Its standard input is that terminal: what is piped into submit isn't passed on. Let the command read a file, or
give a shell line such as 'sort < data'. With --no-pty it has no terminal, standard input is /dev/null, and output and errors
are pipes.

--array, --param and --param-file make a group: a job for each combination, the last changing fastest. {index} and
the name of a parameter in braces, such as {lr}, are filled into the command, the name and --resume-command; the job also
finds them as PASAR_ARRAY_INDEX and PASAR_PARAM_LR. Values are split at commas; one that has a comma stands in double
quotes, or --param is repeated. The first line of a --param-file names its columns; each other line is a point.

A job file has flags as keys (time_limit = "2h", tag = ["a", "b"]) and the command as command, a line or a list. A script
that is run, by itself or by bash, python and the like, may have lines #PASAR --time 2h before its first other line; of
#SBATCH lines, name, time, GPUs, memory, dependencies, array and the like are understood. A flag counts more than a job file,
that more than the script, that more than the configuration.

With --json, --follow gives the job, then its output and its end, one value a line, and --wait the end alone. With
--parsable, only the id is printed, of a group one a line, and no output. --wait for a group prints how each job ended.`,
		examples: []example{
			{"pasar submit python train.py --epochs 3", "one whole GPU, when one is free"},
			{"pasar submit --mem 24G --time 2h -- ./train.sh", "24 GiB of a GPU's memory, beside other jobs"},
			{"pasar submit --gpus 0 --wait 'make data && make test'", "a shell line without a GPU; follow it and exit as it did"},
			{"id=$(pasar submit --parsable --key sweep-7 python train.py)", "just the id; run again, it is the same job"},
			{"pasar submit --param lr=1e-5,3e-5,1e-4 --param seed=1,2 --max-concurrent 2 -- python train.py --lr {lr} --seed {seed}", "six jobs, two at once"},
			{"pasar submit --array 0-9%4 -- ./part.sh {index}", "ten jobs, four at once"},
			{"pasar submit --after last,41:any --begin 22:00 -- python eval.py", "once those have ended, and not before ten"},
			{"pasar submit --bid 2000 --preempt --dry-run -- python train.py", "what would stop, lose and wait; nothing changes"},
			{"pasar submit --job job.toml --time 3h", "as the file says, but for the time"},
		},
		setup: func(f *flags) action {
			s := &submitFlags{}
			s.declare(f)
			return s.run
		},
	}
}

// submitFlags are the flags of submit.
type submitFlags struct {
	claimFlags
	changeFlags
	time, grace                  *pasar.Duration
	bid                          *pasar.Bid
	name, note, by, cwd, key, on *string
	tags, env, params            *[]string
	noEnv, hold, shell, preempt  *bool
	noPTY                        *bool
	size                         *termSize
	array                        *submission.Array
	paramFile, job               *string
	wait, follow, parsable       *bool
	propagate, dryRun            *bool
}

func (s *submitFlags) declare(f *flags) {
	s.claimFlags.declare(f)
	s.on = f.String("on", "", "`WHERE` to run: local")
	s.time = f.span("time", "how long it will run, as an estimate: it never kills, and lets others plan")
	s.bid = f.bid("bid", "priority: higher starts first; 1000 if the configuration doesn't say")
	s.preempt = f.Bool("preempt", false, "to start, it may stop running jobs with a lower bid, once; they are queued again")
	s.grace = f.span("grace", "between the request to stop and SIGKILL; 120s if the configuration doesn't say")
	s.name = f.String("name", "", "`NAME` to show; else the program's or script's")
	s.note = f.String("note", "", "`TEXT` to keep with it")
	s.tags = f.StringArray("tag", nil, "`TAG` to find it by, as @TAG; may be repeated")
	s.by = f.String("by", "", "on whose behalf: a `NAME`")
	s.cwd = f.String("cwd", "", "`DIR` to run in; else this one")
	s.env = f.StringArray("env", nil, "`KEY=VALUE` to add to the environment, or KEY to pass yours on; may be repeated")
	s.noEnv = f.Bool("no-env", false, "leave out the environment but for "+submission.Bare)
	s.key = f.String("key", "", "a second submit with the same `KEY` is the same job")
	s.hold = f.Bool("hold", false, "keep it from starting until it is released")
	s.array = define(f, "array", "", "LIST", "a job for each index: 0-9, 1,3,5, 0-9:2 for every second one; %4 behind it for four at once", submission.ParseArray)
	s.params = f.StringArray("param", nil, "a job for each value: `NAME=V1,V2`; repeated, for each combination")
	s.paramFile = f.String("param-file", "", "a job for each row of this CSV `FILE`, whose first line names the parameters")
	s.changeFlags.declare(f)
	s.shell = f.Bool("shell", false, "the arguments, joined by spaces, are a line for "+submission.Shell)
	s.noPTY = f.Bool("no-pty", false, "give it pipes instead of a terminal, and no standard input")
	s.size = define(f, "size", "", "COLSxROWS", "size of its terminal until somebody who types brings another; else 120x40", parseSize)
	s.job = f.String("job", "", "a job `FILE` in TOML, or YAML if its name says so, with flags as keys, and command")
	s.dryRun = f.Bool("dry-run", false, "say what would start when, who would wait longer and who would be stopped; change nothing")
	s.wait = f.Bool("wait", false, "follow its output, and exit as it ended")
	s.follow = f.Bool("follow", false, "follow its output until it ends")
	s.propagate = f.Bool("propagate", false, "with --wait: exit with the job's own code, or 128 + signal")
	s.parsable = f.Bool("parsable", false, "print the id alone, and no output with --wait")
}

func (s *submitFlags) run(ctx context.Context, c *call) error {
	if *s.propagate && !*s.wait {
		return usagef("--propagate goes with --wait")
	}
	if *s.dryRun && (*s.wait || *s.follow || *s.parsable) {
		return usagef("--dry-run makes no job that --wait, --follow or --parsable could be about")
	}
	cfg, err := c.config()
	if err != nil {
		return err
	}
	req, err := s.request(ctx, c, cfg)
	if err != nil {
		return err
	}
	if len(req.Points) > maxFollowed && *s.follow {
		return usagef("--follow of %d jobs at once; at most %d", len(req.Points), maxFollowed).hint("--wait says how each of them ended; `pasar logs` shows the output of any")
	}
	if c.far == nil { // else whether it is there isn't known here
		if missing := submission.Missing(pasar.Strings(req.Spec.Argv), string(req.Spec.Cwd), pasar.Strings(req.Surroundings.Env)); missing != "" {
			c.note(fmt.Sprintf("warning: %s; the job is queued all the same", missing))
		}
	}
	if *s.dryRun {
		return c.plan(ctx, func(d *ipc.Client) ([]byte, error) { return d.PlanSubmit(ctx, req) })
	}
	watch := *s.wait || *s.follow
	if watch && carriesInput(c.stdin) {
		c.note("warning: standard input is not passed to the job")
	}
	var ans ipc.SubmitAnswer
	err = c.ask(ctx, func(d *ipc.Client) error {
		ans, err = d.Submit(ctx, req)
		return err
	})
	if errors.Is(err, errInterrupted) {
		c.note("interrupted before the daemon answered; `pasar ls` shows whether the job was taken")
	}
	if err != nil {
		return err
	}
	c.warnOnce(ans.Warning, ans.Hint)
	if ans.Advice != "" {
		_, _ = fmt.Fprintln(c.stderr, "hint: "+pasar.Clean(ans.Advice))
	}
	if len(ans.Jobs) == 0 {
		ans.Jobs = []pasar.JobID{ans.Job}
	}
	if err := s.answer(c, ans, &req.Spec, watch); err != nil || !watch {
		return err
	}
	if err := c.stdout.Flush(); err != nil {
		return err
	}
	if len(ans.Jobs) > 1 {
		return s.watchGroup(ctx, c, ans.Jobs)
	}
	return s.watchJob(ctx, c, ans.Job)
}

// answer says what was submitted: on standard error where output follows.
func (s *submitFlags) answer(c *call, ans ipc.SubmitAnswer, sent *pasar.Spec, watch bool) error {
	switch {
	case *s.parsable:
		for _, id := range ans.Jobs {
			if err := c.print(id.String() + "\n"); err != nil {
				return err
			}
		}
		return nil
	case c.json && *s.wait && !*s.follow:
		return nil
	case c.json:
		b, err := answer.Submitted(ans)
		if err != nil {
			return err
		}
		return c.printLine(b)
	case watch:
		c.note(submitted(ans, sent))
		return nil
	}
	return c.print(submitted(ans, sent) + "\n")
}

func (s *submitFlags) watchJob(ctx context.Context, c *call, id pasar.JobID) error {
	view, err := c.watch(ctx, id, !*s.parsable && (!c.json || *s.follow))
	if err != nil {
		return err
	}
	if c.json {
		if err := c.printLine(view.raw); err != nil {
			return err
		}
	}
	c.reportEnd(view)
	code := exitOf(&view.JobView)
	switch {
	case !*s.wait:
		return nil
	case *s.propagate:
		code = ownExit(&view.JobView)
	}
	if code != exitCompleted {
		return exit(code)
	}
	return nil
}

// maxFollowed bounds how many jobs are followed at once: each takes a connection.
const maxFollowed = 64

// watchGroup follows the output of a group's jobs, each line with its job before it, or waits until all have
// ended, and then exits as the worst of them.
func (s *submitFlags) watchGroup(ctx context.Context, c *call, ids []pasar.JobID) error {
	err := func() error {
		if *s.follow && !*s.parsable {
			if err := newLogs(true).show(ctx, c, ids); err != nil {
				return err
			}
			if !*s.wait {
				return nil
			}
		}
		w := &waiter{code: exitCompleted, propagate: *s.propagate, left: ids, quiet: *s.parsable}
		return w.all(ctx, c)
	}()
	if err != nil && ctx.Err() != nil {
		_ = c.stdout.Flush()
		c.note(fmt.Sprintf("the jobs go on; `pasar wait group:%d` waits for them, `pasar cancel group:%d` ends them", ids[0], ids[0]))
		return exit(exitInterrupted)
	}
	return err
}

// A termSize is what --size says.
type termSize struct{ cols, rows int }

func parseSize(word string) (termSize, error) {
	c, r, ok := strings.Cut(word, "x")
	cols, cerr := parseWhole(c, pasar.MinCols, pasar.MaxCols)
	rows, rerr := parseWhole(r, pasar.MinRows, pasar.MaxRows)
	if !ok || cerr != nil || rerr != nil {
		return termSize{}, fmt.Errorf("it is COLSxROWS, such as 120x40, from %dx%d to %dx%d", pasar.MinCols, pasar.MinRows, pasar.MaxCols, pasar.MaxRows)
	}
	return termSize{int(cols), int(rows)}, nil
}

// carriesInput reports whether somebody may expect f to reach the job: a file or a pipe, but for a pipe that
// was closed with nothing in it.
func carriesInput(f *os.File) bool {
	fi, err := f.Stat()
	if err != nil {
		return false
	}
	if fi.Mode().IsRegular() {
		return fi.Size() > 0
	}
	if fi.Mode()&os.ModeNamedPipe == 0 {
		return false
	}
	p := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
	_, err = unix.Poll(p, 0)
	return err != nil || p[0].Revents&unix.POLLIN != 0 || p[0].Revents&unix.POLLHUP == 0
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/config"
	"pasar/ipc"
)

const shell = "/bin/sh"

func submitCommand() *command {
	return &command{
		name: "submit", section: sectionJobs, args: "[--] CMD [ARG…]", brief: "queue a job", takes: takesCommand, wordsEndFlags: true, jobCodes: true,
		long: `The command runs under a terminal of its own, with this environment, directory, umask, nice value and
soft limits, once it is its turn: higher bids first, then first come, first served. Flags end at the first
word that isn't one. The arguments arrive exactly as given; a single argument with spaces in it is a line
for ` + shell + `. Without --mem or --gpus a job gets one whole GPU.

Its standard input is that terminal: what is piped into submit isn't passed on. Let the command read a file, or
give a shell line such as 'sort < data'. With --no-pty it has no terminal, standard input is /dev/null, and output and errors
are pipes.

With --json, --follow gives the job, then its output and its end, one value a line, and --wait the end alone. With
--parsable, only the id is printed, and no output.`,
		examples: []example{
			{"pasar submit python train.py --epochs 3", "one whole GPU, when one is free"},
			{"pasar submit --mem 24G --time 2h -- ./train.sh", "24 GiB of a GPU's memory, beside other jobs"},
			{"pasar submit --gpus 0 --wait 'make data && make test'", "a shell line without a GPU; follow it and exit as it did"},
			{"id=$(pasar submit --parsable --key sweep-7 python train.py)", "just the id; run again, it is the same job"},
		},
		setup: func(f *flags) action {
			s := &submission{}
			s.declare(f)
			return s.run
		},
	}
}

// A submission is what the flags of submit say.
type submission struct {
	claimFlags
	time, grace              *pasar.Duration
	bid                      *pasar.Bid
	name, note, by, cwd, key *string
	tags, env                *[]string
	noEnv, hold, shell       *bool
	noPTY                    *bool
	size                     *termSize
	wait, follow, parsable   *bool
	propagate                *bool
}

func (s *submission) declare(f *flags) {
	s.claimFlags.declare(f)
	s.time = f.span("time", "how long it will run, as an estimate: it never kills, and lets others plan")
	s.bid = f.bid("bid", "priority: higher starts first; 1000 if the configuration doesn't say")
	s.grace = f.span("grace", "between the request to stop and SIGKILL; 120s if the configuration doesn't say")
	s.name = f.String("name", "", "`NAME` to show; else the program's or script's")
	s.note = f.String("note", "", "`TEXT` to keep with it")
	s.tags = f.StringArray("tag", nil, "`TAG` to find it by, as @TAG; may be repeated")
	s.by = f.String("by", "", "on whose behalf: a `NAME`")
	s.cwd = f.String("cwd", "", "`DIR` to run in; else this one")
	s.env = f.StringArray("env", nil, "`KEY=VALUE` to add to the environment, or KEY to pass yours on; may be repeated")
	s.noEnv = f.Bool("no-env", false, "leave out the environment but for "+strings.Join(bare, " "))
	s.key = f.String("key", "", "a second submit with the same `KEY` is the same job")
	s.hold = f.Bool("hold", false, "keep it from starting until it is released")
	s.shell = f.Bool("shell", false, "the arguments, joined by spaces, are a line for "+shell)
	s.noPTY = f.Bool("no-pty", false, "give it pipes instead of a terminal, and no standard input")
	s.size = define(f, "size", "", "COLSxROWS", "size of its terminal until somebody who types brings another; else 120x40", parseSize)
	s.wait = f.Bool("wait", false, "follow its output, and exit as it ended")
	s.follow = f.Bool("follow", false, "follow its output until it ends")
	s.propagate = f.Bool("propagate", false, "with --wait: exit with the job's own code, or 128 + signal")
	s.parsable = f.Bool("parsable", false, "print the id alone, and no output with --wait")
}

func (s *submission) run(ctx context.Context, c *call) error {
	if *s.propagate && !*s.wait {
		return usagef("--propagate goes with --wait")
	}
	cfg, err := c.config()
	if err != nil {
		return err
	}
	req, err := s.request(c, cfg)
	if err != nil {
		return err
	}
	if missing := notFound(req); missing != "" {
		c.note(fmt.Sprintf("warning: %s; the job is queued all the same", missing))
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
	switch {
	case *s.parsable:
		err = c.print(ans.Job.String() + "\n")
	case c.json && (*s.follow || !*s.wait):
		err = c.printLine(ans.View)
	case c.json:
	case watch:
		c.note(submitted(ans, &req.Spec))
	default:
		err = c.print(submitted(ans, &req.Spec) + "\n")
	}
	if err != nil || !watch {
		return err
	}
	if err := c.stdout.Flush(); err != nil {
		return err
	}
	view, err := c.watch(ctx, ans.Job, !*s.parsable && (!c.json || *s.follow))
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

// submitted is the answer in words, with what was understood of the claim. What was sent is what the job
// is, so the view needs no decoding; only a job found by its key may be another, and what a slice is
// charged as the daemon alone knows.
func submitted(ans ipc.SubmitAnswer, sent *pasar.Spec) string {
	what, name, claim := "submitted", sent.Name, sent.Claim.String()
	if ans.Existing || sent.Claim.Kind == pasar.Slice {
		if v, err := parseView(ans.View); err == nil {
			name, claim = v.Name, claimOf(v)
		}
	}
	if ans.Existing {
		what = "found"
		claim += "; same key"
	}
	line := fmt.Sprintf("%s #%d", what, ans.Job)
	if name != "" {
		line += " " + pasar.Clean(name)
	}
	line += " (" + claim
	if ans.Sentence != "" {
		line += "; " + pasar.Clean(ans.Sentence)
	}
	return line + ")"
}

func (s *submission) request(c *call, cfg *config.Config) (ipc.SubmitRequest, error) {
	var none ipc.SubmitRequest
	argv, err := argvOf(c.args, *s.shell)
	if err != nil {
		return none, err
	}
	cwd, err := workingDir(*s.cwd)
	if err != nil {
		return none, err
	}
	claim, err := s.claim(pasar.Claim{Kind: pasar.Whole, GPUs: 1})
	if err != nil {
		return none, err
	}
	env, err := jobEnv(c.env, *s.noEnv, *s.env)
	if err != nil {
		return none, err
	}
	spec := pasar.Spec{Name: *s.name, Argv: pasar.Args(argv), Cwd: pasar.Arg(cwd), Claim: claim, Bid: cfg.DefaultBid, Time: *s.time,
		Grace: cfg.DefaultGrace, Tags: *s.tags, Note: *s.note, By: *s.by, Key: *s.key, Hold: *s.hold,
		NoPTY: *s.noPTY, Cols: s.size.cols, Rows: s.size.rows}
	if c.flags.given("bid") {
		spec.Bid = *s.bid
	}
	if c.flags.given("grace") {
		spec.Grace = *s.grace
	}
	if cfg.RequireTime && !c.flags.given("time") {
		return none, usagef("this machine asks for an estimate of the run time").hint("give one with --time, such as --time 2h; it never kills the job")
	}
	if !c.flags.given("name") {
		spec.Name = nameOf(argv)
	}
	if err := spec.Validate(); err != nil {
		return none, usagef("%v", err)
	}
	return ipc.SubmitRequest{Request: ipc.NewRequest(), Spec: spec, Surroundings: surroundings(env)}, nil
}

// argvOf is the argument vector to run: the words exactly, or a shell with one line.
func argvOf(words []string, sh bool) ([]string, error) {
	switch {
	case len(words) == 0:
		return nil, usagef("no command given").hint("`pasar submit [flags] CMD…`; `pasar submit --help` has examples")
	case words[0] == "":
		return nil, usagef("the command is empty")
	case sh:
		return []string{shell, "-c", strings.Join(words, " ")}, nil
	case len(words) == 1 && strings.ContainsAny(words[0], " \t\n"):
		return []string{shell, "-c", words[0]}, nil
	}
	return words, nil
}

// workingDir is the directory to run in, absolute and there.
func workingDir(dir string) (string, error) {
	here, err := os.Getwd()
	if err != nil && !filepath.IsAbs(dir) {
		return "", usagef("this directory can't be found: %v", err).hint("name another with --cwd")
	}
	if dir == "" {
		return here, nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(here, dir)
	}
	fi, err := os.Stat(dir)
	switch {
	case os.IsNotExist(err):
		return "", usagef("--cwd %s: there is no such directory", pasar.Clean(dir)).hint("make it first; without --cwd the job runs in this one")
	case err != nil:
		return "", usagef("--cwd %s: %v", pasar.Clean(dir), err)
	case !fi.IsDir():
		return "", usagef("--cwd %s is not a directory", pasar.Clean(dir))
	}
	return filepath.Clean(dir), nil
}

// notFound says that the program isn't there now, which it may be when the job starts; empty if it is.
func notFound(req ipc.SubmitRequest) string {
	prog := string(req.Spec.Argv[0])
	if strings.Contains(prog, "/") {
		path := prog
		if !filepath.IsAbs(path) {
			path = filepath.Join(string(req.Spec.Cwd), path)
		}
		if _, err := os.Stat(path); err != nil {
			return pasar.Clean(prog) + " does not exist"
		}
		if !isProgram(path) {
			return pasar.Clean(prog) + " is not executable"
		}
		return ""
	}
	for _, dir := range filepath.SplitList(lookup(pasar.Strings(req.Surroundings.Env), "PATH")) {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(string(req.Spec.Cwd), dir)
		}
		if isProgram(filepath.Join(dir, prog)) {
			return ""
		}
	}
	return pasar.Clean(prog) + " is not on the PATH"
}

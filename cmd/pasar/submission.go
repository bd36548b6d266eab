package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"pasar"
	"pasar/config"
	"pasar/ipc"
)

// request turns the command line, and the files that it names, into what the daemon is asked.
func (s *submission) request(ctx context.Context, c *call, cfg *config.Config) (ipc.SubmitRequest, error) {
	var none ipc.SubmitRequest
	words, err := s.adoptJobFile(c)
	if err != nil {
		return none, err
	}
	argv, err := argvOf(words, *s.shell)
	if err != nil {
		return none, err
	}
	if err := s.adoptScript(c, argv); err != nil {
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
	if *s.on != "" && *s.on != pasar.LocalMachine {
		return none, usagef("--on %q: there is only %s", pasar.Clean(*s.on), pasar.LocalMachine).hint("without --on a job runs there too")
	}
	points, err := s.points()
	if err != nil {
		return none, err
	}
	spec := pasar.Spec{Name: *s.name, Argv: pasar.Args(argv), Cwd: pasar.Arg(cwd), Claim: claim, Bid: cfg.DefaultBid, Time: *s.time,
		Grace: cfg.DefaultGrace, Tags: *s.tags, Note: *s.note, By: *s.by, Key: *s.key, Hold: *s.hold,
		NoPTY: *s.noPTY, Cols: s.size.cols, Rows: s.size.rows, Machine: *s.on, Preempt: *s.preempt}
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
	change, err := s.change(ctx, c)
	if err != nil {
		return none, err
	}
	apply(change, &spec)
	if s.array.atOnce > 0 && !c.flags.given("max-concurrent") {
		spec.MaxConcurrent = s.array.atOnce
	}
	if spec.MaxConcurrent > 0 && len(points) == 0 {
		return none, usagef("--max-concurrent is about the jobs of an array or sweep").hint("give it with --array, --param or --param-file")
	}
	if err := validate(spec); err != nil {
		return none, err
	}
	return ipc.SubmitRequest{Request: ipc.NewRequest(), Spec: spec, Surroundings: surroundings(env), Points: points}, nil
}

// points are those that --array, --param and --param-file make together.
func (s *submission) points() ([]pasar.Point, error) {
	params, err := parseParams(*s.params)
	if err != nil {
		return nil, err
	}
	var rows [][]pasar.Param
	if *s.paramFile != "" {
		if rows, err = readParamFile(*s.paramFile); err != nil {
			return nil, err
		}
	}
	return points(s.array.indices, rows, params)
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

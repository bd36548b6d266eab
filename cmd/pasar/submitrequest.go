package main

import (
	"context"

	"pasar"
	"pasar/config"
	"pasar/ipc"
	"pasar/submission"
)

// request turns the command line, and the files that it names, into what the daemon is asked.
func (s *submitFlags) request(ctx context.Context, c *call, cfg *config.Config) (ipc.SubmitRequest, error) {
	var none ipc.SubmitRequest
	words, err := s.adoptJobFile(c)
	if err != nil {
		return none, err
	}
	argv, err := understood(submission.Argv(words, *s.shell))
	if err != nil {
		return none, err
	}
	far, err := c.afar()
	if err != nil {
		return none, err
	}
	if far == nil { // else the script is the other machine's
		if err := s.adoptScript(c, argv); err != nil {
			return none, err
		}
	}
	cwd, around, err := s.around(c)
	if err != nil {
		return none, err
	}
	claim, err := s.claim(submission.Default())
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
	if cfg.RequireTime && far == nil && !c.flags.given("time") {
		return none, usagef("this machine asks for an estimate of the run time").hint("give one with --time, such as --time 2h; it never kills the job")
	}
	if !c.flags.given("name") {
		spec.Name = submission.Name(argv)
	}
	change, err := s.change(ctx, c)
	if err != nil {
		return none, err
	}
	apply(change, &spec)
	if s.array.AtOnce > 0 && !c.flags.given("max-concurrent") {
		spec.MaxConcurrent = s.array.AtOnce
	}
	if spec.MaxConcurrent > 0 && len(points) == 0 {
		return none, usagef("--max-concurrent is about the jobs of an array or sweep").hint("give it with --array, --param or --param-file")
	}
	req := ipc.SubmitRequest{Request: ipc.NewRequest(), Spec: spec, Surroundings: around, Points: points}
	if far != nil {
		req.Afar = &ipc.Afar{NoEnv: *s.noEnv, Bid: !c.flags.given("bid"), Grace: !c.flags.given("grace")}
		spec.Cwd = "/" // the other machine makes it absolute
	}
	_, err = understood(spec, submission.Validate(spec))
	return req, err
}

// around is what the job takes from where this command is typed: its directory, and what else surrounds this process. From
// afar it is what was given alone; the rest is the other machine's.
func (s *submitFlags) around(c *call) (cwd string, around pasar.Surroundings, err error) {
	if c.far != nil {
		around.Env, err = understood(submission.Added(c.env, *s.env))
		return *s.cwd, around, err
	}
	if cwd, err = understood(submission.Dir(*s.cwd)); err != nil {
		return "", around, err
	}
	env, err := understood(submission.Env(c.env, *s.noEnv, *s.env))
	if err != nil {
		return "", around, err
	}
	return cwd, submission.Surroundings(env), nil
}

// points are those that --array, --param and --param-file make together.
func (s *submitFlags) points() ([]pasar.Point, error) {
	params, err := understood(submission.ParseParams(*s.params))
	if err != nil {
		return nil, err
	}
	var rows [][]pasar.Param
	if *s.paramFile != "" {
		if rows, err = readParamFile(*s.paramFile); err != nil {
			return nil, err
		}
	}
	return understood(submission.Points(s.array.Indices, rows, params))
}

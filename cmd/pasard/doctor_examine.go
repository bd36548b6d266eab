package main

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"pasar/config"
)

// How long the three rounds of an examination may take. Together they stay below 10 s, whatever hangs.
const (
	configPatience = 2 * time.Second
	daemonPatience = 3 * time.Second
	checkPatience  = 4 * time.Second
)

// A patient is what the earlier rounds learned; checks only read it.
type patient struct {
	*doctorEnv
	cfg    *config.Config // nil when not even the paths are known
	daemon daemonSeen
}

// proc is a file of the daemon's directory in /proc, or of this program's if none answers. A daemon
// may have been given what this program hasn't.
func (p *patient) proc(file string) string {
	if pid := p.daemonPid(); pid != 0 {
		return "/proc/" + strconv.Itoa(pid) + "/" + file
	}
	return "/proc/self/" + file
}

// daemonPid is the pid of the daemon that answers; 0 if none does, or it isn't in this /proc.
func (p *patient) daemonPid() int {
	if p.daemon.state == socketAnswers && p.exists("/proc/"+strconv.Itoa(p.daemon.pid)) {
		return p.daemon.pid
	}
	return 0
}

// A check looks at one thing. It should end when ctx is done; one that doesn't is left behind.
type check struct {
	name string
	run  func(ctx context.Context, p *patient) []finding
}

// checks is the last round, in the order of the report. They run at the same time.
var checks = []check{
	{checkConfig, nil}, // the first round
	{checkData, examineData},
	{checkJournal, examineJournal},
	{checkRun, examineRun},
	{checkDaemon, examineDaemon},
	{checkHTTP, examineHTTP},
	{checkPrograms, examinePrograms},
	{checkTerminal, examineTerminals},
	{checkProc, examineProc},
	{checkPlace, examinePlace},
	{checkService, examineService},
	{checkLogins, examineLogins},
	{checkGPUs, examineGPUs},
	{checkLimits, examineLimits},
	{checkMemory, examineMemory},
	{checkShm, examineShm},
	{checkClocks, examineClocks},
	{checkGit, examineGit},
}

// examine is the whole examination. file is the configuration file, empty for the usual one.
func (e *doctorEnv) examine(ctx context.Context, file string) []finding {
	p := &patient{doctorEnv: e}
	type settled struct {
		cfg      *config.Config
		findings []finding
	}
	var all []finding
	if s, ok := attend(ctx, configPatience, func(context.Context) settled {
		cfg, findings := examineConfig(e, file)
		return settled{cfg, findings}
	}); ok {
		p.cfg, all = s.cfg, s.findings
	} else {
		all = append(all, hangs(checkConfig, configPatience))
	}
	if p.cfg != nil && e.asleep(p.cfg.Paths) {
		p.daemon = daemonSeen{state: socketAsleep} // to call would have systemd start one
	} else if p.cfg != nil {
		seen, ok := attend(ctx, daemonPatience, func(ctx context.Context) daemonSeen { return e.ask(ctx, p.cfg.Paths.Socket) })
		if !ok {
			seen = daemonSeen{state: socketSilent, why: "it does not answer"}
		}
		p.daemon = seen
	}
	results := make([][]finding, len(checks))
	var wg sync.WaitGroup
	for i, c := range checks {
		if c.run == nil {
			continue
		}
		wg.Go(func() {
			var ok bool
			results[i], ok = attend(ctx, checkPatience, func(ctx context.Context) []finding { return c.run(ctx, p) })
			if !ok {
				results[i] = []finding{hangs(c.name, checkPatience)}
			}
		})
	}
	wg.Wait()
	all = append(all, slices.Concat(results...)...)
	place := func(f finding) int { return slices.IndexFunc(checks, func(c check) bool { return c.name == f.Check }) }
	slices.SortStableFunc(all, func(a, b finding) int { return cmp.Compare(place(a), place(b)) })
	return all
}

func hangs(name string, patience time.Duration) finding {
	f := found(hung, "something under it hangs: a network file system that is away, or a driver; `dmesg` may say which",
		"the check did not come back within %s", patience)
	f.Check = name
	return f
}

// attend runs f for as long as patience lasts. An f that is stuck in the kernel can't be stopped, so
// it is left behind, with its result unread; this process won't live much longer.
func attend[T any](ctx context.Context, patience time.Duration, f func(context.Context) T) (result T, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	done := make(chan T, 1)
	go func() { done <- f(ctx) }()
	select {
	case result = <-done:
		return result, true
	case <-ctx.Done():
	}
	// One that ends because ctx is done has something to say; it is given a moment for that.
	moment := time.NewTimer(200 * time.Millisecond)
	defer moment.Stop()
	select {
	case result = <-done:
		return result, true
	case <-moment.C:
		return result, false
	}
}

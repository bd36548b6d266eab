package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"pasar"
	"pasar/config"
	"pasar/ipc"
)

// errNoStart marks a failure after which trying again won't help.
var errNoStart = errors.New("daemon can't be started")

type startError struct{ problem }

func (startError) Is(target error) bool { return target == errNoStart }

// relaunchAfter is how long the daemon to which a started one gave way may take to answer, before another is started.
const relaunchAfter = 250 * time.Millisecond

// start starts pasard, detached from this terminal and session, and connects to it. Of several
// clients that do so at once one's daemon gets the lock; the others' exit with 0 and all find the one.
func (a *app) start(ctx context.Context, cfg *config.Config, none *ipc.Error) (*ipc.Client, error) {
	if !cfg.Autostart {
		return nil, startError{problemf(ipc.CodeNoDaemon, "%s", none.Message).hint("start one with `pasard`; `autostart` is off in the configuration")}
	}
	if inJobOf(a.env, cfg.Paths.Data) {
		// It would be one of the job's processes, and be stopped with the job.
		return nil, problemf(ipc.CodeNoDaemon, "no daemon runs, and none is started from inside a job").hint("any `pasar` command outside starts it; jobs go on meanwhile")
	}
	if client, err := a.startAsService(ctx, cfg); client != nil || err != nil {
		return client, err
	}
	bin, err := findPasard(a.getenv("PATH"))
	if err != nil {
		return nil, startError{problemf(ipc.CodeNoDaemon, "%v", err)}
	}
	ended, log, err := launchDaemon(bin, cfg.Paths.Log, a.env)
	if err != nil {
		return nil, startError{problemf(ipc.CodeNoDaemon, "start the daemon: %v", err)}
	}
	r := retry{limit: reconnectFor}
	var lostAt time.Time // it gave way to another
	for {
		client, err := ipc.Dial(ctx, cfg.Paths.Socket)
		var e *ipc.Error
		if err == nil || errors.As(err, &e) && e.Code != ipc.CodeNoDaemon {
			return client, err
		}
		select {
		case status := <-ended:
			ended = nil
			if status != 0 {
				what, hints := log.failure()
				p := problemf(ipc.CodeNoDaemon, "the daemon ended at once (exit code %d): %s", status, what)
				for _, h := range hints {
					p = p.hint(h)
				}
				return nil, startError{p.hint("its log is " + log.path + "; `pasar doctor` checks the installation")}
			}
			lostAt = time.Now()
		default:
		}
		if ended == nil && time.Since(lostAt) > relaunchAfter { // the other may have been about to end
			if ended, _, err = launchDaemon(bin, cfg.Paths.Log, a.env); err != nil {
				return nil, startError{problemf(ipc.CodeNoDaemon, "start the daemon: %v", err)}
			}
		}
		if !r.pause(ctx) {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if what := log.said(); what != "" { // it lost to another, which doesn't listen here
				return nil, startError{problemf(ipc.CodeNoDaemon, "no daemon answers at %s: %s", cfg.Paths.Socket, what).
					hint("one daemon serves a data directory: use its socket (`PASAR_SOCKET`), or another `XDG_DATA_HOME` or `data_dir`").hint("its log is " + log.path)}
			}
			return nil, startError{problemf(ipc.CodeNoDaemon, "the daemon was started but does not answer: %v", err).hint("its log is " + log.path)}
		}
	}
}

// startAsService has systemd start the daemon where `pasar setup` made it a service. If that doesn't work
// the caller starts one as if there were none: better that than none, and it says what is wrong, too.
func (a *app) startAsService(ctx context.Context, cfg *config.Config) (*ipc.Client, error) {
	if !isService(a.env, cfg.Paths.Socket) {
		return nil, nil
	}
	err := startService(ctx, a.env)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err == nil {
		return ipc.Dial(ctx, cfg.Paths.Socket) // should it fail it is tried again: the service is there
	}
	a.note(fmt.Sprintf("the service pasard doesn't start (%v), so pasard is started without; `pasar doctor` says more", err))
	return nil, nil
}

// inJobOf reports whether this process belongs to a job that the daemon of dataDir runs.
func inJobOf(env []string, dataDir string) bool {
	dir := lookup(env, "PASAR_JOB_DIR")
	return dir != "" && strings.HasPrefix(dir, filepath.Join(dataDir, "jobs")+"/")
}

// findPasard looks beside this program, links resolved, then on the PATH.
func findPasard(path string) (string, error) {
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			if bin := filepath.Join(filepath.Dir(real), "pasard"); isProgram(bin) {
				return bin, nil
			}
		}
	}
	if bin := findProgram("pasard", path); bin != "" {
		return bin, nil
	}
	return "", errors.New("pasard is neither beside pasar nor on the PATH")
}

func isProgram(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular() && fi.Mode().Perm()&0o111 != 0
}

// launchDaemon starts bin in a session of its own with its log appended to a file. Its exit status, -1
// for a signal, comes on the channel.
func launchDaemon(bin, logPath string, env []string) (<-chan int, daemonLog, error) {
	log := daemonLog{path: logPath}
	if err := os.MkdirAll(filepath.Dir(logPath), 0o700); err != nil {
		return nil, log, err
	}
	out, err := os.OpenFile(logPath, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, log, err
	}
	defer out.Close()
	if fi, err := out.Stat(); err == nil {
		log.from = fi.Size()
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, log, err
	}
	defer null.Close()
	p, err := os.StartProcess(bin, []string{"pasard", "--autostart"}, &os.ProcAttr{Dir: "/", Env: env, Files: []*os.File{null, null, out},
		Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return nil, log, err
	}
	ended := make(chan int, 1)
	go func() { // ends with the daemon or with this program
		status := -1
		if st, err := p.Wait(); err == nil {
			status = st.ExitCode()
		}
		ended <- status
	}()
	return ended, log, nil
}

// A daemonLog is where a started daemon logs, and where its part of the file begins.
type daemonLog struct {
	path string
	from int64
}

// errorPrefix begins the line in which pasard says what was wrong; its hints follow it.
const errorPrefix = "pasard: "

// said is what the daemon said last to whoever started it, and the hints that follow; empty if nothing.
func (l daemonLog) said() string {
	what, _ := l.parse()
	return what
}

// failure is why the daemon ended: what it said, else the last line that it logged.
func (l daemonLog) failure() (what string, hints []string) {
	if what, hints = l.parse(); what != "" {
		return what, hints
	}
	lines, err := l.lines()
	switch {
	case err != nil:
		return fmt.Sprintf("its log can't be read: %v", err), nil
	case len(lines) == 0:
		return "it logged nothing", nil
	}
	return pasar.Clean(lines[len(lines)-1]), nil
}

func (l daemonLog) parse() (what string, hints []string) {
	lines, _ := l.lines()
	for _, line := range lines {
		if w, ok := strings.CutPrefix(line, errorPrefix); ok {
			what, hints = pasar.Clean(w), nil
		} else if h, ok := strings.CutPrefix(line, "hint: "); ok && what != "" {
			hints = append(hints, pasar.Clean(h))
		}
	}
	return what, hints
}

// lines is the end of what the daemon logged.
func (l daemonLog) lines() ([]string, error) {
	const most = 64 << 10
	f, err := os.Open(l.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	from := l.from
	if fi, err := f.Stat(); err == nil {
		from = max(from, fi.Size()-most)
	}
	buf := make([]byte, most)
	n, _ := f.ReadAt(buf, from)
	text := strings.TrimSpace(string(buf[:n]))
	if text == "" {
		return nil, nil
	}
	return strings.Split(text, "\n"), nil
}

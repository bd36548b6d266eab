package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"time"

	"pasar"
	"pasar/config"
	"pasar/daemon"
	"pasar/gpu"
	"pasar/gpu/prometheus"
	"pasar/ipc"
	"pasar/local"
	"pasar/store"
)

// placeVariable names the best place to put supervisors in, for tests: systemd, cgroup or session.
const placeVariable = "PASAR_PLACE"

type options struct {
	config    string // file; empty: the usual one
	autostart bool
	level     string
	stderr    io.Writer
}

// serve wires the daemon together and runs it until ctx is done or a client shuts it down.
func serve(ctx context.Context, o options) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.level)); err != nil {
		return &exitError{exitUsage, fmt.Errorf("bad --log %q: write debug, info, warn or error", pasar.Clean(o.level)), ""}
	}
	stderr, isFile := o.stderr.(*os.File)
	log := newLog(o.stderr, level, isFile && ownStream(os.Getenv("JOURNAL_STREAM"), stderr))
	tell := newNotifier(o.autostart, log)
	if o.config != "" {
		abs, err := filepath.Abs(o.config) // before the chdir
		if err != nil {
			return &exitError{exitInput, err, ""}
		}
		o.config = abs
	}
	cfg, err := config.Load(o.config, os.Getenv)
	if err != nil {
		return &exitError{exitInput, err, "`pasar config --check FILE` checks one"}
	}
	// The daemon holds no directory busy, and makes nothing that others could read.
	if err := os.Chdir("/"); err != nil {
		return fmt.Errorf("chdir: %w", err)
	}
	given := syscall.Umask(0o077)
	protectFromOOM()
	signal.Ignore(syscall.SIGPIPE)

	st, err := store.Open(cfg.Paths.Data)
	if err != nil {
		return openError(err, cfg.Paths.Data, o)
	}
	defer func() {
		if err := st.Close(); err != nil {
			log.Warn("close store", "error", err)
		}
	}()
	l, err := takeSocket(cfg.Paths)
	forgetService()
	if err != nil {
		return socketError(err, o)
	}
	defer l.release(cfg.Paths.Socket)
	defer leadHere(cfg.Paths, log)()

	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find myself: %w", err)
	}
	sup, err := findSupervisor(self)
	if err != nil {
		return &exitError{exitRefused, err, "install it beside pasard, or in ../libexec/pasar"}
	}
	whose := &attribution{}
	meter := newMeter(cfg, whose, log)
	defer meter.Close()
	past := gpu.OpenHistory(cfg.Paths.GPUHistory(), time.Now(), log)
	defer past.Close() // once nothing reads any more
	machine, err := local.New(local.Options{
		Discover: meter.Devices,

		DataDir: cfg.Paths.Data, RunDir: cfg.Paths.Run, Supervisor: sup, Socket: cfg.Paths.Socket,
		SystemReserve: askedReserve(cfg), CPUJobs: cfg.CPUJobs, Log: log,
		Place: pasar.Place(os.Getenv(placeVariable)),
	})
	if err != nil {
		return fmt.Errorf("set up this machine: %w", err)
	}
	defer machine.Close()
	whose.machine = machine

	re := &reloader{file: o.config, cfg: cfg, tell: tell}
	pages := newWeb(cfg, re.now, log)
	deps := daemon.Deps{
		Journal: journal{st}, History: journal{st}, Target: machine, Meter: remembered{meter, past}, Past: past, Longer: prometheus.NewClient(), Clock: systemClock{},
		Boot: bootID(), Random: rand.Text, ReadGit: gitReader(), Certify: daemon.CertifyIn(cfg.Paths.Data), Reports: reportsIn(cfg.Paths.Jobs()), Usage: usageFiles(cfg.Paths.Jobs()), Log: log, Reload: re.reload,
		Surround: func(dir string, noEnv bool, add []pasar.Arg) (pasar.Surroundings, string, error) {
			return surround(dir, noEnv, add, given)
		},
		Quiet: debug.FreeOSMemory, // a machine's memory belongs to its jobs
		User:  userName(), UID: os.Geteuid(), Pid: os.Getpid(), DataDir: cfg.Paths.Data, Socket: cfg.Paths.Socket,
	}
	if pages != nil {
		deps.Web = pages
	}
	d, err := daemon.New(ctx, deps, settings(cfg))
	if err != nil {
		return &exitError{exitRefused, err, "the data directory is as it was; nothing was started"}
	}
	re.apply = func(next *config.Config) {
		d.SetSettings(settings(next))
		meter.Exclude(next.GPUExclude)
		machine.Replace()
	}
	stopHUP := onHUP(re, log)
	defer stopHUP()

	sctx, stopServing := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	srv := &ipc.Server{Handler: d.Serve, Log: log, Version: pasar.Version, UID: os.Geteuid()}
	serve := func(l net.Listener) {
		wg.Go(func() {
			if err := srv.Serve(sctx, l); err != nil && !errors.Is(err, net.ErrClosed) {
				log.Error("serve", "error", err)
			}
		})
	}
	serve(l)
	wg.Go(func() { guardSocket(sctx, cfg.Paths, l, guardEvery, log, serve) })
	log.Info("pasard is up", "version", pasar.Version, "pid", os.Getpid(), "socket", cfg.Paths.Socket)
	wg.Go(func() { tell.run(sctx, d) })
	if pages != nil {
		wg.Go(func() { pages.Serve(sctx) })
	}
	defer context.AfterFunc(ctx, tell.stopping)()
	err = d.Run(ctx)
	tell.stopping() // a client may have asked for it
	stopServing()
	wg.Wait()
	log.Info("pasard is down; jobs go on")
	return err
}

// openError is the exit for a store that can't be opened. For a daemon that a client started, losing
// the race to another is no failure; the client reads who won, should that one not listen where it asks.
func openError(err error, data string, o options) error {
	var locked *store.LockedError
	if errors.As(err, &locked) && o.autostart {
		who := "another pasard"
		if locked.Pid != 0 {
			who += fmt.Sprintf(" (pid %d)", locked.Pid)
		}
		_, _ = fmt.Fprintf(o.stderr, "pasard: %s serves %s\n", who, data)
		return nil
	}
	e := &exitError{code: exitRefused, err: err}
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		e.hint = h.Hint()
	}
	return e
}

// socketError is the exit for a socket that can't be had. A daemon that a client started gives way to
// systemd's as to any other.
func socketError(err error, o options) error {
	var held *heldError
	switch {
	case errors.As(err, &held) && o.autostart:
		_, _ = fmt.Fprintf(o.stderr, "pasard: %v\n", err)
		return nil
	case errors.As(err, &held):
		return &exitError{exitRefused, err, "`systemctl --user start pasard`, or `systemctl --user stop pasard.socket` first"}
	}
	return &exitError{exitRefused, err, "set PASAR_SOCKET to a path in a directory of your own, or XDG_RUNTIME_DIR to one; `pasar setup` writes systemd's anew"}
}

// listen binds the daemon's socket. The store's lock is held, so a socket that is there is dead.
func listen(p config.Paths) (*net.UnixListener, error) {
	if err := os.MkdirAll(filepath.Dir(p.Socket), 0o700); err != nil {
		return nil, fmt.Errorf("make %s: %w", filepath.Dir(p.Socket), err)
	}
	if err := os.MkdirAll(p.Run, 0o700); err != nil {
		return nil, fmt.Errorf("make %s: %w", p.Run, err)
	}
	if to, err := os.Readlink(p.Socket); err == nil && filepath.Base(to) == filepath.Base(p.Socket) {
		_ = os.Remove(p.Socket) // an earlier daemon's: see leadHere
	}
	return ipc.ListenUnix(p.Socket)
}

// findSupervisor looks in ../libexec/pasar and beside the daemon.
func findSupervisor(self string) (string, error) { return findBeside(self, "pasar-supervisor") }

// findBeside is the path of another of pasar's programs: in ../libexec/pasar or beside this one.
func findBeside(self, name string) (string, error) {
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	dir := filepath.Dir(self)
	for _, p := range []string{filepath.Join(dir, "..", "libexec", "pasar", name), filepath.Join(dir, name)} {
		if fi, err := os.Stat(p); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
			return filepath.Clean(p), nil
		}
	}
	return "", fmt.Errorf("%s not found in %s or beside pasard", name, filepath.Join(filepath.Dir(dir), "libexec", "pasar"))
}

// askedReserve is the reserve that was set; 0 leaves it to the machine's size.
func askedReserve(cfg *config.Config) pasar.Bytes {
	if cfg.Source("system_reserve") == config.Default {
		return 0
	}
	return cfg.SystemReserve
}

// protectFromOOM makes the kernel take anything before the daemon when memory runs out, where it has
// the capability; jobs then get 0 from their supervisors.
func protectFromOOM() {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("-900"), 0)
}

func gitReader() daemon.GitReader {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil
	}
	return daemon.ReadGitWith(git)
}

func userName() string {
	uid := os.Geteuid()
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return strconv.Itoa(uid)
}

// A reloader reads the configuration again and applies what can change while running.
type reloader struct {
	file  string
	apply func(*config.Config)
	tell  *notifier

	mu  sync.Mutex // guards cfg
	cfg *config.Config
}

// now is the configuration as it was last read.
func (r *reloader) now() *config.Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cfg
}

func (r *reloader) reload() (changed, restart []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.tell.reloading()()
	next, err := config.Load(r.file, os.Getenv)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range config.Diff(r.cfg, next) {
		line := fmt.Sprintf("%s: %s → %s", c.Key, c.Old, c.New)
		if c.Live {
			changed = append(changed, line)
		} else {
			restart = append(restart, line)
		}
	}
	r.cfg = next
	r.apply(next)
	return changed, restart, nil
}

// onHUP reloads the configuration on SIGHUP until the returned function is called.
func onHUP(r *reloader, log *slog.Logger) func() {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-hup:
				changed, restart, err := r.reload()
				if err != nil {
					log.Error("configuration not reloaded; the old one stays", "error", err)
					continue
				}
				log.Info("configuration reloaded", "changed", changed, "needs a restart", restart)
			}
		}
	})
	return func() { signal.Stop(hup); close(done); wg.Wait() }
}

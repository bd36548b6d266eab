package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"pasar"
	"pasar/config"
	"pasar/ipc"
)

// install writes the units and has systemd run them. What was done before an error stays: to run it again
// goes on from there.
func (s *setup) install(ctx context.Context) error {
	before, err := s.load()
	if err != nil {
		return &exitError{exitInput, err, "`pasar config --check FILE` checks one"}
	}
	program := unitProgram(s.self, s.env("PATH"))
	if err := s.checkProgram(program); err != nil {
		return err
	}
	cfg, err := s.settleLinger(ctx, before)
	if err != nil {
		return err
	}
	want, err := s.service(program, cfg)
	if err != nil {
		return err
	}
	files, err := planFiles(s.unitDir(), want.units())
	if err != nil {
		return &exitError{exitRefused, err, ""}
	}
	s.out.Program, s.out.Socket, s.out.Files, s.out.Linger = &program, cfg.Paths.Socket, files, s.lingers()
	if s.dryRun {
		s.printUnits()
	}
	if f := foreign(files); f != nil && !s.force {
		return s.refuseForeign(f)
	}
	if err := s.check(ctx, s.unitDir()); err != nil || s.dryRun {
		return err
	}
	if err := apply(files); err != nil {
		return &exitError{exitRefused, err, ""}
	}
	s.tellFiles(files, want)
	if _, err := s.systemctl(ctx, "daemon-reload"); err != nil {
		return s.failed(ctx, "have systemd read the units", err)
	}
	if done, err := s.running(ctx, cfg, files); done || err != nil {
		return err
	}
	return s.start(ctx, want, before, cfg)
}

// checkProgram refuses a pasard that couldn't be a service.
func (s *setup) checkProgram(program string) error {
	if why := passingPlace(program); why != "" && !s.force {
		return &exitError{exitRefused, errors.New(why + ": the service would break when it goes"),
			"`make install`, then run `pasar setup` of what was installed; --force takes it as it is"}
	}
	if err := checkUnitPath("the path of pasard", program); err != nil {
		return &exitError{exitRefused, err, "install pasar in another directory"}
	}
	if _, err := findSupervisor(program); err != nil {
		return &exitError{exitRefused, err, "install it beside pasard, or in ../libexec/pasar"}
	}
	return nil
}

// settleLinger sees to it that linger is on. Without, the user's systemd ends at the last logout and takes
// the service and every job in it along, which a pasard that a command started wouldn't do: so the service
// would be the worse. The configuration is read again, since the socket's place depends on it.
func (s *setup) settleLinger(ctx context.Context, cfg *config.Config) (*config.Config, error) {
	if !s.exists("/run/systemd/system") {
		return nil, s.check(ctx, s.unitDir())
	}
	if s.lingers() {
		return cfg, nil
	}
	why := fmt.Errorf("linger is off for %s: the service and every job would be killed at the last logout", s.user)
	switch {
	case s.dryRun:
		s.note("linger is off; `pasar setup --linger` turns it on, without it nothing is installed")
		return cfg, nil
	case !s.linger:
		return nil, &exitError{exitRefused, why, "`pasar setup --linger` turns it on, as `loginctl enable-linger` does; without a service jobs outlive a logout as they are"}
	}
	if err := s.enableLinger(ctx); err != nil {
		return nil, &exitError{exitRefused, fmt.Errorf("%w, and it can't be turned on: %w", why, err),
			"have an administrator run `sudo loginctl enable-linger " + s.user + "`, then `pasar setup` again"}
	}
	s.note("linger is on for " + s.user + " (`loginctl disable-linger` turns it off)")
	next, err := s.load()
	if err != nil {
		return nil, &exitError{exitInput, err, ""}
	}
	return next, s.awaitManager(ctx)
}

// awaitManager waits for a systemd that linger has just had started.
func (s *setup) awaitManager(ctx context.Context) error {
	for range 100 {
		if _, err := s.systemctl(ctx, "show", "--property=Version"); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil // check says what is wrong
}

// service is what the units are to say.
func (s *setup) service(program string, cfg *config.Config) (service, error) {
	env := s.env
	plain, err := config.Load(cfg.Paths.Config, func(k string) string {
		if k == "PASAR_SOCKET" {
			return ""
		}
		return env(k)
	})
	usual := cfg.Paths.Socket
	if err == nil {
		usual = plain.Paths.Socket
	}
	kept, err := keptEnv(env, s.home, usual)
	if err != nil {
		return service{}, &exitError{exitInput, err, ""}
	}
	for _, kv := range kept {
		k, v, _ := strings.Cut(kv, "=")
		s.out.Environment[k] = v
	}
	if err := checkUnitPath("the socket's path", cfg.Paths.Socket); err != nil {
		return service{}, &exitError{exitRefused, err, "set PASAR_SOCKET to another"}
	}
	return service{program: program, socket: cfg.Paths.Socket, env: kept}, nil
}

func (s *setup) refuseForeign(f *unitFile) error {
	if f.old == "\x00" {
		return &exitError{exitRefused, fmt.Errorf("%s is a link or a masked unit, not a file of setup's", f.Path),
			"move it away (`systemctl --user unmask` if it is masked); --force replaces it"}
	}
	return &exitError{exitRefused, fmt.Errorf("%s was changed by hand", f.Path),
		"keep your changes in a drop-in (`systemctl --user edit " + serviceUnit + "`), which setup never touches; --force replaces the file"}
}

func (s *setup) tellFiles(files []*unitFile, want service) {
	for _, f := range files {
		if f.State != fileAbsent {
			s.tell(f.State + " " + f.Path)
		}
	}
	for _, kv := range want.env {
		s.tell("the service keeps " + kv + " from this environment")
	}
	if !want.listens() {
		s.note(fmt.Sprintf("systemd can't listen at %s, which is longer than %d bytes: the daemon does by itself", want.socket, socketMax))
	}
}

// running is whether the service runs already, just so.
func (s *setup) running(ctx context.Context, cfg *config.Config, files []*unitFile) (bool, error) {
	if changes(files) {
		return false, nil
	}
	u, err := s.show(ctx, serviceUnit)
	if err != nil || u.active != "active" || u.enabled != "enabled" || u.pid == 0 {
		return false, nil
	}
	if files[1].Text != "" {
		if l, err := s.show(ctx, socketUnit); err != nil || l.active != "active" || l.enabled != "enabled" {
			return false, nil
		}
	}
	d, err := s.call(ctx, cfg.Paths.Socket)
	if err != nil {
		return false, nil
	}
	defer d.close()
	pid, version := d.who()
	if pid != u.pid || version != pasar.Version {
		return false, nil
	}
	s.tell(fmt.Sprintf("pasard %s runs as a service already (pid %d)", version, pid))
	s.out.Daemon = &setupDaemonView{pid, version}
	return true, nil
}

// handOvers bounds how often a daemon that a client starts in between is asked to give way.
const handOvers = 3

// start has whatever daemon runs give way, and systemd start its own.
func (s *setup) start(ctx context.Context, want service, before, cfg *config.Config) error {
	units := []string{socketUnit, serviceUnit}
	if !want.listens() {
		units = units[1:]
	}
	if _, err := s.systemctl(ctx, append([]string{"enable"}, units...)...); err != nil {
		return s.failed(ctx, "enable the units", err)
	}
	// One that is of an older file, or listens elsewhere, gives way first. It may not be there.
	_, _ = s.systemctl(ctx, "stop", socketUnit, serviceUnit)
	_, _ = s.systemctl(ctx, "reset-failed", socketUnit, serviceUnit)
	var err error
	for range handOvers {
		if err = s.handOver(ctx, before.Paths, cfg.Paths); err != nil {
			return err
		}
		if _, err = s.systemctl(ctx, append([]string{"start"}, units...)...); err == nil || ctx.Err() != nil {
			break
		}
		if held, _, lerr := lockHeld(cfg.Paths.Data); lerr != nil || !held {
			break
		}
		_, _ = s.systemctl(ctx, "stop", socketUnit, serviceUnit)
	}
	if err != nil {
		return s.failed(ctx, "start the service", err)
	}
	d, err := s.call(ctx, cfg.Paths.Socket)
	if err != nil {
		return s.failed(ctx, "reach the service", err)
	}
	defer d.close()
	pid, version := d.who()
	s.out.Daemon = &setupDaemonView{pid, version}
	s.tell(fmt.Sprintf("pasard %s runs as a service (pid %d), and will at boot; `systemctl --user status pasard` shows it", version, pid))
	return nil
}

// handOver ends the daemon that has the data directory, if there is one, wherever it listens. Its jobs go
// on.
func (s *setup) handOver(ctx context.Context, places ...config.Paths) error {
	data := places[0].Data
	held, pid, err := lockHeld(data)
	if err != nil {
		return &exitError{exitRefused, err, ""}
	}
	if !held {
		return nil
	}
	for _, socket := range sockets(places) {
		d, err := s.call(ctx, socket)
		if err != nil {
			continue
		}
		who, _ := d.who()
		err = d.shutdown(ctx)
		d.close()
		if err != nil {
			return &exitError{exitRefused, fmt.Errorf("have the daemon (pid %d) hand over: %w", who, err), "`pasar shutdown`, then `pasar setup` again"}
		}
		if err := awaitLock(ctx, data); err != nil {
			return &exitError{exitRefused, fmt.Errorf("the daemon (pid %d) was told to end and is still there", who),
				fmt.Sprintf("`kill -9 %d` (jobs go on), then `pasar setup` again", who)}
		}
		s.out.HandedOver = &who
		s.tell(fmt.Sprintf("the daemon that ran (pid %d) has handed over; jobs go on", who))
		return nil
	}
	return &exitError{exitRefused, fmt.Errorf("another pasard (pid %d) serves %s and doesn't answer at %s", pid, data, places[0].Socket),
		fmt.Sprintf("`kill %d` (jobs go on), then `pasar setup` again", pid)}
}

// sockets are where a daemon of these paths may listen, each once.
func sockets(places []config.Paths) []string {
	var out []string
	seen := map[string]bool{}
	for _, p := range places {
		for _, s := range []string{p.Socket, p.OtherSocket} {
			if s != "" && !seen[s] {
				seen[s] = true
				out = append(out, s)
			}
		}
	}
	return out
}

// awaitLock waits until nobody has the data directory.
func awaitLock(ctx context.Context, data string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		held, _, err := lockHeld(data)
		if err != nil || !held {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond): // a lock can't be waited for with a limit
		}
	}
}

// failed words what systemd couldn't do, with the service's own reason where it told one.
func (s *setup) failed(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if said := s.said(ctx); said != "" {
		err = errors.New(said)
	}
	return &exitError{exitRefused, fmt.Errorf("%s: %w", what, err),
		"`systemctl --user status pasard` and `journalctl --user -u pasard` say more; `pasar setup --uninstall` takes it all back"}
}

// calledDaemon is a daemon over its socket.
type calledDaemon struct{ *ipc.Client }

func callDaemon(ctx context.Context, socket string) (daemonCall, error) {
	c, err := ipc.Dial(ctx, socket)
	if err != nil {
		return nil, err
	}
	return calledDaemon{c}, nil
}

func (d calledDaemon) who() (int, string) { return d.DaemonPid, d.DaemonVersion }
func (d calledDaemon) close()             { _ = d.Close() }

func (d calledDaemon) shutdown(ctx context.Context) error {
	err := d.Shutdown(ctx)
	var e *ipc.Error
	if errors.As(err, &e) && (e.Code == ipc.CodeNoDaemon || e.Code == ipc.CodeInterrupted) && ctx.Err() == nil {
		return nil // it was quicker than its answer
	}
	if errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	return err
}

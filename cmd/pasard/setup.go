package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"pasar"
	"pasar/config"
	"pasar/ipc"
)

const setupUsage = `pasard setup makes pasard a service of your own systemd: it is there at boot, comes back when it dies, and
logs to the journal. It writes pasard.service and pasard.socket into ~/.config/systemd/user and starts them. A
daemon that runs already hands over; jobs don't notice.

usage: pasar setup [flags]

exit codes: 0 done, 64 bad arguments, 65 a bad configuration, 70 not possible here, with the reason

`

// A setup is one run of `pasard setup`: what was asked for, and what it asks of the machine.
type setup struct {
	dryRun, uninstall, linger, force bool

	*serviceManager
	home string // where the passwd file has it
	self string // this program, links resolved
	load func() (*config.Config, error)
	call func(ctx context.Context, socket string) (daemonCall, error)
	tell func(line string) // a step that was done

	out setupView
}

// A daemonCall is a connection to a daemon.
type daemonCall interface {
	who() (pid int, version string)
	shutdown(context.Context) error
	close()
}

// setupView is the answer in JSON.
type setupView struct {
	Schema      int               `json:"schema"`
	Action      string            `json:"action"` // install, uninstall
	DryRun      bool              `json:"dry_run"`
	Program     *string           `json:"program"`
	Socket      string            `json:"socket"`
	Linger      bool              `json:"linger"`
	Environment map[string]string `json:"environment"`
	Files       []*unitFile       `json:"files"`
	HandedOver  *int              `json:"handed_over"` // pid of the daemon that gave way
	Daemon      *setupDaemonView  `json:"daemon"`      // that runs now
	Notes       []string          `json:"notes"`
}

type setupDaemonView struct {
	Pid     int    `json:"pid"`
	Version string `json:"version"`
}

// setupCommand is `pasard setup`.
func setupCommand(ctx context.Context, args []string, stdout io.Writer) error {
	s := &setup{serviceManager: thisManager(), call: callDaemon, load: func() (*config.Config, error) { return config.Load("", os.Getenv) }}
	fs := pflag.NewFlagSet("setup", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.SortFlags = false
	fs.BoolVar(&s.uninstall, "uninstall", false, "stop and remove the service; jobs go on, and commands start the daemon again")
	fs.BoolVar(&s.linger, "linger", false, "turn linger on, so that the service and jobs outlive the last logout")
	fs.BoolVar(&s.dryRun, "dry-run", false, "print what would be written, and change nothing")
	fs.BoolVar(&s.force, "force", false, "replace units that somebody changed; allow a pasard in a temporary or build directory")
	asJSON := fs.Bool("json", false, "answer in JSON")
	fs.Usage = func() { fmt.Fprint(stdout, setupUsage, "flags:\n", fs.FlagUsages()) }
	err := fs.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return err
	case err != nil:
		*asJSON = slices.Contains(args, "--json")
		err = &exitError{exitUsage, errors.New(pasar.Clean(err.Error())), "`pasar setup --help` lists the flags"}
	case fs.NArg() > 0:
		err = &exitError{exitUsage, fmt.Errorf("setup takes no arguments; got %q", pasar.Clean(fs.Arg(0))), ""}
	case s.uninstall && s.linger:
		err = &exitError{exitUsage, errors.New("--linger goes with installing"), "`loginctl disable-linger` turns it off"}
	default:
		s.tell = func(line string) {
			if !*asJSON {
				_, _ = fmt.Fprintln(stdout, pasar.Clean(line))
			}
		}
		err = s.begin(ctx)
	}
	if !*asJSON {
		return err
	}
	return s.answer(stdout, err)
}

// begin finds its surroundings and does what was asked for.
func (s *setup) begin(ctx context.Context) error {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return fmt.Errorf("find myself: %w", err)
	}
	s.self = self
	if u, err := user.Current(); err == nil {
		s.home = u.HomeDir
	}
	if h := s.env("HOME"); filepath.IsAbs(h) {
		s.home = filepath.Clean(h)
	}
	return s.do(ctx)
}

func (s *setup) do(ctx context.Context) error {
	s.out = setupView{Schema: pasar.Schema, Action: "install", DryRun: s.dryRun, Environment: map[string]string{}, Notes: []string{}}
	unlock, err := func() (func(), error) {
		if s.dryRun {
			return func() {}, nil
		}
		return lockUnits(s.unitDir())
	}()
	if err != nil {
		return &exitError{exitRefused, err, ""}
	}
	defer unlock()
	if s.uninstall {
		s.out.Action = "uninstall"
		return s.remove(ctx)
	}
	return s.install(ctx)
}

func (s *setup) unitDir() string { return unitDir(s.home) }

func (s *setup) note(line string) {
	s.out.Notes = append(s.out.Notes, line)
	s.tell(line)
}

// answer writes the view, or the error, as one line of JSON.
func (s *setup) answer(w io.Writer, failed error) error {
	var v any = s.out
	var e *exitError
	if failed != nil {
		if !errors.As(failed, &e) {
			e = &exitError{code: exitRefused, err: failed}
		}
		code := map[int]ipc.Code{exitUsage: ipc.CodeUsage, exitInput: ipc.CodeBadInput}[e.code]
		if code == "" {
			code = ipc.CodeUnavailable
		}
		type errorView struct {
			Code    ipc.Code `json:"code"`
			Message string   `json:"message"`
			Hint    *string  `json:"hint"`
		}
		v = struct {
			Schema int       `json:"schema"`
			Error  errorView `json:"error"`
		}{pasar.Schema, errorView{code, pasar.Clean(e.Error()), pasar.Known(pasar.Clean(e.hint))}}
	}
	b, err := json.Marshal(v)
	if err == nil {
		_, err = w.Write(append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("print answer: %w", err)
	}
	if failed != nil {
		return &exitError{e.code, errTold, ""}
	}
	return nil
}

// printUnits shows what would be written.
func (s *setup) printUnits() {
	for _, f := range s.out.Files {
		switch f.State {
		case fileUnchanged:
			s.tell(f.Path + " is as it would be written")
		case fileWritten, fileUpdated:
			s.tell("# " + f.Path)
			for line := range strings.SplitSeq(strings.TrimSuffix(f.Text, "\n"), "\n") {
				s.tell(line)
			}
			s.tell("")
		case fileRemoved:
			s.tell(f.Path + " would be removed")
		}
	}
}

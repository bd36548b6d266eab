package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"pasar"
	"pasar/ipc"
)

func reloadCommand() *command {
	return &command{
		name: "reload", section: sectionMachine, brief: "have the daemon read its configuration again",
		long:     "A bad file changes nothing. What can't change while the daemon runs is named.",
		examples: []example{{"pasar reload", "after editing the file that `pasar config` names"}},
		setup: func(*flags) action {
			return func(ctx context.Context, c *call) error {
				if err := c.noArgs(); err != nil {
					return err
				}
				if err := c.connectOnly(ctx); err != nil {
					return err
				}
				ans, err := c.client.Reload(ctx)
				if err != nil {
					return err
				}
				if c.json {
					return c.printJSON(struct {
						Schema  int      `json:"schema"`
						Changed []string `json:"changed"`
						Restart []string `json:"restart"`
					}{pasar.Schema, notNil(ans.Changed), notNil(ans.Restart)})
				}
				switch {
				case len(ans.Changed)+len(ans.Restart) == 0:
					return c.print("nothing changed\n")
				case len(ans.Changed) > 0:
					err = c.print("changed: " + strings.Join(ans.Changed, ", ") + "\n")
				}
				if err == nil && len(ans.Restart) > 0 {
					err = c.print("at the daemon's next start (`pasar shutdown`; jobs go on): " + strings.Join(ans.Restart, ", ") + "\n")
				}
				return err
			}
		},
	}
}

func notNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func shutdownCommand() *command {
	return &command{
		name: "shutdown", section: sectionMachine, brief: "end the daemon; jobs go on",
		long:     "Running jobs go on without it, waiting ones stay queued. The next command that needs a daemon starts one, or has systemd do so after `pasar setup`.",
		examples: []example{{"pasar shutdown", "before an upgrade, for instance"}},
		setup: func(*flags) action {
			return func(ctx context.Context, c *call) error {
				if err := c.noArgs(); err != nil {
					return err
				}
				err := c.connectOnly(ctx)
				var e *ipc.Error
				switch {
				case errors.As(err, &e) && e.Code == ipc.CodeNoDaemon && !isCut(err):
					return c.ended("no daemon runs", 0)
				case err != nil:
					return err
				}
				pid := c.client.DaemonPid
				if c.far != nil {
					return c.shutdownAfar(ctx)
				}
				err = c.client.Shutdown(ctx)
				if errors.As(err, &e) && (e.Code == ipc.CodeNoDaemon || e.Code == ipc.CodeInterrupted) && ctx.Err() == nil {
					err = nil // it was quicker than its answer
				}
				if err != nil {
					return err
				}
				if err := c.awaitEnd(ctx, pid); err != nil {
					return err
				}
				text := "the daemon has ended; jobs go on"
				if cfg, err := c.config(); err == nil && isService(c.env, cfg.Paths.Socket) {
					text += "\nsystemd starts it at the next command; `systemctl --user stop pasard.socket` keeps it down"
				}
				return c.ended(text, pid)
			}
		},
	}
}

// shutdownAfar has the daemon of another machine end. Its process can't be watched from here; its answer is that it ends.
func (c *call) shutdownAfar(ctx context.Context) error {
	err := c.client.Shutdown(ctx)
	var e *ipc.Error
	if errors.As(err, &e) && (e.Code == ipc.CodeNoDaemon || e.Code == ipc.CodeInterrupted) && !isCut(err) && ctx.Err() == nil {
		err = nil // it was quicker than its answer
	}
	if err != nil {
		return err
	}
	return c.ended("the daemon of "+c.far.Name+" was told to end; jobs go on", c.client.DaemonPid)
}

func (c *call) ended(text string, pid int) error {
	if c.json {
		return c.printJSON(struct {
			Schema int  `json:"schema"`
			Pid    *int `json:"pid"`
		}{pasar.Schema, pasar.Known(pid)})
	}
	return c.print(text + "\n")
}

// awaitEnd waits until the process is gone, so that what comes next doesn't meet its last moments.
func (c *call) awaitEnd(ctx context.Context, pid int) error {
	r := retry{limit: 2 * reconnectFor}
	for syscall.Kill(pid, 0) == nil && !isZombie(pid) {
		if !r.pause(ctx) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return problemf(ipc.CodeUnavailable, "the daemon (pid %d) was told to end and is still there", pid)
		}
	}
	return nil
}

// isZombie reports whether a process has ended and only waits for its parent to notice.
func isZombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	i := strings.LastIndexByte(string(b), ')') // the name before it may hold anything
	return i >= 0 && i+2 < len(b) && b[i+2] == 'Z'
}

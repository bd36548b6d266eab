package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"pasar"
	"pasar/answer"
	"pasar/config"
	"pasar/ipc"
	"pasar/ui/web"
)

// newWeb makes the HTTP side: a client of this daemon's socket like any other. Nil if it is turned off, or can't be
// had: jobs don't depend on it. now is the configuration after the last reload.
func newWeb(cfg *config.Config, now func() *config.Config, log *slog.Logger) *web.Server {
	if len(cfg.Addresses()) == 0 {
		return nil
	}
	dial := func(ctx context.Context) (*ipc.Client, error) { return ipc.Dial(ctx, cfg.Paths.Socket) }
	s, err := web.New(web.Options{
		Dial: dial, Connect: func(context.Context) (net.Conn, error) { return connect(cfg.Paths.Socket) },
		Attach: func(ctx context.Context, job pasar.JobID, attempt int) (net.Conn, error) {
			return attach(ctx, dial, job, attempt)
		},
		Addresses: cfg.Addresses(), Listen: cfg.Listeners(), Hosts: cfg.AllowedHosts, UID: os.Geteuid(),
		TokenFile: filepath.Join(cfg.Paths.Data, "token"), Mascots: func() string { return mascots(now()) },
		Now: time.Now, Log: log,
	})
	if err != nil {
		log.Warn("HTTP is not served", "error", err)
		return nil
	}
	return s
}

// mascots is where pictures for the mascot are; the usual place need not be there.
func mascots(cfg *config.Config) string {
	if cfg.Source("mascot_dir") == config.Default {
		if _, err := os.Stat(cfg.MascotDir); errors.Is(err, fs.ErrNotExist) {
			return ""
		}
	}
	return cfg.MascotDir
}

// connect connects to this daemon's own socket.
func connect(socket string) (net.Conn, error) {
	nc, err := ipc.DialUnix(socket, ipc.GreetTimeout)
	var e *ipc.Error
	if err != nil && !errors.As(err, &e) {
		return nil, &ipc.Error{Code: ipc.CodeNoDaemon, Message: fmt.Sprintf("connect to %s: %v", socket, err)}
	}
	return nc, err
}

// attach connects to the supervisor of an attempt, which must be the job's present one; 0 is that one.
func attach(ctx context.Context, dial func(context.Context) (*ipc.Client, error), job pasar.JobID, attempt int) (net.Conn, error) {
	c, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	a, err := c.Attach(ctx, ipc.AttachRequest{Job: job})
	switch {
	case err != nil:
		return nil, err
	case attempt > a.Attempt:
		return nil, &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("job #%d has no attempt %d; it had %d", job, attempt, a.Attempt)}
	case attempt > 0 && attempt < a.Attempt:
		return nil, &ipc.Error{Code: ipc.CodeWrongState, Message: fmt.Sprintf("attempt %d of job #%d is over: it has no terminal any more", attempt, job),
			Hint: fmt.Sprintf("`pasar logs --attempt %d %d` shows its output", attempt, job)}
	case a.Socket == "":
		return nil, answer.NotAttachable(job, a.State)
	}
	nc, err := ipc.DialUnix(a.Socket, time.Second)
	if err != nil {
		return nil, &ipc.Error{Code: ipc.CodeUnavailable, Message: fmt.Sprintf("attach to job #%d: %v", job, err),
			Hint: fmt.Sprintf("it may just have ended: `pasar show %d`", job)}
	}
	return nc, nil
}

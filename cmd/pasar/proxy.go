package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"pasar"
	"pasar/answer"
	"pasar/ipc"
	"pasar/remote"
)

// proxyCommand is the far end of PASAR_URL=ssh://…: what a pasar elsewhere has ssh run here.
func proxyCommand() *command {
	return &command{
		name: "proxy", brief: "connect standard input and output to the daemon, or to a job's supervisor",
		long: `A pasar elsewhere has ssh run it, where PASAR_URL is ssh://HOST. After one line that says whether it worked, bytes pass
both ways until either side ends.`,
		examples: []example{{"PASAR_URL=ssh://box pasar ls", "runs `ssh box pasar proxy`"}},
		setup: func(f *flags) action {
			job := f.number("job", "", "connect to the supervisor of this job, by its number", 1, 1<<53)
			attempt := f.number("attempt", "", "of this attempt of the job, from 1; else the latest", 1, 1<<31)
			noStart := f.Bool("no-start", false, "start no daemon")
			return func(ctx context.Context, c *call) error {
				if err := c.noArgs(); err != nil {
					return err
				}
				c.here, c.noStart = true, *noStart
				c.env = withoutURL(c.env) // else a daemon that is started would hand it to jobs
				nc, err := c.errand(ctx, pasar.JobID(*job), int(*attempt))
				if err != nil {
					return c.greetFailed(err)
				}
				defer nc.Close()
				if err := remote.Greet(c.stdout, nil); err != nil {
					return err
				}
				if err := c.stdout.Flush(); err != nil {
					return err
				}
				return relay(ctx, nc, c.stdin, c.stdout)
			}
		},
	}
}

func withoutURL(env []string) []string {
	var out []string
	for _, kv := range env {
		if !strings.HasPrefix(kv, urlVariable+"=") {
			out = append(out, kv)
		}
	}
	return out
}

// greetFailed tells the near end why there is nothing to pass on, and exits as the error says.
func (c *call) greetFailed(err error) error {
	var e *ipc.Error
	if !errors.As(err, &e) {
		e = &ipc.Error{Code: ipc.CodeInternal, Message: err.Error()}
	}
	if werr := remote.Greet(c.stdout, e); werr != nil {
		return werr
	}
	if n, ok := exitCodes[e.Code]; ok {
		return exit(n)
	}
	return exit(exitRefused)
}

// errand connects to the socket that is asked for.
func (c *call) errand(ctx context.Context, job pasar.JobID, attempt int) (net.Conn, error) {
	err := c.connect(ctx)
	if job == 0 {
		if err != nil {
			return nil, err
		}
		return dialed(ipc.DialUnix(c.reached, ipc.GreetTimeout))
	}
	if err == nil {
		ans, err := c.client.Attach(ctx, ipc.AttachRequest{Job: job})
		switch {
		case err != nil:
			return nil, err
		case ans.Socket == "":
			return nil, answer.NotAttachable(job, ans.State)
		case attempt != 0 && ans.Attempt != attempt:
			return nil, problemf(ipc.CodeWrongState, "attempt %d of job #%d is over", attempt, job)
		}
		return dialed(ipc.DialUnix(ans.Socket, time.Second))
	}
	if !isNoDaemon(err) {
		return nil, err
	}
	cfg, cerr := c.config()
	if cerr != nil {
		return nil, cerr
	}
	h, ok := findClaim(cfg.Paths.Jobs(), job)
	if !ok || attempt != 0 && h.Key.Attempt != attempt {
		return nil, err
	}
	// Whether it is the one, its answer to the nonce says, which the near end doesn't know.
	conn, _, derr := ipc.DialAttach(h.Socket, ipc.Hello{Mode: ipc.ModeWatch, Offset: -1, Nonce: h.Nonce})
	if derr != nil {
		return nil, err
	}
	_ = conn.Close()
	return dialed(ipc.DialUnix(h.Socket, time.Second))
}

func dialed(nc net.Conn, err error) (net.Conn, error) {
	var e *ipc.Error
	if err != nil && !errors.As(err, &e) {
		err = problemf(ipc.CodeNoDaemon, "connect: %v", err)
	}
	return nc, err
}

// relay passes bytes both ways until the socket's side has ended. When the near side sends no more the socket is told so,
// and what it still says is passed on.
func relay(ctx context.Context, nc net.Conn, in *os.File, out interface {
	io.Writer
	Flush() error
}) error {
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() })
	defer stop()
	go func() {
		_, err := io.Copy(nc, in)
		if w, ok := nc.(interface{ CloseWrite() error }); ok && err == nil {
			_ = w.CloseWrite()
			return
		}
		_ = nc.Close()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := nc.Read(buf)
		if n > 0 {
			if _, werr := out.Write(buf[:n]); werr != nil {
				return fmt.Errorf("write standard output: %w", werr)
			}
			if werr := out.Flush(); werr != nil {
				return fmt.Errorf("write standard output: %w", werr)
			}
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return nil
		}
	}
}

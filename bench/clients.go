package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"pasar"
	"pasar/ipc"
)

// measureEcho times a key: from its sending to a program that answers each with itself, until it is back.
// The floor is the same program on a terminal with nothing between.
func measureEcho(ctx context.Context, l *lab) ([]result, error) {
	h, err := l.newHome(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer h.close()
	id, err := h.submit(ctx, false, l.job, "echo")
	if err != nil {
		return nil, err
	}
	if err := h.waitStarted(ctx, id); err != nil {
		return nil, err
	}
	socket, err := l.socketOf(ctx, h, id)
	if err != nil {
		return nil, err
	}
	c, _, err := ipc.DialAttach(socket, ipc.Hello{Mode: ipc.ModeType, Offset: -1})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	t, err := openTerminal()
	if err != nil {
		return nil, err
	}
	defer t.close()
	cmd, err := t.run(ctx, h.dir, h.env(), l.job, "echo")
	if err != nil {
		return nil, err
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if err := settle(ctx, 300*time.Millisecond); err != nil { // until both are raw
		return nil, err
	}
	keys := l.pick(200, 20)
	pause := func(ctx context.Context) error { return settle(ctx, 10*time.Millisecond) } // nobody types faster
	through := func(ctx context.Context) (v []float64, err error) {
		for range keys {
			began := time.Now()
			if err := c.Send(ipc.AttachIn, &ipc.In{Data: []byte("x")}); err != nil {
				return nil, err
			}
			for {
				typ, _, err := c.Recv()
				if err != nil {
					return nil, err
				}
				if typ == ipc.AttachOut {
					break
				}
			}
			v = append(v, ms(time.Since(began)))
			if err := pause(ctx); err != nil {
				return nil, err
			}
		}
		return v, nil
	}
	direct := func(ctx context.Context) (v []float64, err error) {
		for range keys {
			began := time.Now()
			if _, err := t.master.Write([]byte("x")); err != nil {
				return nil, err
			}
			if err := t.await(ctx, "x"); err != nil {
				return nil, err
			}
			v = append(v, ms(time.Since(began)))
			if err := pause(ctx); err != nil {
				return nil, err
			}
		}
		return v, nil
	}
	s, err := interleave(ctx, 4, contender{"ms", through}, contender{"ms", direct})
	if err != nil {
		return nil, err
	}
	worst := series{"ms", []float64{s[0].quantile(0.99) - s[1].quantile(0.99)}}
	return []result{
		{What: "a key and its echo", Value: s[0], Against: "a terminal with nothing between", Other: s[1]},
		{What: "a key and its echo: what the supervisor adds, of 99 in 100", Value: worst, Reach: atMost(2)},
	}, nil
}

// measureStopped times a job's own writing while its only client is stopped, beside nobody attached.
func measureStopped(ctx context.Context, l *lab) ([]result, error) {
	mb := l.pick(40, 2)
	writing := func(stopped bool) func(context.Context) ([]float64, error) {
		return func(ctx context.Context) ([]float64, error) {
			h, err := l.newHome(ctx, 1)
			if err != nil {
				return nil, err
			}
			defer h.close()
			gate, out := h.dir+"/go", h.dir+"/took"
			if err := syscall.Mkfifo(gate, 0o600); err != nil {
				return nil, err
			}
			id, err := h.submit(ctx, false, "sh", "-c", fmt.Sprintf("read x < %s; exec %s timed %d %s", gate, l.job, mb, out))
			if err != nil {
				return nil, err
			}
			if err := h.waitStarted(ctx, id); err != nil {
				return nil, err
			}
			if stopped {
				c, err := stoppedClient(ctx, l, h, id)
				if err != nil {
					return nil, err
				}
				defer c.end()
			}
			if err := os.WriteFile(gate, []byte("\n"), 0); err != nil {
				return nil, err
			}
			if err := h.client.Wait(ctx, ipc.WaitRequest{Jobs: []pasar.JobID{id}}, nil); err != nil {
				return nil, err
			}
			b, err := os.ReadFile(out)
			if err != nil {
				return nil, err
			}
			took, err := time.ParseDuration(string(b))
			return []float64{float64(mb) / took.Seconds()}, err
		}
	}
	s, err := interleave(ctx, l.pick(4, 1), contender{"MB/s", writing(true)}, contender{"MB/s", writing(false)})
	if err != nil {
		return nil, err
	}
	return []result{{What: "a job's writing with its client stopped", Value: s[0], Against: "nobody attached", Other: s[1], Reach: ratioAtLeast(0.9)}}, nil
}

// A watcher is pasar attach on a terminal.
type watcher struct {
	cmd  *exec.Cmd
	term *terminal
}

// stoppedClient attaches a client and stops it.
func stoppedClient(ctx context.Context, l *lab, h *home, id pasar.JobID) (*watcher, error) {
	t, err := openTerminal()
	if err != nil {
		return nil, err
	}
	cmd, err := t.run(ctx, h.dir, h.env(), filepath.Join(l.bin, "pasar"), "attach", id.String())
	if err != nil {
		t.close()
		return nil, err
	}
	w := &watcher{cmd, t}
	if err := t.await(ctx, "#"+id.String()); err != nil { // its greeting
		w.end()
		return nil, err
	}
	if err := settle(ctx, 100*time.Millisecond); err != nil {
		return w, err
	}
	return w, cmd.Process.Signal(syscall.SIGSTOP)
}

func (w *watcher) end() {
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
	w.term.close()
}

// measureFlood asks the daemon while many jobs write as fast as they can and the clients of all are stopped.
func measureFlood(ctx context.Context, l *lab) ([]result, error) {
	jobs := l.pick(50, 3)
	h, err := l.newHome(ctx, jobs+1)
	if err != nil {
		return nil, err
	}
	defer h.close()
	var ids []pasar.JobID
	for range jobs {
		id, err := h.submit(ctx, false, "yes", "a line of output from a job that writes as fast as it can")
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	if err := h.waitStarted(ctx, ids...); err != nil {
		return nil, err
	}
	var (
		mu   sync.Mutex // guards errs and all
		errs error
		all  []*watcher
		wg   sync.WaitGroup
	)
	gate := make(chan struct{}, 4)
	for _, id := range ids {
		wg.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			w, err := stoppedClient(ctx, l, h, id)
			mu.Lock()
			defer mu.Unlock()
			errs = errors.Join(errs, err)
			if w != nil {
				all = append(all, w)
			}
		})
	}
	wg.Wait()
	defer func() {
		for _, w := range all {
			w.end()
		}
	}()
	if errs != nil {
		return nil, errs
	}
	pasarBin := filepath.Join(l.bin, "pasar")
	ls := series{Unit: "ms"}
	for range l.pick(50, 2) {
		v, err := timed(ctx, h.dir, h.env(), pasarBin, "ls", "--json")
		if err != nil {
			return nil, err
		}
		ls.Values = append(ls.Values, v...)
	}
	cancel := series{Unit: "ms"}
	for _, id := range ids[:len(ids)/2] {
		v, err := timed(ctx, h.dir, h.env(), pasarBin, "cancel", "--now", id.String())
		if err != nil {
			return nil, err
		}
		cancel.Values = append(cancel.Values, v...)
	}
	with := fmt.Sprintf(" with %d flooding jobs and as many stopped clients, 99 in 100", jobs)
	return []result{
		{What: "ls" + with, Value: series{"ms", []float64{ls.quantile(0.99)}}, Reach: atMost(100), Note: "half of them took " + digits(ls.median()) + " ms"},
		{What: "cancel" + with, Value: series{"ms", []float64{cancel.quantile(0.99)}}, Reach: atMost(100), Note: "half of them took " + digits(cancel.median()) + " ms"},
	}, nil
}

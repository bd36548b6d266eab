package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"pasar"
	"pasar/ipc"
)

// A home is one user's pasar: directories of its own and the daemon in them.
type home struct {
	lab    *lab
	dir    string
	daemon *exec.Cmd
	exited chan struct{} // closed once the daemon was reaped
	client *ipc.Client
	log    *os.File
}

// newHome starts a daemon with so many places for jobs without a GPU.
func (l *lab) newHome(ctx context.Context, cpuJobs int) (*home, error) {
	l.homes++
	h := &home{lab: l, dir: filepath.Join(l.dir, "h"+strconv.Itoa(l.homes))}
	for _, d := range []string{h.dir, h.dir + "/run", h.dir + "/config", h.dir + "/config/pasar", h.dir + "/work"} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, err
		}
	}
	config := fmt.Sprintf("cpu_jobs = %d\nautostart = false\n", cpuJobs)
	if err := os.WriteFile(h.dir+"/config/pasar/config.toml", []byte(config), 0o600); err != nil {
		return nil, err
	}
	var err error
	if h.log, err = os.Create(h.dir + "/pasard.log"); err != nil {
		return nil, err
	}
	if err = h.start(ctx); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// env is clean but for what programs need, and leads to this home alone.
func (h *home) env() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=xterm-256color", "HOME=" + h.dir,
		"XDG_DATA_HOME=" + h.dir + "/data", "XDG_CONFIG_HOME=" + h.dir + "/config",
		"XDG_RUNTIME_DIR=" + h.dir + "/run", "XDG_STATE_HOME=" + h.dir + "/state", "PASAR_ADDRESS=off",
	}
}

func (h *home) data() string   { return h.dir + "/data/pasar" }
func (h *home) socket() string { return h.data() + "/run/pasard.sock" }
func (h *home) pid() int       { return h.daemon.Process.Pid }

// spawn starts the daemon without waiting for it.
func (h *home) spawn() error {
	h.daemon = exec.Command(filepath.Join(h.lab.bin, "pasard"))
	h.daemon.Env, h.daemon.Dir, h.daemon.Stderr = h.env(), h.dir, h.log
	if err := h.daemon.Start(); err != nil {
		return fmt.Errorf("start pasard: %w", err)
	}
	h.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) { _ = cmd.Wait(); close(exited) }(h.daemon, h.exited)
	return nil
}

// start starts the daemon and waits until it has answered.
func (h *home) start(ctx context.Context) error {
	if err := h.spawn(); err != nil {
		return err
	}
	return h.answer(ctx)
}

// startPatience is how long a daemon may take to its first answer.
const startPatience = 30 * time.Second

// answer connects and waits for the first answer.
func (h *home) answer(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("no answer within %s; its log ends: %s", startPatience, h.logTail()))
	defer cancel()
	return until(ctx, "pasard answers", time.Millisecond, func() bool {
		c, err := ipc.Dial(ctx, h.socket())
		if err != nil {
			return false
		}
		if _, err := c.Status(ctx); err != nil {
			_ = c.Close()
			return false
		}
		h.client = c
		return true
	})
}

func (h *home) logTail() string {
	b, _ := os.ReadFile(h.log.Name())
	return string(bytes.TrimSpace(b[max(0, len(b)-600):]))
}

// kill is kill -9.
func (h *home) kill() {
	if h.client != nil {
		_ = h.client.Close()
		h.client = nil
	}
	if h.daemon != nil && h.exited != nil {
		_ = h.daemon.Process.Kill()
		<-h.exited
		h.exited = nil
	}
}

// close ends the daemon, its supervisors and its jobs, and removes the home.
func (h *home) close() {
	h.kill()
	sweep(h.dir)
	_ = h.log.Close()
	_ = os.RemoveAll(h.dir)
}

// submit queues one job without a GPU through the socket.
func (h *home) submit(ctx context.Context, hold bool, argv ...string) (pasar.JobID, error) {
	a, err := h.client.Submit(ctx, ipc.SubmitRequest{
		Request: ipc.NewRequest(),
		Spec: pasar.Spec{Name: filepath.Base(argv[0]), Argv: pasar.Args(argv), Cwd: pasar.Arg(h.dir + "/work"), Bid: pasar.DefaultBid,
			Claim: pasar.Claim{Kind: pasar.NoGPU}, Grace: pasar.Duration(time.Second), Hold: hold},
		Surroundings: pasar.Surroundings{Env: pasar.Args(h.env()), Umask: 0o077},
	})
	if err != nil {
		return 0, fmt.Errorf("submit: %w", err)
	}
	return a.Job, nil
}

// submitMany queues n jobs, many at a time.
func (h *home) submitMany(ctx context.Context, n int, hold bool, argv ...string) error {
	var wg sync.WaitGroup
	var mu sync.Mutex // guards errs and left
	var errs error
	left := n
	next := func() bool {
		mu.Lock()
		defer mu.Unlock()
		left--
		return left >= 0 && errs == nil
	}
	for range 32 {
		wg.Go(func() {
			for next() {
				if _, err := h.submit(ctx, hold, argv...); err != nil {
					mu.Lock()
					errs = errors.Join(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return errs
}

// waitStarted waits until a job runs.
func (h *home) waitStarted(ctx context.Context, ids ...pasar.JobID) error {
	return h.client.Wait(ctx, ipc.WaitRequest{Jobs: ids, Started: true}, nil)
}

// supervisor is the process that holds a job's first attempt.
func (h *home) supervisor(id pasar.JobID) (int, error) {
	b, err := os.ReadFile(filepath.Join(h.data(), "jobs", id.String(), "1", pasar.ClaimFile))
	if err != nil {
		return 0, err
	}
	var holding pasar.Holding
	if err := json.Unmarshal(b, &holding); err != nil {
		return 0, fmt.Errorf("read claim of job %d: %w", id, err)
	}
	return holding.Pid, nil
}

// command times one call of pasar: from fork to exit. Its standard output goes nowhere.
func (h *home) command(args ...string) func(context.Context) ([]float64, error) {
	return func(ctx context.Context) ([]float64, error) {
		return timed(ctx, h.dir+"/work", h.env(), filepath.Join(h.lab.bin, "pasar"), args...)
	}
}

// timed runs a program and returns the milliseconds from fork to exit.
func timed(ctx context.Context, dir string, env []string, name string, args ...string) ([]float64, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stdout = dir, env, null
	tail, err := os.OpenFile(filepath.Join(dir, ".stderr"), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer tail.Close()
	cmd.Stderr = tail // a file, not a pipe: no goroutine of ours takes part
	began := time.Now()
	err = cmd.Run()
	took := time.Since(began)
	if err != nil {
		_, _ = tail.Seek(0, 0)
		_, _ = stderr.ReadFrom(tail)
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(name), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return []float64{ms(took)}, nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// signalFIFO makes a named pipe, and a gate that opens when a job writes to it.
func signalFIFO(path string) (*os.File, error) {
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return nil, fmt.Errorf("make %s: %w", path, err)
	}
	// Open for both, so that it neither waits for a writer nor ends when one leaves.
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return f, nil
}

// hear waits for one write to a pipe made by signalFIFO.
func hear(ctx context.Context, f *os.File) error {
	if err := f.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := f.Read(make([]byte, 64)); err != nil {
		return errors.Join(context.Cause(ctx), fmt.Errorf("wait for %s: %w", filepath.Base(f.Name()), err))
	}
	return nil
}

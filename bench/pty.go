package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pasar/ipc"
)

// A screening is one way of giving a program a terminal and keeping its output in a file. start runs the
// shell line and returns the processes whose time counts, once the line has begun; end takes all away.
type screening interface {
	start(ctx context.Context, line string) (pids []int, err error)
	end()
}

// outputCost is the processor time for so many megabytes of output, in ms/MB. The program waits at a gate
// before it writes and stays afterwards, so that only the output is measured.
func (l *lab) outputCost(kind string, mb int, make func() (screening, error)) func(ctx context.Context) ([]float64, error) {
	return func(ctx context.Context) (v []float64, err error) {
		dir, err := os.MkdirTemp(l.dir, "pty")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		started, err := signalFIFO(dir + "/started")
		if err != nil {
			return nil, err
		}
		defer started.Close()
		done, err := signalFIFO(dir + "/done")
		if err != nil {
			return nil, err
		}
		defer done.Close()
		for _, gate := range []string{"/go", "/leave"} {
			if err := syscall.Mkfifo(dir+gate, 0o600); err != nil {
				return nil, err
			}
		}
		s, err := make()
		if err != nil {
			return nil, err
		}
		defer s.end()
		line := fmt.Sprintf("echo > %[1]s/started; read x < %[1]s/go; exec %[2]s %[3]s %[4]d %[1]s/done %[1]s/leave", dir, l.job, kind, mb)
		pids, err := s.start(ctx, line)
		if err != nil {
			return nil, err
		}
		if err := hear(ctx, started); err != nil {
			return nil, err
		}
		before, err := atRest(ctx, pids)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(dir+"/go", []byte("\n"), 0); err != nil {
			return nil, err
		}
		if err := hear(ctx, done); err != nil {
			return nil, err
		}
		after, err := atRest(ctx, pids)
		return []float64{ms(after-before) / float64(mb)}, err
	}
}

// atRest waits until processes use no more time and returns what they have used.
func atRest(ctx context.Context, pids []int) (time.Duration, error) {
	last := time.Duration(-1)
	for {
		var sum time.Duration
		for _, pid := range pids {
			u, err := usageOf(pid)
			if err != nil {
				return 0, err
			}
			sum += u.since(usage{})
		}
		if sum-last < time.Millisecond && last >= 0 {
			return sum, nil
		}
		last = sum
		if err := settle(ctx, 300*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// pasarScreening runs the line as a job.
type pasarScreening struct {
	h       *home
	watched bool // by one client
	conn    *ipc.AttachConn
}

func (p *pasarScreening) start(ctx context.Context, line string) ([]int, error) {
	id, err := p.h.submit(ctx, false, "sh", "-c", line)
	if err != nil {
		return nil, err
	}
	if err := p.h.waitStarted(ctx, id); err != nil {
		return nil, err
	}
	pid, err := p.h.supervisor(id)
	if err != nil || !p.watched {
		return []int{pid}, err
	}
	a, err := p.h.client.Attach(ctx, ipc.AttachRequest{Job: id})
	if err != nil {
		return nil, err
	}
	if p.conn, _, err = ipc.DialAttach(a.Socket, ipc.Hello{Mode: ipc.ModeWatch, Cols: termCols, Rows: termRows, Paint: true}); err != nil {
		return nil, err
	}
	go func() {
		for {
			if _, _, err := p.conn.Recv(); err != nil {
				return
			}
		}
	}()
	return []int{pid}, nil
}

func (p *pasarScreening) end() {
	if p.conn != nil {
		_ = p.conn.Close()
	}
	p.h.close()
}

// tmuxScreening is a detached tmux session that logs through pipe-pane. The time of the program that
// pipe-pane needs to write the log counts with the server's.
type tmuxScreening struct {
	lab     *lab
	dir     string
	watched bool
	client  *exec.Cmd
	input   *os.File
}

func (t *tmuxScreening) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, t.lab.tmux, append([]string{"-L", "bench", "-f", "/dev/null"}, args...)...)
	cmd.Env, cmd.Dir = t.env(), t.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

func (t *tmuxScreening) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.dir, "TMUX_TMPDIR=" + t.dir, "TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/sh"}
}

func (t *tmuxScreening) start(ctx context.Context, line string) ([]int, error) {
	script := t.dir + "/line.sh"
	// The job waits until its output is logged.
	gate := t.dir + "/piped"
	if err := errors.Join(os.WriteFile(script, []byte("read x < "+gate+"\n"+line+"\n"), 0o600), syscall.Mkfifo(gate, 0o600)); err != nil {
		return nil, err
	}
	if _, err := t.run(ctx, "new-session", "-d", "-x", "120", "-y", "40", "exec sh "+script); err != nil {
		return nil, err
	}
	out, err := t.run(ctx, "display-message", "-p", "#{pid}")
	if err != nil {
		return nil, err
	}
	server, err := strconv.Atoi(out)
	if err != nil {
		return nil, fmt.Errorf("tmux says its pid is %q", out)
	}
	pids := []int{server}
	if t.watched {
		// script gives the client a terminal; what it shows goes nowhere.
		t.client = exec.CommandContext(ctx, t.lab.script, "-q", "-c", t.lab.tmux+" -L bench -f /dev/null attach", "/dev/null")
		t.client.Env, t.client.Dir, t.client.Stdin = t.env(), t.dir, t.input
		if err := t.client.Start(); err != nil {
			return nil, err
		}
		if err := until(ctx, "tmux has a client", 20*time.Millisecond, func() bool {
			out, err := t.run(ctx, "list-clients")
			return err == nil && out != ""
		}); err != nil {
			return nil, err
		}
	}
	if _, err := t.run(ctx, "pipe-pane", fmt.Sprintf("echo $$ > %[1]s/pipe.pid; exec cat > %[1]s/log", t.dir)); err != nil {
		return nil, err
	}
	pipe := 0
	if err := until(ctx, "pipe-pane runs", 20*time.Millisecond, func() bool {
		b, _ := os.ReadFile(t.dir + "/pipe.pid")
		pipe, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		return pipe > 0
	}); err != nil {
		return nil, err
	}
	return append(pids, pipe), os.WriteFile(gate, []byte("\n"), 0)
}

func (t *tmuxScreening) end() {
	sweep(t.dir)
	if t.client != nil && t.client.Process != nil {
		_ = t.client.Wait()
	}
	if t.input != nil {
		_ = t.input.Close()
	}
	_ = os.RemoveAll(t.dir)
}

func (l *lab) newTmux(watched bool) (screening, error) {
	dir, err := os.MkdirTemp(l.dir, "tmux")
	if err != nil {
		return nil, err
	}
	t := &tmuxScreening{lab: l, dir: dir, watched: watched}
	if watched { // a terminal that nobody types at
		t.input, err = signalFIFO(dir + "/input")
	}
	return t, err
}

// scriptScreening is script(1), which does nothing but keep the output.
type scriptScreening struct {
	lab   *lab
	dir   string
	cmd   *exec.Cmd
	input *os.File
}

func (s *scriptScreening) start(ctx context.Context, line string) ([]int, error) {
	file := s.dir + "/line.sh"
	if err := os.WriteFile(file, []byte(line+"\n"), 0o600); err != nil {
		return nil, err
	}
	s.cmd = exec.CommandContext(ctx, s.lab.script, "-q", "-c", "exec sh "+file, s.dir+"/log")
	s.cmd.Dir, s.cmd.Stdin = s.dir, s.input
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "TERM=xterm-256color", "SHELL=/bin/sh"}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	return []int{s.cmd.Process.Pid}, nil
}

func (s *scriptScreening) end() {
	sweep(s.dir)
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Wait()
	}
	_ = s.input.Close()
	_ = os.RemoveAll(s.dir)
}

func (l *lab) newScript() (screening, error) {
	dir, err := os.MkdirTemp(l.dir, "script")
	if err != nil {
		return nil, err
	}
	in, err := signalFIFO(filepath.Join(dir, "input"))
	return &scriptScreening{lab: l, dir: dir, input: in}, err
}

func measurePTY(ctx context.Context, l *lab) ([]result, error) {
	mb, rounds := l.pick(20, 1), l.pick(3, 1)
	var rs []result
	for _, c := range []struct {
		kind, words string
		limit       float64
		watched     bool
	}{{"lines", "lines, detached and logged", 14, false}, {"bars", "progress bars, detached and logged", 22, false}, {"lines", "lines, one client attached", 25, true}} {
		type side struct {
			name string
			make func() (screening, error)
		}
		sides := []side{{"pasar", func() (screening, error) {
			h, err := l.newHome(ctx, 1)
			return &pasarScreening{h: h, watched: c.watched}, err
		}}}
		if l.tmux != "" && (l.script != "" || !c.watched) {
			sides = append(sides, side{"tmux with pipe-pane", func() (screening, error) { return l.newTmux(c.watched) }})
		}
		if l.dtach != "" && c.watched {
			sides = append(sides, side{"dtach, which keeps nothing", func() (screening, error) { return l.newDtach(ctx) }})
		}
		if l.script != "" && !c.watched {
			sides = append(sides, side{"script", l.newScript})
		}
		var cs []contender
		for _, s := range sides {
			cs = append(cs, contender{"ms/MB", l.outputCost(c.kind, mb, s.make)})
		}
		s, err := interleave(ctx, rounds, cs...)
		if err != nil {
			return rs, fmt.Errorf("%s: %w", c.words, err)
		}
		r := result{What: "terminal: " + c.words, Value: s[0], Against: "tmux with pipe-pane (not installed)", Reach: atMost(c.limit)}
		for i := 1; i < len(sides); i++ {
			r.Against, r.Other = sides[i].name, s[i]
			rs = append(rs, r)
			r = result{What: r.What, Value: r.Value}
		}
		if len(sides) == 1 {
			rs = append(rs, r)
		}
	}
	return rs, nil
}

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
	"time"

	"pasar"
	"pasar/ipc"
)

// lastWord is in the last row of the screen that the program draws which is attached to.
const lastWord = "the-last-word"

// measureAttach times a client from its start until the whole screen is on its terminal.
func measureAttach(ctx context.Context, l *lab) ([]result, error) {
	h, err := l.newHome(ctx, 2)
	if err != nil {
		return nil, err
	}
	defer h.close()
	id, err := h.submit(ctx, false, l.job, "screen", lastWord)
	if err != nil {
		return nil, err
	}
	if err := h.waitStarted(ctx, id); err != nil {
		return nil, err
	}
	peers := []string{"pasar"}
	cs := []contender{{"ms", l.attaching(h.dir, h.env(), lastWord, filepath.Join(l.bin, "pasar"), "attach", id.String())}}
	if l.tmux != "" {
		t, err := l.newTmux(false)
		if err != nil {
			return nil, err
		}
		tm := t.(*tmuxScreening)
		defer tm.end()
		if _, err := tm.run(ctx, "new-session", "-d", "-x", strconv.Itoa(termCols), "-y", strconv.Itoa(termRows), "exec "+l.job+" screen "+lastWord); err != nil {
			return nil, err
		}
		if _, err := tm.run(ctx, "set", "-g", "status", "off"); err != nil {
			return nil, err
		}
		peers = append(peers, "tmux")
		cs = append(cs, contender{"ms", l.attaching(tm.dir, tm.env(), lastWord, l.tmux, "-L", "bench", "-f", "/dev/null", "attach")})
	}
	if l.dtach != "" {
		d, err := l.newDtach(ctx, l.job, "screen", lastWord)
		if err != nil {
			return nil, err
		}
		defer d.end()
		peers = append(peers, "dtach, the program draws anew")
		cs = append(cs, contender{"ms", l.attaching(d.dir, d.env(), lastWord, l.dtach, "-a", d.socket(), "-r", "winch", "-z", "-E")})
	}
	socket, err := l.socketOf(ctx, h, id)
	if err != nil {
		return nil, err
	}
	cs = append(cs, contender{"ms", func(ctx context.Context) ([]float64, error) { return firstScreen(socket) }})
	s, err := interleave(ctx, l.pick(25, 2), cs...)
	if err != nil {
		return nil, err
	}
	var rs []result
	for i := 1; i < len(peers); i++ {
		r := result{What: "attach: from the client's start to the whole screen", Value: s[0], Against: peers[i], Other: s[i]}
		if peers[i] == "tmux" {
			r.Reach = ratioAtMost(1)
		}
		rs = append(rs, r)
	}
	if len(peers) == 1 {
		rs = append(rs, result{What: "attach: from the client's start to the whole screen", Value: s[0], Against: "tmux (not installed)", Reach: ratioAtMost(1)})
	}
	return append(rs,
		result{What: "attach: from the client's start to the whole screen", Value: s[0], Reach: atMost(6)},
		result{What: "attach: from dialling the supervisor to the whole screen", Value: s[len(s)-1]}), nil
}

// attaching times one client until a word is on its terminal. Then it is killed.
func (l *lab) attaching(dir string, env []string, word string, argv ...string) func(context.Context) ([]float64, error) {
	return func(ctx context.Context) ([]float64, error) {
		t, err := openTerminal()
		if err != nil {
			return nil, err
		}
		defer t.close()
		limit, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		began := time.Now()
		cmd, err := t.run(limit, dir, env, argv...)
		if err != nil {
			return nil, err
		}
		err = t.await(limit, word)
		took := time.Since(began)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return []float64{ms(took)}, err
	}
}

// firstScreen times a supervisor: from dialling its socket to the last piece of the painting.
func firstScreen(socket string) ([]float64, error) {
	began := time.Now()
	c, _, err := ipc.DialAttach(socket, ipc.Hello{Mode: ipc.ModeWatch, Cols: termCols, Rows: termRows, Paint: true})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.SetReadDeadline(began.Add(10 * time.Second)); err != nil {
		return nil, err
	}
	for {
		typ, body, err := c.Recv()
		if err != nil {
			return nil, err
		}
		if typ != ipc.AttachSnap {
			continue
		}
		var s ipc.Snap
		if err := ipc.DecodeBody(body, &s); err != nil {
			return nil, err
		}
		if !s.More {
			return []float64{ms(time.Since(began))}, nil
		}
	}
}

func (l *lab) socketOf(ctx context.Context, h *home, id pasar.JobID) (string, error) {
	a, err := h.client.Attach(ctx, ipc.AttachRequest{Job: id})
	if err == nil && a.Socket == "" {
		err = fmt.Errorf("job %d is %s", id, a.State)
	}
	return a.Socket, err
}

// A dtachScreening is dtach's master: it relays and keeps nothing.
type dtachScreening struct {
	lab    *lab
	dir    string
	client *exec.Cmd
	term   *terminal
}

func (d *dtachScreening) socket() string { return d.dir + "/socket" }

func (d *dtachScreening) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + d.dir, "TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/sh"}
}

func (l *lab) newDtach(ctx context.Context, argv ...string) (*dtachScreening, error) {
	dir, err := os.MkdirTemp(l.dir, "dtach")
	if err != nil {
		return nil, err
	}
	d := &dtachScreening{lab: l, dir: dir}
	if len(argv) == 0 {
		return d, nil
	}
	return d, d.begin(ctx, argv...)
}

// begin starts the master with a program on its terminal.
func (d *dtachScreening) begin(ctx context.Context, argv ...string) error {
	cmd := exec.CommandContext(ctx, d.lab.dtach, append([]string{"-n", d.socket(), "-z"}, argv...)...)
	cmd.Env, cmd.Dir = d.env(), d.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("dtach: %w: %s", err, out)
	}
	return until(ctx, "dtach listens", 5*time.Millisecond, func() bool { _, err := os.Stat(d.socket()); return err == nil })
}

// master is dtach's own process, which has the program's as its child.
func (d *dtachScreening) master() (int, error) {
	for _, pid := range processesOf(d.dir) {
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && strings.HasPrefix(string(b), d.lab.dtach+"\x00-n") {
			return pid, nil
		}
	}
	return 0, errors.New("dtach's process is not to be found")
}

// start runs a shell line with one client attached.
func (d *dtachScreening) start(ctx context.Context, line string) ([]int, error) {
	gate := d.dir + "/attached"
	file := d.dir + "/line.sh"
	if err := os.WriteFile(file, []byte("until [ -e "+gate+" ]; do sleep 0.05; done\n"+line+"\n"), 0o600); err != nil {
		return nil, err
	}
	if err := d.begin(ctx, "sh", file); err != nil {
		return nil, err
	}
	var err error
	if d.term, err = openTerminal(); err != nil {
		return nil, err
	}
	if d.client, err = d.term.run(ctx, d.dir, d.env(), d.lab.dtach, "-a", d.socket(), "-r", "none"); err != nil {
		return nil, err
	}
	go d.term.drop()
	if err := settle(ctx, 300*time.Millisecond); err != nil { // nothing tells that a client is attached
		return nil, err
	}
	pid, err := d.master()
	return []int{pid}, errors.Join(err, os.WriteFile(gate, nil, 0o600))
}

func (d *dtachScreening) end() {
	sweep(d.dir)
	if d.client != nil {
		_ = d.client.Wait()
	}
	if d.term != nil {
		d.term.close()
	}
	_ = os.RemoveAll(d.dir)
}

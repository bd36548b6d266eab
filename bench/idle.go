package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"pasar"
)

// measureIdle watches two daemons at once: one with a long queue behind a job that sleeps, one with none.
func measureIdle(ctx context.Context, l *lab) ([]result, error) {
	many := l.pick(10_000, 1000)
	span := time.Duration(l.pick(30, 3)) * time.Second
	full, err := l.newHome(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer full.close()
	none, err := l.newHome(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer none.close()
	if _, err := full.submit(ctx, false, "sleep", "10000"); err != nil {
		return nil, err
	}
	if err := full.submitMany(ctx, many, false, "python", "train.py", "--lr", "0.1", "--seed", "17"); err != nil {
		return nil, err
	}
	for _, h := range []*home{full, none} { // nobody is connected to an idle daemon
		_ = h.client.Close()
		h.client = nil
	}
	if err := settle(ctx, time.Duration(l.pick(10, 2))*time.Second); err != nil {
		return nil, err
	}
	homes := []*home{full, none}
	var before [2]usage
	for i, h := range homes {
		if before[i], err = usageOf(h.pid()); err != nil {
			return nil, err
		}
	}
	if err := settle(ctx, span); err != nil {
		return nil, err
	}
	var rs []result
	for i, h := range homes {
		after, err := usageOf(h.pid())
		if err != nil {
			return rs, err
		}
		anon, err := anonymousMiB(h.pid())
		if err != nil {
			return rs, err
		}
		with, memory := fmt.Sprintf("%d queued", many), 25.0
		if h == none {
			with, memory = "empty", 12
		}
		scale := 30 / span.Seconds()
		note := fmt.Sprintf("%s of processor time by ticks, %d wake-ups of threads in %s", after.ticks-before[i].ticks, after.wakeups-before[i].wakeups, span)
		rs = append(rs,
			result{What: "idle daemon, " + with + ": processor time per 30 s", Value: series{"ms", []float64{ms(after.since(before[i])) * scale}}, Reach: atMost(5), Note: note},
			result{What: "idle daemon, " + with + ": wake-ups per 30 s", Value: series{"", []float64{float64(after.wakeups-before[i].wakeups) * scale}}},
			result{What: "idle daemon, " + with + ": anonymous memory", Value: series{"MiB", []float64{anon}}, Reach: atMost(memory)})
	}
	return rs, nil
}

// measureMemory looks at the supervisors of quiet jobs: one alone, and several that share their text.
func measureMemory(ctx context.Context, l *lab) ([]result, error) {
	h, err := l.newHome(ctx, 10)
	if err != nil {
		return nil, err
	}
	defer h.close()
	var ids []pasar.JobID
	add := func(n int) error {
		for range n {
			id, err := h.submit(ctx, false, "sh", "-c", "echo up; exec sleep 10000")
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		if err := h.waitStarted(ctx, ids...); err != nil {
			return err
		}
		return settle(ctx, 2*time.Second)
	}
	look := func(f func(int) (float64, error)) (series, error) {
		s := series{Unit: "MiB"}
		for _, id := range ids {
			pid, err := h.supervisor(id)
			if err != nil {
				return s, err
			}
			v, err := f(pid)
			if err != nil {
				return s, err
			}
			s.Values = append(s.Values, v)
		}
		return s, nil
	}
	if err := add(1); err != nil {
		return nil, err
	}
	one, err := look(pssMiB)
	if err != nil {
		return nil, err
	}
	if err := add(9); err != nil {
		return nil, err
	}
	ten, err := look(pssMiB)
	if err != nil {
		return nil, err
	}
	anon, err := look(anonymousMiB)
	if err != nil {
		return nil, err
	}
	floor, err := emptyPSS(ctx, l)
	if err != nil {
		return nil, err
	}
	rs, err := l.peersMemory(ctx, one)
	if err != nil {
		return nil, err
	}
	return append(rs, []result{
		{What: "supervisor of a running job, one job: PSS", Value: one, Against: "idle Go program", Other: floor, Reach: atMost(1.5)},
		{What: "supervisor of a running job, ten jobs: PSS", Value: ten, Against: "idle Go program", Other: floor, Reach: atMost(1.5)},
		{What: "supervisor of a running job: anonymous memory", Value: anon},
	}...), nil
}

// peersMemory is what others keep that hold the terminal of a program that sleeps.
func (l *lab) peersMemory(ctx context.Context, ours series) ([]result, error) {
	var rs []result
	look := func(name string, s screening, line string) error {
		defer s.end()
		pids, err := s.start(ctx, line)
		if err != nil {
			return err
		}
		if err := settle(ctx, 2*time.Second); err != nil {
			return err
		}
		v, err := pssMiB(pids[0])
		rs = append(rs, result{What: "supervisor of a running job, one job: PSS", Value: ours, Against: name, Other: series{"MiB", []float64{v}}})
		return err
	}
	const line = "echo up; exec sleep 10000"
	if l.tmux != "" {
		t, err := l.newTmux(false)
		if err != nil {
			return rs, err
		}
		if err := look("tmux's server", t, line); err != nil {
			return rs, err
		}
	}
	if l.dtach != "" {
		d, err := l.newDtach(ctx)
		if err != nil {
			return rs, err
		}
		if err := look("dtach's master", d, line); err != nil {
			return rs, err
		}
	}
	if l.script != "" {
		s, err := l.newScript()
		if err != nil {
			return rs, err
		}
		if err := look("script", s, line); err != nil {
			return rs, err
		}
	}
	return rs, nil
}

// emptyPSS is what a Go program that only sleeps keeps.
func emptyPSS(ctx context.Context, l *lab) (series, error) {
	s := series{Unit: "MiB"}
	src, bin := filepath.Join(l.dir, "sleeper.go"), filepath.Join(l.dir, "sleeper")
	program := "package main\n\nimport \"time\"\n\nfunc main() { time.Sleep(time.Hour) }\n"
	if err := os.WriteFile(src, []byte(program), 0o600); err != nil {
		return s, err
	}
	if err := l.goBuild(ctx, bin, src); err != nil {
		return s, err
	}
	cmd := exec.CommandContext(ctx, bin)
	cmd.Env = []string{"GOMAXPROCS=2"}
	if err := cmd.Start(); err != nil {
		return s, err
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if err := settle(ctx, time.Second); err != nil {
		return s, err
	}
	v, err := pssMiB(cmd.Process.Pid)
	s.Values = []float64{v}
	return s, err
}

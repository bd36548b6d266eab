package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"pasar"
)

// measureRecover kills the daemon with jobs running and waiting, starts it again and times its first
// answer and the moment when it is connected to every supervisor.
func measureRecover(ctx context.Context, l *lab) ([]result, error) {
	many, running := l.pick(10_000, 1000), l.pick(100, 10)
	h, err := l.newHome(ctx, running)
	if err != nil {
		return nil, err
	}
	defer h.close()
	var ids []pasar.JobID
	for range running {
		id, err := h.submit(ctx, false, "sleep", "10000")
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	if err := h.waitStarted(ctx, ids...); err != nil {
		return nil, err
	}
	if err := h.submitMany(ctx, many, false, "python", "train.py", "--lr", "0.1", "--seed", "17"); err != nil {
		return nil, err
	}
	if err := settle(ctx, 2*time.Second); err != nil {
		return nil, err
	}
	none, err := l.newHome(ctx, running)
	if err != nil {
		return nil, err
	}
	defer none.close()
	floor, answered, adopted := series{Unit: "ms"}, series{Unit: "ms"}, series{Unit: "ms"}
	for range l.pick(7, 2) {
		none.kill()
		began := time.Now()
		if err := none.start(ctx); err != nil {
			return nil, err
		}
		floor.Values = append(floor.Values, ms(time.Since(began)))
		none.kill()

		h.kill()
		if err := until(ctx, "the supervisors noticed", 5*time.Millisecond, func() bool { return h.adopted() == 0 }); err != nil {
			return nil, err
		}
		began = time.Now()
		if err := h.start(ctx); err != nil {
			return nil, err
		}
		answered.Values = append(answered.Values, ms(time.Since(began)))
		actx, cancel := context.WithTimeout(ctx, time.Minute)
		err := until(actx, "all jobs are adopted", 5*time.Millisecond, func() bool { return h.adopted() >= running })
		cancel()
		if err != nil {
			return nil, fmt.Errorf("%d of %d: %w", h.adopted(), running, err)
		}
		adopted.Values = append(adopted.Values, ms(time.Since(began)))
		if err := settle(ctx, time.Second); err != nil {
			return nil, err
		}
	}
	anon, err := anonymousMiB(h.pid())
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("start after kill -9, %d queued, %d running: ", many, running)
	return []result{
		{What: what + "first answer", Value: answered, Against: "nothing to recover", Other: floor, Reach: atMost(100)},
		{What: what + "all adopted", Value: adopted, Reach: atMost(1000)},
		{What: "anonymous memory a second after that", Value: series{"MiB", []float64{anon}}},
	}, nil
}

// adopted counts the connections to supervisors of this home: one for each job that a daemon looks after.
func (h *home) adopted() int {
	b, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return 0
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		// Num RefCount Protocol Flags Type St Inode Path: 03 is connected.
		f := strings.Fields(line)
		if len(f) == 8 && f[5] == "03" && strings.HasPrefix(f[7], h.dir+"/") && !strings.HasSuffix(f[7], "/pasard.sock") {
			n++
		}
	}
	return n
}

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/ipc"
)

// whole is a job that asks for the one whole GPU that there is: where there is none, the virtual one.
func (h *home) whole(bid pasar.Bid, argv ...string) ipc.SubmitRequest {
	return ipc.SubmitRequest{
		Request: ipc.NewRequest(),
		Spec: pasar.Spec{Name: filepath.Base(argv[0]), Argv: pasar.Args(argv), Cwd: pasar.Arg(h.dir + "/work"), Bid: bid,
			Claim: pasar.Claim{Kind: pasar.Whole, GPUs: 1}, Grace: pasar.Duration(10 * time.Second)},
		Surroundings: pasar.Surroundings{Env: pasar.Args(h.env()), Umask: 0o077},
	}
}

// measurePreempt times a bid that stops a running job: from sending the request until the job's handler of
// SIGTERM has noted the time.
func measurePreempt(ctx context.Context, l *lab) ([]result, error) {
	h, err := l.newHome(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer h.close()
	s := series{Unit: "ms"}
	for i := range l.pick(40, 3) {
		noted := filepath.Join(h.dir, "work", "term"+strconv.Itoa(i))
		took, err := h.preempt(ctx, noted)
		if err != nil {
			return nil, err
		}
		s.Values = append(s.Values, ms(took))
	}
	return []result{{What: "preempt: from placing the bid to the job's handler of SIGTERM", Value: s, Reach: atMost(5),
		Note: fmt.Sprintf("nine of ten within %s ms; the request's answer and its sync are in it", digits(s.quantile(0.9)))}}, nil
}

// preempt runs a job that notes its SIGTERM in a file, and one above it that must stop it to start.
func (h *home) preempt(ctx context.Context, noted string) (time.Duration, error) {
	victim, err := h.client.Submit(ctx, h.whole(pasar.DefaultBid, h.lab.job, "term", noted, noted+".ready"))
	if err != nil {
		return 0, fmt.Errorf("submit: %w", err)
	}
	if err := until(ctx, "the job listens", time.Millisecond, func() bool {
		_, err := os.Stat(noted + ".ready")
		return err == nil
	}); err != nil {
		return 0, err
	}
	next, err := h.client.Submit(ctx, h.whole(pasar.DefaultBid-1, "true"))
	if err != nil {
		return 0, fmt.Errorf("submit: %w", err)
	}
	began := clockMonotonic()
	if _, err := h.client.Bid(ctx, ipc.BidRequest{Request: ipc.NewRequest(), Job: next.Job, Bid: pasar.DefaultBid + 1, Preempt: true}); err != nil {
		return 0, fmt.Errorf("bid: %w", err)
	}
	if err := h.client.Wait(ctx, ipc.WaitRequest{Jobs: []pasar.JobID{next.Job}}, nil); err != nil {
		return 0, err
	}
	b, err := os.ReadFile(noted)
	if err != nil || len(b) != 8 {
		return 0, fmt.Errorf("read when SIGTERM came: %d bytes, %w", len(b), err)
	}
	if _, err := h.client.Cancel(ctx, ipc.JobsRequest{Request: ipc.NewRequest(), Jobs: []pasar.JobID{victim.Job}, Now: true}); err != nil {
		return 0, fmt.Errorf("cancel: %w", err)
	}
	if err := h.client.Wait(ctx, ipc.WaitRequest{Jobs: []pasar.JobID{victim.Job}}, nil); err != nil {
		return 0, err
	}
	_ = os.Remove(noted + ".ready")
	return time.Duration(binary.NativeEndian.Uint64(b)) - began, nil
}

// clockMonotonic is CLOCK_MONOTONIC, the clock by which jobs note their times.
func clockMonotonic() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return time.Duration(t.Nano())
}

// measureBatch submits an array in one request.
func measureBatch(ctx context.Context, l *lab) ([]result, error) {
	h, err := l.newHome(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer h.close()
	n := l.pick(5000, 200)
	points := make([]pasar.Point, n)
	for i := range points {
		points[i].Index = &i
	}
	s := series{Unit: "jobs/s"}
	for range l.pick(5, 1) {
		r := h.whole(pasar.DefaultBid, "python", "train.py", "--seed", "{index}")
		r.Spec.Hold, r.Points = true, points
		began := time.Now()
		a, err := h.client.Submit(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("submit: %w", err)
		}
		if len(a.Jobs) != n {
			return nil, fmt.Errorf("submit of %d jobs: %d were queued", n, len(a.Jobs))
		}
		s.Values = append(s.Values, float64(n)/time.Since(began).Seconds())
	}
	return []result{{What: fmt.Sprintf("submit of an array of %d, one request, durable", n), Value: s, Reach: atLeast(5000)}}, nil
}

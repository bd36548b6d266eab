package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// fullSize reports whether the tests run at the size that `make torture` asks for.
func fullSize() bool { return os.Getenv("PASAR_TORTURE") != "" }

func tortureSeed(t *testing.T) uint64 {
	seed := rand.Uint64()
	if s := os.Getenv("PASAR_SEED"); s != "" {
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("PASAR_SEED: %v", err)
		}
		seed = v
	}
	t.Logf("seed: PASAR_SEED=%d", seed)
	return seed
}

// TestNoKillLosesOrRepeatsAJob kills the daemon again and again while four clients submit, cancel and
// bid. Each job notes its id and attempt in a file, so that a lost or repeated run shows.
func TestNoKillLosesOrRepeatsAJob(t *testing.T) {
	kills := 12
	if fullSize() {
		kills = 200
	}
	rnd := rand.New(rand.NewPCG(tortureSeed(t), 1))
	h := newHome(t)
	h.start()
	ctx := longContext(t, 10*time.Minute)
	runs := filepath.Join(h.dir, "runs")
	script := func(d time.Duration) string {
		return fmt.Sprintf(`echo $PASAR_JOB_ID.$PASAR_ATTEMPT >> %s; sleep %.3f`, runs, d.Seconds())
	}

	stop := make(chan struct{})
	var mu sync.Mutex // guards acked and cancelled
	acked := map[pasar.JobID]bool{}
	cancelled := map[pasar.JobID]bool{}
	var wg sync.WaitGroup
	for client := range 4 {
		rnd := rand.New(rand.NewPCG(rnd.Uint64(), uint64(client)))
		wg.Go(func() {
			var mine []pasar.JobID
			for {
				select {
				case <-stop:
					return
				default:
				}
				switch n := rnd.IntN(10); {
				case n < 6 || len(mine) == 0:
					s := shell(script(time.Duration(rnd.IntN(30)) * time.Millisecond))
					s.Bid = pasar.Bid(rnd.IntN(5))
					id, err := h.submit(ctx, s)
					if err != nil {
						t.Errorf("submit: %v", err)
						return
					}
					mu.Lock()
					if acked[id] {
						t.Errorf("two submits were answered with job %d", id)
					}
					acked[id] = true
					mu.Unlock()
					mine = append(mine, id)
				case n < 8:
					r := ipc.JobsRequest{Request: ipc.NewRequest(), Jobs: []pasar.JobID{mine[rnd.IntN(len(mine))]}, Now: rnd.IntN(2) == 0}
					err := h.with(ctx, func(c *ipc.Client) error { _, err := c.Cancel(ctx, r); return err })
					if err != nil {
						t.Errorf("cancel: %v", err)
						return
					}
					mu.Lock()
					cancelled[r.Jobs[0]] = true
					mu.Unlock()
				default:
					r := ipc.BidRequest{Request: ipc.NewRequest(), Job: mine[rnd.IntN(len(mine))], Bid: pasar.Bid(rnd.IntN(9))}
					err := h.with(ctx, func(c *ipc.Client) error { _, err := c.Bid(ctx, r); return err })
					var e *ipc.Error
					if err != nil && !(errors.As(err, &e) && e.Code == ipc.CodeWrongState) {
						t.Errorf("bid: %v", err)
						return
					}
				}
			}
		})
	}
	for range kills {
		select {
		case <-time.After(time.Duration(rnd.IntN(120)) * time.Millisecond): // the load goes on meanwhile
		case <-ctx.Done():
			t.Fatal("out of time")
		}
		h.kill()
		h.spawn()
	}
	close(stop)
	wg.Wait()
	c := h.dial(ctx)
	defer c.Close()
	var ids []pasar.JobID
	for id := range acked {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	views := map[pasar.JobID]pasar.JobView{}
	err := c.Wait(ctx, ipc.WaitRequest{Jobs: ids}, func(b []byte) error {
		var v pasar.JobView
		err := json.Unmarshal(b, &v)
		views[v.ID] = v
		return err
	})
	if err != nil {
		t.Fatalf("%d of %d jobs have ended: %v", len(views), len(ids), err)
	}
	b, err := os.ReadFile(runs)
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for _, l := range lines(b) {
		ran[l]++
	}
	for l, n := range ran {
		if n > 1 {
			t.Errorf("attempt %s ran %d times", l, n)
		}
		id, _, _ := strings.Cut(l, ".")
		if k, err := strconv.ParseInt(id, 10, 64); err != nil || !acked[pasar.JobID(k)] {
			t.Errorf("attempt %s ran, and no submit was answered with it", l)
		}
	}
	for _, id := range ids {
		v := views[id]
		switch {
		case v.State == pasar.Completed && ran[id.String()+".1"] == 1:
		case v.State == pasar.Cancelled && cancelled[id]:
		default:
			t.Errorf("job %d is %s (cancel asked: %v), ran %d times, %d attempts: %+v", id, v.State, cancelled[id], ran[id.String()+".1"], len(v.Attempts), v.Verdict)
		}
	}
	t.Logf("%d kills, %d jobs, %d cancels", kills, len(ids), len(cancelled))
}

// TestOutputHasNoGapOverKills compares a job's log with the same program run alone.
func TestOutputHasNoGapOverKills(t *testing.T) {
	h := newHome(t)
	h.start()
	ctx := longContext(t, 2*time.Minute)
	gate := filepath.Join(h.dir, "gate")
	const n = 3000
	id, err := h.submit(ctx, shell(fmt.Sprintf(`i=0; while [ $i -lt %d ]; do echo "line $i of the output"; i=$((i+1)); done; : > %s; exit 5`, n, gate)))
	if err != nil {
		t.Fatal(err)
	}
	h.started(ctx, id) // a daemon that dies before the launch runs nothing
	for range 3 {
		h.kill()
		h.spawn()
		c := h.dial(ctx)
		_ = c.Close()
	}
	h.kill()
	// The job ends while no daemon runs.
	for {
		if _, err := os.Stat(gate); err == nil {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatal("the job doesn't end")
		case <-time.After(5 * time.Millisecond):
		}
	}
	h.start()
	next, err := h.submit(ctx, shell("exit 0")) // the queue goes on
	if err != nil {
		t.Fatal(err)
	}
	c := h.dial(ctx)
	defer c.Close()
	codes := map[pasar.JobID]*int{}
	if err := c.Wait(ctx, ipc.WaitRequest{Jobs: []pasar.JobID{id, next}}, func(b []byte) error {
		var v pasar.JobView
		err := json.Unmarshal(b, &v)
		codes[v.ID] = v.Attempts[0].ExitCode
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if codes[id] == nil || *codes[id] != 5 {
		t.Errorf("exit code = %v, want 5", codes[id])
	}
	var got []byte
	if _, err := c.Logs(ctx, ipc.LogsRequest{Job: id}, ipc.LogsReader{
		Head: func(ipc.LogsHead) error { return nil },
		Mark: func(ipc.LogsMark) error { return nil },
		Bytes: func(b []byte) error {
			got = append(got, b...)
			return nil
		},
	}); err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for i := range n {
		fmt.Fprintf(&want, "line %d of the output\r\n", i)
	}
	if string(got) != want.String() {
		t.Errorf("the log has %d bytes, the program wrote %d", len(got), want.Len())
	}
}

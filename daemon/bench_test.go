package daemon

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/target/targettest"
)

func benchDaemon(b *testing.B, ctx context.Context, j *memJournal) *Daemon {
	return benchDaemonOn(b, ctx, j, targettest.NewWorld(targettest.Machine(1, 80*pasar.GiB)), fakeClock{start: time.Now()})
}

func benchDaemonOn(b *testing.B, ctx context.Context, j *memJournal, w *targettest.World, c Clock) *Daemon {
	d, err := New(ctx, Deps{
		Journal: j, History: j, Target: w.View(),
		Clock: c, Boot: "b", Random: ipc.NewRequest, User: "ada", DataDir: "/",
	}, Settings{})
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// A quickClock can be moved on.
type quickClock struct {
	start time.Time
	ahead *atomic.Int64 // nanoseconds
}

func (c quickClock) Now() time.Time       { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c quickClock) Mono() pasar.Duration { return pasar.Duration(c.Now().Sub(c.start)) + 1 }

// BenchmarkSubmit is the loop's part of a submit, without a disk, at so many jobs waiting.
func BenchmarkSubmit(b *testing.B) {
	for _, hold := range []bool{true, false} {
		for _, queued := range []int{100, 10_000} {
			b.Run(fmt.Sprintf("held=%v/queued=%d", hold, queued), func(b *testing.B) {
				ctx, cancel := context.WithCancel(context.Background())
				d := benchDaemon(b, ctx, newMemJournal())
				done := make(chan struct{})
				go func() { defer close(done); _ = d.Run(ctx) }()
				defer func() { cancel(); <-done }()
				s := spec("j", 1000)
				s.Hold = hold
				submit := func() {
					if _, err := d.do(ctx, d.submit(ipc.SubmitRequest{Request: ipc.NewRequest(), Spec: s})); err != nil {
						b.Fatal(err)
					}
				}
				for range queued {
					submit()
				}
				b.ReportAllocs()
				b.ResetTimer()
				for b.Loop() {
					submit()
				}
			})
		}
	}
}

// BenchmarkListView is one waiting job of a listing.
func BenchmarkListView(b *testing.B) {
	d := &Daemon{Deps: Deps{Clock: fakeClock{start: time.Now()}}}
	j := &job{ID: 42, Spec: spec("train", 1000), Phase: phaseWaiting, QueueTime: time.Now(), Created: time.Now()}
	j.Spec.Argv = pasar.Args([]string{"python", "train.py", "--lr", "0.1", "--seed", "17"})
	reason := pasar.Reason{Why: pasar.WaitGPU, Ahead: 17, Holders: []pasar.JobID{41}}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		v := d.view(j, &reason, nil)
		buf, _ = v.AppendJSON(buf[:0])
	}
}

// BenchmarkThaw is recovery from a snapshot of 10 000 waiting jobs.
func BenchmarkThaw(b *testing.B) {
	s := newState()
	for i := range 10_000 {
		sp := spec("train", 1000)
		sp.Argv = pasar.Args([]string{"python", "train.py", "--lr", "0.1", "--seed", "17"})
		s.apply(pasar.Record{Seq: int64(i + 1), At: time.Unix(1e9, 0), Fact: pasar.Submitted{Job: pasar.JobID(i + 1), Spec: sp}})
		s.apply(pasar.Record{Seq: int64(i + 1), At: time.Unix(1e9, 0), Fact: pasar.Answered{Request: ipc.NewRequest(), Verb: "submit", Jobs: []pasar.JobID{pasar.JobID(i + 1)}}})
	}
	sv := s.freeze()
	body, err := sv.encode()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := thaw(body); err != nil {
			b.Fatal(err)
		}
	}
}

package daemon

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/ipc"
)

func array(request, name string, n int) ipc.SubmitRequest {
	s := spec(name, 1000)
	s.Argv = pasar.Args([]string{"train", "--lr={lr}", "{index}", "{other}"})
	s.ResumeCommand = pasar.Args([]string{"resume", "{index}"})
	r := ipc.SubmitRequest{Request: request, Spec: s, Surroundings: pasar.Surroundings{Env: pasar.Args([]string{"A=b"})}}
	for i := range n {
		r.Points = append(r.Points, pasar.Point{Index: &i, Params: []pasar.Param{{Name: "lr", Value: fmt.Sprintf("1e-%d", i)}}})
	}
	return r
}

func TestAnArrayIsJobsWithConsecutiveIdsAndItsValuesFilledIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		d := w.start(nil)
		d.submit(spec("first", 1000))
		r := array("r", "run-{index}", 5)
		r.Spec.Key = "k"
		o := d.must(d.Daemon.submit(r))
		if want := span(2, 5); !reflect.DeepEqual(o.jobs, want) {
			t.Fatalf("jobs %v", o.jobs)
		}
		for i, id := range o.jobs {
			j := d.get(id)
			if j.Spec.Name != fmt.Sprintf("run-%d", i) || *j.Spec.Index != i || j.Spec.Group != 2 {
				t.Errorf("job %d: %+v", id, j.Spec)
			}
			want := []string{"train", fmt.Sprintf("--lr=1e-%d", i), fmt.Sprint(i), "{other}"}
			if got := pasar.Strings(j.Spec.Argv); !reflect.DeepEqual(got, want) {
				t.Errorf("job %d runs %q", id, got)
			}
			if got := j.Spec.ResumeCommand[1]; got != pasar.Arg(fmt.Sprint(i)) {
				t.Errorf("job %d resumes with %q", id, got)
			}
		}
		if w.journal.specRows != 2 { // of the first job, and one for all five
			t.Errorf("surroundings were written %d times", w.journal.specRows)
		}
		a, _ := w.machine.Launched(key(2, 1))
		if *a.Index != 0 || a.Params[0].Name != "lr" || a.Spec.Surroundings.Env[0] != "A=b" {
			t.Errorf("launched with %+v", a)
		}
		same := func(when string) {
			t.Helper()
			again := array("other", "run-{index}", 3)
			again.Spec.Key = "k"
			again.Request = ipc.NewRequest()
			for _, r := range []ipc.SubmitRequest{r, again} {
				if got := d.must(d.Daemon.submit(r)); !reflect.DeepEqual(got.jobs, o.jobs) {
					t.Errorf("%s, a repeat gets %v", when, got.jobs)
				}
			}
		}
		same("at once")
		d.kill()
		d = w.start(nil)
		same("after a restart")
		d.must(d.cancel(jobs(o.jobs...)))
		for range keepFinished {
			id := d.submit(spec("x", 1000))
			d.must(d.cancel(jobs(id)))
		}
		same("once they have left memory")
		w.check()
	})
}

func TestABadPointQueuesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		for want, edit := range map[string]func(*ipc.SubmitRequest){
			"bad parameter": func(r *ipc.SubmitRequest) { r.Points[2].Params = []pasar.Param{{Name: "1x"}} },
			"at most 10000": func(r *ipc.SubmitRequest) { r.Points = make([]pasar.Point, pasar.MaxPoints+1) },
			"more than": func(r *ipc.SubmitRequest) {
				r.Points[0].Params[0].Value = strings.Repeat("x", pasar.MaxArgv-100)
				r.Points = many(r.Points[0], 200)
			},
			"NUL": func(r *ipc.SubmitRequest) { r.Spec.Argv[0] = "a\x00" },
		} {
			r := array(want, "a", 3)
			edit(&r)
			if got := d.refused(d.Daemon.submit(r)); !strings.Contains(got, want) {
				t.Errorf("refused with %q, want %q", got, want)
			}
		}
		if id := d.submit(spec("a", 1000)); id != 1 {
			t.Errorf("the next job is %d", id)
		}
	})
}

func many(p pasar.Point, n int) []pasar.Point {
	out := make([]pasar.Point, n)
	for i := range out {
		out[i] = p
	}
	return out
}

func TestAPlainSubmitCantPassForAPartOfAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		s := spec("a", 1000)
		zero := 0
		s.Group, s.Index, s.Params = 7, &zero, []pasar.Param{{Name: "a", Value: "b"}}
		if j := d.get(d.submit(s)); j.Spec.Group != 0 || j.Spec.Index != nil || j.Spec.Params != nil {
			t.Errorf("%+v", j.Spec)
		}
	})
}

func TestTheBoundOfAGroupIsEditedForAllOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		r := array("r", "a", 3)
		r.Spec.MaxConcurrent = 1
		ids := d.must(d.Daemon.submit(r)).jobs
		two := 2
		d.must(d.edit(ipc.EditRequest{Request: "e", Job: ids[2], More: ipc.Change{MaxConcurrent: &two}}))
		for _, id := range ids {
			if n := d.get(id).Spec.MaxConcurrent; n != 2 {
				t.Errorf("job %d: %d at once", id, n)
			}
		}
		alone := d.submit(spec("b", 1))
		if got := d.refused(d.edit(ipc.EditRequest{Request: "f", Job: alone, More: ipc.Change{MaxConcurrent: &two}})); !strings.Contains(got, "not part of an array") {
			t.Error(got)
		}
	})
}

// BenchmarkArray is the loop's part of a submit of so many jobs, without a disk.
func BenchmarkArray(b *testing.B) {
	const n = 10_000
	for b.Loop() {
		ctx, cancel := context.WithCancel(context.Background())
		j := newMemJournal()
		d := benchDaemon(b, ctx, j)
		done := make(chan struct{})
		go func() { defer close(done); _ = d.Run(ctx) }()
		began := time.Now()
		if _, err := d.do(ctx, d.submit(array("r", "a", n))); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(n/time.Since(began).Seconds(), "jobs/s")
		cancel()
		<-done
	}
}

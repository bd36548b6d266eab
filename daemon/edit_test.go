package daemon

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/ipc"
)

func TestAnEditChangesWhatIsNamedAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		first := d.submit(spec("first", 1000))
		id := d.submit(spec("a", 1000))
		before := d.get(id)
		claim := pasar.Claim{Kind: pasar.Slice, GPUs: 1, Mem: 10 * pasar.GiB}
		name, tags, limit := "other", []string{"x"}, pasar.Duration(time.Hour)
		r := ipc.EditRequest{Request: "e", Job: id, Claim: &claim, Name: &name, Tags: &tags, More: ipc.Change{TimeLimit: &limit}}
		d.must(d.edit(r))
		d.must(d.edit(r)) // a repeat
		j := d.get(id)
		if j.Spec.Name != "other" || j.Spec.Tags[0] != "x" || j.Spec.TimeLimit != limit || j.Spec.Claim.Limit != 12*pasar.GiB {
			t.Errorf("%+v", j.Spec)
		}
		if j.Spec.Bid != 1000 || j.Spec.Grace != before.Spec.Grace || !j.QueueTime.Equal(before.QueueTime) {
			t.Errorf("%+v", j.Spec)
		}
		d.kill()
		d = w.start(nil)
		if j := d.get(id); j.Spec.Name != "other" {
			t.Errorf("after a restart: %+v", j.Spec)
		}
		big := pasar.Claim{Kind: pasar.Slice, GPUs: 1, Mem: pasar.TiB}
		zero, none := 0, ""
		on := []pasar.Code{pasar.CodeExit}
		for want, r := range map[string]ipc.EditRequest{
			"1 TiB":                        {Job: id, Claim: &big},
			"--name has at least one byte": {Job: id, Name: &none},
			"--retries N says how often":   {Job: id, More: ipc.Change{Retries: &zero, RetryOn: &on}},
			"is running: it can't be edit": {Job: first, Name: &name},
		} {
			r.Request = ipc.NewRequest()
			if got := d.refused(d.edit(r)); !strings.Contains(got, want) {
				t.Errorf("refused with %q, want %q", got, want)
			}
		}
	})
}

func TestPromoteIsOneMoreThanTheBestThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		run := d.submit(spec("run", 5000))
		a, b := d.submit(spec("a", 1200)), d.submit(spec("b", 1000))
		promote := func(id, want pasar.JobID, bid pasar.Bid) {
			t.Helper()
			d.must(d.bid(ipc.BidRequest{Request: ipc.NewRequest(), Job: id, Promote: true}))
			if j := d.get(id); j.Spec.Bid != bid {
				t.Errorf("job %d bids %d, want %d", id, j.Spec.Bid, bid)
			}
			if first := d.pub.Load().waiting[0].ID; first != want {
				t.Errorf("job %d is first", first)
			}
		}
		promote(b, b, 1201)
		promote(b, b, 1201) // it has the best already
		promote(a, a, 1202)
		if got := d.refused(d.bid(ipc.BidRequest{Request: "p", Job: run, Bid: 6000, Preempt: true})); !strings.Contains(got, "only a job that waits can preempt") {
			t.Error(got)
		}
		d.must(d.bid(ipc.BidRequest{Request: "m", Job: a, Bid: pasar.MaxBid}))
		if got := d.refused(d.bid(ipc.BidRequest{Request: "n", Job: b, Promote: true})); !strings.Contains(got, "outside") {
			t.Error(got)
		}
	})
}

func TestNothingStartsOnWhatIsDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		run := d.submit(spec("run", 1000))
		drain := func(on bool, gpu, by string) {
			t.Helper()
			d.must(d.drainAsked(ipc.DrainRequest{Request: ipc.NewRequest(), GPU: gpu, Why: "new driver", By: by}, on))
		}
		drain(true, "", "ada")
		drain(true, "", "bob") // again: the later one's words count
		id := d.submit(spec("a", 1000))
		w.machine.Finish(key(run, 1), 0)
		d.expect(run, pasar.Completed) // what ran goes on
		d.expect(id, pasar.Queued)
		if r := d.pub.Load().reasonFor(d.get(id)); r.Why != pasar.WaitMachine || !strings.Contains(r.Detail, "drained by bob: new driver") {
			t.Errorf("reason %+v", r)
		}
		d.kill()
		d = w.start(nil)
		d.expect(id, pasar.Queued)
		drain(false, "", "ada")
		d.expect(id, pasar.Running)
		drain(false, "", "ada") // nothing to end
		w.check()
	})
}

func TestGPUsAreNamedByIndexOrUUIDOrItsBeginning(t *testing.T) {
	inv := pasar.Inventory{Machine: "local", GPUs: []pasar.GPU{
		{Index: 0, UUID: "GPU-aaaa1111"}, {Index: 1, UUID: "GPU-aaab2222"},
		{Index: 2, UUID: "MIG-1", Parent: "GPU-c"}, {Index: 2, UUID: "MIG-2", Parent: "GPU-c"}}}
	for name, want := range map[string]string{
		"0": "GPU-aaaa1111", "gpu-aaaa1111": "GPU-aaaa1111", "GPU-aaab": "GPU-aaab2222", "2": "MIG-1 MIG-2", "GPU-c": "MIG-1 MIG-2",
	} {
		if got, err := gpusNamed(inv, name); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s is %v, %v; want %s", name, got, err, want)
		}
	}
	for name, want := range map[string]string{"GPU-aaa": "2 GPUs of local begin", "7": "has no GPU", "G": "has no GPU"} {
		if _, err := gpusNamed(inv, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhereAWaitEnds(t *testing.T) {
	for _, c := range []struct {
		phase          phase
		end, throughIt bool // of a plain wait, of one through pauses
		started        bool // of one for the start
	}{
		{phaseWaiting, false, false, false}, {phaseLaunching, false, false, false}, {phaseRunning, false, false, true},
		{phaseStopping, false, false, true}, {phaseLeaving, false, false, true}, {phasePaused, true, false, true}, {phaseFinished, true, true, true},
	} {
		j := &job{Phase: c.phase}
		for _, x := range []struct {
			r    ipc.WaitRequest
			want bool
		}{{ipc.WaitRequest{}, c.end}, {ipc.WaitRequest{ThroughPauses: true}, c.throughIt}, {ipc.WaitRequest{Started: true}, c.started}} {
			if got := reached(j, &x.r); got != x.want {
				t.Errorf("%s, %+v: %v", c.phase, x.r, got)
			}
		}
	}
}

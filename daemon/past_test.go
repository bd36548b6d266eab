package daemon

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/sched"
)

func TestJobsThatDifferByNumbersAreAlike(t *testing.T) {
	like := func(cwd string, tags []string, argv ...string) fingerprint {
		return fingerprintOf(&pasar.Spec{Cwd: pasar.Arg(cwd), Tags: tags, Argv: pasar.Args(argv)})
	}
	base := like("/a", nil, "python", "train.py", "--lr", "1e-4", "--seed=17")
	for what, other := range map[string]fingerprint{
		"another rate and seed": like("/a", nil, "python", "train.py", "--lr", "0.003", "--seed=5"),
		"a rate without a zero": like("/a", nil, "python", "train.py", "--lr", ".5", "--seed=12345678901234567890"),
		"an exponent's sign":    like("/a", nil, "python", "train.py", "--lr", "3E+02", "--seed=1"),
	} {
		if other != base {
			t.Errorf("%s makes another kind of job", what)
		}
	}
	for what, other := range map[string]fingerprint{
		"another directory":   like("/b", nil, "python", "train.py", "--lr", "1e-4", "--seed=17"),
		"another script":      like("/a", nil, "python", "eval.py", "--lr", "1e-4", "--seed=17"),
		"a tag":               like("/a", []string{"x"}, "python", "train.py", "--lr", "1e-4", "--seed=17"),
		"arguments run on":    like("/a", nil, "python", "train.py --lr", "1e-4", "--seed=17"),
		"a word for a number": like("/a", nil, "python", "train.py", "--lr", "auto", "--seed=17"),
	} {
		if other == base {
			t.Errorf("%s makes the same kind of job", what)
		}
	}
	if like("/a", []string{"x", "y"}, "a") != like("/a", []string{"x"}, "b") {
		t.Error("jobs with the same first tag differ")
	}
	s := spec("train --lr 1e-4", 1000)
	if n := testing.AllocsPerRun(100, func() { fingerprintOf(&s) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestPercentilesAreValuesThatWereSeen(t *testing.T) {
	for _, c := range []struct {
		part float64
		of   []pasar.Duration
		want pasar.Duration
	}{{0.75, nil, 0}, {0.75, []pasar.Duration{5}, 5}, {0.75, []pasar.Duration{4, 1, 3, 2}, 3}, {0.95, []pasar.Duration{3, 1, 2}, 3}} {
		if got := percentile(c.of, c.part); got != c.want {
			t.Errorf("the %v of %v is %v, want %v", c.part, c.of, got, c.want)
		}
	}
	var hundred []pasar.Bytes
	for i := range 100 {
		hundred = append(hundred, pasar.Bytes(100-i))
	}
	if got := percentile(hundred, 0.95); got != 95 {
		t.Errorf("the 95th percentile of 1 to 100 is %d", got)
	}
}

// goneJob is a finished job of a kind, for a past.
func goneJob(id pasar.JobID, tag string, end pasar.State, ran time.Duration, peak pasar.Bytes) *job {
	s := spec("a", 1000)
	s.Tags, s.Claim = []string{tag}, slice(10*pasar.GiB)
	j := &job{ID: id, Spec: s, Phase: phaseFinished, End: end, like: fingerprintOf(&s)}
	a := pasar.AttemptRecord{Attempt: 1, Grant: pasar.Grant{Machine: "local", GPUs: []pasar.GPURef{{UUID: "GPU-0"}}}, EndedAt: time.Unix(1e9, 0),
		RunTime: pasar.Duration(ran), Exit: &pasar.ExitRecord{}}
	if peak > 0 {
		a.PeakGPU = &peak
	}
	j.Attempts = []pasar.AttemptRecord{a}
	return j
}

func TestThePastIsBoundedAndForgetsWhatIsOldest(t *testing.T) {
	p := newPast()
	for i := range 3 * keepOutcomes {
		p.add(int64(i), goneJob(pasar.JobID(i+1), "one", pasar.Completed, time.Duration(i+1)*minute, 0), false)
	}
	k := p.kinds[goneJob(1, "one", "", 0, 0).like]
	if len(k.Outcomes) != keepOutcomes || k.Outcomes[0].Job != 2*keepOutcomes+1 {
		t.Errorf("%d outcomes are kept, from job %d on", len(k.Outcomes), k.Outcomes[0].Job)
	}
	for i := range keepKinds + 10 {
		p.add(int64(1000+i), goneJob(1, fmt.Sprint("kind ", i), pasar.Completed, minute, 0), false)
	}
	if len(p.kinds) > keepKinds {
		t.Errorf("%d kinds are kept", len(p.kinds))
	}
	if p.usual(k.Like) != (usual{}) {
		t.Error("the kind used longest ago is still known")
	}
	if last := goneJob(1, fmt.Sprint("kind ", keepKinds+9), "", 0, 0).like; p.usual(last).ran != pasar.Duration(minute) {
		t.Error("the newest kind isn't known")
	}
	p.add(9999, goneJob(1, "bad", pasar.Failed, minute, 0), false)
	if like := goneJob(1, "bad", "", 0, 0).like; p.kinds[like] != nil {
		t.Error("a failure of which nothing is known is remembered")
	}
}

func TestThePastIsAPartOfTheFold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.machine.OnLaunch(exact)
		d := w.start(nil)
		unsaid := func() pasar.Spec {
			s := timed(20*minute, 1000, whole(1))
			s.Time = 0
			return s
		}
		for range 3 {
			d.submit(unsaid())
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		sv := d.Daemon.state.freeze()
		body, err := sv.encode()
		if err != nil {
			t.Fatal(err)
		}
		s, err := thaw(body)
		if err != nil {
			t.Fatal(err)
		}
		first, next := unsaid(), unsaid()
		like := fingerprintOf(&first)
		if got := s.past.usual(like).ran; got != pasar.Duration(20*minute) {
			t.Errorf("a snapshot remembers %s", got)
		}
		d.kill()
		d = w.start(nil) // folds the facts, or a snapshot and those after it
		id := d.submit(next)
		if v := d.seen(id); v.EstSource == nil || *v.EstSource != "history" || v.EstRuntime.Seconds() != 1200 {
			t.Errorf("a new daemon's estimate is %v by %v", v.EstRuntime, v.EstSource)
		}
	})
}

func TestAutoMemoryGoesByThreePeaksAndSaysWhyNot(t *testing.T) {
	d := &Daemon{Deps: Deps{Clock: stillClock{}}, state: newState()}
	d.settings.Store(&Settings{Margin: pasar.Margin{Min: 2 * pasar.GiB, Frac: 0.1}})
	ask := func() (pasar.Claim, error) {
		s := goneJob(0, "llm", "", 0, 0).Spec
		s.Claim = pasar.Claim{Kind: pasar.Slice, GPUs: 1, Auto: true}
		err := d.prepare(&s)
		return s.Claim, err
	}
	for i, peak := range []pasar.Bytes{21 * pasar.GiB, 23 * pasar.GiB} {
		d.state.past.add(int64(i), goneJob(pasar.JobID(i), "llm", pasar.Completed, minute, peak), false)
	}
	d.learn(false)
	var e *ipc.Error
	if _, err := ask(); !errors.As(err, &e) || e.Code != ipc.CodeBadRequest || !strings.Contains(e.Message, "2 are known") {
		t.Errorf("with two peaks it is refused with %v", e)
	}
	d.state.past.add(3, goneJob(3, "llm", pasar.Failed, minute, 30*pasar.GiB), false)
	d.learn(false)
	c, err := ask()
	if err != nil || c.Mem != 30*pasar.GiB || c.Limit != 33*pasar.GiB || !c.Auto {
		t.Errorf("claim %+v, %v", c, err)
	}
}

func TestAPeakIsOfOneGPUAndAVirtualOnesIsHostMemory(t *testing.T) {
	j := goneJob(1, "a", pasar.Completed, minute, 30*pasar.GiB)
	j.Attempts[0].Grant.GPUs = make([]pasar.GPURef, 3)
	if got := peakOf(j, false); got != 10*pasar.GiB {
		t.Errorf("30 GiB on three GPUs are %s on each", got)
	}
	j = goneJob(1, "a", pasar.Completed, minute, 0)
	j.Attempts[0].Exit.PeakHost = 3 * pasar.GiB
	if real, virtual := peakOf(j, false), peakOf(j, true); real != 0 || virtual != 3*pasar.GiB {
		t.Errorf("host memory counts %s on a GPU and %s on a virtual one", real, virtual)
	}
}

func TestASliceFromHistoryIsRaisedOnce(t *testing.T) {
	machines := []sched.Machine{{Reachable: true, Inventory: pasar.Inventory{Machine: "local", GPUs: []pasar.GPU{{UUID: "GPU-0", Total: 80 * pasar.GiB}}}}}
	margin := pasar.Margin{Min: 2 * pasar.GiB, Frac: 0.1}
	peak := 20 * pasar.GiB
	j := goneJob(1, "a", pasar.Failed, minute, 0)
	j.Spec.Claim = pasar.Claim{Kind: pasar.Slice, GPUs: 1, Mem: 18 * pasar.GiB, Limit: 20 * pasar.GiB, Auto: true}
	mem, limit, ok := raised(j, &peak, margin, machines)
	if !ok || mem != 25*pasar.GiB || limit != margin.Limit(25*pasar.GiB) {
		t.Errorf("raised to %s, limit %s (%v)", mem, limit, ok)
	}
	for what, change := range map[string]func(j *job, peak *pasar.Bytes) *pasar.Bytes{
		"a second time":      func(j *job, p *pasar.Bytes) *pasar.Bytes { j.Attempts[0].Sequel.Mem = 1; return p },
		"by nobody's asking": func(j *job, p *pasar.Bytes) *pasar.Bytes { j.Spec.Claim.Auto = false; return p },
		"unseen":             func(*job, *pasar.Bytes) *pasar.Bytes { return nil },
		"downwards":          func(j *job, p *pasar.Bytes) *pasar.Bytes { j.Spec.Claim.Mem = 30 * pasar.GiB; return p },
		"beyond the machine": func(*job, *pasar.Bytes) *pasar.Bytes { return pasar.Known(70 * pasar.GiB) },
	} {
		k := j.clone()
		if mem, _, ok := raised(k, change(k, &peak), margin, machines); ok {
			t.Errorf("raised %s, to %s", what, mem)
		}
	}
}

func TestAdviceIsGivenFromAFactorOfTwo(t *testing.T) {
	u := usual{ran: pasar.Duration(time.Hour), peak: 10 * pasar.GiB, peaks: 3}
	for _, c := range []struct {
		mem  pasar.Bytes
		time time.Duration
		says []string
	}{
		{12 * pasar.GiB, 90 * minute, nil},
		{20 * pasar.GiB, 90 * minute, []string{"10 GiB", "20 GiB"}},
		{5 * pasar.GiB, 0, []string{"10 GiB", "5 GiB"}},
		{12 * pasar.GiB, 2 * time.Hour, []string{"1h", "2h"}},
		{40 * pasar.GiB, 30 * minute, []string{"10 GiB", "40 GiB", "1h", "30m"}},
	} {
		s := timed(c.time, 1000, slice(c.mem))
		got := u.advice(&s)
		if (got != "") != (c.says != nil) {
			t.Errorf("%s for %s: %q", c.mem, c.time, got)
		}
		for _, say := range c.says {
			if !strings.Contains(got, say) {
				t.Errorf("%q doesn't say %s", got, say)
			}
		}
	}
	if got := (usual{peak: pasar.GiB, peaks: 2}).advice(&pasar.Spec{Claim: slice(9 * pasar.GiB)}); got != "" {
		t.Errorf("two peaks are taken for history: %q", got)
	}
}

package ui

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pasar"
)

// A maker makes snapshots at random: parts that are missing, times in any order, hostile names.
type maker struct{ *rand.Rand }

func (r maker) maybe() bool { return r.IntN(3) > 0 }

func some[T any](r maker, v T) *T {
	if r.maybe() {
		return &v
	}
	return nil
}

func (r maker) time() time.Time {
	switch r.IntN(10) {
	case 0:
		return time.Time{}
	case 1:
		return now.Add(time.Duration(r.Int64()) - math.MaxInt64/2)
	}
	return now.Add(time.Duration(r.IntN(7200)-3600) * time.Second)
}

func (r maker) name() string {
	names := []string{"", "train", "[red]x[-]", "漢字漢字漢字", "\x1b[2J\n", "\u202eevil", "👨\u200d👩\u200d👧🇲🇾", "שלום", "e\u0301\u0302\u0303", "\xff\xfe", "a b c d e f g h"}
	return names[r.IntN(len(names))]
}

func pick[T any](r maker, of ...T) T { return of[r.IntN(len(of))] }

func (r maker) size() pasar.Bytes {
	return pick(r, 0, 1, pasar.GiB, 20*pasar.GiB, -pasar.GiB, math.MaxInt64)
}

func (r maker) number() float64 {
	return pick(r, 0, 1, 50, 100, -7, math.NaN(), math.Inf(1), math.MaxFloat64)
}

func (r maker) refs() (refs []pasar.GPURef) {
	for range r.IntN(3) {
		refs = append(refs, pasar.GPURef{Index: r.IntN(4), UUID: pick(r, "", "GPU-0", "GPU-1", "MIG-é", "M"), Parent: pick(r, "", "", "GPU-0")})
	}
	return refs
}

func (r maker) job() *pasar.JobView {
	if r.IntN(20) == 0 {
		return nil
	}
	v := &pasar.JobView{ID: pasar.JobID(r.IntN(30)), Name: r.name(), State: pick(r, append(pasar.States, "", "odd")...), Created: r.time(), QueueTime: r.time(), OverLimit: r.IntN(9) == 0,
		Claim: pasar.ClaimView{Kind: pick(r, pasar.Whole, pasar.Slice, pasar.NoGPU, ""), Mem: some(r, r.size()), Limit: some(r, r.size())}, Tags: pick(r, nil, []string{r.name()}),
		RunTime: some(r, pasar.Duration(r.Int64())), Command: r.name(), Note: some(r, r.name()), Group: some(r, pasar.JobID(1))}
	v.Projected = pasar.ProjectedView{Start: some(r, r.time()), Finish: some(r, r.time()), Machine: some(r, pick(r, "local", "b")), GPUs: r.refs()}
	if r.maybe() {
		v.Waiting = &pasar.WaitingView{Why: pick(r, pasar.WaitSettle, pasar.WaitGPU, ""), Sentence: r.name()}
	}
	for i := range r.IntN(4) {
		a := pasar.AttemptView{Attempt: i + 1, Machine: pick(r, "local", "b", r.name()), GPUs: r.refs(), LaunchedAt: r.time(), StartedAt: some(r, r.time()), EndedAt: some(r, r.time()),
			Wasted: some(r, pasar.Duration(r.Int64()-math.MaxInt64/2)), RestartCost: some(r, pasar.Duration(r.IntN(1e12)))}
		if r.maybe() {
			a.Verdict = &pasar.Verdict{Reason: pick(r, append(pasar.Codes, "", "odd\x1b")...)}
		}
		v.Attempts = append(v.Attempts, a)
	}
	return v
}

func (r maker) gpu() pasar.GPUView {
	g := pasar.GPUView{GPU: pasar.GPU{Index: r.IntN(3), UUID: pick(r, "", "GPU-0", "GPU-1", "MIG-é"), Name: r.name(), Total: r.size(), Virtual: r.IntN(9) == 0, Parent: pick(r, "", "", "GPU-0")},
		Used: some(r, r.size()), Util: some(r, r.number()), TempC: some(r, r.number()), HotC: some(r, r.number()), PowerW: some(r, r.number()), Claimed: r.size()}
	for range r.IntN(5) {
		g.Jobs = append(g.Jobs, pasar.JobID(r.IntN(30)))
		g.Processes = append(g.Processes, pasar.GPUProcessView{Used: some(r, r.size()), Job: some(r, pasar.JobID(r.IntN(30)))})
		g.Leaving = append(g.Leaving, pasar.LeavingView{Used: some(r, r.size())})
	}
	return g
}

func (r maker) snapshot() *Snapshot {
	s := &Snapshot{At: r.time(), Lost: pick(r, "", "", r.name())}
	for range r.IntN(40) {
		s.Jobs = append(s.Jobs, r.job())
	}
	var machines []pasar.MachineView
	for range r.IntN(3) {
		m := pasar.MachineView{Name: pick(r, "local", "b", r.name()), Reachable: r.maybe(), RAM: r.size(), HostMemory: r.size(), HostUsed: r.size(), Available: some(r, r.size()), Pressure: some(r, r.number())}
		for range r.IntN(4) {
			m.GPUs = append(m.GPUs, r.gpu())
		}
		machines = append(machines, m)
	}
	s.GPUs = some(r, pasar.GPUsView{Machines: machines})
	s.Status = some(r, pasar.StatusView{Machines: machines, Problem: some(r, r.name()), Incidents: []pasar.IncidentView{{At: r.time(), What: r.name()}}})
	s.Approvals = some(r, pasar.ApprovalsView{Requests: make([]pasar.ApprovalView, r.IntN(3))})
	return s
}

// exact checks that a line takes as many columns as it must, and that its characters are each as wide as alone.
func exact(t *testing.T, what string, seed uint64, text string, width int, ascii bool) {
	t.Helper()
	if w := narrow.StringWidth(text); w != max(0, width) || runeSum(text) != w {
		t.Fatalf("seed %d: %s takes %d columns (%d), not %d: %q", seed, what, w, runeSum(text), width, text)
	}
	for _, r := range text {
		if ascii && r > '~' || r < ' ' {
			t.Fatalf("seed %d: %s has %q: %q", seed, what, r, text)
		}
	}
}

func TestWhateverIsKnownIsDrawnInItsColumns(t *testing.T) {
	for seed := range uint64(400) {
		r := maker{rand.New(rand.NewPCG(seed, 7))}
		s, at, width, ascii := r.snapshot(), r.time(), r.IntN(90)-2, r.maybe()
		from, to := r.time(), r.time()
		MoodOf(s, at)
		Headline(s, at)
		Pool(s)
		Rows(s.Jobs, ParseFilter(r.name()), pick(r, Sorts()...), r.maybe(), r.maybe(), at)
		lanes, _ := Lanes(s, s.Jobs, from, to, at, r.IntN(12)-1)
		for _, l := range lanes {
			for i, b := range l.Bars {
				if b.To.Before(b.From) || i > 0 && l.Bars[i-1].To.After(b.From) {
					t.Fatalf("seed %d: bars overlap: %v", seed, l.Bars)
				}
			}
			line, jobs := l.Render(from, to, at, width, pasar.JobID(r.IntN(30)), ascii)
			exact(t, "a lane", seed, line.String(), width, ascii)
			if len(jobs) != max(0, width) {
				t.Fatalf("seed %d: %d columns have a job", seed, len(jobs))
			}
		}
		exact(t, "an axis", seed, Axis(from, to, at, width).String(), width, true)
		for _, v := range s.Jobs {
			bar, _ := AttemptsBar(v, at, width, ascii)
			exact(t, "a life", seed, bar.String(), width, ascii)
			if h := Hue(v); h < 1 || h > Hues {
				t.Fatalf("seed %d: hue %d", seed, h)
			}
			if v != nil {
				JobCells(v, at)
			}
		}
		for _, m := range s.machines() {
			for i := range m.GPUs {
				line, _ := MemoryBar(&m.GPUs[i], Claims(&m.GPUs[i], s.Jobs), hueByID, width, ascii)
				exact(t, "a GPU's memory", seed, line.String(), width, ascii)
			}
		}
		var values []float64
		for range r.IntN(200) {
			values = append(values, r.number())
		}
		exact(t, "a series", seed, Spark(values, width, ascii), width, ascii)
		exact(t, "a series to scale", seed, SparkOf(values, width, r.number(), r.number(), ascii), width, ascii)
		exact(t, "a meter", seed, Meter(r.number(), width, ascii), width, ascii)
	}
}

func TestTenThousandJobsAreNoTrouble(t *testing.T) {
	s := queue(10_000)
	from, to := now.Add(-time.Hour), now.Add(240*time.Hour)
	lanes, hidden := Lanes(s, s.Jobs, from, to, now, 30)
	shown := 0
	for _, l := range lanes {
		line, _ := l.Render(from, to, now, 200, 0, false)
		exact(t, "a lane", 0, line.String(), 200, false)
		shown += len(l.Bars)
	}
	if shown+hidden < 10_000 || len(lanes) > 30 {
		t.Errorf("%d lanes, %d bars, %d hidden", len(lanes), shown, hidden)
	}
	if m, why, _ := MoodOf(s, now); m != MoodBusy {
		t.Errorf("%s: %s", m, why)
	}
	if got := Headline(s, now); got != fmt.Sprintf("4 running, %d waiting · next #43 ~12:45", 10_004) {
		t.Error(got)
	}
}

package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pasar"
)

// A market of two GPUs: what ran on them, what runs, and what is projected.
func marketSnapshot() *Snapshot {
	gpu := func(i ...int) (refs []pasar.GPURef) {
		for _, i := range i {
			refs = append(refs, pasar.GPURef{Index: i, UUID: fmt.Sprint("GPU-", i)})
		}
		return refs
	}
	in := func(min int) *time.Time { return ptr(now.Add(time.Duration(min) * time.Minute)) }
	ran := func(n int, from, to int, code pasar.Code, gpus []pasar.GPURef) pasar.AttemptView {
		a := pasar.AttemptView{Attempt: n, Machine: "local", GPUs: gpus, LaunchedAt: *in(from), StartedAt: in(from)}
		if code != "" {
			a.EndedAt, a.Verdict = in(to), &pasar.Verdict{Reason: code}
		}
		return a
	}
	queued := func(id pasar.JobID, name string, from, to int, gpus []pasar.GPURef) *pasar.JobView {
		v := &pasar.JobView{ID: id, Name: name, State: pasar.Queued, Claim: pasar.ClaimView{Kind: pasar.Whole, GPUs: 1}}
		v.Projected = pasar.ProjectedView{Start: in(from), Machine: ptr("local"), GPUs: gpus}
		if to > from {
			v.Projected.Finish = in(to)
		}
		return v
	}
	cpu := &pasar.JobView{ID: 40, Name: "prepare", State: pasar.Running, Claim: pasar.ClaimView{Kind: pasar.NoGPU}, Attempts: []pasar.AttemptView{ran(1, -20, 0, "", nil)}}
	both := &pasar.JobView{ID: 38, Name: "both", State: pasar.Completed, Attempts: []pasar.AttemptView{ran(1, -170, -120, pasar.CodeCompleted, gpu(0, 1))}}
	again := &pasar.JobView{ID: 39, Name: "again[red]", State: pasar.Running, Attempts: []pasar.AttemptView{ran(1, -115, -60, pasar.CodeGPUOOM, gpu(0)), ran(2, -55, 0, "", gpu(0))}}
	again.Projected.Finish = in(45)
	slice := &pasar.JobView{ID: 41, Name: "模型训练的名字很长", State: pasar.Running, Attempts: []pasar.AttemptView{ran(1, -50, 0, "", gpu(1))}}
	slice.Projected.Finish = in(30)
	other := &pasar.JobView{ID: 42, Name: "open", State: pasar.Running, Attempts: []pasar.AttemptView{ran(1, -30, 0, "", gpu(1))}}
	s := at(func(m *pasar.MachineView, _ *pasar.GPUView) {
		m.GPUs = []pasar.GPUView{{GPU: pasar.GPU{Index: 0, UUID: "GPU-0"}}, {GPU: pasar.GPU{Index: 1, UUID: "GPU-1"}}}
	}, again, slice, other, cpu, queued(43, "next", 45, 100, gpu(0)), queued(44, "after it", 100, 100, gpu(0)), queued(45, "somewhere", 60, 80, nil), queued(46, "much later", 5000, 6000, gpu(1)), both)
	for _, v := range s.Jobs {
		v.Tags = []string{v.Name}
	}
	return s
}

func TestTheMarketReadsLikeThis(t *testing.T) {
	s := marketSnapshot()
	var page strings.Builder
	for _, c := range []struct {
		back, ahead time.Duration
		width, most int
		ascii       bool
		selected    pasar.JobID
	}{
		{2 * time.Hour, 2 * time.Hour, 100, 10, false, 0}, {2 * time.Hour, 2 * time.Hour, 60, 10, true, 41}, {time.Hour, time.Hour, 40, 3, false, 0},
		{12 * time.Hour, 12 * time.Hour, 70, 10, false, 0}, {30 * time.Minute, 0, 50, 10, false, 0}, {time.Minute, time.Minute, 50, 10, false, 0},
	} {
		from, to := now.Add(-c.back), now.Add(c.ahead)
		lanes, hidden := Lanes(s, s.Jobs, from, to, now, c.most)
		fmt.Fprintf(&page, "%-6s %s\n", "", Axis(from, to, now, c.width))
		for _, l := range lanes {
			line, _ := l.Render(from, to, now, c.width, c.selected, c.ascii)
			fmt.Fprintf(&page, "%-6s %s\n", l.Label, line)
		}
		fmt.Fprintf(&page, "hidden %d\n\n", hidden)
	}
	golden(t, "market.txt", page.String())
}

func TestBarsOfALaneAreInOrderAndNeverOverlap(t *testing.T) {
	s := marketSnapshot()
	lanes, hidden := Lanes(s, nil, now.Add(-4*time.Hour), now.Add(4*time.Hour), now, 20)
	bars := 0
	for _, l := range lanes {
		for i, b := range l.Bars {
			if bars++; b.To.Before(b.From) || i > 0 && l.Bars[i-1].To.After(b.From) {
				t.Errorf("%s: %v", l.Label, b)
			}
		}
	}
	if bars != 10 || hidden != 0 {
		t.Errorf("%d bars, %d hidden", bars, hidden)
	}
	for most := range 7 {
		lanes, hidden := Lanes(s, nil, now.Add(-4*time.Hour), now.Add(4*time.Hour), now, most)
		shown := 0
		for i, l := range lanes {
			if shown += len(l.Bars); i < 2 && most == 2 && !strings.HasPrefix(l.Label, "GPU") {
				t.Errorf("the lane of a GPU went before %q", l.Label)
			}
		}
		if len(lanes) > most || shown+hidden != bars {
			t.Errorf("at most %d: %d lanes, %d bars and %d hidden", most, len(lanes), shown, hidden)
		}
	}
}

func TestAClickIsResolvedToTheJobThatIsDrawnThere(t *testing.T) {
	from, to := now.Add(-time.Hour), now.Add(time.Hour)
	l := Lane{Bars: []Bar{
		{Job: 1, Label: "#1 a", From: now.Add(-50 * time.Minute), To: now.Add(-40 * time.Minute), Hue: 3},
		{Job: 2, Label: "#2 b", From: now.Add(-40 * time.Minute), To: now.Add(-40 * time.Minute), Failed: true},
		{Job: 3, Label: "#3 字字字", Kind: BarRuns, From: now.Add(-10 * time.Minute), To: now.Add(10 * time.Minute), Hue: 5},
		{Job: 4, Label: "#4 d", Kind: BarPlanned, From: now.Add(59 * time.Minute), To: now.Add(90 * time.Minute)},
	}}
	line, jobs := l.Render(from, to, now, 24, 3, false)
	if got := line.String(); got != "  ▄▄✗     #3██         ░" {
		t.Errorf("%q", got)
	}
	if got := fmt.Sprint(jobs); got != "[0 0 1 1 2 0 0 0 0 0 3 3 3 3 0 0 0 0 0 0 0 0 0 4]" {
		t.Error(got)
	}
	for _, s := range line {
		if strings.HasPrefix(s.Text, "#3") && (!s.Bold || !s.Back || s.Role != Accent) {
			t.Errorf("the job that is selected looks like %+v", s)
		}
	}
}

func TestABarIsNeverCutInItsID(t *testing.T) {
	for width, want := range []string{"", "", "", "", "#123", "#123", "#123", "#123 t…", "#123 tr…", "#123 tra…", "#123 train"} {
		if got := within("#123 train", width, "…", false); got != want {
			t.Errorf("in %d columns: %q; want %q", width, got, want)
		}
	}
}

func TestAxesHaveRoundTimesAndTheDay(t *testing.T) {
	for want, span := range map[string][2]time.Duration{
		"11:30     11:45     now       12:15     ": {-30 * time.Minute, 30 * time.Minute},
		" 12:00  18:00  4 Mar  06:00  now        ": {-25 * time.Hour, 9 * time.Hour},
		"    now        12 Mar    19 Mar         ": {-3 * 24 * time.Hour, 25 * 24 * time.Hour},
	} {
		if got := Axis(now.Add(span[0]), now.Add(span[1]), now, 40).String(); got != want {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
	for _, z := range Zooms() {
		for _, width := range []int{0, 1, 5, 10, 40, 79, 200} {
			l := Axis(now.Add(-z/3), now.Add(2*z/3), now, width)
			if l.Width() != width {
				t.Errorf("%s in %d columns: %q", z, width, l)
			}
			for _, f := range strings.Split(l.String(), "  ") {
				if f = strings.TrimSpace(f); f != "" && f != "now" && len(f) < 5 {
					t.Errorf("%s in %d columns: cut: %q", z, width, l)
				}
			}
			if width >= 10 && !strings.Contains(l.String(), "now") {
				t.Errorf("%s in %d columns: no now: %q", z, width, l)
			}
		}
	}
}

// queue is a snapshot with so many waiting jobs, all projected.
func queue(n int) *Snapshot {
	s := marketSnapshot()
	for i := range n {
		v := &pasar.JobView{ID: pasar.JobID(100 + i), Name: fmt.Sprint("job-", i), State: pasar.Queued}
		v.Projected = pasar.ProjectedView{Start: ptr(now.Add(time.Duration(i) * time.Minute)), Finish: ptr(now.Add(time.Duration(i+200) * time.Minute))}
		if i%2 == 0 {
			v.Projected.GPUs = []pasar.GPURef{{Index: i % 4 / 2}}
		}
		s.Jobs = append(s.Jobs, v)
	}
	return s
}

func BenchmarkMarket(b *testing.B) {
	s := queue(500)
	from, to := now.Add(-time.Hour), now.Add(10*time.Hour)
	for b.Loop() {
		lanes, _ := Lanes(s, nil, from, to, now, 40)
		for _, l := range lanes {
			l.Render(from, to, now, 200, 0, false)
		}
	}
}

func TestWhatHasNoLengthOrNoPlaceIsStillShown(t *testing.T) {
	from, to := now.Add(-time.Hour), now.Add(time.Hour)
	v := &pasar.JobView{ID: 5, State: pasar.Completed, Attempts: []pasar.AttemptView{
		{Attempt: 1, Machine: "gone", GPUs: []pasar.GPURef{{Index: 7, UUID: "GPU-x"}, {Index: 7, UUID: "GPU-x"}}, LaunchedAt: now.Add(-time.Minute), EndedAt: ptr(now.Add(-2 * time.Minute))},
		{Attempt: 2},
	}}
	lanes, hidden := Lanes(&Snapshot{Jobs: []*pasar.JobView{v, nil, v}}, []*pasar.JobView{v}, to, from, now, 5)
	if len(lanes) != 1 || lanes[0].Label != "GPU 7" || len(lanes[0].Bars) != 1 || hidden != 0 {
		t.Fatalf("%+v, %d hidden", lanes, hidden)
	}
	if line, _ := lanes[0].Render(from, to, now, 10, 0, true); line.String() != "     -    " {
		t.Errorf("%q", line)
	}
	if line, jobs := lanes[0].Render(from, to, now, 0, 0, true); len(line) != 0 || len(jobs) != 0 {
		t.Errorf("no columns: %q", line)
	}
	if lanes, hidden := Lanes(nil, nil, from, to, now, -1); len(lanes)+hidden != 0 {
		t.Errorf("of nothing: %+v, %d hidden", lanes, hidden)
	}
}

func TestMachinesAndTheirPartsHaveLanesOfTheirOwn(t *testing.T) {
	s := at(nil)
	s.GPUs.Machines = []pasar.MachineView{
		{Name: "a", GPUs: []pasar.GPUView{{GPU: pasar.GPU{UUID: "GPU-1"}}, {GPU: pasar.GPU{UUID: "MIG-9f3", Parent: "GPU-1"}}, {GPU: pasar.GPU{UUID: "MIG-a01", Parent: "GPU-1"}}}},
		{Name: "b\x1b", GPUs: []pasar.GPUView{{GPU: pasar.GPU{Virtual: true}}}},
	}
	var labels []string
	lanes, _ := Lanes(s, nil, now, now.Add(time.Hour), now, 10)
	for _, l := range lanes {
		labels = append(labels, l.Label)
	}
	if got := strings.Join(labels, ", "); got != `a GPU 0/9f, a GPU 0/a0, b\x1b host` {
		t.Error(got)
	}
}

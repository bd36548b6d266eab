package ui

import (
	"strings"
	"testing"
	"time"

	"pasar"
)

func TestTheHeadlineSaysWhatMattersMostFirst(t *testing.T) {
	starts := func(id pasar.JobID, in time.Duration) *pasar.JobView {
		v := waitsFor(id, pasar.WaitGPU)
		v.Projected.Start = ptr(now.Add(in))
		return v
	}
	run := job(1, pasar.Running, "", 0)
	all := &Snapshot{Status: &pasar.StatusView{Problem: ptr("the disk\nis full")}, Approvals: &pasar.ApprovalsView{Requests: make([]pasar.ApprovalView, 1)},
		Jobs: []*pasar.JobView{run, job(2, pasar.Starting, "", 0), job(3, pasar.Stopping, "", 0), waitsFor(4, pasar.WaitHeld), starts(47, 4*time.Hour+40*time.Minute), job(5, pasar.Paused, "", 0), nil}}
	for _, c := range []struct {
		s    *Snapshot
		want string
	}{
		{nil, "nothing is known yet"},
		{&Snapshot{}, "nothing is known yet"},
		{&Snapshot{Lost: "the connection broke", Jobs: []*pasar.JobView{run}}, "the connection broke"},
		{at(nil, []*pasar.JobView{}...), "nothing runs, nothing waits"},
		{&Snapshot{Status: &pasar.StatusView{Jobs: map[pasar.State]int{pasar.Running: 2, pasar.Queued: 3}}}, "2 running, 3 waiting"},
		{&Snapshot{Partial: true, Jobs: []*pasar.JobView{run}, Status: &pasar.StatusView{Jobs: map[pasar.State]int{pasar.Running: 2, pasar.Queued: 3}}}, "2 running, 3 waiting"},
		{at(nil, run), "1 running, nothing waits"},
		{at(nil, starts(47, 0)), "nothing runs, 1 waiting · next #47 now"},
		{at(nil, run, starts(47, 4*time.Hour+40*time.Minute)), "1 running, 1 waiting · next #47 ~16:40"},
		{at(nil, run, starts(47, 21*time.Hour)), "1 running, 1 waiting · next #47 ~Thu 09:00"},
		{at(nil, run, starts(47, 10*24*time.Hour)), "1 running, 1 waiting · next #47 ~14 Mar 12:00"},
		{all, `the disk\nis full · 1 awaits approval, 2 running, 2 waiting, 1 stopping, 1 paused · next #47 ~16:40`},
	} {
		if got := Headline(c.s, now); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
	all.Status.Problem = nil
	if got := Cut(Headline(all, now), 40); !strings.HasPrefix(got, "1 awaits approval, 2 running, 2 waiting") {
		t.Errorf("cut to %s", got)
	}
}

func TestThePoolLeavesOutWhatIsNotKnown(t *testing.T) {
	h200 := func(used float64) pasar.GPUView {
		g := pasar.GPUView{GPU: pasar.GPU{Name: "NVIDIA H200", UUID: "GPU-1", Total: 141 * pasar.GiB}}
		if used > 0 {
			g.Used, g.Util, g.TempC, g.PowerW = ptr(pasar.Bytes(used)*pasar.GiB), ptr(used), ptr(used), ptr(400.0)
		}
		return g
	}
	l4, mig, virtual := h200(0), h200(20), pasar.GPUView{GPU: pasar.GPU{Virtual: true, Total: 22 * pasar.GiB}}
	l4.Name, mig.Parent, mig.UUID = "NVIDIA L4", "GPU-1", "MIG-1"
	t4 := l4
	t4.Name = "Tesla T4"
	for _, c := range []struct {
		gpus []pasar.GPUView
		want string
	}{
		{nil, "no GPU; host memory 3/22 GiB claimed"},
		{[]pasar.GPUView{virtual}, "no GPU; host memory 3/22 GiB claimed"},
		{[]pasar.GPUView{h200(60), h200(71)}, "2 × H200, 131/282 GiB, 66 %, 71 °C, 800 W"},
		{[]pasar.GPUView{h200(60), mig}, "1 × H200, 60/141 GiB, 60 %, 60 °C, 400 W"},
		{[]pasar.GPUView{mig}, "1 × H200, 20/141 GiB, 20 %, 20 °C, 400 W"},
		{[]pasar.GPUView{h200(60), l4}, "1 × H200, 1 × L4, 282 GiB, 60 %, 60 °C, 400 W"},
		{[]pasar.GPUView{h200(0), l4, t4, t4}, "4 GPUs, 564 GiB"},
	} {
		s := at(func(m *pasar.MachineView, _ *pasar.GPUView) {
			m.GPUs, m.HostUsed, m.HostMemory = c.gpus, 3*pasar.GiB, 22*pasar.GiB
		})
		if got := Pool(s); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
	if got := Pool(nil) + Pool(&Snapshot{}); got != "" {
		t.Errorf("of nothing: %s", got)
	}
}

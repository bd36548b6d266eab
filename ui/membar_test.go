package ui

import (
	"fmt"
	"testing"

	"pasar"
)

func TestAMemoryBarIsSplitByJob(t *testing.T) {
	const gib = pasar.GiB
	used := func(job pasar.JobID, n pasar.Bytes) pasar.GPUProcessView {
		p := pasar.GPUProcessView{Used: ptr(n)}
		if job > 0 {
			p.Job = &job
		}
		return p
	}
	g := &pasar.GPUView{GPU: pasar.GPU{Total: 100 * gib}, Jobs: []pasar.JobID{9, 4}, Used: ptr(55 * gib),
		Processes: []pasar.GPUProcessView{used(9, 10*gib), used(4, 20*gib), used(0, 15*gib), used(4, 0)}, Leaving: []pasar.LeavingView{{Job: 2, Used: ptr(5 * gib)}, {Job: 3}}}
	jobs := []*pasar.JobView{{ID: 4, Claim: pasar.ClaimView{Kind: pasar.Slice, Limit: ptr(25 * gib)}}, nil, {ID: 9, Claim: pasar.ClaimView{Kind: pasar.Slice, Mem: ptr(20 * gib)}}, {ID: 1}}
	claims := Claims(g, jobs)
	hue := func(id pasar.JobID) int { return int(id) }
	line, at := MemoryBar(g, claims, hue, 20, false)
	if got := line.String(); got != "████░██░░█▒▒▒▓······" {
		t.Error(got)
	}
	if got := fmt.Sprint(at); got != "[4 4 4 4 4 9 9 9 9 0 0 0 0 0 0 0 0 0 0 0]" {
		t.Error(got)
	}
	if line[0].Hue != 4 || line[2].Hue != 9 && line[1].Hue != 9 {
		t.Errorf("%+v", line)
	}
	if line, _ := MemoryBar(g, claims, nil, 20, true); line.String() != "####-##--#///x......" {
		t.Error(line)
	}

	g.Processes, g.Leaving, g.Jobs, g.Used = []pasar.GPUProcessView{{Job: ptr(pasar.JobID(4))}}, nil, []pasar.JobID{4}, ptr(2*gib)
	line, _ = MemoryBar(g, map[pasar.JobID]pasar.Bytes{4: 100 * gib}, hue, 10, false)
	if got := line.String(); got != "█░░░░░░░░░" {
		t.Errorf("a job that has the GPU whole and uses little: %s", got)
	}
	for _, v := range []struct {
		g     *pasar.GPUView
		width int
		want  string
	}{
		{nil, 3, "···"}, {&pasar.GPUView{}, 3, "···"}, {g, 0, ""}, {g, -1, ""}, {g, 1, "█"},
		{&pasar.GPUView{GPU: pasar.GPU{Total: gib}, Used: ptr(50 * gib), Processes: []pasar.GPUProcessView{used(0, 30*gib)}}, 5, "██▒▒▒"},
	} {
		if line, at := MemoryBar(v.g, nil, nil, v.width, false); line.String() != v.want || len(at) != max(0, v.width) {
			t.Errorf("%q; want %q", line, v.want)
		}
	}
}

func TestEachJobIsSeenWhereThereIsRoom(t *testing.T) {
	g := &pasar.GPUView{GPU: pasar.GPU{Total: 100 * pasar.GiB}, Used: ptr(pasar.Bytes(20))}
	for id := pasar.JobID(1); id <= 20; id++ {
		g.Jobs, g.Processes = append(g.Jobs, id), append(g.Processes, pasar.GPUProcessView{Job: &id, Used: ptr(pasar.Bytes(1))})
	}
	for width := range 60 {
		line, at := MemoryBar(g, map[pasar.JobID]pasar.Bytes{7: 90 * pasar.GiB}, hueByID, width, false)
		seen := map[pasar.JobID]bool{}
		for _, id := range at {
			seen[id] = true
		}
		delete(seen, 0)
		if line.Width() != width || len(seen) != min(width, 20) {
			t.Errorf("in %d columns: %d jobs: %s", width, len(seen), line)
		}
	}
}

func hueByID(id pasar.JobID) int { return 1 + int(id)%Hues }

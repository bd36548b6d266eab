package ui

import (
	"strings"
	"testing"
	"time"

	"pasar"
)

// What is left of a job is never nothing: then it is free, or nobody knows.
func TestWhatAnEndedJobLeftIsNeverNothing(t *testing.T) {
	since := now.Add(-4 * time.Minute)
	for _, c := range []struct {
		status pasar.GPUStatus
		left   pasar.LeavingView
		want   string
	}{
		{pasar.GPUOK, pasar.LeavingView{Used: ptr(3 * pasar.GiB)}, "#40 has ended 4m ago; waits for 3 GiB to be free"},
		{pasar.GPUOK, pasar.LeavingView{Used: ptr(pasar.Bytes(0))}, "#40 has ended 4m ago; waits for its memory to be free"},
		{pasar.GPUOK, pasar.LeavingView{}, "#40 has ended 4m ago; waits for its memory to be free"},
		{pasar.GPUOK, pasar.LeavingView{Used: ptr(pasar.Bytes(0)), Leaked: true}, "#40 left its memory behind 4m ago: it stays charged"},
		{pasar.GPUUnresponsive, pasar.LeavingView{}, "#40 has ended 4m ago; GPU 2 doesn't answer, so it isn't known whether its memory is free"},
		{pasar.GPULost, pasar.LeavingView{Used: ptr(pasar.Bytes(0)), Leaked: true}, "#40 has ended 4m ago; GPU 2 doesn't answer, so it isn't known whether its memory is free"},
	} {
		c.left.Job, c.left.Since = 40, since
		g := &pasar.GPUView{GPU: pasar.GPU{Index: 2}, Status: &c.status, Leaving: []pasar.LeavingView{c.left}}
		p := &page{}
		if notes := strings.Join(p.gpuNotes(g, now), "\n"); !strings.Contains(notes, c.want) {
			t.Errorf("%q lacks %q", notes, c.want)
		}
	}
}

package main

import (
	"testing"
	"time"

	"pasar"
)

func TestTheEndOfADrainSaysWhatElseKeepsJobsAway(t *testing.T) {
	ok, lost, mute, at := pasar.GPUOK, pasar.GPULost, pasar.GPUUnresponsive, time.Unix(1, 0)
	fault := &pasar.Health{Reason: "Xid 48"}
	gpu := func(index int, status *pasar.GPUStatus, drained *pasar.Health) pasar.GPUView {
		return pasar.GPUView{GPU: pasar.GPU{Index: index, UUID: "GPU-" + string(rune('a'+index))}, Status: status, Drained: drained}
	}
	for _, c := range []struct {
		gpu     string
		gpus    []pasar.GPUView
		drained *pasar.Health
		want    string
	}{
		{"0", []pasar.GPUView{gpu(0, &lost, nil), gpu(1, &ok, nil)}, nil, "GPU 0 of box: the drain is over, but jobs don't start there yet: GPU 0 (the driver has lost it)"},
		{"1", []pasar.GPUView{gpu(0, &lost, nil), gpu(1, &ok, nil)}, nil, "GPU 1 of box: jobs start there again"},
		{"1", []pasar.GPUView{gpu(0, &ok, nil), gpu(1, &mute, nil)}, nil, "GPU 1 of box: the drain is over, but jobs don't start there yet: GPU 1 (it doesn't answer)"},
		{"", []pasar.GPUView{gpu(0, &ok, fault), gpu(1, &ok, nil)}, nil, "box: jobs start there again, but not yet on GPU 0 (Xid 48)"},
		{"0", []pasar.GPUView{gpu(0, nil, nil)}, nil, "GPU 0 of box: the drain is over, but jobs don't start there yet: GPU 0 (it isn't there any more)"},
		{"0", []pasar.GPUView{gpu(0, &ok, nil)}, &pasar.Health{Reason: "drained by ada"}, "GPU 0 of box: the drain is over, but the machine is drained still: drained by ada"},
		{"", []pasar.GPUView{gpu(0, &ok, nil)}, nil, "box: jobs start there again"},
	} {
		v := &pasar.GPUsView{Machines: []pasar.MachineView{{Name: "box", GPUs: c.gpus, Drained: c.drained, LookedAt: &at}}}
		if got := drained(v, "box", c.gpu, false); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

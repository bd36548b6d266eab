package main

import (
	"context"
	"strings"
	"testing"

	"pasar"
	"pasar/config"
	"pasar/gpu"
)

// gpusSeen is what a source saw of GPUs.
func gpusSeen(source string, gpus ...func(*gpu.Sight)) gpuSight {
	s := gpuSight{source: source, cgo: true}
	s.Driver, s.CUDA, s.Library = "580.95.05", "13.0", "/usr/lib/libnvidia-ml.so.1"
	for i, set := range gpus {
		g := gpu.Sight{Device: gpu.Device{Index: i}}
		g.Now.Status = pasar.GPUOK
		set(&g)
		s.Sights = append(s.Sights, g)
	}
	return s
}

func wellGPU(s *gpu.Sight) { s.Device.Name, s.Device.Total = "NVIDIA H100", 80*pasar.GiB }

func (m *sickMachine) sees(s gpuSight) {
	m.gpus = func(context.Context, *config.Config) gpuSight { return s }
}

func TestTheDoctorNamesTheGPUsTheirDriverAndWhatToDo(t *testing.T) {
	got := gpuFindings(gpusSeen("nvml", wellGPU, func(s *gpu.Sight) { s.Now.Status, s.Now.Recovery = pasar.GPULost, "reset" }))
	if len(got) != 2 || got[0].Found != "0 NVIDIA H100, 80 GiB (driver 580.95.05, CUDA 13.0, through /usr/lib/libnvidia-ml.so.1)" {
		t.Fatalf("%+v", got)
	}
	if !strings.Contains(got[1].Found, "GPU 1") || !strings.Contains(got[1].Fix, "--gpu-reset") {
		t.Errorf("%+v", got[1])
	}
}

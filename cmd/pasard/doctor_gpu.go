package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"pasar/gpu"
)

// gpuPatience bounds the discovery of GPUs, below the patience with a check.
const gpuPatience = 3 * time.Second

// discoverGPUs lists the GPUs, a phrase for each.
func discoverGPUs(ctx context.Context) ([]string, error) {
	devices, err := gpu.Discover(ctx)
	lines := make([]string, len(devices))
	for i, d := range devices {
		memory := d.Total.String()
		if d.Unified {
			memory = "the host's memory"
		}
		lines[i] = fmt.Sprintf("%d %s, %s", d.Index, d.Name, memory)
	}
	return lines, err
}

func examineGPUs(ctx context.Context, p *patient) []finding {
	type answer struct {
		lines []string
		err   error
	}
	a, ok := attend(ctx, gpuPatience, func(ctx context.Context) (a answer) {
		a.lines, a.err = p.gpus(ctx)
		return a
	})
	if !ok {
		a.err = fmt.Errorf("no answer within %s", gpuPatience)
	}
	switch {
	case a.err != nil && (errors.Is(a.err, context.DeadlineExceeded) || !ok):
		return []finding{found(gpusBroken, "see whether `nvidia-smi` hangs too; then the driver needs a reset or the machine a reboot",
			"asking for the GPUs hangs, and jobs may have to wait for it: %v", a.err)}
	case a.err != nil:
		return []finding{found(gpusBroken, "see what `nvidia-smi` says; a driver that was upgraded needs a reboot", "the GPUs can't be told, and jobs may have to wait for them: %v", a.err)}
	case len(a.lines) == 0:
		return []finding{found(gpusNone, "nothing to do if this machine has none; otherwise install the driver, so that `nvidia-smi` lists them",
			"none: host memory stands in for one GPU")}
	}
	return []finding{found(gpusFine, "", "%s", strings.Join(a.lines, "; "))}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"pasar"
	"pasar/config"
	"pasar/gpu"
	"pasar/gpu/nvml"
)

// gpuPatience bounds the look at GPUs, below the patience with a check.
const gpuPatience = 3 * time.Second

// A gpuSight is what can be seen of the GPUs.
type gpuSight struct {
	gpu.Look
	source string // nvml, nvidia-smi or none
	err    error
	cgo    bool // this build can ask NVIDIA's library
}

// lookAtGPUs looks as the daemon does, with a probe of its own.
func lookAtGPUs(ctx context.Context, cfg *config.Config) gpuSight {
	o := gpu.Options{Machine: pasar.LocalMachine}
	if cfg != nil {
		o.Library = cfg.NVMLLibrary != ""
	}
	if nvml.Built == nil {
		library := ""
		if cfg != nil {
			library = cfg.NVMLLibrary
		}
		o.Probe = gpu.ProbeCommand(library)
	}
	m := gpu.NewMeter(o)
	defer m.Close()
	s := gpuSight{cgo: nvml.Built == nil}
	s.Look, s.source, s.err = m.Look(ctx)
	return s
}

func examineGPUs(ctx context.Context, p *patient) []finding {
	seen, ok := attend(ctx, gpuPatience, func(ctx context.Context) gpuSight { return p.gpus(ctx, p.cfg) })
	if !ok {
		seen.err = &gpu.Broken{Fault: gpu.FaultSilent, Text: fmt.Sprintf("no answer within %s", gpuPatience)}
	}
	fault := gpu.FaultOf(seen.err)
	switch {
	case fault == gpu.FaultSilent, errors.Is(seen.err, context.DeadlineExceeded):
		return []finding{found(gpusBroken, "see whether `nvidia-smi` hangs too; then the driver needs a reset or the machine a reboot",
			"asking for the GPUs hangs, and jobs may have to wait for it: %v", seen.err)}
	case fault == gpu.FaultMismatch:
		return []finding{found(gpusBroken, "restart the machine, or unload and load the kernel's nvidia modules while nothing uses a GPU; pasar goes on by itself then",
			"the driver was upgraded and the old one still runs: %v", seen.err)}
	case fault == gpu.FaultNoDriver:
		return []finding{found(gpusBroken, "`modprobe nvidia`; if that fails, the driver must be built anew for this kernel (`dkms status`)", "%v", seen.err)}
	case fault == gpu.FaultNoLibrary:
		return []finding{found(gpusBroken, "install NVIDIA's driver, or set nvml_library to where its libnvidia-ml.so.1 is", "%v", seen.err)}
	case seen.err != nil:
		return []finding{found(gpusBroken, "see what `nvidia-smi` says; a driver that was upgraded needs a reboot", "the GPUs can't be told, and jobs may have to wait for them: %v", seen.err)}
	case len(seen.Sights) == 0:
		return []finding{found(gpusNone, "nothing to do if this machine has none; otherwise install the driver, so that `nvidia-smi` lists them",
			"none: host memory stands in for one GPU")}
	}
	return append(gpuFindings(seen), kernelLogFinding(p))
}

// gpuFindings is what is to be said of GPUs that were seen.
func gpuFindings(seen gpuSight) (out []finding) {
	var lines []string
	for _, s := range seen.Sights {
		d := s.Device
		if f, ok := unwell(s); ok {
			out = append(out, f)
		}
		if d.Name == "" || d.Left != "" {
			continue
		}
		memory := d.Total.String()
		if d.Unified {
			memory = "the host's memory"
		}
		lines = append(lines, fmt.Sprintf("%d %s, %s", d.Index, d.Name, memory))
	}
	how := "driver " + seen.Driver
	if seen.CUDA != "" {
		how += ", CUDA " + seen.CUDA
	}
	if seen.source == "nvml" {
		how += ", through " + seen.Library
	}
	if len(lines) > 0 {
		out = append([]finding{found(gpusFine, "", "%s (%s)", strings.Join(lines, "; "), how)}, out...)
	}
	switch {
	case seen.source == "nvml":
	case !seen.cgo:
		out = append(out, found(gpusThroughTool, "build pasard where there is a C compiler (`make install`)",
			"this pasard was built without cgo: GPUs are seen through nvidia-smi, which is slower, and their errors (Xids) are seen in the kernel's log at most"))
	default:
		out = append(out, found(gpusThroughTool, "install the driver's libnvidia-ml.so.1, or set nvml_library to where it is",
			"NVIDIA's library isn't there: GPUs are seen through nvidia-smi, which is slower, and their errors (Xids) are seen in the kernel's log at most"))
	}
	return out
}

// unwell is the finding of a GPU that isn't as it should be.
func unwell(s gpu.Sight) (finding, bool) {
	d := s.Device
	name := fmt.Sprintf("GPU %d", d.Index)
	switch {
	case s.Now.Status == pasar.GPUUnresponsive:
		return found(gpuUnwell, "see `dmesg` for what befell it; if it stays so, restart the machine", "%s doesn't answer, and takes no jobs: %s", name, s.Now.Detail), true
	case s.Now.Status == pasar.GPULost:
		return found(gpuUnwell, remedyOf(s.Now.Recovery, "restart the machine"), "%s is lost, and takes no jobs: %s", name, s.Now.Detail), true
	case s.Now.Recovery != "" && s.Now.Recovery != "none":
		return found(gpuUnwell, remedyOf(s.Now.Recovery, "see what `nvidia-smi -q` says of it"), "the driver says that %s has to recover: %s", name, s.Now.Recovery), true
	case d.Left != "":
		return found(gpuIdle, "`nvidia-smi mig -cgi` makes instances, `nvidia-smi -mig 0` turns it off", "%s takes no jobs: %s", name, d.Left), true
	}
	return finding{}, false
}

// remedyOf is what to do about a recovery action of NVML.
func remedyOf(action, otherwise string) string {
	switch action {
	case "reset", "drain_and_reset", "bus_reset":
		return "let its jobs end, `pasar shutdown`, then `nvidia-smi --gpu-reset -i` with its index"
	case "reboot":
		return "restart the machine"
	}
	return otherwise
}

// kernelLogFinding is whether Xids name the process that they come from.
func kernelLogFinding(p *patient) finding {
	path := "/dev/kmsg"
	if p.cfg != nil {
		path = p.cfg.KernelLog
	}
	err := p.kernelLog(path)
	switch {
	case err == nil:
		return found(kernelLogFine, "", "errors of a GPU are blamed on the process that %s names", path)
	case errors.Is(err, fs.ErrNotExist):
		return found(kernelLogClosed, "set kernel_log to a log that has the kernel's messages", "there is no %s: which job an error of a GPU comes from is guessed", path)
	}
	return found(kernelLogClosed, "`sysctl kernel.dmesg_restrict=0`, or join the group adm and set kernel_log to /var/log/kern.log",
		"%s can't be read (%v): which job an error of a GPU comes from is guessed", path, err)
}

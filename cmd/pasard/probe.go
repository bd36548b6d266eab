package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"pasar"
	"pasar/gpu"
	"pasar/gpu/nvml"
)

// probeCommand is the process that asks NVIDIA's library, for a daemon that talks to it on standard input
// and output. It ends with its input. People have no use for it, so no help lists it.
func probeCommand(args []string, in io.Reader, out io.Writer) error {
	fs := pflag.NewFlagSet("pasard probe", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	library := fs.String("library", "", "`PATH` of NVIDIA's library")
	if err := fs.Parse(args); err != nil || fs.NArg() > 0 {
		return &exitError{exitUsage, fmt.Errorf("probe is run by pasard itself"), ""}
	}
	_ = os.WriteFile("/proc/self/comm", []byte("pasard-probe"), 0)
	signal.Ignore(syscall.SIGPIPE)
	signal.Reset(syscall.SIGTERM) // nothing is in progress that an end could harm
	return gpu.ServeProbe(in, out, nvml.New(*library))
}

// versionLine is what --version prints: the version, and what this build lacks.
func versionLine() string {
	if nvml.Built != nil {
		return fmt.Sprintf("pasard %s (built without cgo: GPUs are seen through nvidia-smi)", pasar.Version)
	}
	return fmt.Sprintf("pasard %s", pasar.Version)
}

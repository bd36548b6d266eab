// Package gpu finds the GPUs of this machine, what they have to give, and how they are.
//
// It asks a process of its own, the probe, which alone has the driver's library (package gpu/nvml) and may
// hang in it or die of it; where there is no such library it asks nvidia-smi. What either says is foreign:
// what isn't a message at all is an error that names it, a sensor's number that can't be is unknown, and a GPU
// whose memory can't be takes no jobs. None is ever given a guessed size.
package gpu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"pasar"
)

// A Device is a GPU as its driver describes it.
type Device struct {
	Index   int // physical, as the driver counts
	UUID    string
	Name    string
	Bus     string      // PCI address, "00000000:0A:00.0"
	Unified bool        // shares the host's memory: Total is unknown
	Total   pasar.Bytes // memory that can be given out, without what the driver reserved

	Parent   string // a MIG instance: UUID of the GPU that it is a part of; else empty
	Instance int    // a MIG instance: the number of its GPU instance

	// Left says why it takes no jobs: it doesn't answer, or isn't to be given out. Of a GPU that never
	// answered only the index is known.
	Left string
}

// Bounds of what is believed.
const (
	timeout    = 5 * time.Second
	maxOutput  = 1 << 20
	maxDevices = 1024
	maxField   = 256                 // bytes of a UUID, bus address or name
	maxMemory  = 1 << 30 * pasar.MiB // 1 PiB
)

// Exit codes of nvidia-smi that say that there is nothing, not that something failed.
const (
	exitNoDevice  = 6
	exitNoDriver  = 9
	exitNoLibrary = 12
)

// fields are what is asked for. The name is the last, since it alone may hold a comma.
var fields = []string{"index", "uuid", "pci.bus_id", "memory.total", "memory.reserved", "name"}

// Discover lists the GPUs in PCI bus order. There are none, and no error, on a machine without
// nvidia-smi, and on one without NVIDIA hardware whatever nvidia-smi says.
func Discover(ctx context.Context) ([]Device, error) {
	path, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return nil, nil
	}
	// It can hang for ever in the driver, and is killed then.
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %s", timeout))
	defer cancel()
	return discover(ctx, path, hasHardware)
}

func discover(ctx context.Context, smi string, hardware func() bool) ([]Device, error) {
	out, err := query(ctx, smi, fields)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 2 { // an older one, that doesn't know memory.reserved
		older := slices.DeleteFunc(slices.Clone(fields), func(f string) bool { return f == "memory.reserved" })
		if out, err = query(ctx, smi, older); err == nil {
			return parse(out, false)
		}
	}
	if errors.As(err, &exit) {
		switch exit.ExitCode() {
		case exitNoDevice:
			return nil, nil
		case exitNoDriver, exitNoLibrary:
			if !hardware() {
				return nil, nil
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return parse(out, true)
}

// query asks for fields of all GPUs.
func query(ctx context.Context, smi string, fields []string) ([]byte, error) {
	return runSMI(ctx, smi, "--query-gpu="+strings.Join(fields, ","), "--format=csv,noheader,nounits")
}

// hanging is how many runs of nvidia-smi were given up and haven't ended: what hangs in the driver can't be
// killed.
var hanging atomic.Int32

// runSMI runs nvidia-smi until ctx is done, and leaves behind one that doesn't end then.
func runSMI(ctx context.Context, smi string, args ...string) ([]byte, error) {
	if n := hanging.Load(); n >= maxStuck {
		return nil, &Broken{FaultSilent, fmt.Sprintf("%d runs of nvidia-smi hang in the driver; no other is started until one ends", n)}
	}
	cmd := exec.CommandContext(ctx, smi, args...)
	cmd.WaitDelay = time.Second // a child of its that keeps the pipe open doesn't hold us
	var out bounded
	cmd.Stdout, cmd.Stderr = &out, &out
	ended := make(chan error, 1)
	go func() { ended <- cmd.Run() }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		patience := time.NewTimer(2 * cmd.WaitDelay)
		defer patience.Stop()
		select {
		case <-ended:
		case <-patience.C:
			hanging.Add(1)
			go func() { <-ended; hanging.Add(-1) }()
		}
		return nil, fmt.Errorf("run %s: %w", smi, context.Cause(ctx))
	}
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("run %s: %w", smi, context.Cause(ctx))
	case err != nil:
		return nil, fmt.Errorf("run %s: %w: %s", smi, err, excerpt(out.b))
	case out.over:
		return nil, fmt.Errorf("run %s: more than %s of output", smi, pasar.Bytes(maxOutput))
	}
	return out.b, nil
}

// bounded keeps the first maxOutput bytes.
type bounded struct {
	b    []byte
	over bool
}

func (w *bounded) Write(p []byte) (int, error) {
	room := maxOutput - len(w.b)
	w.over = w.over || len(p) > room
	w.b = append(w.b, p[:min(len(p), room)]...)
	return len(p), nil
}

// hasHardware reports whether there is an NVIDIA display or 3D controller on the PCI bus: then a
// driver that doesn't answer is broken, else it just isn't needed.
func hasHardware() bool {
	vendors, _ := filepath.Glob("/sys/bus/pci/devices/*/vendor")
	for _, v := range vendors {
		id, err := os.ReadFile(v)
		if err != nil || strings.TrimSpace(string(id)) != "0x10de" {
			continue
		}
		if class, err := os.ReadFile(filepath.Join(filepath.Dir(v), "class")); err == nil && strings.HasPrefix(string(class), "0x03") {
			return true
		}
	}
	return false
}

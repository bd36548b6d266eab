package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"pasar"
	"pasar/gpu"
	"pasar/target"
)

// defaultReserve is kept for the system when nothing else is said, but never more than a quarter.
const defaultReserve = 16 * pasar.GiB

// Inventory says what this machine has to give. Without a GPU it is one virtual whole GPU over the
// host's memory. A driver that is there and doesn't answer is an error: jobs must not be placed on
// the host's memory because of it. What there is beside GPUs is told all the same.
func (m *Machine) Inventory(ctx context.Context) (pasar.Inventory, error) {
	ram, err := hostRAM()
	if err != nil {
		return pasar.Inventory{}, fmt.Errorf("inventory: %w", err)
	}
	devices, err := m.o.Discover(ctx)
	inv := inventory(m.o, m.boot, runtime.NumCPU(), ram, devices)
	if err != nil {
		inv.GPUs = nil // not the virtual one either: jobs for a GPU wait until it can be seen
		inv.Notes = []string{fmt.Sprintf("no GPU can be given out: %v", err)}
		return inv, fmt.Errorf("inventory: %w", err)
	}
	return inv, nil
}

// inventory is pure.
func inventory(o Options, boot string, cores int, ram pasar.Bytes, devices []gpu.Device) pasar.Inventory {
	inv := pasar.Inventory{Machine: pasar.LocalMachine, Boot: boot, Cores: cores, RAM: ram,
		Reserve: min(defaultReserve, ram/4), CPUJobs: o.CPUJobs}
	if o.CPUJobs <= 0 {
		inv.CPUJobs = cores
	}
	switch {
	case o.SystemReserve >= ram:
		inv.Notes = append(inv.Notes, fmt.Sprintf("system_reserve of %s is more than the %s of RAM there are; %s are kept instead",
			o.SystemReserve, ram, inv.Reserve))
	case o.SystemReserve > 0:
		inv.Reserve = o.SystemReserve
	}
	for _, d := range devices {
		if d.Left != "" {
			inv.Notes = append(inv.Notes, fmt.Sprintf("GPU %d takes no jobs: %s", d.Index, d.Left))
			continue
		}
		g := pasar.GPU{Index: d.Index, UUID: d.UUID, Name: d.Name, Total: d.Total, Unified: d.Unified, Parent: d.Parent}
		if d.Unified {
			g.Total = inv.HostMemory()
		}
		inv.GPUs = append(inv.GPUs, g)
	}
	if len(devices) == 0 {
		inv.GPUs = []pasar.GPU{{UUID: target.VirtualUUID, Name: "host memory", Total: inv.HostMemory(), Virtual: true}}
		inv.Notes = append(inv.Notes, fmt.Sprintf("no GPU was found: one virtual GPU stands for the %s of host memory", inv.HostMemory()))
	}
	return inv
}

// hostRAM is the physical memory, or what the cgroup this process is in may use if that is less (in
// a container).
func hostRAM() (pasar.Bytes, error) {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, fmt.Errorf("read memory size: %w", err)
	}
	ram, err := parseMeminfo(b)
	if err != nil {
		return 0, err
	}
	if b, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 {
			ram = min(ram, pasar.Bytes(n))
		}
	}
	return ram, nil
}

func parseMeminfo(b []byte) (pasar.Bytes, error) {
	for line := range bytes.SplitSeq(b, []byte("\n")) {
		f := strings.Fields(string(line))
		if len(f) != 3 || f[0] != "MemTotal:" || f[2] != "kB" {
			continue
		}
		n, err := strconv.ParseInt(f[1], 10, 53)
		if err != nil || n <= 0 {
			break
		}
		return pasar.Bytes(n) * pasar.KiB, nil
	}
	return 0, errors.New("read memory size: no MemTotal in /proc/meminfo")
}

package gpu

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"pasar"
)

// readHost is the host's memory now, or that of the cgroup this process is in if that is less (in a
// container).
func readHost() (pasar.HostReading, error) {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return pasar.HostReading{}, fmt.Errorf("read memory: %w", err)
	}
	h, err := parseMeminfo(b)
	if err != nil {
		return pasar.HostReading{}, err
	}
	if most, ok := number("/sys/fs/cgroup/memory.max"); ok && most < h.Total {
		h.Total = most
		if used, ok := number("/sys/fs/cgroup/memory.current"); ok {
			h.Available = min(h.Available, max(0, most-used+reclaimable()))
		}
	}
	if b, err := os.ReadFile("/proc/pressure/memory"); err == nil {
		h.Pressure = parsePressure(b)
	}
	return h, nil
}

// reclaimable is what the kernel would take back before memory runs out: it counts as used in a cgroup.
func reclaimable() (sum pasar.Bytes) {
	b, err := os.ReadFile("/sys/fs/cgroup/memory.stat")
	if err != nil {
		return 0
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		name, value, _ := strings.Cut(line, " ")
		switch name {
		case "inactive_file", "active_file", "slab_reclaimable":
			if n, err := strconv.ParseInt(value, 10, 64); err == nil && n > 0 {
				sum += pasar.Bytes(n)
			}
		}
	}
	return sum
}

// number is the number of bytes that a file has.
func number(file string) (pasar.Bytes, bool) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return pasar.Bytes(n), err == nil && n > 0
}

func parseMeminfo(b []byte) (h pasar.HostReading, err error) {
	for line := range bytes.SplitSeq(b, []byte("\n")) {
		f := strings.Fields(string(line))
		if len(f) != 3 || f[2] != "kB" {
			continue
		}
		n, err := strconv.ParseInt(f[1], 10, 53)
		if err != nil || n < 0 {
			continue
		}
		switch f[0] {
		case "MemTotal:":
			h.Total = pasar.Bytes(n) * pasar.KiB
		case "MemAvailable:":
			h.Available = pasar.Bytes(n) * pasar.KiB
		}
	}
	if h.Total == 0 || h.Available > h.Total {
		return pasar.HostReading{}, fmt.Errorf("read memory: /proc/meminfo doesn't say how much there is")
	}
	return h, nil
}

// parsePressure is "some avg10" as a part of 1; nil: the kernel doesn't say.
func parsePressure(b []byte) *float64 {
	line, _, _ := strings.Cut(string(b), "\n")
	rest, ok := strings.CutPrefix(line, "some avg10=")
	if !ok {
		return nil
	}
	text, _, _ := strings.Cut(rest, " ")
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f <= 100) {
		return nil
	}
	f /= 100
	return &f
}

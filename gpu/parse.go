package gpu

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"pasar"
)

// parse reads the answer to a query of fields, or of fields without memory.reserved.
func parse(out []byte, reserved bool) ([]Device, error) {
	var devices []Device
	for n, line := range bytes.Split(bytes.TrimRight(out, "\r\n \t"), []byte("\n")) {
		text := strings.TrimSpace(string(line))
		if text == "" || text == "No devices were found" {
			continue
		}
		d, err := parseLine(text, reserved)
		if err != nil {
			return nil, fmt.Errorf("nvidia-smi, line %d (%s): %w", n+1, excerpt(line), err)
		}
		for _, other := range devices {
			if other.UUID == d.UUID || other.Index == d.Index {
				return nil, fmt.Errorf("nvidia-smi, line %d (%s): a GPU with this index or UUID was there already", n+1, excerpt(line))
			}
		}
		if devices = append(devices, d); len(devices) > maxDevices {
			return nil, fmt.Errorf("nvidia-smi: more than %d GPUs", maxDevices)
		}
	}
	slices.SortFunc(devices, compareBus)
	return devices, nil
}

// compareBus orders by PCI address, then index.
func compareBus(a, b Device) int {
	return cmp.Or(cmp.Compare(strings.ToUpper(a.Bus), strings.ToUpper(b.Bus)), cmp.Compare(a.Index, b.Index))
}

func parseLine(line string, reserved bool) (Device, error) {
	n := len(fields)
	if !reserved {
		n--
	}
	f := strings.SplitN(line, ",", n)
	if len(f) != n {
		return Device{}, fmt.Errorf("%d fields, want %d", len(f), n)
	}
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	d := Device{UUID: f[1], Bus: f[2], Name: f[n-1]}
	var err error
	if d.Index, err = strconv.Atoi(f[0]); err != nil || d.Index < 0 {
		return Device{}, fmt.Errorf("bad index")
	}
	// A UUID goes into an environment variable with commas between, so its letters matter.
	if len(d.UUID) > maxField || !(strings.HasPrefix(d.UUID, "GPU-") || strings.HasPrefix(d.UUID, "MIG-")) || !plain(d.UUID) {
		return Device{}, fmt.Errorf("bad UUID")
	}
	if d.Bus == "" || len(d.Bus) > maxField || !plain(d.Bus) {
		return Device{}, fmt.Errorf("bad PCI address")
	}
	if d.Name == "" || len(d.Name) > maxField || pasar.Clean(d.Name) != d.Name {
		return Device{}, fmt.Errorf("bad name")
	}
	total, known, err := memory(f[3])
	if err != nil || known && total == 0 {
		return Device{}, fmt.Errorf("bad memory.total")
	}
	if !known {
		d.Unified = true
		return d, nil
	}
	if reserved {
		// Unknown or larger than the total is not to be believed, and says nothing about the total.
		if r, known, err := memory(f[4]); err != nil {
			return Device{}, fmt.Errorf("bad memory.reserved")
		} else if known && r < total {
			total -= r
		}
	}
	d.Total = total
	return d, nil
}

// memory reads a number of MiB; known is false where the driver says that there is no such number.
// Anything else in brackets ("[GPU is lost]", "[Unknown Error]") is an error.
func memory(s string) (b pasar.Bytes, known bool, err error) {
	switch strings.ToLower(strings.Trim(s, "[]")) {
	case "n/a", "not supported":
		return 0, false, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>20 || pasar.Bytes(n)*pasar.MiB > maxMemory {
		return 0, false, fmt.Errorf("bad size %q", pasar.Clean(s))
	}
	return pasar.Bytes(n) * pasar.MiB, true, nil
}

// plain reports whether s has only letters, digits and -:./_
func plain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-:./_", r))
	})
}

// excerpt shows the beginning of foreign output on one line.
func excerpt(b []byte) string {
	b = bytes.TrimSpace(b)
	const most = 200
	if len(b) > most {
		return pasar.Clean(string(b[:most])) + "…"
	}
	return pasar.Clean(string(b))
}

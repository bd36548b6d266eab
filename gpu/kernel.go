package gpu

import (
	"fmt"
	"strconv"
	"strings"

	"pasar"
)

// A KernelXid is an Xid as the kernel's log has it.
type KernelXid struct {
	Bus      string // PCI address as in Device.Bus, "00000000:65:00.0"
	Code     int
	Instance int    // GPU instance; below 0: of none, or not said
	Pid      int    // 0: not said
	Name     string // of its program; empty: not said
}

// ParseXid finds an Xid in a line of the kernel's log, or of a file that syslog makes of it:
//
//	NVRM: Xid (PCI:0000:65:00): 31, pid=1234, name=python, Ch 00000008, intr 10000000. MMU Fault: …
//	NVRM: Xid (PCI:0000:65:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
//	NVRM: Xid (PCI:0000:c3:00 GPU-I:05): 94, pid=7194, name=python3, Contained: …
//	NVRM: Xid (0000:03:00): 13, Graphics Exception: …
//
// A line that was cut short counts if its code is whole.
func ParseXid(line string) (KernelXid, bool) {
	const mark = "NVRM: Xid ("
	_, rest, ok := strings.Cut(line, mark)
	if !ok {
		return KernelXid{}, false
	}
	where, rest, ok := strings.Cut(rest, "):")
	if !ok || len(where) > 64 {
		return KernelXid{}, false
	}
	x := KernelXid{Instance: -1}
	address, instance, divided := strings.Cut(strings.TrimPrefix(where, "PCI:"), " ")
	if x.Bus, ok = busOf(address); !ok {
		return KernelXid{}, false
	}
	if divided {
		if n, err := strconv.Atoi(strings.TrimPrefix(instance, "GPU-I:")); err == nil && n >= 0 && n < 64 {
			x.Instance = n
		}
	}
	code, rest, whole := strings.Cut(strings.TrimLeft(rest, " "), ",")
	n, err := strconv.Atoi(strings.TrimSpace(code))
	if err != nil || n <= 0 || n > maxXid || !whole && len(rest) == 0 && len(code) == 0 {
		return KernelXid{}, false
	}
	x.Code = n
	if value, after, ok := field(rest, "pid="); ok {
		if pid, err := strconv.Atoi(value); err == nil && pid > 0 {
			x.Pid = pid
		}
		if name, _, ok := field(after, "name="); ok && name != "<unknown>" {
			x.Name = tidy(name)
		}
	}
	return x, true
}

// field is the value of a field that text begins with, and what comes after the comma.
func field(text, name string) (value, after string, ok bool) {
	text, ok = strings.CutPrefix(strings.TrimLeft(text, " "), name)
	if !ok {
		return "", "", false
	}
	value, after, _ = strings.Cut(text, ",")
	return strings.Trim(strings.TrimSpace(value), "'"), after, true
}

// busOf writes a PCI address as the driver's library does. The kernel leaves out the function, and writes
// the domain shorter.
func busOf(address string) (string, bool) {
	parts := strings.Split(strings.TrimSuffix(address, ".0"), ":")
	if len(parts) == 2 {
		parts = append([]string{"0"}, parts...)
	}
	if len(parts) != 3 {
		return "", false
	}
	var n [3]uint64
	for i, p := range parts {
		bits := 8
		if i == 0 {
			bits = 32
		}
		var err error
		if n[i], err = strconv.ParseUint(p, 16, bits); err != nil {
			return "", false
		}
	}
	return fmt.Sprintf("%08X:%02X:%02X.0", n[0], n[1], n[2]), true
}

// kernelRecord is the text of a record of /dev/kmsg ("6,339,5140900,-;NVRM: …", then lines that begin with
// a space), or the line itself where it is none.
func kernelRecord(b string) string {
	b, _, _ = strings.Cut(b, "\n")
	if head, text, ok := strings.Cut(b, ";"); ok && strings.Count(head, ",") >= 3 && !strings.ContainsAny(head, " (") {
		return text
	}
	return b
}

// xid makes an Xid of what the kernel said.
func (k KernelXid) xid() pasar.Xid {
	x := pasar.Xid{Code: k.Code, Source: "kernel"}
	if k.Pid != 0 {
		x.Pid = &k.Pid
	}
	if k.Name != "" {
		x.Name = &k.Name
	}
	DescribeXid(&x)
	return x
}

package gpu

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"log/slog"

	"pasar"
)

func TestXidsAreFoundInTheKernelsLog(t *testing.T) {
	for line, want := range map[string]KernelXid{
		"NVRM: Xid (PCI:0000:65:00): 31, pid=1234, name=python, Ch 00000008, intr 10000000. MMU Fault: ENGINE GRAPHICS": {
			Bus: "00000000:65:00.0", Code: 31, Instance: -1, Pid: 1234, Name: "python"},
		"NVRM: Xid (PCI:0000:65:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.": {
			Bus: "00000000:65:00.0", Code: 79, Instance: -1},
		"NVRM: Xid (PCI:0000:c3:00 GPU-I:05): 94, pid=7194, name=python3, Contained: SM (0x1). RST: No, D-RST: No": {
			Bus: "00000000:C3:00.0", Code: 94, Instance: 5, Pid: 7194, Name: "python3"},
		"NVRM: Xid (PCI:000f:01:00): 43, pid=5, name=my prog, Ch 00000010":             {Bus: "0000000F:01:00.0", Code: 43, Instance: -1, Pid: 5, Name: "my prog"},
		"NVRM: Xid (PCI:0000:01:00): 13, pid=2345, Graphics Exception: ESR 0x404490=1": {Bus: "00000000:01:00.0", Code: 13, Instance: -1, Pid: 2345},
		"NVRM: Xid (0000:03:00): 31, Ch 00000010, engmask 00000101, intr 10000000":     {Bus: "00000000:03:00.0", Code: 31, Instance: -1},
		"NVRM: Xid (PCI:0000:0A:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)": {
			Bus: "00000000:0A:00.0", Code: 154, Instance: -1},
		"NVRM: Xid (PCI:0000:0A:00): 45, pid=77, name=a":                               {Bus: "00000000:0A:00.0", Code: 45, Instance: -1, Pid: 77, Name: "a"}, // cut short
		"NVRM: Xid (PCI:0000:0A:00): 48":                                               {Bus: "00000000:0A:00.0", Code: 48, Instance: -1},
		"Nov 29 12:00:00 box kernel: [  123.4] NVRM: Xid (PCI:0000:0A:00): 62, 2d(..)": {Bus: "00000000:0A:00.0", Code: 62, Instance: -1},
	} {
		for _, l := range []string{line, "4,1234,5678901,-;" + line + "\n SUBSYSTEM=pci\n DEVICE=+pci:0000:65:00.0\n"} {
			if got, ok := ParseXid(kernelRecord(l)); !ok || got != want {
				t.Errorf("%s:\n got %+v, %t\nwant %+v", l, got, ok, want)
			}
		}
	}
	for _, line := range []string{"", "NVRM: Xid (", "NVRM: Xid (PCI:0000:65:00)", "NVRM: Xid (PCI:0000:65:00): ", "NVRM: Xid (PCI:zz:65:00): 31, x",
		"NVRM: Xid (PCI:0000:65:00): x31, y", "NVRM: Xid (PCI:0000:65:00): -31, y", "NVRM: Xid (PCI:0000:65:00): 99999999999, y",
		"NVRM: GPU at PCI:0000:65:00: GPU-5d1a", "NVRM: loading NVIDIA UNIX Open Kernel Module", "callbacks suppressed"} {
		if got, ok := ParseXid(line); ok {
			t.Errorf("%q: read as %+v", line, got)
		}
	}
}

func TestOnlyWhatTheKernelsLogSaysFromNowOnIsTold(t *testing.T) {
	const line = "NVRM: Xid (PCI:0000:65:00): %, pid=1, name=p, Ch 1\n"
	entry := func(code string) string { return strings.Replace(line, "%", code, 1) }
	for name, write := range map[string]func(t *testing.T, path string) func(string){
		"a file": func(t *testing.T, path string) func(string) {
			if err := os.WriteFile(path, []byte(entry("8")), 0o600); err != nil {
				t.Fatal(err)
			}
			return appendTo(t, path)
		},
		"a pipe": func(t *testing.T, path string) func(string) {
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
			return appendTo(t, path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "kmsg")
			say := write(t, path)
			var k kernelLog
			k.start(t.Context(), path, slog.New(slog.DiscardHandler))
			defer k.stop()
			if !k.readable {
				t.Fatal("not readable")
			}
			go say(entry("31") + strings.Repeat("x", 100_000) + "\n" + entry("79"))
			for _, want := range []int{31, 79} {
				if got := <-k.xids; got.Code != want || got.Pid != 1 {
					t.Errorf("told %+v, want %d", got, want)
				}
			}
		})
	}
}

func appendTo(t *testing.T, path string) func(string) {
	return func(text string) {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = f.WriteString(text)
			_ = f.Close()
		}
		if err != nil {
			t.Error(err)
		}
	}
}

func TestAKernelLogThatMayNotBeReadIsDoneWithout(t *testing.T) {
	for _, path := range []string{"", filepath.Join(t.TempDir(), "none")} {
		var k kernelLog
		k.start(t.Context(), path, slog.New(slog.DiscardHandler))
		if k.readable || k.xids != nil {
			t.Errorf("%q is readable", path)
		}
		k.stop()
	}
	if err := KernelLogReadable(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no error for a log that isn't there")
	}
}

func FuzzParseXid(f *testing.F) {
	f.Add("4,1,2,-;NVRM: Xid (PCI:0000:65:00 GPU-I:05): 31, pid='12', name=a,b, c\n DEVICE=x")
	f.Add("NVRM: Xid (0000:65:00): 79")
	f.Fuzz(func(t *testing.T, line string) {
		x, ok := ParseXid(kernelRecord(line))
		if !ok {
			return
		}
		if bus, again := busOf(x.Bus); !again || bus != x.Bus || x.Code <= 0 || x.Code > maxXid || x.Pid < 0 || pasar.Clean(x.Name) != x.Name || x.Instance < -1 {
			t.Errorf("%q: believed %+v", line, x)
		}
	})
}

func xid(source, uuid string, code, pid int) pasar.Xid {
	x := pasar.Xid{Source: source, UUID: uuid, Code: code}
	if pid != 0 {
		x.Pid = &pid
	}
	return x
}

func TestOneXidIsToldOnceWhoeverTellsItFirst(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	library, kernel := xid("nvml", "GPU-1", 31, 0), xid("kernel", "GPU-1", 31, 77)
	for name, order := range map[string][2]pasar.Xid{"the library first": {library, kernel}, "the log first": {kernel, library}} {
		m := merger{pairs: true}
		m.add(order[0], "b", at(0))
		if got := m.take(at(0)); len(got) != 0 {
			t.Errorf("%s: told before the other could: %+v", name, got)
		}
		m.add(order[1], "b", at(100))
		got := m.take(at(100))
		if len(got) != 1 || got[0].Pid == nil || *got[0].Pid != 77 || got[0].Source != "kernel" {
			t.Errorf("%s: told %+v", name, got)
		}
		if more := m.take(at(5000)); len(more) != 0 || !m.next().IsZero() {
			t.Errorf("%s: told again %+v", name, more)
		}
	}
}

func TestAnXidOfOneSourceIsToldAfterAWait(t *testing.T) {
	start := time.Unix(1000, 0)
	m := merger{pairs: true}
	m.add(xid("nvml", "GPU-1", 79, 0), "b", start)
	due := m.next()
	if due.Sub(start) != mergeFor {
		t.Errorf("due after %s", due.Sub(start))
	}
	if got := m.take(due); len(got) != 1 || got[0].Source != "nvml" || got[0].Pid != nil || !got[0].At.Equal(start) {
		t.Errorf("told %+v", got)
	}
	m.add(xid("kernel", "GPU-1", 79, 5), "b", due.Add(time.Second)) // too late: it is the same
	if got := m.take(due.Add(2 * time.Second)); len(got) != 0 {
		t.Errorf("told twice: %+v", got)
	}
	m.add(xid("nvml", "GPU-1", 79, 0), "b", due.Add(time.Minute)) // another
	if got := m.take(due.Add(2 * time.Minute)); len(got) != 1 {
		t.Errorf("the next one isn't told: %+v", got)
	}
	alone := merger{}
	alone.add(xid("nvml", "GPU-1", 79, 0), "b", start)
	if got := alone.take(start); len(got) != 1 {
		t.Errorf("without a kernel log it isn't told at once")
	}
}

func TestDifferentXidsAreToldApart(t *testing.T) {
	start := time.Unix(1000, 0)
	m := merger{pairs: true}
	for _, x := range []pasar.Xid{xid("kernel", "GPU-1", 31, 1), xid("kernel", "GPU-1", 31, 2), xid("kernel", "GPU-1", 45, 1)} {
		m.add(x, "b", start)
	}
	m.add(xid("kernel", "GPU-2", 31, 1), "c", start)
	for range 2 {
		m.add(xid("nvml", "GPU-1", 31, 0), "b", start)
	}
	if got := m.take(start.Add(time.Second)); len(got) != 4 {
		t.Errorf("told %+v", got)
	}
}

func TestAFloodOfXidsIsBounded(t *testing.T) {
	start := time.Unix(1000, 0)
	m := merger{pairs: true}
	for i := range 10_000 {
		m.add(xid("kernel", "GPU-1", 31, 7), "b", start.Add(time.Duration(i)*time.Microsecond))
	}
	if got := m.take(start.Add(time.Second)); len(got) != 1 {
		t.Errorf("the same was told %d times", len(got))
	}
	for i := range 10_000 {
		m.add(xid("kernel", "GPU-1", 31, 100+i), "b", start)
	}
	if got := m.take(start.Add(time.Second)); len(got) > maxPending {
		t.Errorf("%d were kept", len(got))
	}
}

func TestXidsMeanWhatTheTableOfFactsSays(t *testing.T) {
	b, err := os.ReadFile(tool(t, "fake-nvml/xid-actions.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	listed := 0
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		var x pasar.Xid
		if len(f) != 4 || strings.HasPrefix(line, "#") || f[0] == "xid" {
			continue
		}
		if x.Code = int(mustFloat(t, f[0])); x.Code == 0 {
			t.Fatalf("bad line %q", line)
		}
		listed++
		if DescribeXid(&x); string(x.Class) != f[1] || string(x.Action) != f[2] || x.Meaning == "" {
			t.Errorf("%s: %+v", line, x)
		}
	}
	ours := 0
	for _, row := range xids {
		ours += len(row.codes)
	}
	if listed < 100 || ours != listed {
		t.Errorf("%d codes are listed, %d are in the table", listed, ours)
	}
	unknown := pasar.Xid{Code: 999}
	if DescribeXid(&unknown); unknown.Action != pasar.XidReadRecovery || unknown.Meaning == "" {
		t.Errorf("a code that isn't listed: %+v", unknown)
	}
}

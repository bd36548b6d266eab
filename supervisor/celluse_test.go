package supervisor

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"pasar"
)

// counts is a cgroup on paper: its files.
type counts map[string]string

func (c counts) write(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range c {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// paperCell is a cell of files that nothing but tests writes, below two cgroups.
func paperCell(t *testing.T) *cell {
	above := t.TempDir()
	c := &cell{log: quiet(), dir: filepath.Join(above, "pasar-0"), above: []string{filepath.Join(above, "pasar-0"), above}, memory: true, into: -1}
	c.job = filepath.Join(c.dir, jobDir)
	counts{"memory.max": "max", "memory.swap.max": "max", "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0", "pids.events": "max 0"}.write(t, c.job)
	counts{"memory.max": "max", "memory.events.local": "max 0\noom 0"}.write(t, c.dir)
	counts{"memory.max": "4294967296", "memory.events.local": "max 70\noom 7"}.write(t, above)
	return c
}

func TestAJobIsHeldToTheMemoryItClaims(t *testing.T) {
	c := paperCell(t)
	c.hold(512 * pasar.MiB)
	for name, want := range map[string]string{"memory.max": "536870912", "memory.swap.max": "0"} {
		if b, _ := os.ReadFile(filepath.Join(c.job, name)); string(b[:len(want)]) != want {
			t.Errorf("%s is %q", name, b)
		}
	}
	c = paperCell(t)
	c.hold(0)
	if b, _ := os.ReadFile(filepath.Join(c.job, "memory.max")); string(b) != "max\n" {
		t.Errorf("without a claim: %q", b)
	}
}

func TestCountsAreThoseSinceTheForkUnderTheLimitThatCounted(t *testing.T) {
	own := counts{"memory.events": "max 9\noom 1\noom_kill 2", "memory.peak": "600", "memory.swap.peak": "0", "pids.events": "max 3"}
	full := counts{"memory.events.local": "max 75\noom 8"}
	for name, c := range map[string]struct {
		ram   pasar.Bytes
		job   counts
		above counts
		want  pasar.CgroupUse
	}{
		"nothing happened": {0, nil, nil, pasar.CgroupUse{MemoryMax: 4 * pasar.GiB, MemoryPeak: -1, SwapPeak: -1}},
		"its own limit": {pasar.GiB, own, full,
			pasar.CgroupUse{MemoryMax: pasar.GiB, OwnLimit: true, MemoryPeak: 600, MaxEvents: 9, OOM: 1, OOMKill: 2, PidsMax: 3}},
		"its own limit, unmet": {pasar.GiB, nil, nil, pasar.CgroupUse{MemoryMax: pasar.GiB, OwnLimit: true, MemoryPeak: -1, SwapPeak: -1}},
		"a limit above": {0, counts{"memory.events": "max 0\noom 0\noom_kill 1"}, full,
			pasar.CgroupUse{MemoryMax: 4 * pasar.GiB, MemoryPeak: -1, SwapPeak: -1, MaxEvents: 5, OOM: 1, OOMKill: 1}},
		"a limit above, though its own is smaller": {pasar.GiB, counts{"memory.events": "max 0\noom 0\noom_kill 1"}, full,
			pasar.CgroupUse{MemoryMax: 4 * pasar.GiB, MemoryPeak: -1, SwapPeak: -1, MaxEvents: 5, OOM: 1, OOMKill: 1}},
		"the machine": {pasar.GiB, counts{"memory.events": "max 0\noom 0\noom_kill 1"}, nil,
			pasar.CgroupUse{MemoryMax: pasar.GiB, OwnLimit: true, MemoryPeak: -1, SwapPeak: -1, OOMKill: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			x := paperCell(t)
			x.hold(c.ram)
			c.job.write(t, x.job)
			c.above.write(t, x.above[1])
			if c.ram > 0 { // a real one has one line
				counts{"memory.max": "1073741824"}.write(t, x.job)
			}
			if got := x.spent(); *got != c.want {
				t.Errorf("%+v\nwant %+v", *got, c.want)
			}
		})
	}
}

func TestWhatIsNotCountedIsUnknown(t *testing.T) {
	c := &cell{log: quiet(), dir: t.TempDir(), into: -1}
	c.job = filepath.Join(c.dir, jobDir)
	c.hold(pasar.GiB)
	if got := c.spent(); *got != (pasar.CgroupUse{MemoryMax: -1, MemoryPeak: -1, SwapPeak: -1, MaxEvents: -1, OOM: -1, OOMKill: -1, PidsMax: -1}) {
		t.Errorf("%+v", *got)
	}
}

func TestWhatOOMDKilledIsCounted(t *testing.T) {
	c := paperCell(t)
	for dir, n := range map[string]string{c.job: "2", c.dir: "1", filepath.Join(c.job, "made-by-the-job"): "nonsense"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Setxattr(dir, "user.oomd_kill", []byte(n), 0); err != nil {
			t.Skipf("no attributes on this file system: %v", err)
		}
	}
	if got := c.spent().Oomd; got != 3 {
		t.Errorf("%d", got)
	}
}

func TestOOMKillsOfTheMachineAreCounted(t *testing.T) {
	was := oomKills()
	if was < 0 {
		t.Skip("this kernel doesn't count them")
	}
	if n := oomKillsSince(was); n == nil || *n < 0 {
		t.Errorf("%v since just now", n)
	}
	if n := oomKillsSince(-1); n != nil {
		t.Errorf("%d since nobody knows when", *n)
	}
	if n := oomKillsSince(1 << 60); n != nil {
		t.Errorf("%d: fewer than before", *n)
	}
}

func TestTheLastKeyThatInterruptsIsFound(t *testing.T) {
	for typed, want := range map[string]pasar.Key{"": "", "abc": "", "a\x03b": pasar.KeyInterrupt, "\x03\x1c": pasar.KeyQuit, "\x1c\x03": pasar.KeyInterrupt} {
		if got := interruptKey([]byte(typed)); got != want {
			t.Errorf("%q: %q", typed, got)
		}
	}
}

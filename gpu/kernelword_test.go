package gpu

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pasar"
)

func TestTheKernelsWordsAboutProcessesAreFound(t *testing.T) {
	for line, want := range map[string]kernelWord{
		"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg=/a/pasar-0123456789abcdef.service/job,task_memcg=/a/pasar-0123456789abcdef.service/job,task=python, or so,pid=4242,uid=1000": {pid: 4242, cgroup: "/a/pasar-0123456789abcdef.service/job"},
		"Memory cgroup out of memory: Killed process 4242 (python) total-vm:9kB, anon-rss:8kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:52kB oom_score_adj:0":                                                          {pid: 4242},
		"Out of memory: Kill process 17 (train) score 900 or sacrifice child":                                                                      {pid: 17},
		"oom_reaper: reaped process 4242 (python), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB":                                                  {pid: 4242},
		"pt_main_thread[31337]: segfault at 0 ip 00007f12 sp 00007ffd error 4 in libtorch_cuda.so[7f1200000000+9000] likely on CPU 3 (core 3)":     {pid: 31337},
		"traps: python3[99] general protection fault ip:7f sp:7f error:0 in libc.so.6[7f+1000]":                                                    {pid: 99},
		"traps: tokio-runtime-w[3117] trap invalid opcode ip:55ff sp:7f16 error:0 in a b[64e520,55ff+5f6000]":                                      {pid: 3117},
		"Memory failure: 0x1840200: Sending SIGBUS to python3:33395 due to hardware memory corruption":                                             {pid: 33395},
		"MCE: Killing a:b:12 due to hardware memory corruption fault at 4631e000":                                                                  {pid: 12},
		"python3[77]: unhandled exception: DABT (lower EL), ESR 0x92000044, level 0 translation fault in x[1+2]":                                   {pid: 77},
		`audit: type=1326 audit(1732890000.1:7): auid=1 uid=1 gid=1 ses=1 subj=x pid=55 comm="python" exe="/usr/bin/python3" sig=31 arch=c000003e`: {pid: 55},
		"INFO: task python:611 blocked for more than 122 seconds.":                                                                                 {pid: 611},
		"Nov 29 12:00:00 box kernel: [ 1234.567890] python[8]: segfault at 10 ip 0 sp 0 error 4":                                                   {pid: 8, text: "python[8]: segfault at 10 ip 0 sp 0 error 4"},
		"2026-11-29T12:00:00.1+00:00 box kernel: traps: x[8] trap divide error ip:0 sp:0 error:0":                                                  {pid: 8, text: "traps: x[8] trap divide error ip:0 sp:0 error:0"},
	} {
		if want.text == "" {
			want.text = line
		}
		if got, ok := parseKernelWord(line); !ok || got != want {
			t.Errorf("%s\nis %+v (%v)", line, got, ok)
		}
	}
	for _, line := range []string{
		"", "usb 1-1: new high-speed USB device", "x[12]: segfault", "python[0]: segfault at 0", "python[99999999]: segfault at 0",
		"NVRM: Xid (PCI:0000:65:00): 31, pid=1234, name=python", "traps: nothing", "audit: type=1326 audit(1): no process",
		"python[12]: segfault at 0" + strings.Repeat("x", 9<<10),
	} {
		if got, ok := parseKernelWord(line); ok {
			t.Errorf("%.80s is %+v", line, got)
		}
	}
}

func FuzzParseKernelWord(f *testing.F) {
	f.Add("oom-kill:a,task_memcg=/x,task=y,pid=1,uid=2")
	f.Add("a kernel: [  1.2] traps: \xff[3] trap x")
	f.Fuzz(func(t *testing.T, line string) {
		if w, ok := parseKernelWord(line); ok && (w.pid <= 0 || pasar.Clean(w.text) != w.text || len(w.text) > 10*wordMax) {
			t.Errorf("%q: believed %+v", line, w)
		}
	})
}

// hearing is a meter that knows two jobs: one by its cgroup, and one by pids below 200.
func hearing() *Meter {
	return NewMeter(Options{
		AttemptIn: func(cgroup string) (pasar.AttemptKey, bool) {
			return pasar.AttemptKey{Job: 1, Attempt: 1}, strings.HasSuffix(cgroup, "/one/job")
		},
		AttemptOf: func(pid int) (pasar.AttemptKey, bool) { return pasar.AttemptKey{Job: 2, Attempt: 1}, pid < 200 },
	})
}

func TestTheKernelsWordsAreOfTheAttemptThatTheyAreAbout(t *testing.T) {
	m, began := hearing(), time.Now()
	one, two := pasar.AttemptKey{Job: 1, Attempt: 1}, pasar.AttemptKey{Job: 2, Attempt: 1}
	m.hear("oom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/one/job,task=python,pid=900,uid=0")
	m.hear("Memory cgroup out of memory: Killed process 900 (python) total-vm:1kB")
	m.hear("oom-kill:constraint=CONSTRAINT_NONE,task_memcg=/elsewhere,task=chrome,pid=901,uid=0")
	m.hear("python[100]: segfault at 0 ip 0")
	m.hear("python[555]: segfault at 0 ip 0")
	m.hear("eth0: link is up")
	mine := func(key pasar.AttemptKey, pid int, since time.Time) string {
		lines, whole := m.Said(key, pid, since)
		if whole {
			t.Error("all was read, though nothing is")
		}
		return strings.Join(lines, "|")
	}
	if got := mine(one, 12, began); strings.Count(got, "|") != 1 || !strings.Contains(got, "pid=900") || !strings.Contains(got, "Killed process 900") {
		t.Errorf("of one: %s", got)
	}
	if got := mine(one, 0, time.Now().Add(time.Second)); got != "" {
		t.Errorf("of later: %s", got)
	}
	if !ownPids() {
		t.Skip("pids here are not those of the kernel's log")
	}
	if got := mine(two, 12, began); got != "python[100]: segfault at 0 ip 0" {
		t.Errorf("of two: %s", got)
	}
	if got := mine(pasar.AttemptKey{Job: 3, Attempt: 1}, 555, began); got != "python[555]: segfault at 0 ip 0" {
		t.Errorf("of a main process that is gone: %s", got)
	}
}

func TestAFloodOfTheKernelsWordsIsBounded(t *testing.T) {
	m := hearing()
	for i := range 10_000 {
		m.hear(fmt.Sprintf("oom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/one/job,task=python,pid=%d,uid=0", 1000+i))
	}
	lines, _ := m.Said(pasar.AttemptKey{Job: 1, Attempt: 1}, 0, time.Time{})
	if len(m.words.kept) != wordsKept || len(lines) != wordsTold || !strings.Contains(lines[wordsTold-1], "pid=10999") {
		t.Errorf("%d kept, %d told: %q", len(m.words.kept), len(lines), lines)
	}
}

func TestTheKernelsLogIsFollowedForItsWordsToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kern.log")
	if err := os.WriteFile(path, []byte("python[1]: segfault at 0, long ago\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 10)
	k := kernelLog{hear: func(line string) { heard <- line }}
	ctx, cancel := context.WithCancel(t.Context())
	k.start(ctx, path, slog.New(slog.DiscardHandler))
	defer k.stop()
	defer cancel()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := []string{"box kernel: traps: a[2] trap invalid opcode ip:0", "NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.", "something else"}
	if _, err := f.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
		t.Fatal(err)
	}
	if got := []string{<-heard, <-heard}; !slices.Equal(got, []string{lines[0], lines[2]}) {
		t.Errorf("%q", got)
	}
	if x := <-k.xids; x.Code != 79 {
		t.Errorf("%+v", x)
	}
}

func TestTheJournalIsSearchedWhereTheLogCantBeFollowed(t *testing.T) {
	m := hearing()
	one, since := pasar.AttemptKey{Job: 1, Attempt: 1}, time.Unix(1000, 0)
	said, failure, asked := "eth0: up\noom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/one/job,task=python,pid=900,uid=0\nMemory cgroup out of memory: Killed process 900 (python)\n", error(nil), 0
	m.journal = func(_ context.Context, from time.Time) (string, error) {
		if asked++; !from.Equal(since) {
			t.Errorf("since %s", from)
		}
		return said, failure
	}
	if got := m.Search(t.Context(), one, 5, since); asked != 0 || got != nil {
		t.Errorf("no log is to be read, and it was searched: %q", got)
	}
	m.o.KernelLog = "/dev/kmsg"
	if got := m.Search(t.Context(), one, 5, since); len(got) != 2 {
		t.Errorf("%q", got)
	}
	if got := m.Search(t.Context(), pasar.AttemptKey{Job: 9, Attempt: 1}, 5, since); len(got) != 0 {
		t.Errorf("of another: %q", got)
	}
	failure = errors.New("no such program")
	if got := m.Search(t.Context(), one, 5, since); got != nil {
		t.Errorf("without a journal: %q", got)
	}
	asked = 0
	m.words.begin(time.Now())
	if got := m.Search(t.Context(), one, 5, since); got != nil || asked != 0 {
		t.Errorf("the log is followed, and it was searched: %q", got)
	}
}

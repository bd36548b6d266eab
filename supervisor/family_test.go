package supervisor

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
)

func TestAThreadIsNotTakenForAProcess(t *testing.T) {
	ready, end := make(chan struct{}), make(chan struct{})
	defer close(end)
	go func() {
		runtime.LockOSThread() // a thread beside the first one, for as long as the test runs
		ready <- struct{}{}
		<-end
	}()
	<-ready
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil || len(tasks) < 2 {
		t.Fatalf("%d threads, %v", len(tasks), err)
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		if s, err := readStat(tid); err == nil && s.thread != (tid != os.Getpid()) {
			t.Errorf("thread %d of process %d: %+v", tid, os.Getpid(), s)
		}
	}
}

func TestProbingFindsWhatListingFinds(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	pid := cmd.Process.Pid
	newest := newestPid()
	if newest < pid {
		t.Skip("pids have gone round just now")
	}
	all := probeProcesses(pid, newest)
	if all == nil {
		t.Skip("the machine starts too much just now")
	}
	want, err := readStat(pid)
	if err != nil || all[pid].start != want.start || all[pid].ppid != os.Getpid() {
		t.Errorf("probed %+v, is %+v, %v", all[pid], want, err)
	}
	if _, ok := listProcesses(pid - 1)[pid]; !ok {
		t.Error("not listed")
	}
	if _, ok := listProcesses(pid)[pid]; ok {
		t.Error("listed, though at the bound")
	}
	if all := probeProcesses(pid, pid+probeMost); all != nil {
		t.Errorf("so many pids were probed: %d", len(all))
	}
}

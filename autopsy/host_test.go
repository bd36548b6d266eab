package autopsy

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"pasar"
)

func so(n int64) *int64 { return &n }

const (
	oomLine   = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task_memcg=/a/job,task=python,pid=42,uid=1000"
	killLine  = "Memory cgroup out of memory: Killed process 42 (python) total-vm:9999999kB, anon-rss:8388608kB, file-rss:0kB, shmem-rss:0kB"
	outLine   = "Out of memory: Killed process 42 (python) total-vm:9999999kB, anon-rss:1048576kB"
	segvLine  = "pt_main_thread[42]: segfault at 10 ip 00007f sp 00007f error 4 in libtorch_cuda.so[7f12+9000] likely on CPU 3"
	opLine    = "traps: python3[42] trap invalid opcode ip:55ff sp:7f16 error:0 in model.so[64e520,55ff+5f6000]"
	poison    = "Memory failure: 0x1840200: Sending SIGBUS to python3:42 due to hardware memory corruption"
	forbidden = `audit: type=1326 audit(1732890000.1:7): pid=42 comm="python" sig=31 arch=c000003e syscall=321 compat=0`
)

var (
	noKill = &pasar.CgroupUse{MemoryMax: -1, MemoryPeak: -1, SwapPeak: -1}
	oomd   = &pasar.CgroupUse{MemoryMax: -1, MemoryPeak: -1, SwapPeak: -1, Oomd: 3}
)

// hostCases are decided by the host's rules, or by others before or after them.
var hostCases = []deathCase{
	{"a unit killed for memory", Evidence{Lost: "its supervisor (pid 7) ended without an exit record", UnitResult: "oom-kill", Phase: Running},
		pasar.CodeLost, "lost: its whole unit was killed for want of memory, says systemd (oom-kill), its supervisor with it", pasar.Certain, pasar.BlameMachine},
	{"a supervisor killed by the kernel", Evidence{Lost: "its supervisor (pid 7) ended without an exit record", UnitResult: "signal", Phase: Running, Kernel: []string{oomLine}},
		pasar.CodeLost, "lost: its supervisor (pid 7) ended without an exit record; the kernel had killed a process of it, or that supervisor, for want of memory", pasar.Certain, pasar.BlameMachine},
	{"a supervisor killed", Evidence{Lost: "its supervisor (pid 7) ended without an exit record", UnitResult: "signal", Phase: Running},
		pasar.CodeLost, "lost: its supervisor was killed by a signal, says systemd (signal); no process of it is left", pasar.Certain, pasar.BlameEnvironment},
	{"a unit that ended well", Evidence{Lost: "gone", UnitResult: "success", Phase: Running}, pasar.CodeLost, "lost: gone", pasar.Certain, pasar.BlameMachine},
	{"lost while it was launched", Evidence{Lost: "the machine rebooted", Phase: Launching},
		pasar.CodeLost, "lost: the machine rebooted; its process was never seen", pasar.Certain, pasar.BlameMachine},
	{"lost while it ran", Evidence{Lost: "the machine rebooted", Phase: Running}, pasar.CodeLost, "lost: the machine rebooted", pasar.Certain, pasar.BlameMachine},
	{"cancelled, and its unit killed", Evidence{Lost: "gone", Stop: cancel, UnitResult: "oom-kill"},
		pasar.CodeCancelled, "cancelled by ada (its end was not seen: gone)", pasar.Certain, pasar.BlameUser},

	{"systemd-oomd", Evidence{Exit: sig(syscall.SIGKILL), Cgroup: oomd, HostTotal: 64 * pasar.GiB, HostFree: pasar.GiB},
		pasar.CodeKernelOOM, "killed by systemd-oomd: too little host memory was left, 1 GiB of 64 GiB were free", pasar.Certain, pasar.BlameMachine},
	{"systemd-oomd killed a part, and it lived on", Evidence{Exit: code(3), Cgroup: oomd},
		pasar.CodeExit, "exited with code 3; it wrote nothing", pasar.Certain, pasar.BlameJob},
	{"the kernel's log, without a cgroup", Evidence{Exit: sig(syscall.SIGKILL), Kernel: []string{outLine}},
		pasar.CodeKernelOOM, "killed by the kernel: the machine was out of host memory (the process that was killed had 1 GiB)", pasar.Certain, pasar.BlameMachine},
	{"the kernel's log, of a cgroup that isn't ours", Evidence{Exit: code(137), Kernel: []string{oomLine, killLine}, OOMKills: so(1)},
		pasar.CodeKernelOOM, "killed by the kernel: its cgroup was out of host memory (the process that was killed had 8 GiB)", pasar.Certain, pasar.BlameMachine},
	{"the count goes before the log", Evidence{Exit: sig(syscall.SIGKILL), Cgroup: oomed(pasar.GiB, true, 1, 1), Kernel: []string{oomLine, killLine}},
		pasar.CodeKernelOOM, "killed by the kernel: over its 1 GiB of host memory (--ram)", pasar.Certain, pasar.BlameJob},
	{"completed, though a part was killed", Evidence{Exit: code(0), Kernel: []string{outLine}}, pasar.CodeCompleted, "completed", pasar.Certain, pasar.BlameJob},
	{"killed while the machine was out of memory, and large", Evidence{Exit: sig(syscall.SIGKILL), OOMKills: so(2), HostPeak: 40 * pasar.GiB, HostTotal: 64 * pasar.GiB, HostFree: 60 * pasar.GiB},
		pasar.CodeKernelOOM, "killed by SIGKILL; the kernel killed 2 processes on the machine for want of memory while it ran", pasar.Likely, pasar.BlameMachine},
	{"killed while the machine was out of memory, and small", Evidence{Exit: sig(syscall.SIGKILL), OOMKills: so(1), HostPeak: pasar.GiB, HostTotal: 64 * pasar.GiB, HostFree: 60 * pasar.GiB},
		pasar.CodeKernelOOM, "killed by SIGKILL; the kernel killed a process on the machine for want of memory while it ran", pasar.Guess, pasar.BlameMachine},
	{"kill -9, and the cgroup counts", Evidence{Exit: sig(syscall.SIGKILL), Cgroup: noKill},
		pasar.CodeSignal, "killed by SIGKILL from outside pasar; not by the kernel for want of memory", pasar.Certain, pasar.BlameEnvironment},
	{"kill -9, and the machine counts", Evidence{Exit: sig(syscall.SIGKILL), OOMKills: so(0)},
		pasar.CodeSignal, "killed by SIGKILL from outside pasar; not by the kernel for want of memory", pasar.Certain, pasar.BlameEnvironment},
	{"137, and the machine counts", Evidence{Exit: code(137), OOMKills: so(0)},
		pasar.CodeSignal, "killed by SIGKILL from outside pasar; not by the kernel for want of memory", pasar.Likely, pasar.BlameEnvironment},
	{"kill -9, and nobody counts", Evidence{Exit: sig(syscall.SIGKILL)}, pasar.CodeSignal, "killed by SIGKILL", pasar.Certain, pasar.BlameJob},

	{"its unit was stopped", Evidence{Exit: sig(syscall.SIGTERM), Asked: true, Phase: Running},
		pasar.CodeInterrupted, "ended by SIGTERM: its supervisor was sent SIGTERM from outside pasar and passed it on, as on a shutdown, a logout or when its unit is stopped", pasar.Certain, pasar.BlameEnvironment},
	{"its unit was stopped, and it said why it left", Evidence{Exit: code(1), Asked: true, Log: logged(badLR)},
		pasar.CodeInterrupted, "exited with code 1: its supervisor was sent SIGTERM from outside pasar and passed it on, as on a shutdown, a logout or when its unit is stopped", pasar.Certain, pasar.BlameEnvironment},
	{"its unit was stopped, and it was done", Evidence{Exit: code(0), Asked: true}, pasar.CodeCompleted, "completed", pasar.Certain, pasar.BlameJob},
	{"cancelled on a shutdown", Evidence{Exit: sig(syscall.SIGTERM), Asked: true, Stop: cancel, StopStep: pasar.StepTerm},
		pasar.CodeCancelled, "cancelled by ada: it ended on SIGTERM", pasar.Certain, pasar.BlameUser},

	{"Ctrl-C", Evidence{Exit: sig(syscall.SIGINT), Typed: true, TypedBy: "pts/3, process 9", TypedBefore: pasar.Duration(1500 * time.Millisecond)},
		pasar.CodeInterrupted, "interrupted by SIGINT: Ctrl-C typed at pts/3, process 9, 1.5s before it ended", pasar.Certain, pasar.BlameUser},
	{"Ctrl-C, says a shell", Evidence{Exit: code(130), Typed: true},
		pasar.CodeInterrupted, "interrupted by SIGINT: Ctrl-C typed at an attached terminal", pasar.Certain, pasar.BlameUser},
	{"Ctrl-C, and a traceback", Evidence{Exit: sig(syscall.SIGINT), Typed: true, TypedBy: "pts/3, process 9", Log: numbered("epoch 1", "Traceback (most recent call last):", `  File "train.py", line 9, in <module>`, "    step()", "KeyboardInterrupt")},
		pasar.CodeInterrupted, "interrupted by SIGINT: Ctrl-C typed at pts/3, process 9", pasar.Certain, pasar.BlameUser},
	{"Ctrl-C, caught", Evidence{Exit: code(1), Typed: true, Log: numbered("epoch 1", "Traceback (most recent call last):", `  File "train.py", line 9, in <module>`, "    step()", "KeyboardInterrupt")},
		pasar.CodeInterrupted, "interrupted by SIGINT: Ctrl-C typed at an attached terminal", pasar.Certain, pasar.BlameUser},
	{"Ctrl-C was typed, and something else ended it", Evidence{Exit: code(1), Typed: true, Log: logged(badLR)},
		pasar.CodeException, "ValueError: bad lr", pasar.Certain, pasar.BlameJob},
	{"Ctrl-\\", Evidence{Exit: sig(syscall.SIGQUIT), Quit: true, TypedBy: "process 9"},
		pasar.CodeSignal, `killed by SIGQUIT: Ctrl-\ typed at process 9`, pasar.Certain, pasar.BlameUser},

	{"a segmentation fault", Evidence{Exit: sig(syscall.SIGSEGV), Kernel: []string{segvLine}},
		pasar.CodeSignal, "killed by SIGSEGV: segfault at 10 in libtorch_cuda.so", pasar.Certain, pasar.BlameJob},
	{"an illegal instruction, says a shell", Evidence{Exit: code(132), Kernel: []string{opLine}},
		pasar.CodeSignal, "killed by SIGILL: trap invalid opcode in model.so", pasar.Certain, pasar.BlameJob},
	{"a fault that it lived through", Evidence{Exit: code(1), Kernel: []string{segvLine}, Log: logged(badLR)},
		pasar.CodeException, "ValueError: bad lr", pasar.Certain, pasar.BlameJob},
	{"damaged memory", Evidence{Exit: sig(syscall.SIGBUS), Kernel: []string{poison}},
		pasar.CodeSignal, "killed by SIGBUS: the machine's memory is damaged where it was used, says the kernel", pasar.Certain, pasar.BlameMachine},
	{"a child killed by the kernel", Evidence{Exit: code(3), Kernel: []string{oomLine, killLine}, Log: numbered("job.sh: line 1: 42 Killed                  python load.py", "worker ended with 137")},
		pasar.CodeKernelOOM, "the kernel killed a process of it because host memory ran out: job.sh: line 1: 42 Killed                  python load.py; then it exited with code 3", pasar.Certain, pasar.BlameMachine},
	{"a child killed by the kernel, and a parent of few words", Evidence{Exit: code(3), Kernel: []string{oomLine, killLine}, Log: numbered("epoch 1", "worker ended with -9")},
		pasar.CodeKernelOOM, "the kernel killed a process of it because host memory ran out; then it exited with code 3", pasar.Likely, pasar.BlameMachine},
	{"a child killed by the kernel, and an error of its own", Evidence{Exit: code(1), Kernel: []string{oomLine, killLine}, Log: logged(badLR)},
		pasar.CodeException, "ValueError: bad lr", pasar.Certain, pasar.BlameJob},
	{"a child killed by the kernel, and its unit stopped", Evidence{Exit: code(3), Kernel: []string{oomLine, killLine}, Asked: true},
		pasar.CodeInterrupted, "exited with code 3: its supervisor was sent SIGTERM from outside pasar and passed it on, as on a shutdown, a logout or when its unit is stopped", pasar.Certain, pasar.BlameEnvironment},
	{"a child killed by the kernel, and done", Evidence{Exit: code(0), Kernel: []string{oomLine, killLine}}, pasar.CodeCompleted, "completed", pasar.Certain, pasar.BlameJob},
	{"a forbidden system call", Evidence{Exit: sig(syscall.SIGSYS), Kernel: []string{forbidden}},
		pasar.CodeSignal, "killed by SIGSYS: a sandbox forbids a system call that it made (number 321)", pasar.Certain, pasar.BlameEnvironment},
}

func TestTheHostsWord(t *testing.T) {
	for _, c := range hostCases {
		t.Run(c.name, func(t *testing.T) {
			v := Attribute(c.e)
			if !c.isTold(v) {
				t.Errorf("%s %q (%s, %s)\nwant %s %q (%s, %s)", v.Reason, v.Summary, v.Confidence, v.Blame, c.reason, c.summary, c.conf, c.blame)
			}
			if len(c.e.Kernel) > 0 && v.Reason != pasar.CodeCompleted && strings.Contains(v.Summary, "kernel") && c.e.Cgroup == nil {
				if last := v.Evidence[len(v.Evidence)-1]; !strings.HasPrefix(last.Text, "kernel: ") {
					t.Errorf("evidence %+v", v.Evidence)
				}
			}
			checkVerdict(t, v)
		})
	}
}

func TestPortableEvidenceHasNoBytesThatAreNoText(t *testing.T) {
	bad := "caf\xe9"
	e := Evidence{Argv0: bad, Cwd: bad, Lost: bad, TypedBy: bad, Kernel: []string{bad}, Screen: []string{bad}, GPULost: []string{bad}, GPUSilent: []string{bad},
		Log: []pasar.Line{{Number: 1, Text: bad}}, Marker: &pasar.Marker{Checkpoint: bad, Missing: bad}, Stop: &pasar.Stop{By: bad, Detail: bad}}
	p := e.Portable()
	good := "caf\uFFFD"
	if p.Argv0 != good || p.Cwd != good || p.Lost != good || p.TypedBy != good || p.Kernel[0] != good || p.Screen[0] != good || p.GPULost[0] != good || p.GPUSilent[0] != good ||
		p.Log[0].Text != good || p.Marker.Checkpoint != good || p.Marker.Missing != good || p.Stop.By != good || p.Stop.Detail != good {
		t.Errorf("%+v", p)
	}
	if e.Log[0].Text != bad || e.Kernel[0] != bad || e.Marker.Checkpoint != bad || e.Stop.By != bad {
		t.Error("what was made portable has changed")
	}
}

const badLR = "epoch 1 loss 0.3\nTraceback (most recent call last):\n  File \"train.py\", line 9, in <module>\n    start(lr)\nValueError: bad lr\n"

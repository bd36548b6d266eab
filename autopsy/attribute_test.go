package autopsy

import (
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"pasar"
)

func code(n int) *pasar.Exit { return &pasar.Exit{Code: n} }

func sig(n syscall.Signal) *pasar.Exit { return &pasar.Exit{Signal: int(n)} }

// logged is output as a verdict has it.
func logged(s string) []pasar.Line { return ReadLog([]byte(strings.Trim(s, "\n")), 1) }

func numbered(lines ...string) []pasar.Line { return logged(strings.Join(lines, "\n")) }

// oomed is what a cgroup counted under a limit.
func oomed(limit pasar.Bytes, own bool, oom, kills int64) *pasar.CgroupUse {
	return &pasar.CgroupUse{MemoryMax: limit, MemoryPeak: limit, SwapPeak: -1, MaxEvents: oom, OOM: oom, OOMKill: kills, PidsMax: -1, OwnLimit: own}
}

var cancel = &pasar.Stop{Why: pasar.StopCancel, By: "ada", Grace: pasar.Duration(30 * time.Second)}

var pause = &pasar.Stop{Why: pasar.StopPause, By: "ada", PauseFile: true, Grace: pasar.Duration(30 * time.Second)}

var good = &pasar.Marker{Checkpoint: "/ckpt/9"}

const aTraceback = `
epoch 1 loss 0.3
Traceback (most recent call last):
  File "train.py", line 9, in <module>
    start(lr)
  File "train.py", line 3, in start
    raise ValueError("bad lr")
ValueError: bad lr
`

// A deathCase is evidence, and what is to be said of it.
type deathCase struct {
	name    string
	e       Evidence
	reason  pasar.Code
	summary string
	conf    pasar.Confidence
	blame   pasar.Blame
}

func (c *deathCase) isTold(v pasar.Verdict) bool {
	return v.Reason == c.reason && v.Summary == c.summary && v.Confidence == c.conf && v.Blame == c.blame
}

var cases = []deathCase{
	{"exit 0", Evidence{Exit: code(0), Log: logged(aTraceback), RunTime: pasar.Duration(90 * time.Minute)},
		pasar.CodeCompleted, "completed after 1h30m", pasar.Certain, pasar.BlameJob},

	// What pasar did decides, whatever the status.
	{"cancelled on TERM", Evidence{Stop: cancel, StopStep: pasar.StepTerm, Exit: sig(syscall.SIGTERM)},
		pasar.CodeCancelled, "cancelled by ada: it ended on SIGTERM", pasar.Certain, pasar.BlameUser},
	{"cancelled, exits by itself", Evidence{Stop: cancel, StopStep: pasar.StepTerm, Exit: code(0)},
		pasar.CodeCancelled, "cancelled by ada: after SIGTERM it exited with code 0", pasar.Certain, pasar.BlameUser},
	{"cancelled by KILL", Evidence{Stop: cancel, StopStep: pasar.StepKill, Exit: sig(syscall.SIGKILL)},
		pasar.CodeCancelled, "cancelled by ada: it did not end within its grace of 30s and was killed", pasar.Certain, pasar.BlameUser},
	{"cancelled at once", Evidence{Stop: &pasar.Stop{Why: pasar.StopCancel, Now: true}, StopStep: pasar.StepKill, Exit: sig(syscall.SIGKILL)},
		pasar.CodeCancelled, "cancelled: killed at once", pasar.Certain, pasar.BlameUser},
	{"cancelled before it ran", Evidence{Stop: cancel},
		pasar.CodeCancelled, "cancelled by ada while it waited to start", pasar.Certain, pasar.BlameUser},
	{"cancelled while launching", Evidence{Stop: cancel, LaunchError: "no room"},
		pasar.CodeCancelled, "cancelled by ada while it waited to start", pasar.Certain, pasar.BlameUser},
	{"cancelled and lost", Evidence{Stop: cancel, Lost: "the machine rebooted"},
		pasar.CodeCancelled, "cancelled by ada (its end was not seen: the machine rebooted)", pasar.Certain, pasar.BlameUser},
	{"ended before the stop got anywhere", Evidence{Stop: cancel, Exit: code(0)},
		pasar.CodeCompleted, "completed", pasar.Certain, pasar.BlameJob},
	{"preempted", Evidence{Stop: &pasar.Stop{Why: pasar.StopPreempt}, StopStep: pasar.StepTerm, Exit: code(1)},
		pasar.CodePreempted, "preempted by a job with a higher bid: after SIGTERM it exited with code 1", pasar.Certain, pasar.BlamePasar},
	{"preempted by a job that is known", Evidence{Stop: &pasar.Stop{Why: pasar.StopPreempt}, StopStep: pasar.StepTerm, Exit: sig(syscall.SIGTERM), For: "job 42 (train)"},
		pasar.CodePreempted, "preempted by job 42 (train): it ended on SIGTERM", pasar.Certain, pasar.BlamePasar},
	{"preempted, and saved by the pause file", Evidence{Stop: &pasar.Stop{Why: pasar.StopPreempt}, StopStep: pasar.StepFile, Exit: code(75), Marker: good},
		pasar.CodePreempted, "preempted by a job with a higher bid: asked by the pause file, it exited with code 75", pasar.Certain, pasar.BlamePasar},
	{"preempted, unseen", Evidence{Stop: &pasar.Stop{Why: pasar.StopPreempt}, Lost: "the machine rebooted"},
		pasar.CodePreempted, "preempted by a job with a higher bid (its end was not seen: the machine rebooted)", pasar.Certain, pasar.BlamePasar},
	{"preempted, and went well", Evidence{Stop: &pasar.Stop{Why: pasar.StopPreempt}, StopStep: pasar.StepTerm, Exit: code(0)},
		pasar.CodePreempted, "preempted by a job with a higher bid: after SIGTERM it exited with code 0", pasar.Certain, pasar.BlamePasar},
	{"completed as it was to make room", Evidence{Stop: &pasar.Stop{Why: pasar.StopPreempt}, StopStep: pasar.StepFile, Exit: code(0), RunTime: pasar.Duration(time.Hour)},
		pasar.CodeCompleted, "completed after 1h, though it was asked to make room", pasar.Certain, pasar.BlameJob},
	{"paused", Evidence{Stop: pause, StopStep: pasar.StepFile, Exit: code(75), Marker: good},
		pasar.CodePaused, "paused by ada: it saved /ckpt/9", pasar.Certain, pasar.BlameUser},
	{"paused on SIGTERM", Evidence{Stop: pause, StopStep: pasar.StepTerm, Exit: code(75), Marker: good},
		pasar.CodePaused, "paused by ada: it saved /ckpt/9", pasar.Certain, pasar.BlameUser},
	{"paused by force", Evidence{Stop: pause, StopStep: pasar.StepKill, Exit: sig(syscall.SIGKILL)},
		pasar.CodePaused, "paused by ada, by force: it did not end within its grace of 30s and was killed", pasar.Certain, pasar.BlameUser},
	{"paused by force, no marker", Evidence{Stop: pause, StopStep: pasar.StepTerm, Exit: code(75), Marker: &pasar.Marker{Missing: "no marker"}},
		pasar.CodePaused, "paused by ada, by force: after SIGTERM it exited with code 75, without a marker that holds (no marker)", pasar.Certain, pasar.BlameUser},
	{"asked to pause, no marker", Evidence{Stop: pause, StopStep: pasar.StepFile, Exit: code(75)},
		pasar.CodeExit, "it was asked to pause by ada and exited with code 75, without a marker, so nothing says that it saved", pasar.Certain, pasar.BlameJob},
	{"asked to pause, marker of nothing", Evidence{Stop: pause, StopStep: pasar.StepFile, Exit: code(75), Marker: &pasar.Marker{Checkpoint: "/x", Missing: "/x: no such file"}},
		pasar.CodeExit, "it was asked to pause by ada and exited with code 75, without a marker that holds (/x: no such file), so nothing says that it saved", pasar.Certain, pasar.BlameJob},
	{"asked to pause, another code", Evidence{Stop: pause, StopStep: pasar.StepFile, Exit: code(3), Marker: good},
		pasar.CodeExit, "exited with code 3; it wrote nothing, after it was asked to pause by ada; it left a marker, but exited with code 3 and not with 75", pasar.Certain, pasar.BlameJob},
	{"asked to pause, crashed", Evidence{Stop: pause, StopStep: pasar.StepFile, Exit: sig(syscall.SIGSEGV)},
		pasar.CodeSignal, "killed by SIGSEGV, after it was asked to pause by ada", pasar.Certain, pasar.BlameJob},
	{"asked to pause, completed", Evidence{Stop: pause, StopStep: pasar.StepFile, Exit: code(0)},
		pasar.CodeCompleted, "completed, after it was asked to pause by ada", pasar.Certain, pasar.BlameJob},
	{"asked to pause, ended before that got anywhere", Evidence{Stop: pause, Exit: code(75), Marker: good, Output: 1},
		pasar.CodeExit, "exited with code 75", pasar.Certain, pasar.BlameJob},
	{"asked to pause, lost", Evidence{Stop: pause, Lost: "the machine rebooted"},
		pasar.CodeLost, "lost: the machine rebooted", pasar.Certain, pasar.BlameMachine},
	{"exits as if it had been asked", Evidence{Exit: code(75), Marker: good, Output: 1},
		pasar.CodeExit, "exited with code 75", pasar.Certain, pasar.BlameJob},
	{"cancelled while paused", Evidence{Stop: cancel, Paused: true},
		pasar.CodeCancelled, "cancelled by ada while it was paused", pasar.Certain, pasar.BlameUser},
	{"a stop of a kind not known here", Evidence{Stop: &pasar.Stop{Why: "whim"}, StopStep: pasar.StepTerm, Exit: code(1)},
		pasar.CodeCancelled, "cancelled: after SIGTERM it exited with code 1", pasar.Certain, pasar.BlameUser},
	{"dependency", Evidence{Unmet: "job 41 (prep) failed, and it was to start only if that completed"},
		pasar.CodeDependency, "never started: job 41 (prep) failed, and it was to start only if that completed", pasar.Certain, pasar.BlameJob},
	{"time limit, saved", Evidence{Stop: &pasar.Stop{Why: pasar.StopLimit}, StopStep: pasar.StepFile, Exit: code(75), Marker: good, RunTime: pasar.Duration(2 * time.Hour)},
		pasar.CodeTimeLimit, "paused at its time limit after 2h: it saved /ckpt/9", pasar.Certain, pasar.BlameJob},
	{"time limit, marker of nothing", Evidence{Stop: &pasar.Stop{Why: pasar.StopLimit}, StopStep: pasar.StepTerm, Exit: code(75), Marker: &pasar.Marker{Missing: "it is damaged"}},
		pasar.CodeTimeLimit, "stopped at its time limit: after SIGTERM it exited with code 75, without a marker that holds (it is damaged)", pasar.Certain, pasar.BlameJob},
	{"time limit, ended well", Evidence{Stop: &pasar.Stop{Why: pasar.StopLimit}, StopStep: pasar.StepTerm, Exit: code(0)},
		pasar.CodeTimeLimit, "stopped at its time limit: after SIGTERM it exited with code 0", pasar.Certain, pasar.BlameJob},
	{"time limit", Evidence{Stop: &pasar.Stop{Why: pasar.StopLimit}, StopStep: pasar.StepKill, Exit: sig(syscall.SIGKILL),
		Grace: pasar.Duration(5 * time.Second), RunTime: pasar.Duration(2 * time.Hour)},
		pasar.CodeTimeLimit, "stopped at its time limit after 2h: it did not end within its grace of 5s and was killed", pasar.Certain, pasar.BlameJob},
	{"watchdog", Evidence{Stop: &pasar.Stop{Why: pasar.StopWatchdog, Now: true, Detail: "over its limit of 26 GiB by 5 GiB of GPU memory on GPU 0"}, StopStep: pasar.StepKill, Exit: sig(syscall.SIGKILL)},
		pasar.CodeOOM, "killed by pasar's memory watchdog: over its limit of 26 GiB by 5 GiB of GPU memory on GPU 0", pasar.Certain, pasar.BlameJob},
	{"lost", Evidence{Lost: "the machine rebooted"},
		pasar.CodeLost, "lost: the machine rebooted", pasar.Certain, pasar.BlameMachine},
	{"nothing known", Evidence{},
		pasar.CodeLost, "lost: nobody saw it end", pasar.Certain, pasar.BlameMachine},

	// It never ran.
	{"no program", Evidence{LaunchError: "run trian: no such file", LaunchStep: "exec", Errno: int(syscall.ENOENT), Argv0: "trian"},
		pasar.CodeBadCommand, "no such program: trian", pasar.Certain, pasar.BlameUser},
	{"no interpreter", Evidence{LaunchError: `run ./a: no such interpreter: /bin/sh\r (CR LF)`, LaunchStep: "interpreter", Errno: int(syscall.ENOENT), Argv0: "./a"},
		pasar.CodeBadCommand, `could not be started: run ./a: no such interpreter: /bin/sh\r (CR LF)`, pasar.Certain, pasar.BlameUser},
	{"no permission", Evidence{LaunchError: "x", LaunchStep: "exec", Errno: int(syscall.EACCES), Argv0: "./train.sh"},
		pasar.CodeBadCommand, "not executable: ./train.sh", pasar.Certain, pasar.BlameUser},
	{"no format", Evidence{LaunchError: "x", LaunchStep: "exec", Errno: int(syscall.ENOEXEC), Argv0: "./a.out"},
		pasar.CodeBadCommand, "not a program that this machine can run: ./a.out", pasar.Certain, pasar.BlameUser},
	{"too long", Evidence{LaunchError: "x", LaunchStep: "exec", Errno: int(syscall.E2BIG), Argv0: "sh"},
		pasar.CodeLaunchError, "could not be started: argument list too long for sh", pasar.Certain, pasar.BlameUser},
	{"no directory", Evidence{LaunchError: "x", LaunchStep: "chdir", Errno: int(syscall.ENOENT), Cwd: "/srv/gone"},
		pasar.CodeLaunchError, "cannot enter working directory /srv/gone: no such file or directory", pasar.Certain, pasar.BlameUser},
	{"no process", Evidence{LaunchError: "fork: resource temporarily unavailable", LaunchStep: "fork", Errno: int(syscall.EAGAIN)},
		pasar.CodeLaunchError, "could not be started: fork: resource temporarily unavailable", pasar.Certain, pasar.BlameMachine},
	{"no space", Evidence{LaunchError: "make directory: no space left on device", LaunchStep: "claim", Errno: int(syscall.ENOSPC)},
		pasar.CodeLaunchError, "could not be started: make directory: no space left on device", pasar.Certain, pasar.BlameMachine},
	{"something else", Evidence{LaunchError: "open pty: no such device", LaunchStep: "pty", Errno: int(syscall.ENXIO)},
		pasar.CodeLaunchError, "could not be started: open pty: no such device", pasar.Certain, pasar.BlamePasar},

	// Signals from outside, as seen and as a shell says.
	{"TERM", Evidence{Exit: sig(syscall.SIGTERM)},
		pasar.CodeInterrupted, "ended by SIGTERM from outside pasar", pasar.Certain, pasar.BlameUser},
	{"INT", Evidence{Exit: sig(syscall.SIGINT)},
		pasar.CodeInterrupted, "ended by SIGINT: Ctrl-C at its terminal, or sent from outside pasar", pasar.Certain, pasar.BlameUser},
	{"130", Evidence{Exit: code(130)},
		pasar.CodeInterrupted, "interrupted: exited with code 130, as after SIGINT: Ctrl-C at its terminal, or sent from outside pasar", pasar.Likely, pasar.BlameUser},
	{"129", Evidence{Exit: code(129)},
		pasar.CodeInterrupted, "interrupted: exited with code 129, as after SIGHUP from outside pasar", pasar.Likely, pasar.BlameUser},
	{"SEGV", Evidence{Exit: &pasar.Exit{Signal: int(syscall.SIGSEGV), Core: true}},
		pasar.CodeSignal, "killed by SIGSEGV (core dumped)", pasar.Certain, pasar.BlameJob},
	{"ABRT that says why", Evidence{Exit: sig(syscall.SIGABRT), Log: numbered("step 9", "corrupted size vs. prev_size", "")},
		pasar.CodeSignal, "ended by SIGABRT: native code misused its memory: corrupted size vs. prev_size", pasar.Certain, pasar.BlameJob},
	{"139", Evidence{Exit: code(139)},
		pasar.CodeSignal, "exited with code 139, as after SIGSEGV", pasar.Likely, pasar.BlameJob},
	{"137", Evidence{Exit: code(137)},
		pasar.CodeSignal, "exited with code 137, as after SIGKILL", pasar.Likely, pasar.BlameJob},
	{"real-time signal", Evidence{Exit: sig(40)},
		pasar.CodeSignal, "killed by signal 40", pasar.Certain, pasar.BlameJob},

	// What the driver said of its GPUs.
	{"Xid of the hardware", Evidence{Exit: code(1), Log: numbered("step 9"), Xids: []BlamedXid{xid(79, pasar.XidDrainReboot, pasar.Likely)}},
		pasar.CodeGPUXid, "a fault of GPU 1: Xid 79, it went wrong", pasar.Likely, pasar.BlameMachine},
	{"Xid of the program", Evidence{Exit: code(1), Log: numbered(illegal), Xids: []BlamedXid{xid(31, pasar.XidFailJob, pasar.Certain)}},
		pasar.CodeGPUXid, "the program's fault on GPU 1: Xid 31, it went wrong: " + illegal, pasar.Certain, pasar.BlameJob},
	{"a word of a GPU that it didn't have", Evidence{Exit: code(1), NoGPU: true, Log: numbered("row 3: GPU has fallen off the bus")},
		pasar.CodeExit, "exited with code 1; last output: row 3: GPU has fallen off the bus", pasar.Certain, pasar.BlameJob},
	{"GPU lost", Evidence{Exit: code(1), GPULost: []string{"the driver had lost GPU 1"}},
		pasar.CodeGPUXid, "the driver had lost GPU 1", pasar.Likely, pasar.BlameMachine},

	// What the kernel counted.
	{"over --ram", Evidence{Exit: sig(syscall.SIGKILL), Cgroup: oomed(512*pasar.MiB, true, 1, 1)},
		pasar.CodeKernelOOM, "killed by the kernel: over its 512 MiB of host memory (--ram)", pasar.Certain, pasar.BlameJob},
	{"a worker over --ram", Evidence{Exit: code(1), Cgroup: oomed(pasar.GiB, true, 1, 1), Log: numbered("RuntimeError: DataLoader worker (pid 9) exited unexpectedly")},
		pasar.CodeKernelOOM, "the kernel killed a process of it: over its 1 GiB of host memory (--ram); then it exited with code 1", pasar.Certain, pasar.BlameJob},
	{"workers over --ram, says a shell", Evidence{Exit: code(137), Cgroup: oomed(pasar.GiB, true, 3, 3)},
		pasar.CodeKernelOOM, "the kernel killed 3 processes of it: over its 1 GiB of host memory (--ram); then it exited with code 137", pasar.Certain, pasar.BlameJob},
	{"a worker over --ram, then an abort", Evidence{Exit: sig(syscall.SIGABRT), Cgroup: oomed(pasar.GiB, true, -1, 1)},
		pasar.CodeKernelOOM, "the kernel killed a process of it: over its 1 GiB of host memory (--ram); then it was killed by SIGABRT", pasar.Certain, pasar.BlameJob},
	{"over a slice's limit", Evidence{Exit: sig(syscall.SIGKILL), Cgroup: oomed(4*pasar.GiB, false, 2, 1)},
		pasar.CodeKernelOOM, "killed by the kernel: over the 4 GiB of host memory that its cgroup allows to all in it", pasar.Certain, pasar.BlameEnvironment},
	{"over its own container's limit", Evidence{Exit: sig(syscall.SIGKILL), Cgroup: oomed(-1, false, 2, 1)},
		pasar.CodeKernelOOM, "killed by the kernel: over a limit on host memory in its own cgroups", pasar.Certain, pasar.BlameJob},
	{"the machine's memory", Evidence{Exit: sig(syscall.SIGKILL), Cgroup: oomed(-1, false, 0, 1)},
		pasar.CodeKernelOOM, "killed by the kernel: the machine was out of host memory", pasar.Certain, pasar.BlameMachine},
	{"the machine's memory, below its own limit", Evidence{Exit: sig(syscall.SIGKILL), Cgroup: oomed(pasar.GiB, true, 0, 1)},
		pasar.CodeKernelOOM, "killed by the kernel: the machine was out of host memory", pasar.Certain, pasar.BlameMachine},
	{"a kill without the kernel's", Evidence{Exit: sig(syscall.SIGKILL), Cgroup: oomed(pasar.GiB, true, 0, 0)},
		pasar.CodeSignal, "killed by SIGKILL from outside pasar; not by the kernel for want of memory", pasar.Certain, pasar.BlameEnvironment},
	{"a kill where nothing is counted", Evidence{Exit: sig(syscall.SIGKILL), Cgroup: oomed(-1, false, -1, -1)},
		pasar.CodeSignal, "killed by SIGKILL", pasar.Certain, pasar.BlameJob},
	{"a limit that was hit and no kill", Evidence{Exit: code(3), Cgroup: oomed(pasar.GiB, true, 5, 0)},
		pasar.CodeExit, "exited with code 3; it wrote nothing", pasar.Certain, pasar.BlameJob},
	{"a worker killed, and the job lived through it", Evidence{Exit: code(0), Cgroup: oomed(pasar.GiB, true, 1, 1)},
		pasar.CodeCompleted, "completed", pasar.Certain, pasar.BlameJob},
	{"a worker killed, then interrupted", Evidence{Exit: sig(syscall.SIGTERM), Cgroup: oomed(pasar.GiB, true, 1, 1)},
		pasar.CodeInterrupted, "ended by SIGTERM from outside pasar", pasar.Certain, pasar.BlameUser},
	{"a worker killed, then cancelled", Evidence{Stop: cancel, StopStep: pasar.StepKill, Exit: sig(syscall.SIGKILL), Cgroup: oomed(pasar.GiB, true, 1, 1)},
		pasar.CodeCancelled, "cancelled by ada: it did not end within its grace of 30s and was killed", pasar.Certain, pasar.BlameUser},

	// Codes.
	{"124", Evidence{Exit: code(124)},
		pasar.CodeTimeLimit, "exited with code 124: a time limit ended it, as timeout(1) says", pasar.Likely, pasar.BlameJob},
	{"126", Evidence{Exit: code(126), Log: numbered("bash: ./train.sh: Permission denied")},
		pasar.CodeBadCommand, "it may not be executed: bash: ./train.sh: Permission denied", pasar.Likely, pasar.BlameUser},
	{"126, and no word why", Evidence{Exit: code(126)},
		pasar.CodeBadCommand, "exited with code 126, command not executable; it wrote nothing", pasar.Likely, pasar.BlameUser},
	{"127", Evidence{Exit: code(127), Log: numbered("sh: 1: trian: not found")},
		pasar.CodeBadCommand, "a command isn't found: sh: 1: trian: not found", pasar.Certain, pasar.BlameUser},
	{"127, and no word why", Evidence{Exit: code(127)},
		pasar.CodeBadCommand, "exited with code 127, command not found; it wrote nothing", pasar.Likely, pasar.BlameUser},
	{"traceback", Evidence{Exit: code(1), Log: logged(aTraceback)},
		pasar.CodeException, "ValueError: bad lr", pasar.Certain, pasar.BlameJob},
	{"traceback of a rank", Evidence{Exit: code(1), Log: numbered("[rank1]: Traceback (most recent call last):", `[rank1]:   File "t.py", line 1`, "[rank1]: KeyError: 'x'", "bye")},
		pasar.CodeException, "KeyError: 'x' (rank 1)", pasar.Certain, pasar.BlameJob},
	{"error line", Evidence{Exit: code(2), Log: numbered("reading", "error: no config", "== end ==")},
		pasar.CodeExit, "exited with code 2: error: no config", pasar.Certain, pasar.BlameJob},
	{"shell's echo", Evidence{Exit: code(134), Log: numbered("free(): double free detected in tcache 2", "Aborted (core dumped)")},
		pasar.CodeSignal, "ended by SIGABRT: native code misused its memory: free(): double free detected in tcache 2", pasar.Certain, pasar.BlameJob},
	{"nothing but the echo", Evidence{Exit: code(137), Log: numbered("step 3", "job.sh: line 40: 30712 Killed                  python main.py")},
		pasar.CodeSignal, "killed by SIGKILL: job.sh: line 40: 30712 Killed                  python main.py", pasar.Likely, pasar.BlameJob},
	{"launcher's own traceback", Evidence{Exit: code(1), Log: logged(aTraceback + "\nTraceback (most recent call last):\n  File \"torchrun\"\ntorch.ChildFailedError: ")},
		pasar.CodeException, "ValueError: bad lr", pasar.Certain, pasar.BlameJob},
	{"no clue", Evidence{Exit: code(4), Output: 9, Log: numbered("step 8", "leaving", "-----", "")},
		pasar.CodeExit, "exited with code 4; last output: leaving", pasar.Certain, pasar.BlameJob},
	{"silent", Evidence{Exit: code(7)},
		pasar.CodeExit, "exited with code 7; it wrote nothing", pasar.Certain, pasar.BlameJob},
	{"only newlines", Evidence{Exit: code(7), Output: 3, Log: numbered("", "")},
		pasar.CodeExit, "exited with code 7", pasar.Certain, pasar.BlameJob},
	{"255 is no signal", Evidence{Exit: code(255), Output: 1},
		pasar.CodeExit, "exited with code 255", pasar.Certain, pasar.BlameJob},
	{"145 is no signal that ends a child", Evidence{Exit: code(128 + 17), Output: 1},
		pasar.CodeExit, "exited with code 145", pasar.Certain, pasar.BlameJob},
	{"hostile line", Evidence{Exit: code(1), Log: numbered("Error: \x1b[2Jgone\u202e")},
		pasar.CodeExit, "exited with code 1: Error: gone", pasar.Certain, pasar.BlameJob},
}

func TestAttribute(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v := Attribute(c.e)
			if !c.isTold(v) {
				t.Errorf("%s, %s, %s: %s\nwant %s, %s, %s: %s", v.Reason, v.Confidence, v.Blame, v.Summary, c.reason, c.conf, c.blame, c.summary)
			}
			checkVerdict(t, v)
		})
	}
}

// checkVerdict holds what is true of every verdict.
func checkVerdict(t testing.TB, v pasar.Verdict) {
	t.Helper()
	if !slices.Contains(pasar.Codes, v.Reason) {
		t.Errorf("unknown code %q", v.Reason)
	}
	switch v.Reason {
	case pasar.CodeBadCommand, pasar.CodeLaunchError, pasar.CodeCancelled, pasar.CodeCompleted:
		if v.Retryable == nil || *v.Retryable {
			t.Errorf("%s is retryable", v.Reason)
		}
	}
	text := []string{v.Summary}
	if v.Summary == "" || utf8.RuneCountInString(v.Summary) > summaryRunes {
		t.Errorf("summary has %d characters: %q", utf8.RuneCountInString(v.Summary), v.Summary)
	}
	if v.Evidence == nil || len(v.Evidence) > maxLines {
		t.Errorf("evidence %#v", v.Evidence)
	}
	for _, l := range v.Evidence {
		text = append(text, l.Text)
		if l.Text == "" || l.Number < 0 || utf8.RuneCountInString(l.Text) > lineRunes {
			t.Errorf("line %+v", l)
		}
	}
	for _, s := range text {
		if pasar.Clean(s) != s {
			t.Errorf("not clean: %q", s)
		}
	}
	switch v.Confidence {
	case pasar.Certain, pasar.Likely, pasar.Guess:
	default:
		t.Errorf("confidence %q", v.Confidence)
	}
	switch v.Blame {
	case pasar.BlameJob, pasar.BlameMachine, pasar.BlameEnvironment, pasar.BlamePasar, pasar.BlameUser, pasar.BlameProvider:
	default:
		t.Errorf("blame %q", v.Blame)
	}
	if b, err := json.Marshal(v); err != nil || strings.Contains(strings.Replace(string(b), `"retryable":null`, "", 1), ":null") {
		t.Errorf("%s, %v", b, err)
	}
}

func TestWhatAFailureRestsOnIsBounded(t *testing.T) {
	long := strings.Repeat("x", 5000)
	v := Attribute(Evidence{Exit: code(3), Log: numbered("a", "b", "", "c", "d", "e", long, "~~~")})
	checkVerdict(t, v)
	if len(v.Evidence) != 1 || v.Evidence[0].Number != 7 || !strings.HasSuffix(v.Evidence[0].Text, "…") {
		t.Errorf("evidence %+v", v.Evidence)
	}
	if !strings.HasSuffix(v.Summary, "…") {
		t.Errorf("summary %q", v.Summary)
	}
	// The root line and where that was, when they are known: the rest is in the attempt's tail.
	v = Attribute(Evidence{Exit: code(1), Log: logged(aTraceback)})
	if len(v.Evidence) != 2 || v.Evidence[0] != (pasar.Line{Number: 7, Text: "ValueError: bad lr"}) || v.Evidence[1] != (pasar.Line{Number: 5, Text: `File "train.py", line 3, in start`}) {
		t.Errorf("evidence %+v", v.Evidence)
	}
}

func TestAnUnexplainedKillSaysWhatMemoryItHad(t *testing.T) {
	v := Attribute(Evidence{Exit: sig(syscall.SIGKILL), PeakHost: 12 * pasar.GiB})
	if !strings.Contains(v.Hint, "12 GiB") || !strings.Contains(v.Hint, "out of memory") {
		t.Errorf("hint %q", v.Hint)
	}
}

func TestAnUnusedGPUIsHintedAtBesideWhateverElse(t *testing.T) {
	v := Attribute(Evidence{Exit: code(0), Untouched: true})
	if v.Reason != pasar.CodeCompleted || v.Hint != "it never used a GPU: `--gpus 0` claims none, and starts sooner" { // however many it held
		t.Errorf("%+v", v)
	}
	v = Attribute(Evidence{Exit: sig(syscall.SIGKILL), PeakHost: 12 * pasar.GiB, Untouched: true})
	if lines := strings.Split(v.Hint, "\n"); len(lines) < 2 || !strings.Contains(v.Hint, "12 GiB") || !strings.Contains(lines[len(lines)-1], "--gpus 0") {
		t.Errorf("hint %q", v.Hint)
	}
}

func TestAKillForMemorySaysWhatWasCounted(t *testing.T) {
	v := Attribute(Evidence{Exit: code(1), Cgroup: oomed(pasar.GiB, true, 1, 2), Log: logged(aTraceback)})
	checkVerdict(t, v)
	if len(v.Evidence) != 2 || v.Evidence[0].Text != "ValueError: bad lr" ||
		v.Evidence[1].Text != "the job's cgroup counted oom_kill 2, oom 1; limit 1 GiB; at most 1 GiB were used" || !strings.Contains(v.Hint, "--ram") {
		t.Errorf("%+v", v)
	}
	if !v.Reason.ForMemory() {
		t.Errorf("%s is not for memory", v.Reason)
	}
}

// TestEveryRuleIsNamedAndDecidesACase takes the rules away one by one: then a case that its rule decides is told
// differently, so that TestAttribute or TestTheHostsWord fails.
func TestEveryRuleIsNamedAndDecidesACase(t *testing.T) {
	all := slices.Concat(cases, hostCases)
	decides := map[*rule][]int{}
	for i, c := range all {
		r := apply(&c.e)
		decides[r] = append(decides[r], i)
	}
	names := map[string]bool{}
	for g := range groups {
		for i := range groups[g].rules {
			r := &groups[g].rules[i]
			if r.name == "" || names[r.name] {
				t.Errorf("rule %q of %s", r.name, groups[g].name)
			}
			names[r.name] = true
			useEvidenceRulesWithout(t, g, i, func() {
				for _, k := range decides[r] {
					if !all[k].isToldRight() {
						return
					}
				}
				t.Errorf("of %d cases that rule %q of %s decides, all are told the same without it", len(decides[r]), r.name, groups[g].name)
			})
		}
	}
}

// isToldRight reports whether a case is told as it is to be. Without a rule that they count on, others may panic.
func (c *deathCase) isToldRight() (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return c.isTold(Attribute(c.e))
}

// useEvidenceRulesWithout does something while rule i of group g is away.
func useEvidenceRulesWithout(t *testing.T, g, i int, do func()) {
	t.Helper()
	whole := groups
	defer func() { groups = whole }()
	groups = slices.Clone(whole)
	groups[g].rules = slices.Delete(slices.Clone(whole[g].rules), i, i+1)
	do()
}

func FuzzAttribute(f *testing.F) {
	f.Add(true, 1, 0, "", "", 0, "", "", "", "", "", "", aTraceback, int64(3))
	f.Add(false, 0, 0, "exec: no", "exec", 2, "", "", "", "", "train", "/", "", int64(0))
	f.Add(true, 143, 15, "", "", 0, "cancel", "ada", "term", "gone", "", "", "x\x00y", int64(1))
	f.Add(true, 0, 9, "", "chdir", -5, "pause", "\n", "kill", "", "", "\xff", "Traceback (most recent call last):\n", int64(-1))
	f.Fuzz(func(t *testing.T, seen bool, code, signal int, launch, step string, errno int, why, who, stopStep, lost, argv0, cwd, tail string, n int64) {
		marker := &pasar.Marker{Checkpoint: cwd, Missing: lost}
		if n%2 == 0 {
			marker = nil
		}
		e := Evidence{LaunchError: launch, LaunchStep: step, Errno: errno, StopStep: pasar.StopStep(stopStep), Lost: lost, Argv0: argv0,
			Cwd: cwd, Grace: pasar.Duration(n), RunTime: pasar.Duration(n), PeakHost: pasar.Bytes(n), Log: logged(tail), Output: n,
			Marker: marker, For: argv0, Paused: n%3 == 0}
		if seen {
			e.Exit = &pasar.Exit{Code: code, Signal: signal}
		}
		if why != "" {
			e.Stop = &pasar.Stop{Why: pasar.StopWhy(why), By: who, Grace: pasar.Duration(n)}
		}
		checkVerdict(t, Attribute(e))
	})
}

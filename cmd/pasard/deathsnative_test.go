package main

import (
	"context"
	"syscall"

	"pasar"
)

// signalDeaths are by signals: the program's own faults, strangers, and limits that are told by one.
var signalDeaths = []death{
	{name: "segfault", argv: []string{"die-c", "segv"}, needs: []string{"gcc"},
		reason: pasar.CodeSignal, summary: "SIGSEGV"},
	{name: "segfault behind sh", sh: "die-c segv; exit $?", needs: []string{"gcc"},
		reason: pasar.CodeSignal, root: "Segmentation fault", summary: "SIGSEGV"},
	{name: "segfault behind bash", bash: "set -e\necho 'step 1: loss 2.3'\ndie-c segv\necho done\n", needs: []string{"gcc"},
		reason: pasar.CodeSignal, root: "job.sh: line 3: ", summary: "SIGSEGV"},
	{name: "abort", argv: []string{"die-c", "abort"}, needs: []string{"gcc"},
		reason: pasar.CodeSignal, summary: "SIGABRT"},
	{name: "abort behind bash", bash: "die-c abort\nexit $?\n", needs: []string{"gcc"},
		reason: pasar.CodeSignal, root: "Aborted", summary: "SIGABRT"},
	{name: "bus error", argv: []string{"die-c", "bus"}, needs: []string{"gcc"},
		reason: pasar.CodeSignal, summary: "SIGBUS"},
	{name: "bus error behind bash", bash: "die-c bus 'mapping the index'\nexit $?\n", needs: []string{"gcc"},
		reason: pasar.CodeSignal, root: "Bus error", summary: "SIGBUS"},
	{name: "illegal instruction", argv: []string{"die-c", "ill"}, needs: []string{"gcc"},
		reason: pasar.CodeSignal, summary: "SIG"}, // SIGTRAP on some processors
	{name: "illegal instruction behind sh", sh: "kill -ILL $$", reason: pasar.CodeSignal, summary: "SIGILL"},
	{name: "division by zero in C", argv: []string{"die-c", "fpe", "batches per worker"}, needs: []string{"gcc"},
		reason: pasar.CodeSignal, summary: "SIGFPE"},
	{name: "division by zero in C behind bash", bash: "die-c fpe\nexit $?\n", needs: []string{"gcc"},
		reason: pasar.CodeSignal, root: "Floating point exception", summary: "SIGFPE"},
	{name: "a pipe that nobody reads", argv: []string{"die-c", "pipe"}, needs: []string{"gcc"},
		reason: pasar.CodeSignal, summary: "SIGPIPE"},
	{name: "yes into head", bash: "set -o pipefail\nyes | head -n 1\n", reason: pasar.CodeSignal, summary: "SIGPIPE"},
	{name: "a user signal", sh: "echo epoch 3; kill -USR1 $$; sleep 30", reason: pasar.CodeSignal, summary: "SIGUSR1"},
	{name: "a user signal behind bash", bash: "bash -c 'kill -USR2 $$'\nexit $?\n",
		reason: pasar.CodeSignal, summary: "SIGUSR2"},
	{name: "a quit", sh: "kill -QUIT $$", reason: pasar.CodeSignal, summary: "SIGQUIT"},
	{name: "an alarm", argv: []string{"python3", "-c", "import signal, time; signal.alarm(1); time.sleep(60)"}, needs: []string{"python3"},
		reason: pasar.CodeSignal, summary: "SIGALRM"},
	{name: "a trap", sh: "kill -TRAP $$", reason: pasar.CodeSignal, summary: "SIGTRAP"},
	{name: "a forbidden system call", argv: []string{"die-c", "forbidden"}, needs: []string{"gcc"},
		reason: pasar.CodeSignal, summary: "SIGSYS"},
	{name: "a forbidden system call behind bash", bash: "die-c forbidden\nexit $?\n", needs: []string{"gcc"},
		reason: pasar.CodeSignal, root: "Bad system call", summary: "SIGSYS"},
	{name: "a real-time signal", argv: []string{"die-c", "realtime"}, needs: []string{"gcc"},
		reason: pasar.CodeSignal, summary: "34"},
	{name: "a real-time signal behind bash", bash: "die-c realtime\nexit $?\n", needs: []string{"gcc"},
		reason: pasar.CodeSignal, root: "Real-time signal 0", summary: "34"},
	{name: "limit of CPU time", bash: "ulimit -S -t 1\nexec die-c spin 'epoch 0'\n", needs: []string{"gcc"},
		reason: pasar.CodeSignal, summary: "SIGXCPU"},
	{name: "hard limit of CPU time", bash: "ulimit -t 1\nexec die-c spin 'epoch 0'\n", needs: []string{"gcc"},
		reason: pasar.CodeSignal, summary: "SIGKILL"},
	{name: "limit of CPU time of a child", bash: "(ulimit -S -t 1; exec die-c spin)\nexit $?\n", needs: []string{"gcc"},
		reason: pasar.CodeSignal, summary: "SIGXCPU"},
	{name: "limit of file size", bash: "ulimit -f 1\nexec dd if=/dev/zero of=checkpoint bs=1024 count=9000\n",
		reason: pasar.CodeSignal, summary: "SIGXFSZ"},
	{name: "limit of file size of a child", bash: "(ulimit -f 1; exec dd if=/dev/zero of=checkpoint bs=1024 count=9000)\nexit $?\n",
		reason: pasar.CodeSignal, root: "File size limit exceeded", summary: "SIGXFSZ"},

	{name: "killed by a stranger", sh: "echo ready; exec sleep 600", do: strangers(syscall.SIGKILL),
		reason: pasar.CodeSignal, summary: "SIGKILL"},
	{name: "its child killed by a stranger", bash: "sleep 600 &\necho $! >child; echo ready\nwait $!\nexit $?\n",
		do:     func(_ context.Context, j *running) error { return j.strikeChild(syscall.SIGKILL) },
		reason: pasar.CodeSignal, root: "Killed", summary: "SIGKILL"},
	{name: "terminated by a stranger", sh: "echo ready; exec sleep 600", do: strangers(syscall.SIGTERM),
		reason: pasar.CodeInterrupted, summary: "SIGTERM"},
	{name: "its child terminated by a stranger", bash: "sleep 600 &\necho $! >child; echo ready\nwait $!\nexit $?\n",
		do:     func(_ context.Context, j *running) error { return j.strikeChild(syscall.SIGTERM) },
		reason: pasar.CodeInterrupted, summary: "SIGTERM"},
	{name: "hung up by a stranger", sh: "echo ready; exec sleep 600", do: strangers(syscall.SIGHUP),
		reason: pasar.CodeInterrupted, summary: "SIGHUP"},
	{name: "interrupted by a stranger", sh: "echo ready; exec sleep 600", do: strangers(syscall.SIGINT),
		reason: pasar.CodeInterrupted, summary: "SIGINT"},
	{name: "Python interrupted by a stranger", py: "import time\nprint('ready', flush=True)\nwhile True:\n    time.sleep(600)\n",
		do: strangers(syscall.SIGINT), reason: pasar.CodeInterrupted, root: "KeyboardInterrupt", summary: "SIGINT"},
	{name: "terminated, and saved its state", py: `import os, signal, sys, time
def save(*_):
    os.write(1, b'SIGTERM: saving to last.pt\n')  # it may come within a print
    sys.exit(143)
signal.signal(signal.SIGTERM, save)
os.write(1, b'ready\n')
while True:
    time.sleep(600)
`, do: strangers(syscall.SIGTERM), reason: pasar.CodeInterrupted, summary: "SIGTERM"},
	{name: "Ctrl-C typed at its terminal", sh: "echo ready; exec sleep 600", do: typing("\x03"),
		reason: pasar.CodeInterrupted, summary: "SIGINT"},
	{name: "Ctrl-C typed at Python's terminal", py: "import time\nprint('ready', flush=True)\nwhile True:\n    time.sleep(600)\n",
		do: typing("\x03"), reason: pasar.CodeInterrupted, root: "KeyboardInterrupt", summary: "SIGINT"},
	{name: "Ctrl-backslash typed at its terminal", sh: "echo ready; exec sleep 600", do: typing("\x1c"),
		reason: pasar.CodeSignal, summary: "SIGQUIT"},
	{name: "cancelled", sh: "echo ready; exec sleep 600", do: cancelling, reason: pasar.CodeCancelled, summary: "cancel"},
	{name: "killed for its cgroup's memory", as: inMemory64MB, argv: []string{"python3", "-c", "print('loading', flush=True); x = b'x' * (1 << 30)"},
		needs: []string{"python3"}, reason: pasar.CodeKernelOOM, summary: "memory"},
	{name: "its child killed for its cgroup's memory", as: inMemory64MB, needs: []string{"python3"},
		// Whose process the kernel named can be told while it is there, a zombie too: its parent takes its time.
		argv: []string{"python3", "-c", "import os, subprocess, sys, time\n" +
			"p = subprocess.Popen([sys.executable, '-c', 'x = b\"x\" * (1 << 30)'])\n" +
			"os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)\ntime.sleep(1)\n" +
			"print('worker ended with', p.wait())\nsys.exit(3)"},
		reason: pasar.CodeKernelOOM, summary: "memory"},
}

// statusDeaths say nothing but their status.
var statusDeaths = []death{
	{name: "a plain code", sh: "echo epoch 3 of 3; exit 3", reason: pasar.CodeExit, summary: "code 3"},
	{name: "a plain code and no output", sh: "exit 7", reason: pasar.CodeExit, summary: "code 7"},
	{name: "code 255", sh: "echo leaving; exit 255", reason: pasar.CodeExit, summary: "code 255"},
	{name: "code 1 of false", argv: []string{"false"}, reason: pasar.CodeExit, summary: "code 1"},
	{name: "exit 0", sh: "echo 'Traceback (most recent call last):'; echo 'CUDA error: out of memory'; echo 'Segmentation fault (core dumped)'; exit 0",
		reason: pasar.CodeCompleted, summary: "completed"},
	{name: "exit 0 of Python after a caught error", py: "import traceback\ntry:\n    [][3]\nexcept IndexError:\n    traceback.print_exc()\n",
		reason: pasar.CodeCompleted, summary: "completed"},
	{name: "timeout", argv: []string{"timeout", "0.2", "sleep", "60"}, reason: pasar.CodeTimeLimit, summary: "time"},
	{name: "timeout in a script", bash: "set -e\necho 'step 1'\ntimeout 0.2 sleep 60\n", reason: pasar.CodeTimeLimit, summary: "time"},
	{name: "timeout in a script that says so", bash: "timeout --verbose 0.2 sleep 60\nexit $?\n",
		reason: pasar.CodeTimeLimit, root: "sending signal TERM to command", summary: "time"},
	{name: "no such program", argv: []string{"trian"}, reason: pasar.CodeBadCommand, summary: "trian"},
	{name: "no such path", argv: []string{"./bin/train"}, reason: pasar.CodeBadCommand, summary: "./bin/train"},
	{name: "a program that isn't executable", argv: []string{"./train"}, files: map[string]string{"train": "echo hello\n"},
		reason: pasar.CodeBadCommand, summary: "not executable"},
	{name: "a missing interpreter", argv: []string{"./train"}, files: map[string]string{"train": "#!/no/such/python\nprint()\n"},
		reason: pasar.CodeBadCommand, summary: "/no/such/python"},
	{name: "a shebang with a Windows line end", argv: []string{"./train"}, files: map[string]string{"train": "#!/bin/sh\r\necho\r\n"},
		reason: pasar.CodeBadCommand, summary: "/bin/sh"},
	{name: "a program of another architecture", argv: []string{"./train"}, files: map[string]string{"train": alien},
		reason: pasar.CodeBadCommand, summary: "./train"},
	{name: "a missing interpreter behind bash", bash: "./train\n", files: map[string]string{"train": "#!/no/such/python\nprint()\n"},
		reason: pasar.CodeBadCommand, root: "./train: ", summary: "./train: "},
	{name: "a shebang with a Windows line end behind bash", bash: "./train\n", files: map[string]string{"train": "#!/usr/bin/env python3\r\nprint()\r\n"},
		reason: pasar.CodeBadCommand, root: "python3", summary: "No such file or directory"},
	{name: "a program of another architecture behind bash", bash: "set -e\n./train\n", files: map[string]string{"train": alien},
		reason: pasar.CodeBadCommand, root: "cannot execute binary file: Exec format error"},
	{name: "a script that isn't executable behind bash", bash: "set -e\n./train\n", files: map[string]string{"train": "echo hello\n"},
		as: nobody, reason: pasar.CodeBadCommand, root: "./train: Permission denied"},
	{name: "a directory as a command behind bash", bash: "/tmp\n", reason: pasar.CodeBadCommand, root: "/tmp: Is a directory"},
}

// alien is the head of a program for a processor that doesn't exist.
const alien = "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x34\x12\x01\x00\x00\x00" +
	"\x00\x00\x40\x00\x00\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
	"\x00\x00\x00\x00\x40\x00\x38\x00\x01\x00\x40\x00\x00\x00\x00\x00"

// nativeDeaths are of compiled programs, which say something of it.
var nativeDeaths = []death{
	{name: "C assert", argv: []string{"die-c", "assert"}, needs: []string{"gcc"},
		reason: pasar.CodeException, root: "Assertion `zero == 1 && \"ring is full\"' failed"},
	{name: "C assert behind bash", bash: "set -e\ndie-c assert\n", needs: []string{"gcc"},
		reason: pasar.CodeException, root: "Assertion `zero == 1 && \"ring is full\"' failed"},
	{name: "C stack overflow", argv: []string{"die-c", "stack", "walking the tree"}, needs: []string{"gcc"},
		reason: pasar.CodeSignal, summary: "SIGSEGV"},
	{name: "double free", argv: []string{"die-c", "double"}, needs: []string{"gcc"},
		reason: pasar.CodeSignal, root: "double free detected"},
	{name: "double free behind bash", bash: "die-c double\nexit $?\n", needs: []string{"gcc"},
		reason: pasar.CodeSignal, root: "double free detected", summary: "SIGABRT"},
	{name: "corrupted heap", argv: []string{"die-c", "heap"}, needs: []string{"gcc"},
		reason: pasar.CodeSignal, root: "malloc(): corrupted top size"},
	{name: "invalid pointer", argv: []string{"die-c", "invalid"}, needs: []string{"gcc"},
		reason: pasar.CodeSignal, root: "free(): invalid pointer", summary: "SIGABRT"},
	{name: "stack smashing", argv: []string{"die-c", "smash"}, needs: []string{"gcc"},
		reason: pasar.CodeSignal, root: "*** stack smashing detected ***"},
	{name: "malloc of too much", argv: []string{"die-c", "malloc"}, needs: []string{"gcc"},
		reason: pasar.CodeHostOOM, root: "malloc of the lookup table: Cannot allocate memory"},
	{name: "C++ exception", argv: []string{"die-cc", "throw"}, needs: []string{"g++"},
		reason: pasar.CodeException, root: "tokenizer: vocabulary of 0 entries"},
	{name: "C++ exception behind bash", bash: "set -e\ndie-cc throw\n", needs: []string{"g++"},
		reason: pasar.CodeException, root: "tokenizer: vocabulary of 0 entries"},
	{name: "C++ exception without words", argv: []string{"die-cc", "number"}, needs: []string{"g++"},
		reason: pasar.CodeException, root: "terminate called after throwing an instance of 'int'"},
	{name: "C++ out of range", argv: []string{"die-cc", "range"}, needs: []string{"g++"},
		reason: pasar.CodeException, root: "_M_range_check: __n (which is 7)"},
	{name: "C++ key that isn't there", argv: []string{"die-cc", "key"}, needs: []string{"g++"},
		reason: pasar.CodeException, root: "map::at"},
	{name: "C++ thread that wasn't joined", argv: []string{"die-cc", "terminate"}, needs: []string{"g++"},
		reason: pasar.CodeException, root: "terminate called without an active exception"},
	{name: "C++ out of memory", bash: "ulimit -v 400000\nexec die-cc alloc\n", needs: []string{"g++"},
		reason: pasar.CodeHostOOM, root: "std::bad_alloc"},
	{name: "C++ out of memory behind bash", bash: "ulimit -v 400000\ndie-cc alloc\nexit $?\n", needs: []string{"g++"},
		reason: pasar.CodeHostOOM, root: "std::bad_alloc"},
	{name: "Go panic", argv: []string{"die-go", "panic"}, reason: pasar.CodeException, root: "panic: manifest lists shard 9 twice"},
	{name: "Go panic with an error", argv: []string{"die-go", "error"}, reason: pasar.CodeException, root: "decode shard 7: bad magic"},
	{name: "Go nil map", argv: []string{"die-go", "nilmap"}, reason: pasar.CodeException, root: "panic: assignment to entry in nil map"},
	{name: "Go nil pointer", argv: []string{"die-go", "nil"},
		reason: pasar.CodeException, root: "panic: runtime error: invalid memory address or nil pointer dereference"},
	{name: "Go index", argv: []string{"die-go", "index"}, reason: pasar.CodeException, root: "index out of range [7] with length 3"},
	{name: "Go deadlock", argv: []string{"die-go", "deadlock"}, reason: pasar.CodeException, root: "all goroutines are asleep - deadlock!"},
	{name: "Go out of memory", bash: "ulimit -v 2000000\nexec die-go memory\n", reason: pasar.CodeHostOOM, root: "out of memory"},
	{name: "Go file that isn't there", argv: []string{"die-go", "open"},
		reason: pasar.CodeFileMissing, root: "open shards/000.tar: no such file or directory"},
	{name: "Go port in use", argv: []string{"die-go", "listen"}, reason: pasar.CodePortInUse, root: "bind: address already in use"},
	{name: "Go giving up", argv: []string{"die-go", "fatal"},
		reason: pasar.CodeExit, root: "the bar is 0.40 and the score is 0.31", summary: "code 1"},
}

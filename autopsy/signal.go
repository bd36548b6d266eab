package autopsy

import (
	"fmt"
	"syscall"
)

// signalNames are those of Linux on every architecture but MIPS, SPARC and PA-RISC. The numbers are in
// records that travel between machines, so they aren't asked of the system that reads them.
var signalNames = map[int]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
	9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
	16: "SIGSTKFLT", 17: "SIGCHLD", 18: "SIGCONT", 19: "SIGSTOP", 20: "SIGTSTP", 21: "SIGTTIN", 22: "SIGTTOU",
	23: "SIGURG", 24: "SIGXCPU", 25: "SIGXFSZ", 26: "SIGVTALRM", 27: "SIGPROF", 28: "SIGWINCH", 29: "SIGIO",
	30: "SIGPWR", 31: "SIGSYS",
}

func signalName(n int) string {
	if name, ok := signalNames[n]; ok {
		return name
	}
	return fmt.Sprintf("signal %d", n)
}

// interrupts are the signals by which people and systems ask a program to end.
var interrupts = map[int]bool{int(syscall.SIGHUP): true, int(syscall.SIGINT): true, int(syscall.SIGTERM): true}

// shellSignal is the signal that an exit code of 128+N speaks of; 0 when it speaks of none. No shell's
// child is ended by a signal that is ignored or only stops it, so such codes mean something else.
func shellSignal(e *Evidence) int {
	if e.Exit == nil || e.Exit.Signal != 0 {
		return 0
	}
	n := e.Exit.Code - 128
	switch syscall.Signal(n) {
	case syscall.SIGCHLD, syscall.SIGCONT, syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGURG, syscall.SIGWINCH:
		return 0
	}
	if _, ok := signalNames[n]; !ok {
		return 0
	}
	return n
}

// signalHints say what usually sends a signal.
var signalHints = map[syscall.Signal]string{
	syscall.SIGKILL: "pasar did not send it; most often the kernel was out of memory: see `journalctl -k`",
	syscall.SIGSEGV: "a fault in native code; `python3 -X faulthandler` shows where Python was",
	syscall.SIGBUS:  "often a mapped file that shrank, or a full /dev/shm: look at `df /dev/shm`",
	syscall.SIGABRT: "the program or one of its libraries gave up; the lines before the end say why",
	syscall.SIGILL:  "a program or library built for another processor",
	syscall.SIGFPE:  "a whole-number division by zero in native code",
	syscall.SIGPIPE: "it wrote to a pipe that nobody reads any more",
	syscall.SIGXCPU: "a limit of CPU time (ulimit -t) was reached",
	syscall.SIGXFSZ: "a limit of file size (ulimit -f) was reached",
	syscall.SIGSYS:  "a system call that a sandbox forbids",
}

func signalHint(e *Evidence, n int) string {
	hint := signalHints[syscall.Signal(n)]
	if syscall.Signal(n) == syscall.SIGKILL && e.PeakHost > 0 {
		hint += fmt.Sprintf("\nits largest process had %s of host memory", e.PeakHost)
	}
	return hint
}

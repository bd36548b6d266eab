package autopsy

import (
	"fmt"
	"regexp"
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
	syscall.SIGSEGV: "a fault in native code: gdb, or a build with -fsanitize=address, shows where; `python3 -X faulthandler` where Python was",
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
	if syscall.Signal(n) == syscall.SIGKILL && noOOM(e) {
		hint = "the kernel didn't kill it for want of memory: a person or a program sent it, such as `timeout -s KILL` or a batch system"
	}
	if syscall.Signal(n) == syscall.SIGKILL && e.PeakHost > 0 {
		hint += fmt.Sprintf("\nits largest process had %s of host memory", e.PeakHost)
	}
	return hint
}

// spoken are the words for signals, in shells, the C library, Python and launchers; the longest first.
var spoken = []struct{ name, words string }{
	{"SIGUSR1", `user defined signal 1|sigusr1`},
	{"SIGUSR2", `user defined signal 2|sigusr2`},
	{"SIGSEGV", `segmentation (?:fault|violation)|segfault|sigsegv|speicherzugriffsfehler|erreur de segmentation|violación de segmento|errore di segmentazione|falha de segmentação|段错误|段錯誤|セグメンテーション違反|ошибка сегментирования|geheugensegmentatiefout|general protection|exitcode ?: ?-11\b|(?:code|status|returncode)[ :=]*(?:-11|139|245)\b|signal:? \(?11\b|stack overflow`},
	{"SIGKILL", `\bkilled\b(?: +\S|$|\))|sigkill|getötet|processus arrêté|\btué\b|terminado \(killed\)|ucciso|\bmorto\b|已杀死|強制終了|убито|signal: killed|exitcode ?: ?-9\b|(?:code|status|returncode)[ :=]*(?:-9|137|247)\b|signal:? \(?9\b`},
	{"SIGBUS", `bus error|sigbus|busfehler|erreur de bus|error del bus|总线错误|バスエラー|exitcode ?: ?-7\b|(?:code|status)[ :=]*(?:-7|135)\b|signal:? \(?7\b`},
	{"SIGILL", `illegal instruction|invalid opcode|sigill|ungültiger maschinenbefehl|instruction non permise|instrucción ilegal|非法指令|不正な命令|exitcode ?: ?-4\b|(?:code|status)[ :=]*(?:-4|132)\b|signal:? \(?4\b`},
	{"SIGFPE", `floating point exception|sigfpe|gleitkommafehler|浮点数例外|exitcode ?: ?-8\b|(?:code|status)[ :=]*(?:-8|136)\b|signal:? \(?8\b`},
	{"SIGABRT", `\baborted\b|sigabrt|abgebrochen|\babandon\b|abortado|已放弃|已放棄|中止|аварийный останов|exitcode ?: ?-6\b|(?:code|status|returncode)[ :=]*(?:-6|134|250)\b|signal:? \(?6\b|double free|free\(\): |malloc\(\): |corrupted (?:size|double|unsorted)|munmap_chunk|stack smashing|buffer overflow|realloc\(\): |unaligned tcache`},
	{"SIGTERM", `\bterminated\b|sigterm|beendet|complété|terminado|terminato|已终止|終了しました|завершено|signal:? \(?15\b|(?:code|status)[ :=]*143\b|15 death signal|the term signal|signal: term\b|cancelled at|preemption`},
	{"SIGINT", `keyboardinterrupt|sigint\b|\binterrupt\b|the int signal|signal: int\b|gracefully stopping|on user request|signal:? \(?2\b|(?:code|status)[ :=]*130\b`},
	{"SIGHUP", `\bhangup\b|sighup|aufgelegt|raccroché|挂起|the hup signal|signal:? \(?1\b|(?:code|status)[ :=]*129\b`},
	{"SIGPIPE", `sigpipe|\bbroken pipe\b`},
	{"SIGTRAP", `trace/breakpoint trap|sigtrap`},
	{"SIGSYS", `bad system call|sigsys`},
	{"SIGXCPU", `cpu time limit exceeded|sigxcpu`},
	{"SIGXFSZ", `file size limit exceeded|sigxfsz`},
	{"SIGALRM", `alarm clock|sigalrm`},
	{"SIGVTALRM", `virtual timer expired|sigvtalrm`},
	{"SIGPROF", `profiling timer expired|sigprof`},
	{"SIGQUIT", `^quit\b|\bquit \(core|sigquit`},
	{"SIGSTKFLT", `stack fault`},
}

var spokenRes = func() (res []*regexp.Regexp) {
	for _, s := range spoken {
		res = append(res, regexp.MustCompile(`(?i)`+s.words))
	}
	return res
}()

// signalIn is the name of the signal that a line speaks of; empty: none.
func signalIn(body string) string {
	if m := realTime.FindStringSubmatch(body); m != nil {
		return "signal " + realTimeSignal(m[1])
	}
	if m := killedBy.FindStringSubmatch(body); m != nil {
		body = m[1]
	}
	for i, re := range spokenRes {
		if re.MatchString(body) {
			return spoken[i].name
		}
	}
	return ""
}

// realTime matches a shell's number of a real-time signal, which counts from the first of them.
var realTime = regexp.MustCompile(`^.*\bReal-time signal (\d+)`)

// firstRealTime is the C library's SIGRTMIN on Linux: the two before it are its own.
const firstRealTime = 34

func realTimeSignal(n string) string {
	k := 0
	for _, d := range n[:min(len(n), 3)] {
		k = 10*k + int(d-'0')
	}
	return fmt.Sprint(firstRealTime + k)
}

// killedBy matches what says which signal killed a process; "killed" there is no name of one.
var killedBy = regexp.MustCompile(`(?i)killed by signal:? ?(.+)`)

func signalNumber(name string) int {
	for n, s := range signalNames {
		if s == name {
			return n
		}
	}
	return 0
}

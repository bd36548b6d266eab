package gpu

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pasar"
)

// A kernelWord is a line of the kernel's log that says why a process ended, or can't go on.
type kernelWord struct {
	text   string
	pid    int    // of the process, or of the thread at fault
	cgroup string // its path; empty: not said
}

// wordMarks are what such lines have, so that others cost no pattern.
var wordMarks = []string{"oom-kill:", "ill process ", "illed process ", "reaped process ", "segfault at ", "traps: ",
	"due to hardware memory corruption", "]: unhandled ", "]: undefined instruction", "audit: type=1326 ", "audit: type=1701 ", " blocked for more than "}

// wordPatterns find the process in them: each has its pid as the one group, and the first of all the cgroup before it.
var wordPatterns = sync.OnceValue(func() (res []*regexp.Regexp) {
	for _, p := range []string{
		`^oom-kill:.*\btask_memcg=([^,]*),task=.*,pid=(\d+),uid=\d+`,
		// Memory cgroup out of memory: Killed process 1234 (python) total-vm:…; oom_reaper: reaped process 1234 (python), …
		`(?:Killed process|Kill process|reaped process) (\d+)\b`,
		`\[(\d+)\]: segfault at `,
		`^traps: .*\[(\d+)\] (?:general protection|trap )`,
		`(?:Sending SIGBUS to|Killing) .*:(\d+) (?:early )?due to hardware memory corruption`,
		`\[(\d+)\]: (?:unhandled |undefined instruction)`,
		`^audit: type=(?:1326|1701) .*\bpid=(\d+)\b`, // a system call that a filter forbids; an abnormal end
		`^INFO: task .*:(\d+) blocked for more than `,
	} {
		res = append(res, regexp.MustCompile(p))
	}
	return res
})

// syslogHead is what syslog puts before the kernel's words: a time, a host, the facility, and the kernel's own time.
var syslogHead = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:.{1,120}?\bkernel: )?(?:\[ *\d+\.\d+\] ?)?`) })

// parseKernelWord finds a word about a process in a line of the kernel's log, or of a file that syslog makes of it.
func parseKernelWord(line string) (w kernelWord, ok bool) {
	if !slices.ContainsFunc(wordMarks, func(m string) bool { return strings.Contains(line, m) }) || len(line) > 8<<10 {
		return w, false
	}
	line = line[len(syslogHead().FindString(line)):]
	for i, re := range wordPatterns() {
		m := re.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		pid, err := strconv.Atoi(m[len(m)-1])
		if err != nil || pid <= 0 || pid > 1<<22 { // the kernel's PID_MAX_LIMIT
			return w, false
		}
		w = kernelWord{text: pasar.Clean(strings.ToValidUTF8(line[:min(len(line), wordMax)], "")), pid: pid}
		if i == 0 {
			w.cgroup = m[1]
		}
		return w, true
	}
	return w, false
}

// Bounds of what is remembered of the kernel's words.
const (
	wordMax     = 600 // bytes of one, as it came
	wordsKept   = 256
	wordsTold   = 12 // of one attempt
	wordsFollow = 10 * time.Second
)

// A heard word is one that was read, and whose process it is about, as far as could be told then: most such
// processes are gone a moment later.
type heard struct {
	kernelWord
	at time.Time
	of pasar.AttemptKey // zero: not known
}

// words are the latest of the kernel's words, for whoever asks why something ended.
type words struct {
	mu    sync.Mutex // guards what follows
	kept  []heard
	since time.Time // from when on everything was read; zero: it can't be
}

// hear takes a line of the kernel's log.
func (m *Meter) hear(line string) {
	w, ok := parseKernelWord(line)
	if !ok {
		return
	}
	m.words.add(heard{kernelWord: w, at: time.Now(), of: m.whose(w)})
}

// whose is the attempt that a word is about, as far as can be told now; zero: not known.
func (m *Meter) whose(w kernelWord) pasar.AttemptKey {
	if w.cgroup != "" && m.o.AttemptIn != nil {
		if key, ok := m.o.AttemptIn(w.cgroup); ok {
			return key
		}
	}
	if m.o.AttemptOf != nil && ownPids() {
		if key, ok := m.o.AttemptOf(w.pid); ok {
			return key
		}
	}
	return pasar.AttemptKey{}
}

func (ws *words) add(h heard) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if h.of == (pasar.AttemptKey{}) { // what is said of one process goes on for some lines
		for _, was := range slices.Backward(ws.kept) {
			if was.pid == h.pid && h.at.Sub(was.at) < wordsFollow {
				h.of = was.of
				break
			}
		}
	}
	ws.kept = append(ws.kept, h)
	if n := len(ws.kept) - wordsKept; n > 0 {
		ws.kept = slices.Delete(ws.kept, 0, n)
	}
}

func (ws *words) begin(at time.Time) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.since = at
}

// Said implements daemon.KernelReader: what the kernel's log said of an attempt's processes since a time. Pid is that
// of its main process, 0 if that isn't known. Whole says that all that came since then was read.
func (m *Meter) Said(key pasar.AttemptKey, pid int, since time.Time) (lines []string, whole bool) {
	m.words.mu.Lock()
	whole = !m.words.since.IsZero() && !m.words.since.After(since) && ownPids()
	m.words.mu.Unlock()
	return m.words.of(key, pid, since), whole
}

// ownPids reports whether the pids of the kernel's log are those that this process sees: it isn't in a container with
// its own.
var ownPids = sync.OnceValue(func() bool {
	const initial = "pid:[4026531836]" // PROC_PID_INIT_INO
	ns, err := os.Readlink("/proc/self/ns/pid")
	return err == nil && ns == initial
})

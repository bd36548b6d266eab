package autopsy

import (
	"regexp"
	"slices"
	"strings"

	"pasar"
)

// A cause is a line of the log that may be why.
type cause struct {
	at      int // its index in the log
	said    said
	rule    *logRule // nil: an exception that no rule knows
	span    [2]int   // of the body: the telling part
	code    pasar.Code
	rank    rank
	kind    lineKind
	raised  bool // it ends a traceback
	chained bool // and came while or because another exception was handled
	where   int  // index of the line that says where the exception was; -1: none
	tool    bool // a small program of a script complains
	tries   int  // new tries at the whole since
	passed  int  // lines since by which others got on
}

// A reading is what a log says of the end.
type reading struct {
	log    []pasar.Line
	exit   *pasar.Exit // how the main process ended; nil: not known
	alive  []cause     // what nothing in the log shows to have been lived through, in order
	past   []cause     // what was
	last   int         // index of the last line that shows the program getting on; -1: none
	traces traces
	shapes map[string]bool // of the lines that are why, but for numbers, while those are alive: a flood of one is read once
	said   *cause          // what says it best; nil: nothing
	usage  bool            // within what a program prints of its options
}

// others is how many lines of other processes' work say that an error of one of them was lived through: those
// that still run when one has died are soon done.
const others = 12

// ofScript is how many lines of its processes' work say that a script got over an error of its own.
const ofScript = 2

// extra are ids of the finder beyond those of the rules.
type extra struct{ finder finder }

const (
	mayRaise = iota
	mayTrace
)

var raising = newExtra()

func newExtra() (x extra) {
	for _, s := range []string{"error", "exception", "interrupt", "failure", "abort", "exit", "timeout", "warning", "empty"} {
		x.finder.add(s, mayRaise)
	}
	for _, s := range []string{"traceback (most", "exception ignored in", "logging error", "handling of the above", "direct cause of", "exception in thread", "error in atexit", "panicked at", "error in ", "graph execution error", "fatal error:", "foam fatal"} {
		x.finder.add(s, mayTrace)
	}
	return x
}

// thrown and calledAt match JavaScript's errors: what happened, and the first line of where.
var (
	thrown   = regexp.MustCompile(`^(?:Uncaught )?\w*Error\b.*`)
	calledAt = regexp.MustCompile(`^\s+at \S`)
)

// usage begins what a program prints of its options, in lines that are indented or begin with one.
var (
	usage    = regexp.MustCompile(`(?i)^usage(?: of \S+)?:`)
	indented = regexp.MustCompile(`^(?:\s|-|\[)`)
)

// mayTry reports whether a line, in lower case, may speak of a new try.
func mayTry(lower string) bool {
	for _, w := range []string{"try", "attempt", "trial", "run ", "run:", "restart"} {
		if strings.Contains(lower, w) {
			return true
		}
	}
	return false
}

// standalone matches an exception without a traceback before it: its class, and what it says.
var standalone = regexp.MustCompile(`^(?:[A-Za-z_][\w$]*(?:\.|::|/))*[A-Z]\w*(?:Error|Exception|Interrupt|Failure|Fault|Abort|Err|Timeout|NotFound|Overflow|Unavailable)(?:: ?\S|$| \[)|^(?:[a-z_]\w*\.)+[A-Z]\w+: \S`)

// weak matches exceptions of processes whose partner went, and of programs that only leave.
var weak = regexp.MustCompile(`^(?:[\w.]*\.)?(?:BrokenPipeError|EOFError|ConnectionResetError|ConnectionAbortedError|Empty|StopIteration|CancelledError|GeneratorExit|SystemExit|TerminatedWorkerError)\b|cannot schedule new futures|DataLoader worker \(pid\(s\)`)

// read finds in a log what may be why.
func read(log []pasar.Line, exit *pasar.Exit) *reading {
	r := &reading{log: log, exit: exit, last: -1, traces: traces{of: map[string]*trace{}}, shapes: map[string]bool{}}
	b := book()
	var ids, extras []int
	for i := range log {
		lower := strings.ToLower(log[i].Text)
		ids = b.index.find(ids[:0], lower)
		extras = raising.finder.find(extras[:0], lower)
		tracing := slices.Contains(extras, mayTrace)
		if !tracing && len(ids) == 0 && len(extras) == 0 && len(r.alive) == 0 && r.traces.open == 0 {
			continue
		}
		if len(r.alive) > 0 && mayTry(lower) && anotherTry.MatchString(listen(log[i].Text).body) {
			for k := range r.alive {
				r.alive[k].tries++
			}
			r.last = i
		}
		r.line(i, b, ids, len(extras) > 0, tracing)
	}
	r.said = r.why()
	return r
}

// line takes in one line. Whether it may be an exception, or within a traceback, is known.
func (r *reading) line(i int, b *rulebook, ids []int, mayRaise, tracing bool) {
	s := listen(r.log[i].Text)
	p := r.traces.take(&s, i, tracing)
	if p.part == frame {
		return
	}
	if p.part == ignored {
		if c, ok := r.causeOf(i, &s, placed{part: exception, at: -1}, b, ids, mayRaise); ok && c.rule != nil && c.kind == tells {
			c.rank, c.kind = ofNoMatter, echoes
			r.add(c)
		}
		return
	}
	if r.usage = (r.usage || usage.MatchString(s.body)) && (indented.MatchString(s.body) || usage.MatchString(s.body)); r.usage && p.part == plain && !usage.MatchString(s.body) {
		return // what a program prints of its options holds any phrase
	}
	if p.part == plain && mayRaise && thrown.MatchString(s.body) && i+1 < len(r.log) && calledAt.MatchString(r.log[i+1].Text) {
		p.part = exception
	}
	if len(r.alive) > 0 && s.level != failure && started.MatchString(s.body) {
		r.past, r.alive = append(r.past, r.alive...), nil
		r.last = i
		return
	}
	shape := ""
	if p.part == plain && len(r.alive) > 0 {
		if shape = shapeOf(&s); r.shapes[shape] {
			return
		}
	}
	if c, ok := r.causeOf(i, &s, p, b, ids, mayRaise); ok {
		if shape != "" {
			r.shapes[shape] = true
		}
		r.add(c)
		return
	}
	if len(r.alive) == 0 || p.part == exception {
		return
	}
	if s.goesOn() && !r.drawnBefore(&s) {
		r.last = i
		r.goOn(s.source)
	}
}

// add takes in a cause, unless it only says again what one before it does: of those the first counts.
func (r *reading) add(c cause) {
	for i := range r.alive {
		if a := &r.alive[i]; a.rule == c.rule && a.said.source == c.said.source && a.code == c.code && a.rank == c.rank &&
			a.raised == c.raised && a.chained == c.chained && a.tries == c.tries && (c.rule != nil || a.raised) && a.isKill() == c.isKill() {
			return
		}
	}
	c.tool = aTool.MatchString(c.said.body)
	r.alive = append(r.alive, c)
}

// causeOf is what a line may be why of; false if it is of no matter.
func (r *reading) causeOf(i int, s *said, p placed, b *rulebook, ids []int, mayRaise bool) (cause, bool) {
	c := cause{at: i, said: *s, raised: p.part == exception, chained: p.chained, where: p.at}
	lower := strings.ToLower(s.body)
	for _, id := range ids {
		if span, ok := b.rules[id].match(s.body, lower); ok {
			c.rule, c.span, c.code, c.kind = b.rules[id], span, b.rules[id].code, b.rules[id].kind
			c.rank = factsOf[c.code].rank
			break
		}
	}
	if c.rule == nil {
		switch {
		case c.raised, mayRaise && standalone.MatchString(s.body):
		case s.level == failure && mayRaise && words.MatchString(s.body): // a logger's, of an error and no more
			c.rule, c.code, c.rank, c.kind = &vagueLog[0], pasar.CodeException, ofNothing, echoes
			return c, !quoted.MatchString(s.body) && !livedThrough.MatchString(s.body) && !notVague.MatchString(s.body)
		default:
			return c, false
		}
		c.code, c.rank, c.span = pasar.CodeException, ofProgram, [2]int{0, len(s.body)}
	}
	c.refine(p.about)
	if !c.raised && !c.heard(s) {
		return c, false
	}
	if !c.raised && c.kind == tells && c.code != pasar.CodeNetwork && livedThrough.MatchString(s.body) {
		return c, false
	}
	switch {
	case c.kind == follows && c.raised && !strings.Contains(s.body, "ChildFailedError") && !strings.Contains(s.body, "CalledProcessError"): // why if nothing else is
		c.code, c.kind, c.rank = pasar.CodeException, echoes, ofNothing
	case c.kind == follows:
		c.rank = ofNothing
	case c.raised && p.about&spawned != 0 && c.code == pasar.CodeBadCheckpoint:
		c.rank = ofNothing
	case !c.raised && s.level == warning && (c.code == pasar.CodeNetwork || c.code == pasar.CodeAuth):
		c.rank = ofWarning
	case (c.rule == nil || c.code == pasar.CodeNetwork || c.code == pasar.CodeCommError) && weak.MatchString(strings.TrimSpace(s.body)):
		c.rank = ofNothing
	case c.code == pasar.CodeSignal && c.rule.name != heapDamaged && signalIn(s.body) == "SIGABRT":
		c.rank = ofNothing // who aborts has said why
	case c.kind == echoes && (c.code == pasar.CodeException || c.code == pasar.CodeCommError || c.rule.sure == pasar.Guess):
		c.rank = ofNothing
	}
	return c, true
}

// drawnBefore reports whether a line is a progress bar in the state that it was last in.
func (r *reading) drawnBefore(s *said) bool {
	state := count.FindString(s.body)
	if state == "" {
		return false
	}
	before := r.barBefore(s.source)
	return before == state
}

// count matches the state of a progress bar.
var count = regexp.MustCompile(`\d+%[^\d]*\d*/?\d*`)

// barBefore is the state of the last bar before the first cause that is alive, of that source.
func (r *reading) barBefore(source string) string {
	first := r.alive[0].at
	for i := first - 1; i >= max(0, first-20); i-- {
		if s := listen(r.log[i].Text); s.source == source {
			if state := count.FindString(s.body); state != "" {
				return state
			}
		}
	}
	return ""
}

// goOn takes what a source's own work shows to have been lived through out of the causes.
func (r *reading) goOn(source string) {
	kept := r.alive[:0]
	for _, c := range r.alive {
		if c.rule != nil && c.rule.last && !c.raised {
			kept = append(kept, c)
			continue
		}
		if c.said.source != source {
			enough := others
			if c.said.source == "" {
				enough = ofScript
			}
			if c.passed++; c.passed < enough {
				kept = append(kept, c)
				continue
			}
		}
		r.past = append(r.past, c)
	}
	if len(kept) < len(r.alive) {
		clear(r.shapes)
	}
	r.alive = kept
}

// shapeOf is a line's source and text with every number as one 0.
func shapeOf(s *said) string {
	b := make([]byte, 0, len(s.source)+1+len(s.body))
	b = append(append(b, s.source...), 0)
	for i := 0; i < len(s.body); i++ {
		c := s.body[i]
		if c >= '0' && c <= '9' {
			if b[len(b)-1] != '0' {
				b = append(b, '0')
			}
			continue
		}
		b = append(b, c)
	}
	return string(b)
}

// aTool matches complaints of the small programs that scripts are made of.
var aTool = regexp.MustCompile(`^(?:\S*/)?(?:curl|wget|rm|cp|mv|tar|cat|ls|rsync|ssh|scp|sftp|aws|gsutil|git|mkdir|chmod|chown|kill|tee|gzip|gunzip|zip|unzip|sed|awk|grep|find|touch|ln|head|tail|rclone|s3cmd|wandb|mail|sendmail|umount|mount|fusermount|docker|upload failed|fatal)(?:\[\d+\])?: `)

// why is the cause that says it best; nil if none does.
func (r *reading) why() *cause {
	best := r.best()
	if best != nil && best.rule != nil && best.rule.remote {
		for i := range r.alive {
			if c := r.alive[i]; c.at < best.at && (c.code == pasar.CodeNetwork || c.code == pasar.CodeAuth) {
				c.rank = best.rank
				return &c
			}
		}
	}
	if best == nil || best.rank >= ofPeers {
		if c := r.ofFirstFailed(); c != nil {
			return c
		}
	}
	return best
}

// firstFailed matches the rank that torchrun's table says failed first.
var firstFailed = regexp.MustCompile(`^\s*rank +: (\d+) \(local_rank: \d+\)`)

// ofFirstFailed is the last exception of the rank that its launcher says failed first, even if lines of its work
// came after: what a process had in its buffers may be written later than what it said of its end.
func (r *reading) ofFirstFailed() *cause {
	root := false
	for i := max(0, len(r.log)-tableLines); i < len(r.log); i++ {
		if strings.Contains(r.log[i].Text, "Root Cause (first observed failure)") {
			root = true
		}
		m := firstFailed.FindStringSubmatch(r.log[i].Text)
		if m == nil || !root {
			continue
		}
		for k := len(r.past) - 1; k >= 0; k-- {
			c := &r.past[k]
			if c.raised && c.rank < ofPeers && strings.HasSuffix(c.said.source, "rank"+m[1]) {
				return c
			}
		}
		return nil
	}
	return nil
}

// tableLines bounds how far from the end a launcher's table is looked for.
const tableLines = 60

// best is the cause of those alive that says it best.
func (r *reading) best() *cause {
	var best *cause
	for i := range r.alive {
		c := &r.alive[i]
		if c.rank == ofNothing && c.kind == follows || r.comesOf(i) {
			continue
		}
		if best == nil || c.before(best) || r.wentOn(best) && c.rank <= ofSurrounding && c.code != best.code {
			best = c
		}
	}
	if best == nil {
		return nil
	}
	if best.kind == announces || best.tool {
		for i := range r.alive {
			c := &r.alive[i]
			if c.at > best.at && c.sameSort(best) && c.kind == tells && c.rank == best.rank && (c.raised || !best.tool) && !r.comesOf(i) {
				return c
			}
		}
	}
	return best
}

// wentOn reports whether a cause is a command that isn't there, and its script didn't end for that.
func (r *reading) wentOn(c *cause) bool {
	return c.rule != nil && c.rule.name == commandNotFound && (r.exit == nil || r.exit.Code != 127)
}

// words matches lines that say more than a word or two; notVague those that launchers print of others.
var (
	words    = regexp.MustCompile(`^\S+ \S+ \S`)
	notVague = regexp.MustCompile(`\b(?:exit(?:ed|s)?|returned?|return) (?:with )?(?:code|status)|exitcode|sample \d|failed \(|^Task \d`)
)

// comesOf reports whether a cause that is alive follows from one before it.
func (r *reading) comesOf(i int) bool {
	c := &r.alive[i]
	for k := range i {
		b := &r.alive[k]
		if c.rule != nil && c.code == pasar.CodeInterrupted && strings.Contains(b.said.body, "Exited with exit code") {
			return true // Slurm cancels the rest of a step itself
		}
		if b.rank == ofNothing || b.kind == follows || b.tries > c.tries {
			continue
		}
		switch {
		case c.chained && !b.chained && b.said.source == c.said.source && b.raised:
			return true
		case c.tool && b.rank <= ofPeers && !b.tool:
			return true
		case (b.code == pasar.CodeSignal || b.code == pasar.CodeDiverged) && c.rank == ofSurrounding: // what a killed process didn't write is missing
			return true
		}
	}
	return false
}

// isKill reports whether a line says that a process was killed by SIGKILL, or for memory.
func (c *cause) isKill() bool {
	return c.code == pasar.CodeKernelOOM || c.code == pasar.CodeSignal && signalIn(c.said.body) == "SIGKILL"
}

// kill is the first line that says that a process was killed, else the first that says that one is gone.
func (r *reading) kill() *cause {
	for _, is := range []func(*cause) bool{(*cause).isKill, func(c *cause) bool { return gone.MatchString(c.said.body) }} {
		for i := range r.alive {
			if is(&r.alive[i]) {
				return &r.alive[i]
			}
		}
	}
	return nil
}

// gone matches what a program says that misses a process of its own.
var gone = regexp.MustCompile(`exited unexpectedly|died unexpectedly|terminated abruptly|unexpectedly terminated|WorkerCrashedError|actor died|BrokenProcessPool|Killed\b`)

// outlivedKill reports whether the log shows that a process was killed, that the job got on without it, and
// that it ended for something else.
func (r *reading) outlivedKill() bool {
	why := r.why()
	if why == nil || why.rank >= ofNothing || r.kill() != nil {
		return false
	}
	killed := false
	for i := range why.at {
		switch text := r.log[i].Text; {
		case killedOne.MatchString(text):
			killed = true
		case killed:
			if s := listen(text); s.goesOn() {
				return true
			}
		}
	}
	return false
}

// killedOne matches what says that a process was killed, in whoever's words.
var killedOne = regexp.MustCompile(`(?i)\bkilled\b|\bSIGKILL\b|(?:code|status|signal)"?\W{1,3}(?:-9|137|9)\b|\boom[- ]kill`)

// before reports whether a cause says it better than another that came before it. Of several tries the last counts,
// unless it says nothing.
func (c *cause) before(best *cause) bool {
	if c.rank == ofNothing || best.rank == ofNothing || c.tries == best.tries {
		return c.rank < best.rank
	}
	return c.tries < best.tries
}

// sameSort reports whether a cause is of the reason of one that announces it; what announces an error of the GPU's
// runtime doesn't know which.
func (c *cause) sameSort(b *cause) bool {
	return c.code == b.code || b.code == pasar.CodeCUDAError && ofDevice[c.code] || b.code == pasar.CodeHostOOM && c.code == pasar.CodeGPUOOM
}

var ofDevice = map[pasar.Code]bool{pasar.CodeGPUOOM: true, pasar.CodeGPUXid: true, pasar.CodeCUDAError: true, pasar.CodeDeviceAssert: true, pasar.CodeGPUSetup: true}

// started matches services that say that they are up: what went wrong before is over.
var started = regexp.MustCompile(`(?i)\bapplication startup complete`)

// heard reports whether a line counts that its logger holds to be of little matter, or that only carries phrases:
// who is asked to end may say so in passing, and a warning of a try that failed is why the last one did.
func (c *cause) heard(s *said) bool {
	if quoted.MatchString(s.body) {
		return false
	}
	if s.level != info && s.level != warning {
		return true
	}
	switch c.code {
	case pasar.CodeInterrupted, pasar.CodeTimeLimit, pasar.CodeKernelOOM:
		return c.rule != nil
	case pasar.CodeNetwork:
		return s.level == warning && retries.MatchString(s.body)
	case pasar.CodeAuth:
		return s.level == warning
	}
	return false
}

var retries = regexp.MustCompile(`(?i)\bretr(?:y|ying|ies)\b`)

// refine gives a cause the reason that only its traceback shows, or the place that a message names.
func (c *cause) refine(about subject) {
	switch {
	case c.code == pasar.CodeDiskFull && (about&sharedMemory != 0 && !strings.Contains(c.said.body, ": '/") || strings.Contains(c.said.body, "/dev/shm")):
		c.code = pasar.CodeShmFull
	case about&remote != 0 && c.raised && (c.rule == nil || c.code == pasar.CodeTimeLimit) && timedOut.MatchString(c.said.body):
		c.code, c.rank = pasar.CodeNetwork, ofSurrounding
	case c.code == pasar.CodeGPUOOM && about&pinnedMemory != 0 && c.raised && !strings.Contains(c.said.body, "GiB"):
		c.code = pasar.CodeHostOOM
	}
}

var timedOut = regexp.MustCompile(`(?i)\btimed out\b|Timeout(?:Error|Exception)?\b`)

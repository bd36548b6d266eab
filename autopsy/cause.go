package autopsy

import (
	"regexp"
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
	own     bool // where is in the program's own code
	doubted bool // something else may have been why
	tries   int  // new tries at the whole since
	passed  int  // lines since by which others got on
}

// standalone matches an exception without a traceback before it: its class, and what it says.
var standalone = regexp.MustCompile(`^(?:[A-Za-z_][\w$]*(?:\.|::|/))*[A-Z]\w*(?:Error|Exception|Interrupt|Failure|Fault|Abort|Err|Timeout|NotFound|Overflow|Unavailable)(?:: ?\S|$| \[)|^(?:[a-z_]\w*\.)+[A-Z]\w+: \S`)

// weak matches exceptions of processes whose partner went, and of programs that only leave.
var weak = regexp.MustCompile(`^(?:[\w.]*\.)?(?:BrokenPipeError|EOFError|ConnectionResetError|ConnectionAbortedError|Empty|StopIteration|CancelledError|GeneratorExit|SystemExit|TerminatedWorkerError)\b|cannot schedule new futures|DataLoader worker \(pid\(s\)`)

// causeOf is what a line may be why of; false if it is of no matter.
func (r *reading) causeOf(i int, s *said, p placed, b *rulebook, ids []int, mayRaise bool) (cause, bool) {
	c := cause{at: i, said: *s, raised: p.part == exception, chained: p.chained, where: p.at, own: p.own}
	if c.rule, c.span = r.ruleOf(s, c.raised, b, ids); c.rule != nil {
		c.code, c.kind, c.rank = c.rule.code, c.rule.kind, factsOf[c.rule.code].rank
	}
	if c.rule == nil {
		if p.panicked && c.raised { // where it panicked is the root; what it said there stands in the summary
			c.at, c.where, c.said = p.at, -1, listen(r.log[p.at].Text)
			c.said.body += " " + s.body
		}
		switch {
		case c.raised, mayRaise && standalone.MatchString(s.body):
		case s.level == failure && mayRaise && several.MatchString(s.body): // a logger's, of an error and no more
			c.rule, c.code, c.rank, c.kind = &vagueLog[0], pasar.CodeException, ofNothing, echoes
			return c, !quoted.MatchString(s.body) && !livedThrough.MatchString(s.body) && !notVague.MatchString(s.body)
		default:
			return c, false
		}
		c.code, c.rank, c.span = pasar.CodeException, ofProgram, [2]int{0, len(c.said.body)}
	}
	c.refine(p.about)
	if !c.raised && !c.heard(s) {
		return c, false
	}
	if !c.raised && c.kind == tells && !(c.code == pasar.CodeNetwork && s.level == warning) && livedThrough.MatchString(s.body) {
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

// several matches lines that say more than a word or two; notVague those that launchers print of others.
var (
	several  = regexp.MustCompile(`^\S+ \S+ \S`)
	notVague = regexp.MustCompile(`\b(?:exit(?:ed|s)?|returned?|return) (?:with )?(?:code|status)|exitcode|sample \d|failed \(|^Task \d`)
)

// ruleOf is the first rule that knows a line, and where the telling part is; nil if none does. Programs say the same again
// and again, so it is remembered.
func (r *reading) ruleOf(s *said, raised bool, b *rulebook, ids []int) (*logRule, [2]int) {
	key := known{s.body, s.level, raised}
	if k, ok := r.known[key]; ok {
		return k.rule, k.span
	}
	var k knownRule
	if ofCode.MatchString(s.body) { // what it quotes is data
		ids = nil
	}
	lower := strings.ToLower(s.body)
	for _, id := range ids {
		if !raised && !audible(s.level, b.rules[id].code) || r.misses[id] > maxMisses {
			continue
		}
		if !raised && r.hits[id] > maxHits {
			return nil, k.span
		}
		if span, ok := b.rules[id].match(s.body, lower); ok {
			k = knownRule{b.rules[id], span}
			r.hits[id]++
			break
		}
		r.misses[id]++
	}
	r.known[key] = k
	return k.rule, k.span
}

// maxMisses is how many lines a rule is tried on in vain: a log that is full of its words is about something else.
const maxMisses = 200

// maxHits is how many lines of a flood that differ in words are taken for a rule's: the first of them is the one that counts.
const maxHits = 64

// ofCode matches exceptions that are about the program's own code, whatever their text quotes.
var ofCode = regexp.MustCompile(`^(?:\w+\.)*(?:KeyError|NameError|IndexError|UnboundLocalError|ZeroDivisionError|RecursionError|UnicodeDecodeError|UnicodeEncodeError|IndentationError|SyntaxError)\b`)

type known struct {
	body   string
	level  level
	raised bool
}

type knownRule struct {
	rule *logRule
	span [2]int
}

// heard reports whether a line counts that may only carry phrases.
func (c *cause) heard(s *said) bool {
	if carried(s.body, c.span[0]) {
		return false
	}
	if s.level == unlevelled || s.level == failure {
		return !quoted.MatchString(s.body)
	}
	return c.rule != nil && (c.code != pasar.CodeNetwork || retries.MatchString(s.body)) && !quoted.MatchString(s.body)
}

// carried reports whether what begins at a place in a line stands within double quotes, as data does, that the line didn't open
// with; what a key of an error has in quotes is no data.
func carried(body string, at int) bool {
	at = min(at, len(body))
	open := -1
	for i := 0; i < at; i++ {
		if body[i] == '"' && (i == 0 || body[i-1] != '\\') {
			if open < 0 {
				open = i
			} else {
				open = -1
			}
		}
	}
	end := strings.IndexByte(body[at:], '"')
	return open > 0 && end >= 0 && !strings.HasPrefix(body[at+end:], `":`) && !errorKey.MatchString(body[:open])
}

var errorKey = regexp.MustCompile(`(?i)(?:err\w*|msg|message|reason|exception|what|detail\w*|stderr|status|desc\w*|cause|os_error|assert\w*|&&|thread)\W{0,4}$`)

// audible reports whether a reason counts of a line that its logger holds to be of little matter: who is asked to end may say
// so in passing, and a warning of a try that failed is why the last one did.
func audible(l level, code pasar.Code) bool {
	switch code {
	case pasar.CodeInterrupted, pasar.CodeTimeLimit, pasar.CodeKernelOOM:
		return true
	case pasar.CodeNetwork, pasar.CodeAuth:
		return l != info
	}
	return l != info && l != warning
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

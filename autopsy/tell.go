package autopsy

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"pasar"
)

// causeRule is the rule of what the log says: its texts are those of the rule that knows the line.
var causeRule = rule{
	name: "what the log says",
	when: func(e *Evidence) bool {
		return e.Exit != nil && e.why() != nil && e.why().counts(e)
	},
	summary:  func(e *Evidence) string { return e.why().summary(e) },
	hint:     func(e *Evidence) string { return e.why().hint(e) },
	evidence: func(e *Evidence) []pasar.Line { return e.why().evidence(e) },
}

// counts reports whether a cause says more than how the main process ended does.
func (c *cause) counts(e *Evidence) bool {
	switch {
	case c.rank == ofWarning, e.NoGPU && c.code == pasar.CodeGPUXid:
		return false
	case c.rank == ofNoMatter:
		return e.Exit.Code == exitFlush
	case c.rank == ofSurrounding && !c.raised && endedOtherwise(e) && e.found().followed(c):
		return false // it went on after that complaint
	case c.rank < ofNothing:
		return true
	}
	name := exitSignal(e)
	return name == "" || name == "SIGABRT" && c.code == pasar.CodeException
}

// endedOtherwise reports whether the status says how it ended: by a signal, but for an abort, or at timeout(1)'s limit.
func endedOtherwise(e *Evidence) bool {
	name := exitSignal(e)
	return name != "" && name != "SIGABRT" || exit(exitTimeout)(e)
}

// exitTimeout is how timeout(1) exits at its limit.
const exitTimeout = 124

// followed reports whether a program said more after a cause than launchers and shells do of an end.
func (r *reading) followed(c *cause) bool {
	for i := c.at + 1; i < len(r.log); i++ {
		text := r.log[i].Text
		known := slices.ContainsFunc(r.alive, func(a cause) bool { return a.at == i })
		if !known && !idle.MatchString(text) && worded.MatchString(text) {
			return true
		}
	}
	return false
}

// exitFlush is how Python exits when what is left of its output can't be written.
const exitFlush = 120

// found is what the log says, read once.
func (e *Evidence) found() *reading {
	if e.read == nil {
		e.read = read(e.Log, e.Exit)
	}
	return e.read
}

// why is the cause in the log; nil if it has none.
func (e *Evidence) why() *cause { return e.found().said }

// reason is the code of a cause. Shells say the same of a file that they can't execute and of one that they can't
// open; the exit code tells which it was.
func (c *cause) reason(e *Evidence) pasar.Code {
	if c.rule == nil || e.Exit == nil {
		return c.code
	}
	switch c.rule.name {
	case shellFoundNone:
		if e.Exit.Code == 127 && inScript.MatchString(c.said.body) {
			return pasar.CodeBadCommand
		}
	case shellMayNot:
		if m := refused.FindStringSubmatch(c.said.body); m != nil && e.Exit.Code != 126 && !aProgram.MatchString(m[1]) {
			return pasar.CodePermission
		}
	}
	return c.code
}

var (
	inScript = regexp.MustCompile(`(?:line )?\d+: `)
	// refused matches what a shell may not touch: a program to start, or a file to write.
	refused  = regexp.MustCompile(`(\S+): [^:]*$`)
	aProgram = regexp.MustCompile(`^\.{1,2}/|\.(?:sh|py|pl|bin|run|exe|bash|out)$`)
)

func (c *cause) facts(e *Evidence) facts { return factsOf[c.reason(e)] }

func (c *cause) summary(e *Evidence) string {
	f := c.facts(e)
	says := f.says
	if c.rule != nil && c.rule.says != "" && c.reason(e) == c.rule.code {
		says = c.rule.says
	}
	switch c.reason(e) {
	case pasar.CodeSignal:
		says = c.bySignal(e, says)
	case pasar.CodePortInUse:
		if m := portIn.FindStringSubmatch(c.said.body); m != nil {
			says = "port " + cmp.Or(m[1], m[2]) + " is taken"
		}
	case pasar.CodeInterrupted:
		if name := cmp.Or(signalIn(c.said.body), exitSignal(e)); name != "" && !strings.Contains(says, name) {
			says = "interrupted by " + name
		}
	}
	if says != "" {
		says += ": "
	}
	return says + c.quote() + e.found().host(c) + c.whose()
}

// portIn matches the port that a line speaks of.
var portIn = regexp.MustCompile(`(?i)\bports?\b[ =:(]{0,3}(\d{2,5})\b|[\w.\]*']:(\d{2,5})\b`)

// host is which service could not be reached, in brackets, if a later line of the same failure says it and c doesn't.
func (r *reading) host(c *cause) string {
	if c.code != pasar.CodeNetwork || hostIn.MatchString(c.said.body) {
		return ""
	}
	for i := range r.alive {
		if l := &r.alive[i]; l.code == c.code && l.at > c.at && l.said.source == c.said.source {
			if m := hostIn.FindStringSubmatch(l.said.body); m != nil {
				return " (" + strings.TrimSuffix(cmp.Or(m[1]+":"+m[2], m[3]), ":") + ")"
			}
		}
	}
	return ""
}

// hostIn matches a host and its port, or an address, that a line speaks of.
var hostIn = regexp.MustCompile(`host='([^']+)',(?: port=(\d+))?|(https?://[\w.:-]+)`)

// bySignal is which signal ended what: the job itself, or a process of it.
func (c *cause) bySignal(e *Evidence, says string) string {
	own := exitSignal(e)
	name := cmp.Or(signalIn(c.said.body), own, "a signal")
	switch {
	case strings.Contains(says, name):
		return says
	case c.rule != nil && c.rule.says != "":
		return says + " (" + name + ")"
	case own == name:
		return "killed by " + name
	}
	return "a process of it was killed by " + name
}

// exitSignal is the name of the signal that the main process ended by, or says that a child did; empty: none.
func exitSignal(e *Evidence) string {
	if e.Exit == nil {
		return ""
	}
	if e.Exit.Signal != 0 {
		return signalName(e.Exit.Signal)
	}
	if n := shellSignal(e); n != 0 {
		return signalName(n)
	}
	return ""
}

// quoteRunes bounds what a summary quotes of the root line.
const quoteRunes = 220

// quote is the telling part of the line: the whole of it if it is short, else from near the telling part on.
func (c *cause) quote() string {
	body := strings.TrimSpace(c.said.body)
	lead := len(c.said.body) - len(strings.TrimLeft(c.said.body, " \t"))
	runes := []rune(body)
	if len(runes) <= quoteRunes {
		return body
	}
	const tail = 80 // runes of the telling part that are surely seen
	start := min(max(0, c.span[0]-lead), len(body))
	from := max(0, len([]rune(strings.ToValidUTF8(body[:start], "")))+tail-quoteRunes)
	for from > 0 && from < len(runes) && runes[from-1] != ' ' {
		from++
	}
	s := runes[min(from, len(runes)):]
	front, end := "", ""
	if from > 0 {
		front = "…"
	}
	if len(s) > quoteRunes-2 {
		s, end = s[:quoteRunes-2], "…"
	}
	return front + string(s) + end
}

// ofRank matches the source of a line that is a rank's.
var ofRank = regexp.MustCompile(`(?i)(?:^| )(?:(?:local_)?rank|default)\D?(\d+)$|(?:^| )\d+,(\d+)$`)

// whose says which rank's line it is.
func (c *cause) whose() string {
	if m := ofRank.FindStringSubmatch(c.said.source); m != nil {
		return " (rank " + cmp.Or(m[1], m[2]) + ")"
	}
	return ""
}

func (c *cause) hint(e *Evidence) string {
	if c.rule != nil && c.rule.hint != "" && c.reason(e) == c.rule.code {
		return c.rule.hint
	}
	if c.reason(e) == pasar.CodeSignal {
		return signalHint(e, signalNumber(cmp.Or(signalIn(c.said.body), exitSignal(e))))
	}
	return c.facts(e).hint
}

func (c *cause) sure() pasar.Confidence {
	switch {
	case c.code == pasar.CodeGPUXid: // by the output alone
		return pasar.Likely
	case c.doubted:
		return pasar.Likely
	case c.rule != nil && c.rule.sure != "":
		return c.rule.sure
	case c.raised:
		return pasar.Certain
	}
	return pasar.Likely
}

func (c *cause) blame(e *Evidence) pasar.Blame {
	if c.rule != nil && c.rule.blame != "" {
		return c.rule.blame
	}
	return c.facts(e).blame
}

// evidence is the root line, and where in the program it was.
func (c *cause) evidence(e *Evidence) []pasar.Line {
	lines := []pasar.Line{quoteLine(e.Log[c.at], c.span[0])}
	if w := e.found().where(c); w >= 0 {
		lines = append(lines, quoteLine(e.Log[w], 0))
	}
	return lines
}

// where is the index of the line that says where in the program's own code a cause came up: in its own traceback, or in one
// chained to it; -1: not known.
func (r *reading) where(c *cause) int {
	if c.own || !c.raised {
		return c.where
	}
	for i := range r.alive {
		if l := &r.alive[i]; l.at > c.at && l.chained && l.own && l.said.source == c.said.source {
			return l.where
		}
	}
	return c.where
}

// quoteLine is a line of the log as evidence, cut so that the telling part is in it.
func quoteLine(l pasar.Line, telling int) pasar.Line {
	text := l.Text
	if telling > lineRunes*3/4 && len(text) > lineRunes {
		text = "…" + strings.ToValidUTF8(text[min(telling-lineRunes/2, len(text)):], "")
	}
	return pasar.Line{Number: l.Number, Text: oneLine(text, lineRunes)}
}

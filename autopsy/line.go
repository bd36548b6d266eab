package autopsy

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"pasar"
)

// Bounds in characters of what is quoted, so that a verdict stays small and its summary one line.
const (
	summaryRunes = 300
	lineRunes    = 600
	pathRunes    = 120
	nameRunes    = 60
	maxLines     = 5
)

// oneLine is text on one line that is safe to show, cut to a number of characters.
func oneLine(s string, runes int) string {
	s = strings.TrimSpace(s)
	if len(s) > 8*runes { // a very long text needn't be cleaned whole; no character is over 4 bytes
		s = s[:8*runes]
	}
	s = pasar.Clean(s)
	n := 0
	for i := range s {
		if n == runes-1 && len([]rune(s[i:])) > 1 {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// telling matches lines that speak of something going wrong. It only picks what to quote beside a status
// and gives no reason, so it may be broad.
var telling = regexp.MustCompile(`\w(?:Error|Exception)\b|(?i:\b(?:error|fatal|panic|exception|abort(?:ed)?|fail(?:ed|ure)?|` +
	`cannot|can't|could not|unable|denied|not found|no such|killed|terminate(?:d)?|segmentation|core dumped|invalid|` +
	`corrupt(?:ed|ion)?|unrecognized|unexpected|out of memory|timed out|smashing|double free|not in \w+ format)\b)`)

// idle matches lines that launchers print of any failure.
var idle = regexp.MustCompile(`\bexit ?code\b|error_file|Root Cause|Failures:|^\s*(?:={5}|-{5})|HYDRA_FULL_ERROR|traceback : To enable|ChildFailedError|^g?make\S*: \*\*\*|^tar: (?:Error is not recoverable|Child returned|Exiting with failure)`)

// clue is the last line since the program got on that speaks of something going wrong; false if none does.
func (e *Evidence) clue() (pasar.Line, bool) {
	first := max(e.found().last+1, len(e.Log)-pasar.TailLines, 0)
	for i := len(e.Log) - 1; i >= first; i-- {
		text := e.Log[i].Text
		if !telling.MatchString(text) || idle.MatchString(text) {
			continue
		}
		if s := listen(text); s.level != info && s.level != warning && !livedThrough.MatchString(s.body) {
			return e.Log[i], true
		}
	}
	return pasar.Line{}, false
}

// quote is ": " and the clue, if there is one.
func quote(e *Evidence) string {
	if l, ok := e.clue(); ok {
		return ": " + strings.TrimSpace(l.Text)
	}
	return ""
}

// lastWords is what a program said at its end: the clue, else the last line.
func lastWords(e *Evidence) string {
	if s := quote(e); s != "" {
		return s
	}
	if last := lastLine(e); len(last) > 0 {
		return "; last output: " + last[0].Text
	}
	if e.Output == 0 {
		return "; it wrote nothing"
	}
	return ""
}

// rootLine is the clue, else the last line.
func rootLine(e *Evidence) []pasar.Line {
	if l := clueLine(e); l != nil {
		return l
	}
	return lastLine(e)
}

// clueLine is the clue, if there is one.
func clueLine(e *Evidence) []pasar.Line {
	if l, ok := e.clue(); ok {
		return []pasar.Line{quoteLine(l, 0)}
	}
	return nil
}

// near is how many of the last lines may be about the signal that ended a program: it went on after those before.
const near = 2

// lastClueLine is the line that says by which signal it ended, else the clue, if it is among the last lines.
func lastClueLine(e *Evidence) []pasar.Line {
	if c := e.why(); c != nil && (c.code == pasar.CodeSignal || c.code == pasar.CodeInterrupted) {
		return c.evidence(e)[:1]
	}
	if l, ok := e.clue(); ok && slices.Contains(e.Log[max(0, len(e.Log)-near):], l) {
		return []pasar.Line{quoteLine(l, 0)}
	}
	return nil
}

// quoteLast is ": " and that line, if there is one.
func quoteLast(e *Evidence) string {
	if l := lastClueLine(e); l != nil {
		return ": " + strings.TrimSpace(l[0].Text)
	}
	return ""
}

// lastLine is the last line that has a letter or a digit.
func lastLine(e *Evidence) []pasar.Line {
	for i := len(e.Log) - 1; i >= 0; i-- {
		if strings.ContainsFunc(e.Log[i].Text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			return []pasar.Line{quoteLine(e.Log[i], 0)}
		}
	}
	return nil
}

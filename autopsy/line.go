package autopsy

import (
	"regexp"
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

// traceback opens a Python traceback, also behind what a launcher puts before each line.
var traceback = regexp.MustCompile(`^(.*?)Traceback \(most recent call last\):`)

// telling matches lines that speak of something going wrong. It only picks what to quote beside a status
// and gives no reason, so it may be broad.
var telling = regexp.MustCompile(`\w(Error|Exception)\b|(?i:\b(error|fatal|panic|exception|abort(ed)?|fail(ed|ure)?|` +
	`cannot|can't|could not|unable|denied|not found|no such|killed|terminate(d)?|segmentation|core dumped|invalid|` +
	`corrupt(ed|ion)?|unrecognized|unexpected|out of memory|timed out|smashing|double free)\b)`)

// echo matches lines that only repeat how a process ended, as shells and launchers write after it. They
// are quoted when there is nothing else.
var echo = regexp.MustCompile(`\b(Aborted|Segmentation fault|Killed|Terminated|Hangup|Bus error|Illegal instruction|` +
	`Floating point exception)( +\(core dumped\))?(  +\S.*)?$|\b(ChildFailedError|CalledProcessError)\b|\bexit ?code\b`)

// tellingLine is the line of the tail that says most about a failure; false when none does. The last
// traceback's last line is it, else the last line that speaks of something going wrong.
func tellingLine(tail []string) (string, bool) {
	errors := exceptions(tail)
	for _, lines := range [][]string{errors, tail} {
		for i := len(lines) - 1; i >= 0; i-- {
			if telling.MatchString(lines[i]) && !echo.MatchString(lines[i]) {
				return lines[i], true
			}
		}
	}
	if len(errors) > 0 {
		return errors[len(errors)-1], true
	}
	for i := len(tail) - 1; i >= 0; i-- {
		if telling.MatchString(tail[i]) {
			return tail[i], true
		}
	}
	return "", false
}

// exceptions is the last line of each Python traceback. Frames are indented; the exception is the first
// line that isn't.
func exceptions(tail []string) (lines []string) {
	in, prefix := false, ""
	for _, line := range tail {
		if m := traceback.FindStringSubmatch(line); m != nil {
			in, prefix = true, m[1]
			continue
		}
		rest, ok := strings.CutPrefix(line, prefix)
		if in && ok && rest != "" && !unicode.IsSpace(rune(rest[0])) {
			lines, in = append(lines, rest), false
		}
	}
	return lines
}

// quote is ": " and the telling line, if there is one.
func quote(e *Evidence) string {
	if line, ok := tellingLine(e.tail()); ok {
		return ": " + line
	}
	return ""
}

// lastWords is what a program said at its end: the telling line, else the last one.
func lastWords(e *Evidence) string {
	if s := quote(e); s != "" {
		return s
	}
	if last := lastLines(e); len(last) > 0 {
		return "; last output: " + last[len(last)-1].Text
	}
	if e.Output == 0 {
		return "; it wrote nothing"
	}
	return ""
}

// rootLine is the telling line, else the last few.
func rootLine(e *Evidence) []pasar.Line {
	if line, ok := tellingLine(e.tail()); ok {
		return []pasar.Line{{Text: oneLine(line, lineRunes)}}
	}
	return lastLines(e)
}

// lastLines is the last few lines that have a letter or a digit. Where they stand in the log isn't known.
func lastLines(e *Evidence) []pasar.Line {
	var lines []pasar.Line
	for i := len(e.tail()) - 1; i >= 0 && len(lines) < maxLines; i-- {
		if strings.ContainsFunc(e.tail()[i], func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			lines = append(lines, pasar.Line{Text: oneLine(e.tail()[i], lineRunes)})
		}
	}
	for i, k := 0, len(lines)-1; i < k; i, k = i+1, k-1 {
		lines[i], lines[k] = lines[k], lines[i]
	}
	return lines
}

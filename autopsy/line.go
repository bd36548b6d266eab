package autopsy

import (
	"regexp"
	"strings"
	"unicode"

	"pasar"
)

// Bounds in characters of what is quoted, so that a verdict stays small and its summary one line.
const (
	summaryRunes = 200
	lineRunes    = 400
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
	`cannot|can't|unable|denied|not found|no such|killed|terminate(d)?|segmentation|core dumped|invalid|corrupt(ed|ion)?|` +
	`unrecognized|out of memory|smashing)\b)`)

// tellingLine is the line of the tail that says most about a failure; false when none does. The last
// traceback's last line is it, else the last line that speaks of something going wrong.
func tellingLine(tail []string) (string, bool) {
	found := ""
	for i := 0; i < len(tail); i++ {
		m := traceback.FindStringSubmatch(tail[i])
		if m == nil {
			continue
		}
		for _, line := range tail[i+1:] {
			line, ok := strings.CutPrefix(line, m[1])
			// Its frames are indented; the exception is the first line that isn't.
			if ok && line != "" && !unicode.IsSpace(rune(line[0])) {
				found = line
				break
			}
		}
	}
	if found != "" {
		return found, true
	}
	for i := len(tail) - 1; i >= 0; i-- {
		if telling.MatchString(tail[i]) {
			return tail[i], true
		}
	}
	return "", false
}

// quote is ": " and the telling line, if there is one.
func quote(e *Evidence) string {
	if line, ok := tellingLine(e.Tail); ok {
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
	if line, ok := tellingLine(e.Tail); ok {
		return []pasar.Line{{Text: oneLine(line, lineRunes)}}
	}
	return lastLines(e)
}

// lastLines is the last few lines that have a letter or a digit. Where they stand in the log isn't known.
func lastLines(e *Evidence) []pasar.Line {
	var lines []pasar.Line
	for i := len(e.Tail) - 1; i >= 0 && len(lines) < maxLines; i-- {
		if strings.ContainsFunc(e.Tail[i], func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			lines = append(lines, pasar.Line{Text: oneLine(e.Tail[i], lineRunes)})
		}
	}
	for i, k := 0, len(lines)-1; i < k; i, k = i+1, k-1 {
		lines[i], lines[k] = lines[k], lines[i]
	}
	return lines
}

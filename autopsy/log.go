package autopsy

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"pasar"
)

// LogBytes is how much of the end of a job's output a verdict looks at, as it was written.
const LogBytes = 256 << 10

// keptBytes bounds the text of a log that ReadLog keeps, from its end.
const keptBytes = 64 << 10

// escapes matches the control sequences of terminals: CSI, OSC and its kin up to their terminator, and the short ones.
var escapes = regexp.MustCompile(`\x1b(?:\[[0-9:;<=>?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])`)

// ReadLog is output as lines of clean text, without empty ones: escapes removed, and split at carriage returns
// as well, as whatever follows one stands on the same line of the output and has its number. Of a progress
// bar that is drawn over and over only the last two states are kept. The output begins within the line of
// that number, from 1; with 0 the numbers aren't known, and all are 0. At most the last 64 KiB are kept.
func ReadLog(raw []byte, first int) []pasar.Line {
	if len(raw) > LogBytes {
		if first > 0 {
			first += bytes.Count(raw[:len(raw)-LogBytes], []byte("\n"))
		}
		raw = raw[len(raw)-LogBytes:]
	}
	number := 0
	if first > 0 {
		number = first + bytes.Count(raw, []byte("\n"))
	}
	var rows [][]pasar.Line // from the last on: most of a long log is never looked at
	kept := 0
	for kept <= keptBytes {
		i := bytes.LastIndexByte(raw, '\n')
		row := appendRow(nil, string(raw[i+1:]), number)
		for _, l := range row {
			kept += len(l.Text) + 1
		}
		rows = append(rows, row)
		if i < 0 {
			break
		}
		raw = raw[:i]
		if first > 0 {
			number--
		}
	}
	slices.Reverse(rows)
	return withinKept(slices.Concat(rows...))
}

// withinKept is the last lines of a log, as many as may be kept.
func withinKept(lines []pasar.Line) []pasar.Line {
	kept := 0
	for i := len(lines) - 1; i >= 0; i-- {
		if kept += len(lines[i].Text) + 1; kept > keptBytes {
			return lines[i+1:]
		}
	}
	return lines
}

// lineBytes bounds what is kept of one line: most of its beginning, and its end.
const lineBytes = 8 << 10

// shortened is a line without the middle of one that is very long.
func shortened(s string) string {
	if len(s) <= lineBytes {
		return s
	}
	return strings.ToValidUTF8(s[:lineBytes*3/4], "") + " … " + strings.ToValidUTF8(s[len(s)-lineBytes/4:], "")
}

// appendRow appends what stands between two line ends.
func appendRow(lines []pasar.Line, row string, number int) []pasar.Line {
	if len(row) <= lineBytes && isPlain(row) {
		if row = strings.TrimRight(row, " \t"); row != "" {
			lines = append(lines, pasar.Line{Number: number, Text: row})
		}
		return lines
	}
	if strings.IndexByte(row, '\x1b') >= 0 {
		row = escapes.ReplaceAllString(row, "")
	}
	drawn := strings.IndexByte(row, '\r') >= 0
	bars := 0
	for text := range strings.SplitSeq(row, "\r") {
		text = clean(shortened(text))
		if text == "" {
			continue
		}
		if !drawn || !isBar(text) {
			bars = 0
		} else if bars++; bars > 2 { // the two before it are the last, and the one before that
			lines[len(lines)-2] = lines[len(lines)-1]
			lines = lines[:len(lines)-1]
		}
		lines = append(lines, pasar.Line{Number: number, Text: text})
	}
	return lines
}

// clean is text without control characters but tabs, and without blanks at its end. What a backspace took back is gone.
func clean(s string) string {
	if isPlain(s) {
		return strings.TrimRight(s, " \t")
	}
	if strings.IndexByte(s, '\b') >= 0 {
		s = backspaced(s)
	}
	s = strings.TrimRight(strings.ToValidUTF8(s, "\uFFFD"), " \t\x00")
	if !strings.ContainsFunc(s, func(r rune) bool { return r != '\t' && unseen(r) }) {
		return s
	}
	s = strings.Map(func(r rune) rune {
		if r != '\t' && unseen(r) {
			return -1
		}
		return r
	}, s)
	return strings.TrimRight(s, " \t")
}

// isPlain reports whether a text is printable ASCII and tabs, as nearly everything is.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c > '~' {
			return false
		}
	}
	return true
}

// unseen reports whether a character is a control character, or can hide text or change how others are seen.
func unseen(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || pasar.Unseen(r) }

func backspaced(s string) string {
	out := make([]rune, 0, len(s))
	for _, r := range s {
		if r == '\b' {
			out = out[:max(0, len(out)-1)]
		} else {
			out = append(out, r)
		}
	}
	return string(out)
}

// bar matches what progress bars show: a percentage with a bar or a count, or a rate.
var bar = regexp.MustCompile(`\d+%\s*[|\[\x{2580}-\x{259f}\x{2501}\x{2588}#=>-]|\d+%.*\b\d+(\.\d+)?[kMG]?/\d+|\b\d+(\.\d+)? ?(it|s|batch|steps?|examples|samples|tokens|tok)/(s|it|sec|step|batch|epoch)\b|[|\[][#=\x{2588}\x{2501}>.·-]{8,}[|\]]`)

func isBar(text string) bool { return bar.MatchString(text) }

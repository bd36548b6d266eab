package jobfile

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
)

// A Script is what the lines at the top of a script say to a scheduler.
type Script struct {
	Lines    []Line    // of #PASAR, word by word
	Settings []Setting // understood of #SBATCH
	Notes    []string  // what is different here from what #SBATCH lines ask for, a sentence each
	Unknown  []string  // options of #SBATCH that say nothing to pasar, each once
}

// A Line is the words of one line.
type Line struct {
	Number int // from 1
	Words  []string
}

// Prefixes of the lines.
const (
	oursPrefix  = "#PASAR"
	slurmPrefix = "#SBATCH"
)

// ReadScript reads the comments at the top of a script, up to its first other line, as Slurm does. A file
// that can't be read says nothing: that it is there at all is not for this to judge.
func ReadScript(path string) (*Script, error) {
	f, err := Open(path)
	if err != nil {
		return &Script{}, nil
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return &Script{}, nil
	}
	b := make([]byte, MaxHead)
	n, err := io.ReadFull(f, b)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return &Script{}, nil
	}
	s, err := parseScript(b[:n])
	var e *Error
	if errors.As(err, &e) {
		e.Path = path
	}
	return s, err
}

func parseScript(text []byte) (*Script, error) {
	s := &Script{}
	b := &batch{script: s}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		l := strings.TrimSpace(string(line))
		if l != "" && l[0] != '#' || strings.IndexByte(l, 0) >= 0 {
			break
		}
		words, prefix, err := directive(l)
		if err != nil {
			return nil, &Error{Line: number, What: prefix + ": " + err.Error()}
		}
		switch prefix {
		case oursPrefix:
			s.Lines = append(s.Lines, Line{number, words})
		case slurmPrefix:
			if err := b.line(number, words); err != nil {
				return nil, &Error{Line: number, What: prefix + " " + err.Error()}
			}
		}
	}
	b.finish()
	return s, nil
}

// directive splits a line of ours or of Slurm's; of any other the prefix is empty.
func directive(line string) (words []string, prefix string, err error) {
	for _, prefix := range []string{oursPrefix, slurmPrefix} {
		rest, ok := strings.CutPrefix(line, prefix)
		if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
			continue
		}
		words, err = splitWords(rest)
		return words, prefix, err
	}
	return nil, "", nil
}

var errUnclosed = errors.New("a quote is not closed")

// splitWords splits as a shell would, with quotes and backslashes and nothing else; a word that begins with #
// begins a comment.
func splitWords(s string) ([]string, error) {
	var words []string
	var word []byte
	in := false // a word
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(s) && (quote == 0 || s[i+1] == '"' || s[i+1] == '\\'):
			i++
			word, in = append(word, s[i]), true
		case quote != 0:
			word = append(word, c)
		case c == '"' || c == '\'':
			quote, in = c, true
		case c == ' ' || c == '\t' || c == '\r':
			if in {
				words, word, in = append(words, string(word)), word[:0], false
			}
		case c == '#' && !in:
			return words, nil
		default:
			word, in = append(word, c), true
		}
	}
	if quote != 0 {
		return nil, errUnclosed
	}
	if in {
		words = append(words, string(word))
	}
	return words, nil
}

func (s *Script) note(text string) {
	if !slices.Contains(s.Notes, text) {
		s.Notes = append(s.Notes, text)
	}
}

// Package jobfile reads what files say of a job to submit: job files in TOML or YAML, and the lines for a
// scheduler at the top of a script.
//
// It knows files, not flags: what it returns are names and values as they would stand on a command line,
// each with its line, for whoever has the flags to take or refuse.
package jobfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// MaxFile is the largest job file that is read, in bytes; MaxHead is how much of a script is looked at.
const (
	MaxFile = 256 << 10
	MaxHead = 64 << 10
)

// A Setting is what a file says for one flag.
type Setting struct {
	Flag   string   // without its dashes
	Values []string // one for each time that the flag would stand on a command line
	Line   int      // from 1
}

// A File is a job file.
type File struct {
	Settings []Setting
	Command  []string // argument vector; one word with spaces is a line for a shell; nil: none
}

// An Error says what is wrong with a file, in one line.
type Error struct {
	Path string
	Line int // from 1; 0 when it isn't known
	What string
}

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.What)
	}
	return e.Path + ": " + e.What
}

// Read reads a job file: YAML if its name ends in .yaml or .yml, else TOML.
func Read(path string) (*File, error) {
	b, err := readBounded(path, MaxFile)
	if err != nil {
		return nil, err
	}
	parse := parseTOML
	if ext := strings.ToLower(filepath.Ext(path)); ext == ".yaml" || ext == ".yml" {
		parse = parseYAML
	}
	keys, err := parse(b)
	if err == nil {
		var f *File
		if f, err = assemble(keys); err == nil {
			return f, nil
		}
	}
	var e *Error
	if errors.As(err, &e) {
		e.Path = path
		return nil, e
	}
	return nil, &Error{Path: path, What: err.Error()}
}

func readBounded(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, &Error{Path: path, What: fault(err)}
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, &Error{Path: path, What: fault(err)}
	case int64(len(b)) > most:
		return nil, &Error{Path: path, What: fmt.Sprintf("it is larger than %d KiB", most>>10)}
	case bytes.IndexByte(b, 0) >= 0:
		return nil, &Error{Path: path, What: "it holds a NUL byte: this is no text"}
	}
	return b, nil
}

// fault is an error of the file system without the path, which stands before it.
func fault(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// A key is one entry of a job file.
type key struct {
	name   string
	line   int
	values []string // of a scalar, one
	list   bool     // it was a list
	pairs  []pair   // of a table; values is empty then
}

type pair struct {
	name   string
	values []string
}

// others are names that people bring along, and what they are here.
var others = map[string]string{
	"gpu-count": "gpus", "num-gpus": "gpus", "priority": "bid", "job-name": "name", "tags": "tag", "environment": "env", "params": "param",
	"cmd": "command", "workdir": "cwd", "working-dir": "cwd", "working-directory": "cwd", "chdir": "cwd", "description": "note",
}

// assemble turns keys into what flags take.
func assemble(keys []key) (*File, error) {
	f := &File{}
	lines := map[string]int{}
	for _, k := range keys {
		name := strings.ReplaceAll(strings.ToLower(k.name), "_", "-")
		if other, ok := others[name]; ok {
			name = other
		}
		values := k.values
		switch {
		case name == "gpus" && k.list: // a list says which, a number how many
			name, values = "gpu-ids", []string{strings.Join(values, ",")}
		case name == "gpu-ids" || name == "retry-on":
			values = []string{strings.Join(values, ",")}
		case name == "preemptible" && len(values) == 1 && (values[0] == "true" || values[0] == "false"):
			name, values = "non-preemptible", []string{map[string]string{"true": "false", "false": "true"}[values[0]]}
		case k.pairs != nil && name == "env":
			for _, p := range k.pairs {
				if len(p.values) != 1 {
					return nil, &Error{Line: k.line, What: k.name + "." + p.name + ": a variable has one value"}
				}
				values = append(values, p.name+"="+p.values[0])
			}
		case k.pairs != nil && name == "param":
			for _, p := range k.pairs {
				values = append(values, p.name+"="+quoteList(p.values))
			}
		case k.pairs != nil:
			return nil, &Error{Line: k.line, What: k.name + ": it takes a value, not a table"}
		}
		if was, ok := lines[name]; ok {
			return nil, &Error{Line: k.line, What: fmt.Sprintf("%s: the same stands in line %d", k.name, was)}
		}
		lines[name] = k.line
		if name != "command" {
			f.Settings = append(f.Settings, Setting{name, values, k.line})
			continue
		}
		if len(values) == 0 || values[0] == "" {
			return nil, &Error{Line: k.line, What: k.name + ": the command is empty"}
		}
		f.Command = values
	}
	return f, nil
}

// quoteList joins values with commas, each quoted by the rules of CSV where it needs that.
func quoteList(values []string) string {
	out := make([]string, len(values))
	for i, v := range values {
		if out[i] = v; strings.ContainsAny(v, ",\"\n\r") {
			out[i] = `"` + strings.ReplaceAll(v, `"`, `""`) + `"`
		}
	}
	return strings.Join(out, ",")
}

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"pasar"
	"pasar/ipc"
	"pasar/jobfile"
	"pasar/submission"
)

// adoptJobFile takes what the job file says where the command line says nothing, and returns the command.
func (s *submitFlags) adoptJobFile(c *call) ([]string, error) {
	if *s.job == "" {
		if c.flags.given("job") {
			return nil, usagef("--job needs a file")
		}
		return c.args, nil
	}
	file, err := jobfile.Read(*s.job)
	if err != nil {
		return nil, badJobFile(err)
	}
	if _, err := s.adopt(c, *s.job, file.Settings); err != nil {
		return nil, err
	}
	if len(c.args) > 0 || file.Command == nil {
		return c.args, nil
	}
	return file.Command, nil
}

func badJobFile(err error) error {
	var e *jobfile.Error
	if errors.As(err, &e) {
		return badFile(e.Path, e.Line, pasar.Clean(e.What))
	}
	return problemf(ipc.CodeBadInput, "%v", err)
}

// adoptScript takes what the script that a command runs says at its top, and says so.
func (s *submitFlags) adoptScript(c *call, argv []string) error {
	path, isFile := submission.Program(argv)
	if !isFile || path == argv[0] && !strings.Contains(path, "/") { // a program of the PATH is no script of the user's
		return nil
	}
	shown := filepath.Base(path)
	if !filepath.IsAbs(path) {
		cwd, err := understood(submission.Dir(*s.cwd))
		if err != nil {
			return err
		}
		path = filepath.Join(cwd, path)
	}
	script, err := jobfile.ReadScript(path)
	if err != nil {
		return badJobFile(err)
	}
	for _, part := range []struct {
		what     string
		settings func() ([]jobfile.Setting, error)
	}{
		{shown, func() ([]jobfile.Setting, error) { return ownLines(path, script.Lines) }},
		{"the #SBATCH lines of " + shown, func() ([]jobfile.Setting, error) { return script.Settings, nil }},
	} {
		settings, err := part.settings()
		if err != nil {
			return err
		}
		taken, err := s.adopt(c, path, settings)
		if err != nil {
			return err
		}
		if len(taken) > 0 {
			c.note("from " + pasar.Clean(part.what) + ": " + pasar.Quote(pasar.Args(taken)))
		}
	}
	for _, n := range script.Notes {
		if strings.Contains(n, "asks for a GPU") && s.claimFlags.given() {
			continue
		}
		c.note(pasar.Clean(n))
	}
	if len(script.Unknown) > 0 {
		c.note(pasar.Clean(fmt.Sprintf("of the #SBATCH lines of %s, nothing is made of %s", shown, strings.Join(script.Unknown, ", "))))
	}
	return nil
}

// ownLines reads #PASAR lines as flags of submit.
func ownLines(path string, lines []jobfile.Line) ([]jobfile.Setting, error) {
	var settings []jobfile.Setting
	at := map[string]int{}
	for _, l := range lines {
		cmd := submitCommand()
		f := prepared(cmd)
		err := f.ParseAll(l.Words, func(fl *pflag.Flag, value string) error {
			i, ok := at[fl.Name]
			if !ok {
				i = len(settings)
				at[fl.Name] = i
				settings = append(settings, jobfile.Setting{Flag: fl.Name, Line: l.Number})
			}
			settings[i].Values = append(settings[i].Values, value)
			return nil
		})
		if err != nil {
			err = flagError(cmd, f, err)
		} else if f.NArg() > 0 {
			err = usagef("%q is no flag", pasar.Clean(f.Arg(0)))
		}
		var e *ipc.Error
		if errors.As(err, &e) {
			p := badFile(path, l.Number, "#PASAR: "+e.Message)
			if errors.As(p, &e) {
				return nil, e
			}
		}
		if err != nil {
			return nil, badFile(path, l.Number, "#PASAR: "+err.Error())
		}
	}
	return settings, nil
}

// notInFiles are flags that are about one run of the client, or about the file itself.
var notInFiles = []string{"job", "json", "color", "help"}

// adopt sets flags that neither the command line nor an earlier file has set, and returns them as they would stand
// on a command line.
func (s *submitFlags) adopt(c *call, path string, settings []jobfile.Setting) (taken []string, err error) {
	f := c.flags
	before := map[string]bool{}
	f.Visit(func(fl *pflag.Flag) { before[fl.Name] = true })
	noGPU := before["gpus"] && *s.gpus == 0
	for _, set := range settings {
		fl := f.Lookup(set.Flag)
		if fl == nil || slices.Contains(notInFiles, set.Flag) {
			return nil, unknownKey(f, path, set)
		}
		if before[set.Flag] || noGPU && set.Flag != "ram" && slices.Contains(claimNames, set.Flag) {
			continue
		}
		for _, v := range set.Values {
			if err := f.Set(set.Flag, v); err != nil {
				var value *pflag.InvalidValueError
				what := err.Error()
				if errors.As(err, &value) {
					what = value.Unwrap().Error()
				}
				return nil, badFile(path, set.Line, set.Flag+": "+pasar.Clean(what))
			}
			taken = append(taken, "--"+set.Flag)
			if fl.NoOptDefVal == "" {
				taken = append(taken, v)
			} else if v != "true" {
				taken[len(taken)-1] += "=" + v
			}
		}
	}
	return taken, nil
}

func unknownKey(f *flags, path string, set jobfile.Setting) error {
	var names []string
	f.VisitAll(func(fl *pflag.Flag) { names = append(names, fl.Name) })
	what := fmt.Sprintf("%s is no flag of submit that a file can have", pasar.Clean(set.Flag))
	if n := nearest(set.Flag, append(names, "command")); n != "" && !slices.Contains(notInFiles, set.Flag) {
		what += "; did you mean " + n + "?"
	}
	return badFile(path, set.Line, what)
}

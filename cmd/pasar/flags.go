package main

import (
	"errors"
	"io"
	"strconv"

	"github.com/spf13/pflag"

	"pasar"
	"pasar/submission"
)

// flags are one command's flags, with those that every command has.
type flags struct {
	*pflag.FlagSet
	json  bool
	color string
	help  bool
}

func newFlags(cmd *command) *flags {
	f := &flags{FlagSet: pflag.NewFlagSet(cmd.name, pflag.ContinueOnError)}
	f.SetOutput(io.Discard)
	f.SortFlags = false
	f.Usage = func() {}
	f.SetInterspersed(!cmd.wordsEndFlags)
	f.BoolVar(&f.json, "json", false, "answer in JSON")
	f.StringVar(&f.color, "color", "auto", "`WHEN` to use colour: always, auto or never")
	f.BoolVarP(&f.help, "help", "h", false, "show this help")
	return f
}

// Each of these defines a flag whose value has units or a range, and says so in its errors.

func (f *flags) size(name, usage string) *pasar.Bytes {
	return define(f, name, "", "SIZE", usage, pasar.ParseBytes)
}

func (f *flags) span(name, usage string) *pasar.Duration {
	return define(f, name, "", "TIME", usage, pasar.ParseDuration)
}

func (f *flags) bid(name, usage string) *pasar.Bid {
	return define(f, name, "", "N", usage, func(s string) (pasar.Bid, error) {
		n, err := parseWhole(s, int64(pasar.MinBid), int64(pasar.MaxBid))
		return pasar.Bid(n), err
	})
}

func (f *flags) number(name, short, usage string, least, most int64) *int64 {
	return define(f, name, short, "N", usage, func(s string) (int64, error) { return parseWhole(s, least, most) })
}

// given reports whether the flag stood on the command line.
func (f *flags) given(name string) bool { return f.Changed(name) }

func parseWhole(s string, least, most int64) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < least || n > most {
		return 0, usagef("%q is not a whole number from %d to %d", pasar.Clean(s), least, most)
	}
	return n, nil
}

// parsed is a pflag.Value made of a function.
type parsed[T any] struct {
	to    *T
	typ   string
	parse func(string) (T, error)
	text  string
}

func (p *parsed[T]) String() string { return p.text }
func (p *parsed[T]) Type() string   { return p.typ }
func (p *parsed[T]) Set(s string) error {
	v, err := p.parse(s)
	if err != nil {
		return err
	}
	*p.to, p.text = v, s
	return nil
}

func define[T any](f *flags, name, short, typ, usage string, parse func(string) (T, error)) *T {
	p := &parsed[T]{to: new(T), typ: typ, parse: parse}
	f.VarP(p, name, short, usage)
	return p.to
}

// foreign are flags that other schedulers have, and what they are called here.
var foreign = map[string]string{
	"priority": "--bid N", "prio": "--bid N", "gpu": "--gpus N", "gres": "--gpus N", "memory": "--mem SIZE",
	"gpu-mem": "--mem SIZE", "cpus": "--gpus 0 for a job without a GPU", "job-name": "--name NAME", "chdir": "--cwd DIR",
	"workdir": "--cwd DIR", "walltime": "--time TIME", "export": "--env KEY", "comment": "--note TEXT",
}

// flagError words what pflag found wrong.
func flagError(cmd *command, f *flags, err error) error {
	var missing *pflag.NotExistError
	var value *pflag.InvalidValueError
	var needs *pflag.ValueRequiredError
	var syntax *pflag.InvalidSyntaxError
	switch {
	case errors.As(err, &missing):
		return unknownFlag(cmd, f, missing)
	case errors.As(err, &value):
		what, hint := submission.Explain(value.Unwrap())
		e := usagef("--%s: %s", value.GetFlag().Name, pasar.Clean(what))
		if hint != "" {
			e = e.hint(hint)
		}
		return e
	case errors.As(err, &needs):
		return usagef("--%s needs a value", needs.GetFlag().Name)
	case errors.As(err, &syntax):
		return usagef("bad flag %q", pasar.Clean(syntax.GetSpecifiedFlag()))
	}
	return usagef("%s", pasar.Clean(err.Error()))
}

func unknownFlag(cmd *command, f *flags, missing *pflag.NotExistError) error {
	name := missing.GetSpecifiedName()
	if s := missing.GetSpecifiedShortnames(); s != "" {
		e := usagef("unknown flag -%s", pasar.Clean(name))
		return e.hint("`pasar " + cmd.name + " --help` lists the flags")
	}
	e := usagef("unknown flag --%s", pasar.Clean(name))
	var names []string
	f.VisitAll(func(fl *pflag.Flag) {
		if !fl.Hidden {
			names = append(names, fl.Name)
		}
	})
	if here, ok := foreign[name]; ok && cmd.name == "submit" {
		e = e.hint("that is " + here + " here")
	} else if n := nearest(name, names); n != "" {
		e = e.hint("did you mean --" + n + "?")
	} else {
		e = e.hint("`pasar " + cmd.name + " --help` lists the flags")
	}
	if cmd.wordsEndFlags {
		e = e.hint("flags of the job's own command come after it; `--` ends pasar's")
	}
	return e
}

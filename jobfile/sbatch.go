package jobfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A batch collects what #SBATCH lines say. Slurm takes the last of several; so does this.
type batch struct {
	script *Script
	any    bool // there were options
}

// short names Slurm's one-letter options that are looked at.
var short = map[byte]string{'J': "job-name", 't': "time", 'G': "gpus", 'd': "dependency", 'a': "array", 'b': "begin", 'D': "chdir", 'H': "hold",
	'o': "output", 'e': "error", 'N': "nodes", 'n': "ntasks", 'c': "cpus-per-task", 'p': "partition", 'A': "account", 'q': "qos", 'C': "constraint",
	'i': "input", 'w': "nodelist", 'x': "exclude", 'L': "licenses", 's': "oversubscribe", 'k': "no-kill", 'Q': "quiet", 'v': "verbose", 'W': "wait", 'M': "clusters"}

// switches are options without a value.
var switches = []string{"hold", "oversubscribe", "no-kill", "quiet", "verbose", "wait", "requeue", "no-requeue", "exclusive", "contiguous", "overcommit", "parsable", "ignore-pbs", "reboot", "spread-job", "use-min-nodes", "test-only"}

func (b *batch) line(number int, words []string) error {
	for len(words) > 0 {
		w := words[0]
		words = words[1:]
		var name, value string
		given := false
		switch {
		case strings.HasPrefix(w, "--"):
			name, value, given = strings.Cut(w[2:], "=")
		case len(w) >= 2 && w[0] == '-':
			if name = short[w[1]]; name == "" {
				name = w[:2]
			}
			value, given = w[2:], len(w) > 2
			value = strings.TrimPrefix(value, "=")
		default:
			return fmt.Errorf("%q is no option", w)
		}
		if !given && !slices.Contains(switches, name) {
			if len(words) == 0 || strings.HasPrefix(words[0], "-") {
				if understood(name) != nil {
					return fmt.Errorf("--%s needs a value", name)
				}
			} else {
				value, words = words[0], words[1:]
			}
		}
		b.any = true
		f := understood(name)
		if f == nil {
			if name = "--" + strings.TrimLeft(name, "-"); len(name) == 3 {
				name = name[1:]
			}
			if !slices.Contains(b.script.Unknown, name) {
				b.script.Unknown = append(b.script.Unknown, name)
			}
			continue
		}
		if err := f(b, number, value); err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
	}
	return nil
}

// set takes a flag's value; a later one replaces it.
func (b *batch) set(line int, flag string, values ...string) {
	b.script.Settings = slices.DeleteFunc(b.script.Settings, func(s Setting) bool { return s.Flag == flag })
	b.script.Settings = append(b.script.Settings, Setting{flag, values, line})
}

func (b *batch) has(flag string) bool {
	return slices.ContainsFunc(b.script.Settings, func(s Setting) bool { return s.Flag == flag })
}

func (b *batch) finish() {
	if b.any && !b.has("gpus") {
		b.script.note("no #SBATCH line asks for a GPU, which here is one whole GPU; --gpus 0 is a job without one")
	}
}

// understood is what to do about an option of sbatch that means something here; nil of any other.
func understood(name string) func(b *batch, line int, value string) error {
	text := func(flag string) func(*batch, int, string) error {
		return func(b *batch, line int, v string) error { b.set(line, flag, v); return nil }
	}
	switch name {
	case "job-name":
		return text("name")
	case "comment":
		return text("note")
	case "chdir":
		return text("cwd")
	case "array":
		return text("array")
	case "hold":
		return func(b *batch, line int, _ string) error { b.set(line, "hold", "true"); return nil }
	case "time":
		return (*batch).time
	case "gpus", "gpus-per-node":
		return (*batch).gpus
	case "gres":
		return (*batch).gres
	case "mem":
		return (*batch).mem
	case "dependency":
		return (*batch).dependency
	case "begin":
		return (*batch).begin
	case "export":
		return (*batch).export
	case "nodes":
		return (*batch).nodes
	case "output", "error":
		return (*batch).output
	}
	return nil
}

// time reads Slurm's forms: minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes and
// days-hours:minutes:seconds. There it is a limit; here it is an estimate.
func (b *batch) time(line int, v string) error {
	if u := strings.ToUpper(v); u == "UNLIMITED" || u == "INFINITE" || v == "0" {
		return nil
	}
	days, clock, hasDays := strings.Cut(v, "-")
	if !hasDays {
		days, clock = "0", v
	}
	var n []int64
	for _, p := range append([]string{days}, strings.Split(clock, ":")...) {
		i, err := strconv.ParseInt(p, 10, 32)
		if err != nil || i < 0 {
			return fmt.Errorf("%q is no time of Slurm's, such as 90, 1:30:00 or 1-12", v)
		}
		n = append(n, i)
	}
	sec := n[0] * 86400
	switch parts := len(n) - 1; {
	case hasDays && parts <= 3:
		for i, unit := range []int64{3600, 60, 1}[:parts] {
			sec += n[i+1] * unit
		}
	case parts == 1:
		sec = n[1] * 60
	case parts == 2:
		sec = n[1]*60 + n[2]
	case parts == 3:
		sec = n[1]*3600 + n[2]*60 + n[3]
	default:
		return fmt.Errorf("%q is no time of Slurm's, such as 90, 1:30:00 or 1-12", v)
	}
	b.set(line, "time", span(sec))
	b.script.note("--time is an estimate here and never kills; --time-limit does")
	return nil
}

// span writes seconds as pasar's flags take them.
func span(sec int64) string {
	s := ""
	for _, u := range []struct {
		n    int64
		name string
	}{{86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}} {
		if n := sec / u.n; n > 0 {
			s += strconv.FormatInt(n, 10) + u.name
			sec %= u.n
		}
	}
	if s == "" {
		return "0s"
	}
	return s
}

// gpus reads [TYPE:]N.
func (b *batch) gpus(line int, v string) error {
	kind, count, typed := strings.Cut(v, ":")
	if !typed {
		kind, count = "", v
	}
	if n, err := strconv.Atoi(count); err != nil || n < 0 {
		return fmt.Errorf("%q is not [TYPE:]NUMBER", v)
	}
	b.set(line, "gpus", count)
	if kind != "" {
		b.set(line, "gpu-type", kind)
	}
	return nil
}

// gres reads gpu, gpu:N and gpu:TYPE:N among other resources.
func (b *batch) gres(line int, v string) error {
	for r := range strings.SplitSeq(v, ",") {
		rest, isGPU := strings.CutPrefix(r, "gpu")
		rest = strings.TrimPrefix(rest, ":")
		switch {
		case !isGPU:
			if r != "none" {
				b.script.note("--gres " + r + ": only GPUs are given out here")
			}
		case rest == "":
			b.set(line, "gpus", "1")
		default:
			if _, err := strconv.Atoi(rest); err != nil && !strings.Contains(rest, ":") {
				rest += ":1" // a type alone
			}
			if err := b.gpus(line, rest); err != nil {
				return err
			}
		}
	}
	return nil
}

// mem is host memory; a number without a unit is MiB.
func (b *batch) mem(line int, v string) error {
	unit := "M"
	if n := len(v); n > 0 && strings.ContainsAny(v[n-1:], "KMGTkmgt") {
		v, unit = v[:n-1], strings.ToUpper(v[n-1:])
	}
	n, err := strconv.ParseUint(v, 10, 40)
	if err != nil {
		return fmt.Errorf("%q is no amount of memory, such as 16G", v)
	}
	if n == 0 { // all of a node's
		b.script.note("--mem 0 asks for all of a node's memory; here a job without --ram isn't bounded")
		return nil
	}
	b.set(line, "ram", strconv.FormatUint(n, 10)+unit)
	b.script.note("--mem of #SBATCH is host memory, which is --ram here")
	return nil
}

// dependency reads afterok:41:42,afterany:43 and afternotok.
func (b *batch) dependency(line int, v string) error {
	if strings.Contains(v, "?") {
		b.script.note("--dependency " + v + ": one of several isn't to be had here; name all with --after")
		return nil
	}
	var words []string
	for d := range strings.SplitSeq(v, ",") {
		kind, ids, _ := strings.Cut(d, ":")
		suffix, ok := map[string]string{"afterok": "", "afterany": ":any", "afternotok": ":fail"}[kind]
		if !ok {
			b.script.note("--dependency " + d + ": only afterok, afterany and afternotok are understood")
			continue
		}
		for id := range strings.SplitSeq(ids, ":") {
			if n, err := strconv.ParseUint(id, 10, 53); err != nil || n == 0 {
				return fmt.Errorf("%q is not %s:JOB", d, kind)
			}
			words = append(words, id+suffix)
		}
	}
	if len(words) > 0 {
		b.set(line, "after", words...)
	}
	return nil
}

// begin reads a time of day, a date, and now+2hours.
func (b *batch) begin(line int, v string) error {
	rest, relative := strings.CutPrefix(v, "now+")
	if !relative {
		switch v {
		case "now":
			return nil
		case "midnight":
			v = "00:00"
		case "noon":
			v = "12:00"
		case "tomorrow":
			v = "tomorrow 00:00"
		case "today":
			return nil
		}
		b.set(line, "begin", v)
		return nil
	}
	i := 0
	for i < len(rest) && rest[i] >= '0' && rest[i] <= '9' {
		i++
	}
	unit, ok := map[string]int64{"": 1, "second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400}[strings.TrimSuffix(rest[i:], "s")]
	n, err := strconv.ParseInt(rest[:i], 10, 32)
	if err != nil || !ok {
		return fmt.Errorf("%q is not now+COUNT and a unit, such as now+2hours", v)
	}
	b.set(line, "begin", "+"+span(n*unit))
	return nil
}

func (b *batch) export(line int, v string) error {
	var env []string
	for w := range strings.SplitSeq(v, ",") {
		switch w {
		case "ALL", "":
		case "NONE", "NIL":
			b.set(line, "no-env", "true")
		default:
			env = append(env, w)
		}
	}
	if len(env) > 0 {
		b.set(line, "env", env...)
	}
	return nil
}

func (b *batch) nodes(_ int, v string) error {
	if v != "1" && v != "1-1" {
		b.script.note("--nodes " + v + ": a job runs on one machine here")
	}
	return nil
}

func (b *batch) output(int, string) error {
	b.script.note("output goes where `pasar logs` finds it, whatever --output and --error say")
	return nil
}

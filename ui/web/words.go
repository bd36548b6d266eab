package web

import (
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/submission"
)

// A span is a time that somebody asks for: seconds as a number, as in answers, or words as of a flag: "2h30m".
type span pasar.Duration

// UnmarshalJSON reads either.
func (s *span) UnmarshalJSON(b []byte) error {
	return either(b, (*pasar.Duration)(s), pasar.ParseDuration)
}

func (*span) takes() string { return `a number of seconds, or a string such as "2h30m"` }

// A size is memory that somebody asks for: bytes as a number, or words as of a flag: "24G".
type size pasar.Bytes

// UnmarshalJSON reads either.
func (s *size) UnmarshalJSON(b []byte) error { return either(b, (*pasar.Bytes)(s), pasar.ParseBytes) }

func (*size) takes() string { return `a number of bytes, or a string such as "24G"` }

// A slice is the memory of a part of a GPU: a size, or "auto".
type slice submission.Memory

// UnmarshalJSON reads either.
func (s *slice) UnmarshalJSON(b []byte) error {
	var n int64
	if json.Unmarshal(b, &n) == nil {
		b = strconv.AppendQuote(nil, strconv.FormatInt(n, 10)+"B")
	}
	return either(b, (*submission.Memory)(s), submission.ParseMemory)
}

func (*slice) takes() string { return `a number of bytes, or a string such as "24G" or "auto"` }

// either reads a number as JSON does, or a word.
func either[T any](b []byte, to *T, parse func(string) (T, error)) error {
	switch {
	case len(b) > 0 && (b[0] == '-' || b[0] >= '0' && b[0] <= '9'):
		if json.Unmarshal(b, to) != nil {
			return errKind
		}
		return nil
	case len(b) == 0 || b[0] != '"':
		return errKind
	}
	var word string
	if err := json.Unmarshal(b, &word); err != nil {
		return err
	}
	v, err := parse(word)
	*to = v
	return err
}

// A line is a command: a list of words, or one line for a shell.
type line []string

// UnmarshalJSON reads either.
func (l *line) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '"' {
		return listOf(b, (*[]string)(l))
	}
	var word string
	err := json.Unmarshal(b, &word)
	*l = line{word}
	return err
}

// listOf reads a list of strings, none of which is null, or null for none.
func listOf(b []byte, to *[]string) error {
	var list []*string
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	*to = nil
	for _, s := range list {
		if s == nil {
			return errKind
		}
		*to = append(*to, *s)
	}
	return nil
}

func (*line) takes() string { return "a list of strings, or one string" }

// A when is the time of day, day or span from now at which a job may start, as of --begin.
type when string

func (*when) takes() string { return `a string such as "+2h", "22:00" or "2026-12-01T08:00"` }

// afters are the jobs that one comes after: a list of {"job": 41, "on": "ok"}, where "on" may be left out, or of numbers;
// or one number.
type afters []pasar.Dependency

// UnmarshalJSON reads any of them.
func (a *afters) UnmarshalJSON(b []byte) error {
	list := []json.RawMessage{b}
	if b[0] == '[' {
		list = nil
		if err := json.Unmarshal(b, &list); err != nil {
			return err
		}
	} else if b[0] == '{' {
		return errKind
	}
	*a = make(afters, len(list))
	for i, raw := range list {
		d := &(*a)[i]
		if d.On = pasar.AfterOK; raw[0] == '{' {
			if err := fill(reflect.ValueOf(d).Elem(), raw, "after["+strconv.Itoa(i)+"]"); err != nil {
				return err
			}
			switch d.On {
			case pasar.AfterOK, pasar.AfterAny, pasar.AfterFail:
			default:
				return refuse(ipc.CodeBadRequest, "", `after[%d].on: "ok", "any" or "fail", not %s`, i, quoted(string(d.On)))
			}
			continue
		}
		n, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
		if err != nil {
			return errKind
		}
		d.Job = pasar.JobID(n)
	}
	return nil
}

func (*afters) takes() string { return `a list of {"job": 41, "on": "ok"} or of numbers of jobs` }

// argv is what to run. One word is a line for a shell where it has spaces, as on the command line.
func (l line) argv() ([]pasar.Arg, error) {
	if len(l) == 0 {
		return nil, refuse(ipc.CodeBadRequest, `send "command": ["python", "train.py"], or one line for a shell`, "no command given")
	}
	words, err := submission.Argv(l, false)
	return pasar.Args(words), understood(err)
}

// understood is what package submission refuses, as a bad request.
func understood(err error) error {
	if err == nil {
		return nil
	}
	what, hint := submission.Explain(err)
	return refuse(ipc.CodeBadRequest, ofKeys(hint), "%s", ofKeys(what))
}

var flagName = regexp.MustCompile("(^|[\\s(\"'`+])--([a-z]+(?:-[a-z]+)*)")

// ofKeys is a sentence about the command line's flags as one about the keys of a body.
func ofKeys(s string) string {
	return flagName.ReplaceAllStringFunc(s, func(f string) string {
		at := strings.Index(f, "--")
		key := strings.ReplaceAll(f[at+2:], "-", "_")
		if key == "tag" {
			key = "tags"
		}
		if _, ok := field(reflect.TypeFor[submitWords](), key); !ok {
			return f
		}
		return f[:at] + key
	})
}

// inKeys is the daemon's refusal of what a body asked for, in the words of bodies.
func inKeys(err error) error {
	var e *ipc.Error
	if !errors.As(err, &e) {
		return err
	}
	says := *e
	says.Message, says.Hint = ofKeys(e.Message), ofKeys(e.Hint)
	return &says
}

// changeWords are what a submit, a restart and a change of a waiting job may all say. The names are those of the
// flags, with _ for -. What is nil was not said.
type changeWords struct {
	Time     *span           `json:"time"`
	Grace    *span           `json:"grace"`
	Name     *string         `json:"name"`
	Note     *string         `json:"note"`
	Mem      *slice          `json:"mem"`
	GPUs     *int            `json:"gpus"`
	GPUIDs   *[]string       `json:"gpu_ids"`
	GPUType  *string         `json:"gpu_type"`
	RAM      *size           `json:"ram"`
	External *pasar.External `json:"external"`
	By       string          `json:"by"`

	TimeLimit       *span         `json:"time_limit"`
	NonPreemptible  *bool         `json:"non_preemptible"`
	Pausable        *bool         `json:"pausable"`
	ResumeCommand   *line         `json:"resume_command"`
	CheckpointGrace *span         `json:"checkpoint_grace"`
	NoSigterm       *bool         `json:"no_sigterm"`
	Retries         *int          `json:"retries"`
	RetryOn         *[]pasar.Code `json:"retry_on"`
	After           *afters       `json:"after"`
	Begin           *when         `json:"begin"`
}

// claims reports whether the words say anything of a claim.
func (w *changeWords) claims() bool {
	return w.Mem != nil || w.GPUs != nil || w.GPUIDs != nil || w.GPUType != nil || w.RAM != nil || w.External != nil
}

// claim changes a claim as the words say.
func (w *changeWords) claim(was pasar.Claim) (pasar.Claim, error) {
	c, err := submission.ClaimWords{Mem: (*submission.Memory)(w.Mem), GPUs: w.GPUs, IDs: w.GPUIDs, Type: w.GPUType,
		RAM: (*pasar.Bytes)(w.RAM), External: w.External}.Apply(was)
	return c, understood(err)
}

// change is what the words say beside a claim; a bare time of day is the next one that the clock of now shows.
func (w *changeWords) change(now time.Time) (ipc.Change, error) {
	ch := ipc.Change{TimeLimit: (*pasar.Duration)(w.TimeLimit), NonPreemptible: w.NonPreemptible, Pausable: w.Pausable,
		CheckpointGrace: (*pasar.Duration)(w.CheckpointGrace), NoSigterm: w.NoSigterm, Retries: w.Retries, RetryOn: w.RetryOn, After: (*[]pasar.Dependency)(w.After)}
	if w.Begin != nil {
		t, err := submission.ParseBegin(string(*w.Begin), now)
		if err != nil {
			what, hint := submission.Explain(err)
			return ch, refuse(ipc.CodeBadRequest, ofKeys(hint), "begin: %s", ofKeys(what))
		}
		ch.Begin = &t
	}
	if w.RetryOn != nil {
		for _, c := range *w.RetryOn {
			if !slices.Contains(pasar.Codes, c) || !c.RetriedByDefault() {
				return ch, refuse(ipc.CodeBadRequest, "`pasar guide reasons` lists them", "retry_on: %s isn't a reason for which a job is tried again", quoted(string(c)))
			}
		}
	}
	if w.ResumeCommand != nil {
		argv := []pasar.Arg{}
		if len(*w.ResumeCommand) > 0 {
			var err error
			if argv, err = w.ResumeCommand.argv(); err != nil {
				return ch, err
			}
		}
		ch.ResumeCommand = &argv
	}
	return ch, nil
}

func put[T any](to *T, v *T) {
	if v != nil {
		*to = *v
	}
}

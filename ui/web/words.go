package web

import (
	"encoding/json"
	"slices"
	"strconv"
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

// A size is memory that somebody asks for: bytes as a number, or words as of a flag: "24G".
type size pasar.Bytes

// UnmarshalJSON reads either.
func (s *size) UnmarshalJSON(b []byte) error { return either(b, (*pasar.Bytes)(s), pasar.ParseBytes) }

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

func either[T any](b []byte, to *T, parse func(string) (T, error)) error {
	if len(b) == 0 || b[0] != '"' {
		return json.Unmarshal(b, to)
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
		return json.Unmarshal(b, (*[]string)(l))
	}
	var word string
	err := json.Unmarshal(b, &word)
	*l = line{word}
	return err
}

// argv is what to run. One word is a line for a shell where it has spaces, as on the command line.
func (l line) argv() ([]pasar.Arg, error) {
	words, err := submission.Argv(l, false)
	return pasar.Args(words), understood(err)
}

// understood is what package submission refuses, as a bad request.
func understood(err error) error {
	if err == nil {
		return nil
	}
	what, hint := submission.Explain(err)
	return refuse(ipc.CodeBadRequest, hint, "%s", what)
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

	TimeLimit       *span               `json:"time_limit"`
	NonPreemptible  *bool               `json:"non_preemptible"`
	Pausable        *bool               `json:"pausable"`
	ResumeCommand   *line               `json:"resume_command"`
	CheckpointGrace *span               `json:"checkpoint_grace"`
	NoSigterm       *bool               `json:"no_sigterm"`
	Retries         *int                `json:"retries"`
	RetryOn         *[]pasar.Code       `json:"retry_on"`
	After           *[]pasar.Dependency `json:"after"`
	Begin           *time.Time          `json:"begin"`
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

func (w *changeWords) change() (ipc.Change, error) {
	ch := ipc.Change{TimeLimit: (*pasar.Duration)(w.TimeLimit), NonPreemptible: w.NonPreemptible, Pausable: w.Pausable,
		CheckpointGrace: (*pasar.Duration)(w.CheckpointGrace), NoSigterm: w.NoSigterm, Retries: w.Retries, RetryOn: w.RetryOn, After: w.After, Begin: w.Begin}
	if w.RetryOn != nil {
		for _, c := range *w.RetryOn {
			if !slices.Contains(pasar.Codes, c) || !c.RetriedByDefault() {
				return ch, refuse(ipc.CodeBadRequest, "`pasar guide reasons` lists them", "retry_on: %q isn't a reason for which a job is tried again", pasar.Clean(string(c)))
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

package pasar

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Condition is how a job must have ended for one that comes after it to start.
type Condition string

// Conditions of a dependency.
const (
	AfterOK   Condition = "ok"   // completed; the default
	AfterAny  Condition = "any"  // ended, however it did
	AfterFail Condition = "fail" // failed
)

// A Dependency makes a job wait for another one's end.
type Dependency struct {
	Job JobID     `json:"job"`
	On  Condition `json:"on"`
}

// Met says whether the end of the other job fulfils the dependency. Only an end for good counts: a job
// that is retried or paused hasn't ended.
func (d Dependency) Met(end State) bool {
	switch d.On {
	case AfterAny:
		return end.Finished()
	case AfterFail:
		return end == Failed
	}
	return end == Completed
}

// String is as --after takes it: "41", "41:any".
func (d Dependency) String() string {
	if d.On == AfterOK || d.On == "" {
		return d.Job.String()
	}
	return d.Job.String() + ":" + string(d.On)
}

// A Param is one parameter of a sweep: {name} in the command is filled with its value, and the job sees it as
// PASAR_PARAM_NAME.
type Param struct {
	Name  string `json:"name"`  // letters, digits and _, not beginning with a digit
	Value string `json:"value"` // any text without NUL
}

// Env is the name of the variable that carries the parameter.
func (p Param) Env() string { return "PASAR_PARAM_" + strings.ToUpper(p.Name) }

// A Point is one job of an array or sweep.
type Point struct {
	Index  *int    `json:"index"` // of an array; null for a sweep without one
	Params []Param `json:"params"`
}

// Fill puts the values of a point into a text: {index} and {name} for each parameter. Anything else in
// braces stays as it is.
func (p *Point) Fill(s string) string {
	if !strings.Contains(s, "{") {
		return s
	}
	pairs := make([]string, 0, 2*len(p.Params)+2)
	if p.Index != nil {
		pairs = append(pairs, "{index}", fmt.Sprint(*p.Index))
	}
	for _, v := range p.Params {
		pairs = append(pairs, "{"+v.Name+"}", v.Value)
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// Limits of arrays and dependencies.
const (
	MaxPoints = 10_000 // jobs of one array or sweep
	MaxParams = 64
	MaxAfter  = 10_000 // dependencies of one job
)

// An External says what a whole claim makes of processes on a GPU that pasar did not start.
type External string

// Ways to deal with strangers.
const (
	ExternalShare External = "share" // a GPU may be had in spite of them; they keep what they have
	ExternalAvoid External = "avoid" // only a GPU that is as good as unused counts as free
)

// validateOrder checks what a spec says of when and how it is run.
func (s *Spec) validateOrder() error {
	switch {
	case s.TimeLimit < 0 || s.CheckpointGrace < 0:
		return fmt.Errorf("a time can't be negative")
	case s.Retries < 0 || s.Retries > MaxRetries:
		return fmt.Errorf("--retries %d is outside 0..%d", s.Retries, MaxRetries)
	case len(s.RetryOn) > 0 && s.Retries == 0:
		return fmt.Errorf("--retry-on says for what; --retries N says how often")
	case len(s.After) > MaxAfter:
		return fmt.Errorf("%d dependencies; at most %d", len(s.After), MaxAfter)
	case s.MaxConcurrent < 0:
		return fmt.Errorf("--max-concurrent %d is negative", s.MaxConcurrent)
	case s.NoSigterm && !s.CanPause():
		return fmt.Errorf("--no-sigterm is for programs that watch the pause file; it goes with --pausable or --resume-command")
	case s.Visible != "" && s.Visible != "uuid" && s.Visible != "index":
		return fmt.Errorf("--visible is uuid or index")
	case s.Claim.External != "" && s.Claim.External != ExternalShare && s.Claim.External != ExternalAvoid:
		return fmt.Errorf("--external is share or avoid")
	case len(s.Params) > MaxParams:
		return fmt.Errorf("%d parameters; at most %d", len(s.Params), MaxParams)
	}
	for _, d := range s.After {
		if d.Job <= 0 || !slices.Contains([]Condition{AfterOK, AfterAny, AfterFail}, d.On) {
			return fmt.Errorf("bad dependency %q: write 41, 41:any or 41:fail", Clean(d.String()))
		}
	}
	for _, p := range s.Params {
		if !IsParamName(p.Name) || strings.IndexByte(p.Value, 0) >= 0 {
			return fmt.Errorf("bad parameter %q: a name has letters, digits and _ and doesn't begin with a digit", Clean(p.Name))
		}
	}
	if !s.Begin.IsZero() && s.Begin.After(time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)) {
		return fmt.Errorf("--begin is too far away")
	}
	return nil
}

// IsParamName reports whether a parameter may have this name: it is part of a variable's.
func IsParamName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || i > 0 && '0' <= c && c <= '9') {
			return false
		}
	}
	return s != "" && len(s) <= 64 && s != "index"
}

// MaxRetries bounds --retries.
const MaxRetries = 1000

// CanPause reports whether the program understands the pause contract, as its submitter says.
func (s *Spec) CanPause() bool { return s.Pausable || len(s.ResumeCommand) > 0 }

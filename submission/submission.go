// Package submission turns words, and what surrounds the process that has them, into what a job is submitted with: for
// the command line and for the console's form, so that both understand and refuse the same.
//
// It reads this process and the file system, and asks no daemon. Functions named Parse are for the value of one field, and
// say what is wrong with it as those of package pasar do: with what to write instead, if anything, in a *pasar.WordError.
// What others refuse is an *Error. The times that questions name are read here as well, beside those of jobs.
package submission

import (
	"errors"
	"fmt"
	"strings"

	"pasar"
)

// An Error says what can't be submitted, and what to do instead. It names flags as pasar submit has them.
type Error struct {
	Message string
	Hint    string // empty if there is none
}

func (e *Error) Error() string { return e.Message }

func refusef(format string, args ...any) *Error { return &Error{Message: fmt.Sprintf(format, args...)} }

// with is e with a hint.
func (e *Error) with(hint string) *Error { return &Error{e.Message, hint} }

// Validate says what is wrong with a spec. What a slice gets from history isn't known yet.
func Validate(spec pasar.Spec) error {
	if spec.Claim.Auto && spec.Claim.Mem == 0 {
		spec.Claim.Mem = pasar.GiB
	}
	if err := spec.Validate(); err != nil {
		return refusef("%v", err)
	}
	return nil
}

// Explain is what to say of an error of this package in one line, and the hint, which may be empty.
func Explain(err error) (what, hint string) {
	var e *Error
	if errors.As(err, &e) {
		return e.Message, e.Hint
	}
	var w *pasar.WordError
	if errors.As(err, &w) { // others may have said before it what it is about
		return strings.TrimSuffix(err.Error(), "; "+w.Instead), w.Instead
	}
	return err.Error(), ""
}

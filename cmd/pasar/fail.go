package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"pasar"
	"pasar/answer"
	"pasar/ipc"
	"pasar/submission"
)

// Exit codes, those of `pasar wait` first.
const (
	exitCompleted   = 0
	exitFailed      = 1
	exitMemory      = 2
	exitCancelled   = 3
	exitTimeout     = 4
	exitPaused      = 5
	exitUsage       = 64
	exitBadInput    = 65
	exitNoDaemon    = 69
	exitRefused     = 70
	exitNotAllowed  = 77
	exitInterrupted = 130
)

// exitCodes is the one place where an error's code becomes an exit code.
var exitCodes = map[ipc.Code]int{
	ipc.CodeUsage:       exitUsage,
	ipc.CodeBadRequest:  exitUsage,
	ipc.CodeBadInput:    exitBadInput,
	ipc.CodeNoDaemon:    exitNoDaemon,
	ipc.CodeUnknownJob:  exitRefused,
	ipc.CodeWrongState:  exitRefused,
	ipc.CodeImpossible:  exitRefused,
	ipc.CodeOverLimit:   exitRefused,
	ipc.CodeUnavailable: exitRefused,
	ipc.CodeUnsupported: exitRefused,
	ipc.CodeVersion:     exitRefused,
	ipc.CodeInternal:    exitRefused,
	ipc.CodeLaunch:      exitRefused,
	ipc.CodeNotAllowed:  exitNotAllowed,
	ipc.CodeInterrupted: exitInterrupted,
}

var errInterrupted = &ipc.Error{Code: ipc.CodeInterrupted, Message: "interrupted"}

// An exit ends a command with a code and nothing more to say.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// A problem is an error made here, with hints that say what to do.
type problem struct{ e *ipc.Error }

func (p problem) Error() string { return p.e.Message }
func (p problem) Unwrap() error { return p.e }

// hint adds a line.
func (p problem) hint(s string) problem {
	e := *p.e
	if e.Hint != "" {
		s = e.Hint + "\n" + s
	}
	e.Hint = s
	return problem{&e}
}

func problemf(code ipc.Code, format string, args ...any) problem {
	return problem{&ipc.Error{Code: code, Message: fmt.Sprintf(format, args...)}}
}

// usagef is a bad argument.
func usagef(format string, args ...any) problem { return problemf(ipc.CodeUsage, format, args...) }

// understood passes on what package submission made of words; what that refuses is a bad argument here.
func understood[T any](v T, err error) (T, error) {
	var e *submission.Error
	if errors.As(err, &e) {
		p := usagef("%s", e.Message)
		if e.Hint != "" {
			p = p.hint(e.Hint)
		}
		return v, p
	}
	return v, err
}

// finish reports err, if any, and returns the exit code.
func (a *app) finish(err error) int {
	if err == nil {
		return 0
	}
	var code exit
	if errors.As(err, &code) {
		return int(code)
	}
	if errors.Is(err, errInterrupted) {
		return exitInterrupted // whoever interrupted it knows
	}
	var e *ipc.Error
	if !errors.As(err, &e) {
		e = &ipc.Error{Code: ipc.CodeInternal, Message: err.Error()}
	}
	if a.json {
		_ = a.print(string(answer.Error(e)))
	} else {
		a.reportText(e)
	}
	if n, ok := exitCodes[e.Code]; ok {
		return n
	}
	return exitRefused // from a newer daemon
}

func (a *app) reportText(e *ipc.Error) {
	var b strings.Builder
	b.WriteString("pasar: " + pasar.Clean(e.Message) + "\n")
	for h := range strings.SplitSeq(e.Hint, "\n") {
		if h != "" {
			b.WriteString("hint: " + pasar.Clean(h) + "\n")
		}
	}
	_, _ = io.WriteString(a.stderr, b.String())
}

// printJSON writes one value on one line.
func (a *app) printJSON(v any) error {
	b, err := answer.Encode(v)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(b)
	return err
}

// Package console is the full-screen console: the place where people watch the market, and act in it by keys and mouse.
//
// It is a client like any other: all that it knows and does goes over the daemon's socket, and over that of a supervisor
// for a job's screen. What there is to show is laid out by package ui; this one draws it on a terminal, with tview for
// the loop, focus, fields and mouse. A job's words are never handed to tview, which would take brackets in them for
// colours: they are drawn cell by cell (painter).
package console

import (
	"context"
	"time"

	"github.com/gdamore/tcell/v2"

	"pasar"
	"pasar/ipc"
)

// Afar is the way to another machine's daemon and its supervisors.
type Afar interface {
	// Client connects to the daemon, which isn't started with noStart.
	Client(ctx context.Context, noStart bool) (*ipc.Client, error)
	// Attach connects to the supervisor of a job's attempt.
	Attach(ctx context.Context, job pasar.JobID, attempt int, h ipc.Hello) (*ipc.AttachConn, ipc.Welcome, error)
}

// Options say how a console is to be.
type Options struct {
	Socket   string         // the daemon's, on this machine
	Afar     Afar           // the way to another machine instead; nil: there is none
	Pasar    string         // path of the pasar program, for attaching and for starting a daemon; empty: neither is done
	ReadOnly bool           // nothing is changed, and nothing typed into jobs
	ASCII    bool           // draw with ASCII alone
	Theme    string         // "light" or "dark"
	Env      []string       // of jobs that are submitted from here, and of programs that are started
	Bid      pasar.Bid      // of jobs that are submitted, where none is given
	Grace    pasar.Duration // and their grace
	NeedTime bool           // a job must come with an estimate

	screen tcell.Screen                                   // instead of the terminal, for tests
	aside  func(ctx context.Context, argv []string) error // runs a program with the terminal; for tests
	revive func(ctx context.Context) error                // starts a daemon; for tests
	drawn  func()                                         // after each time the screen was drawn
	idle   time.Duration                                  // see feed; 0: the usual one
	now    func() time.Time                               // for tests
}

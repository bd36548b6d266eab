package main

import (
	"context"
	"slices"
)

// A command is one row of the table that drives dispatch, help and completion.
type command struct {
	name     string
	aliases  []string
	section  string // heading it stands under in `pasar help`; none: not listed
	args     string // as the usage line shows them
	brief    string // what it does, in one line
	long     string // what else there is to know
	examples []example
	takes    takes           // for completion
	words    func() []string // for completion: what the first argument can be

	wordsEndFlags bool // flags end at the first word that isn't one
	jobCodes      bool // exits by how a job ended: help shows the codes

	// setup declares the flags and returns what to do once they are parsed.
	setup func(f *flags) action
}

// An action does the command's work.
type action func(ctx context.Context, c *call) error

// An example is a command line that a reader can copy.
type example struct{ line, does string }

// takes says what a command's arguments are.
type takes int

const (
	takesNothing takes = iota
	takesJob           // one job; none means the last one
	takesJobs
	takesWords // of command.words
	takesCommand
	takesFile
)

// Sections of `pasar help`.
const (
	sectionJobs    = "Jobs"
	sectionChange  = "Changing jobs"
	sectionMachine = "The machine and the daemon"
	sectionMore    = "More"
)

// commands is every command there is, in the order help shows them. It is a function so that
// nothing is built before it is asked for.
func commands() []*command {
	return []*command{
		submitCommand(), lsCommand(), showCommand(), whyCommand(), logsCommand(), eventsCommand(), attachCommand(), screenCommand(), sendCommand(), waitCommand(), statsCommand(), consoleCommand(),
		cancelCommand(), bidCommand(), promoteCommand(), pauseCommand(), resumeCommand(), restartCommand(), editCommand(), holdCommand(), releaseCommand(),
		statusCommand(), gpusCommand(), drainCommand(), undrainCommand(), planCommand(), factsCommand(), webCommand(), tokenCommand(), doctorCommand(), setupCommand(), configCommand(), reloadCommand(), shutdownCommand(),
		eventCommand(), guideCommand(), completionCommand(), versionCommand(), helpCommand(), completeCommand(), proxyCommand(),
	}
}

// find is the command of that name or alias, or nil.
func find(name string) *command {
	for _, c := range commands() {
		if c.name == name || slices.Contains(c.aliases, name) {
			return c
		}
	}
	return nil
}

// commandNames lists the names and aliases that people may type.
func commandNames() []string {
	var names []string
	for _, c := range commands() {
		if c.section != "" {
			names = append(append(names, c.name), c.aliases...)
		}
	}
	return names
}

// noArgs refuses arguments.
func (c *call) noArgs() error {
	if len(c.args) > 0 {
		return usagef("%s takes no arguments; got %q", c.name, c.args[0])
	}
	return nil
}

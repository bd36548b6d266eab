// Command bench measures pasar on a throw-away daemon of its own and prints each number beside the floor,
// the peer and the number to reach.
//
// It is a report, not a test: it exits 0 whatever the numbers are, and 1 when something could not be
// measured. All that it starts and writes is under one temporary directory and is gone at the end, also
// after Ctrl-C.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// rowTimeout bounds one row, so that a daemon that hangs ends the row and not the report.
const rowTimeout = 10 * time.Minute

var errInterrupted = errors.New("interrupted")

// errFailed is returned after the report of rows that could not be measured.
var errFailed = errors.New("not everything could be measured")

// Run measures what the arguments ask for and prints the report.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	var o options
	fs.BoolVar(&o.quick, "quick", false, "fewer rounds and smaller queues: to see that it works, not to quote")
	rowList := fs.String("rows", "", "measure only these `ROWS`, by name with commas between")
	asJSON := fs.Bool("json", false, "print one JSON object instead of the table")
	list := fs.Bool("list", false, "list the rows and measure nothing")
	fs.StringVar(&o.bin, "bin", "", "measure the pasar, pasard, pasar-supervisor and pasar-console in `DIR` instead of building them")
	fs.StringVar(&o.tmp, "dir", "", "make the temporary directory in `DIR`, whose file system counts; else where the system has such")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("no arguments are taken; got %q", fs.Arg(0))
	}
	chosen, err := choose(*rowList)
	if err != nil {
		return err
	}
	if *list {
		for _, r := range chosen {
			fmt.Fprintf(stdout, "%-10s %s\n", r.name, r.does)
		}
		return nil
	}
	l, err := newLab(ctx, o, stderr)
	if err == nil {
		defer l.close()
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return err
	}
	rep := newReport(o)
	for _, r := range chosen {
		fmt.Fprintf(stderr, "measuring %s: %s\n", r.name, r.does)
		began := time.Now()
		rctx, cancel := context.WithTimeoutCause(ctx, rowTimeout, fmt.Errorf("not done after %s", rowTimeout))
		results, err := r.measure(rctx, l)
		cancel()
		l.sweep()
		if ctx.Err() != nil {
			err = errInterrupted
		}
		for _, res := range results { // so that what was measured isn't lost with a later row
			fmt.Fprintf(stderr, "  %s\n", strings.Join(slices.DeleteFunc(res.cells(), func(c string) bool { return c == "" }), " | "))
		}
		if err != nil {
			fmt.Fprintf(stderr, "  failed: %v\n", err)
		}
		rep.add(r, results, err, time.Since(began))
		if ctx.Err() != nil {
			break // what was measured is still worth showing
		}
	}
	rep.end()
	if *asJSON {
		err = rep.printJSON(stdout)
	} else {
		err = rep.print(stdout)
	}
	if err == nil && rep.failed() {
		err = errFailed
	}
	return err
}

// A row measures one or a few lines of the table.
type row struct {
	name    string
	does    string
	measure func(ctx context.Context, l *lab) ([]result, error)
}

// rows is every row, in the order of the table in docs/performance.md.
func rows() []row {
	return []row{
		{"floors", "what the machine gives at best", measureFloors},
		{"submit", "submit, durable, one call", measureSubmit},
		{"scale", "submit and ls with 10 000 jobs waiting", measureScale},
		{"gap", "from the end of a job to the next one's first instruction", measureGap},
		{"preempt", "from placing a bid to the SIGTERM of the job that must make room", measurePreempt},
		{"batch", "an array of 5000 jobs in one request", measureBatch},
		{"drain", "1000 jobs that do nothing, one at a time", measureDrain},
		{"idle", "a daemon with nothing to do, for 30 s", measureIdle},
		{"memory", "whoever holds the terminal of a quiet program", measureMemory},
		{"recover", "start after kill -9", measureRecover},
		{"pty", "processor time for a job's output", measurePTY},
		{"attach", "from starting a client to the whole screen", measureAttach},
		{"echo", "a key and its echo", measureEcho},
		{"stopped", "a job's speed while its client is stopped", measureStopped},
		{"flood", "asking while jobs flood and their clients are stopped", measureFlood},
		{"console", "the full-screen console, idle and in a flood", measureConsole},
		{"go", "the Go benchmarks of the packages", measureGo},
	}
}

func choose(names string) ([]row, error) {
	all := rows()
	if names == "" {
		return all, nil
	}
	var chosen []row
	for _, n := range strings.Split(names, ",") {
		i := slices.IndexFunc(all, func(r row) bool { return r.name == strings.TrimSpace(n) })
		if i < 0 {
			return nil, fmt.Errorf("there is no row %q; -list shows them", n)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

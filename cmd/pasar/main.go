// Command pasar is the client: it asks the daemon, and shows what it says.
//
// It is started all day by people and scripts, so it imports little and does nothing at start that
// the command at hand doesn't need.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := interruptible(context.Background())
	status := Run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// interruptible is done, with errInterrupted as its cause, when the user asks this client to end. A
// second signal kills, should the first not be heeded.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	go func() {
		if _, ok := <-c; ok {
			signal.Stop(c)
			cancel(errInterrupted)
		}
	}()
	return ctx, func() {
		signal.Stop(c)
		cancel(nil)
	}
}

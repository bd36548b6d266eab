// Command pasar-supervisor runs one attempt of a job: its terminal, output, signals and exit record.
package main

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"

	"pasar"
	"pasar/ipc"
	"pasar/supervisor"
)

const help = `pasar-supervisor runs one attempt of a job for pasard, which starts it.

  pasar-supervisor warm --run DIR   wait for an attempt on the connection at descriptor 3;
                                    the socket for attaching is made in DIR, which must be private
  pasar-supervisor version          print the version and the protocol versions it speaks

exit codes: 0 done, 1 failed, 2 bad arguments
`

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "pasar-supervisor:", err)
		if _, ok := err.(usageError); ok {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

type usageError string

func (e usageError) Error() string { return string(e) }

func run(args []string, out io.Writer) error {
	if len(args) == 0 {
		return usageError("no command; see pasar-supervisor --help")
	}
	switch args[0] {
	case "warm":
		return warm(args[1:])
	case "version", "--version":
		_, err := fmt.Fprintf(out, "pasar-supervisor %s (protocol %d to %d)\n", pasar.Version, ipc.MinAttachVersion, ipc.MaxAttachVersion)
		return err
	case "help", "--help", "-h":
		_, err := io.WriteString(out, help)
		return err
	}
	return usageError(fmt.Sprintf("unknown command %q; see pasar-supervisor --help", pasar.Clean(args[0])))
}

func warm(args []string) error {
	fs := flag.NewFlagSet("warm", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	dir := fs.String("run", "", "private directory for the socket")
	if err := fs.Parse(args); err != nil {
		return usageError(err.Error())
	}
	if *dir == "" || fs.NArg() > 0 {
		return usageError("warm takes --run DIR and nothing else")
	}
	f := os.NewFile(ipc.ControlFD, "control")
	control, err := net.FileConn(f)
	if err != nil {
		return fmt.Errorf("descriptor %d is not a connection: %w", ipc.ControlFD, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("close descriptor %d: %w", ipc.ControlFD, err)
	}
	if err := supervisor.Isolate(); err != nil {
		return err
	}
	var file supervisor.LogFile
	log := slog.New(slog.NewTextHandler(supervisor.Bounded(&file), nil))
	w := supervisor.Warm{Run: *dir, Control: control, Log: log, LogFile: &file}
	if err := w.Serve(); err != nil {
		log.Error("supervisor failed", "error", err)
		return err
	}
	return nil
}

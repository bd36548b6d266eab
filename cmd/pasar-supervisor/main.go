// Command pasar-supervisor runs one attempt of a job: its terminal, output, signals and exit record.
package main

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/ipc"
	"pasar/supervisor"
)

const help = `pasar-supervisor runs one attempt of a job for pasard, which starts it.

  pasar-supervisor warm --run DIR [--place systemd|cgroup|session] [--control FD]
                                    wait for an attempt on the connection at descriptor FD, or 3;
                                    the socket for attaching is made in DIR, which must be private;
                                    in a unit or cgroup made for it, the job gets a part of that
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
	place := fs.String("place", "", "where it was started")
	fd := fs.Int("control", ipc.ControlFD, "descriptor of the connection to its starter")
	if err := fs.Parse(args); err != nil {
		return usageError(err.Error())
	}
	if *dir == "" || fs.NArg() > 0 {
		return usageError("warm takes --run DIR, --place and --control, and nothing else")
	}
	switch pasar.Place(*place) {
	case "", pasar.PlaceUnit, pasar.PlaceCgroup, pasar.PlaceSession:
	default:
		return usageError(fmt.Sprintf("--place is systemd, cgroup or session, not %q", pasar.Clean(*place)))
	}
	control, err := connection(*fd)
	if err != nil {
		return err
	}
	if err := supervisor.Isolate(); err != nil {
		return err
	}
	var file supervisor.LogFile
	log := slog.New(slog.NewTextHandler(supervisor.Bounded(&file), nil))
	w := supervisor.Warm{Run: *dir, Control: control, Log: log, LogFile: &file, Place: pasar.Place(*place)}
	if err := w.Serve(); err != nil {
		log.Error("supervisor failed", "error", err)
		return err
	}
	return nil
}

// connection takes a descriptor over as a connection. One of the standard streams stays open until Isolate
// puts another in its place, so that nothing else gets its number.
func connection(fd int) (net.Conn, error) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d is not a connection: %w", fd, err)
	}
	f := os.NewFile(uintptr(own), "control")
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d is not a connection: %w", fd, err)
	}
	if fd > 2 {
		_ = unix.Close(fd)
	}
	return conn, nil
}

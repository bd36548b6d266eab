package supervisor

import (
	"syscall"

	"pasar"
)

// A wire joins the supervisor with its job: a terminal, or pipes.
type wire interface {
	// child says which descriptors the main process gets, and how it gets its session.
	child(sys *syscall.SysProcAttr) []uintptr
	// pump copies what the job writes to o until nobody can write any more, or the wire is cut.
	pump(o *output)
	// letGo closes the job's ends, which are held until the main process is reaped.
	letGo()
	// cut ends the pump, once it has what can be read now.
	cut()
	// close closes everything, once nobody uses it any more.
	close()
}

// wire is what a spec asks for.
func (k *kit) wire(spec *pasar.AttemptSpec) (wire, error) {
	if spec.NoPTY {
		return openPipes()
	}
	t, err := k.terminal(spec.Cols, spec.Rows)
	if err != nil {
		return nil, err // and not a wire that holds a nil terminal
	}
	return t, nil
}

func (t *terminal) child(sys *syscall.SysProcAttr) []uintptr {
	fd := t.slave.Fd()
	if t.led {
		sys.Foreground, sys.Ctty = true, int(fd) // its own group, in our session
	} else {
		sys.Setsid, sys.Setctty, sys.Ctty = true, true, 0
	}
	return []uintptr{fd, fd, fd}
}

func (t *terminal) pump(o *output) { o.pump(t.master) }
func (t *terminal) letGo()         { t.closeSlave() }
func (t *terminal) cut()           { t.master.cut() }

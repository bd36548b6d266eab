package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	sdbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"

	"pasar"
	"pasar/ipc"
)

// Times of starting a unit. A manager that is well answers in milliseconds; then it is the machine that is
// slow, and would be so anywhere.
const (
	acceptTimeout = 10 * time.Second // for the manager to accept it
	helloTimeout  = 30 * time.Second // from then on, for the supervisor's first word
)

// stopTimeout is what systemd gives a supervisor between SIGTERM and SIGKILL unless it asks for more,
// which it does once it has an attempt with a longer grace.
const stopTimeout = 30 * time.Second

// units is a service manager that starts transient units.
type units interface {
	// start queues the start of a unit and returns once the manager has accepted it.
	start(ctx context.Context, name string, properties []sdbus.Property) error
	// alive reports whether the manager can still be spoken to, as far as is known.
	alive() bool
	close()
}

// A bus is a connection to a service manager. There is one call on it for each supervisor started, and
// it subscribes to nothing, so that it wakes nobody.
type bus struct {
	conn   *dbus.Conn
	cancel context.CancelFunc
}

// dialUnits reaches the service manager that starts units for this user: of the user, or for root the
// machine's, whose units no logout ends. What a bus daemon hands on is preferred to the manager's own
// socket, which is there even where no bus is.
func dialUnits(ctx context.Context) (units, error) {
	at := []struct {
		address string
		hello   bool
	}{{"unix:path=/run/dbus/system_bus_socket", true}, {"unix:path=/run/systemd/private", false}}
	if uid := os.Geteuid(); uid != 0 {
		dir := "/run/user/" + strconv.Itoa(uid) // and not what the environment says, which may be another's
		at[0].address, at[1].address = "unix:path="+dir+"/bus", "unix:path="+dir+"/systemd/private"
	}
	var errs []error
	for _, a := range at {
		b, err := dialBus(ctx, a.address, a.hello)
		if err == nil {
			return b, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("reach the service manager: %w", errors.Join(errs...))
}

func dialBus(ctx context.Context, address string, hello bool) (*bus, error) {
	long, cancel := context.WithCancel(context.Background())
	limit := time.AfterFunc(busTimeout, cancel) // a connection has the context's life
	unhook := context.AfterFunc(ctx, cancel)
	conn, err := dbus.Dial(address, dbus.WithContext(long))
	if err != nil {
		cancel()
		return nil, err
	}
	b := &bus{conn, cancel}
	err = conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Geteuid()))})
	if err == nil && hello {
		err = conn.Hello()
	}
	if err == nil && !conn.SupportsUnixFDs() {
		err = errors.New("it takes no descriptors")
	}
	if err == nil {
		short, done := context.WithTimeout(ctx, busTimeout)
		_, err = property1(short, b.manager(), "org.freedesktop.systemd1.Manager", "Version")
		done()
	}
	if err == nil && (!unhook() || !limit.Stop()) {
		err = errors.New("no answer in time")
	}
	if err != nil {
		b.close()
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return b, nil
}

func (b *bus) manager() dbus.BusObject {
	return b.conn.Object("org.freedesktop.systemd1", "/org/freedesktop/systemd1")
}

func (b *bus) start(ctx context.Context, name string, properties []sdbus.Property) error {
	return b.manager().CallWithContext(ctx, "org.freedesktop.systemd1.Manager.StartTransientUnit", 0,
		name, "fail", properties, []sdbus.PropertyCollection{}).Err
}

func (b *bus) alive() bool { return b.conn.Connected() }

func (b *bus) close() {
	_ = b.conn.Close()
	b.cancel()
}

// limitNames are systemd's names for the limits of a process (systemd.exec(5)).
var limitNames = map[int]string{
	unix.RLIMIT_CPU: "CPU", unix.RLIMIT_FSIZE: "FSIZE", unix.RLIMIT_DATA: "DATA", unix.RLIMIT_STACK: "STACK",
	unix.RLIMIT_CORE: "CORE", unix.RLIMIT_RSS: "RSS", unix.RLIMIT_NPROC: "NPROC", unix.RLIMIT_NOFILE: "NOFILE",
	unix.RLIMIT_MEMLOCK: "MEMLOCK", unix.RLIMIT_AS: "AS", unix.RLIMIT_LOCKS: "LOCKS", unix.RLIMIT_SIGPENDING: "SIGPENDING",
	unix.RLIMIT_MSGQUEUE: "MSGQUEUE", unix.RLIMIT_NICE: "NICE", unix.RLIMIT_RTPRIO: "RTPRIO", unix.RLIMIT_RTTIME: "RTTIME",
}

// usualFiles is the soft limit of open files that programs expect; the runtime has raised our own.
const usualFiles = 1024

// unitProperties describe the service that a supervisor is started as. It shall find there what it would
// find as our child, but for the cgroup: so it has our limits, as far as its manager may give them.
func unitProperties(argv, env []string, control, log *os.File) []sdbus.Property {
	command := []string{argv[0], filepath.Base(argv[0])}
	for _, arg := range argv[1:] {
		command = append(command, strings.ReplaceAll(arg, "$", "$$")) // systemd puts variables in
	}
	p := []sdbus.Property{
		{Name: "ExecStart", Value: dbus.MakeVariant([]execStart{{argv[0], command[1:], false}})},
		sdbus.PropDescription("pasar: supervisor of a job"),
	}
	add := func(name string, value any) {
		p = append(p, sdbus.Property{Name: name, Value: dbus.MakeVariant(value)})
	}
	add("Type", "exec")
	add("CollectMode", "inactive-or-failed")
	add("Delegate", true)
	add("KillMode", "mixed") // SIGTERM is for the supervisor, which stops its job
	add("TimeoutStopUSec", uint64(stopTimeout/time.Microsecond))
	add("NotifyAccess", "main") // it may ask for more time
	add("OOMPolicy", "continue")
	add("OOMScoreAdjust", int32(oomSelf)) // without the capability it stays as the manager's own
	add("TasksMax", uint64(unix.RLIM_INFINITY))
	add("Environment", env)
	add("UnsetEnvironment", []string{"PASAR_NONCE", "PASAR_JOB_ID", "GODEBUG", "GOGC", "GOMEMLIMIT", "GOTRACEBACK"})
	add("UMask", uint32(0o077))
	add("IgnoreSIGPIPE", false)
	add("StandardInputFileDescriptor", dbus.UnixFD(control.Fd()))
	add("StandardOutput", "null")
	add("StandardErrorFileDescriptor", dbus.UnixFD(log.Fd()))
	for resource, name := range limitNames {
		var l unix.Rlimit
		if unix.Getrlimit(resource, &l) != nil {
			continue
		}
		if resource == unix.RLIMIT_NOFILE {
			l.Cur = min(l.Max, usualFiles)
		}
		add("Limit"+name, l.Max)
		add("Limit"+name+"Soft", l.Cur)
	}
	return p
}

// oomSelf is a supervisor's oom_score_adj where it may have it.
const oomSelf = -900

// An execStart is one command of a unit on the bus.
type execStart struct {
	Path    string
	Args    []string
	Unclean bool // an unclean exit is no failure
}

// spawnUnit starts a supervisor as a service of its own and waits for its first word.
func (p *pool) spawnUnit(ctx context.Context, u units) (*warm, error) {
	c, err := p.newChannel()
	if err != nil {
		return nil, err
	}
	defer c.close()
	name := cgroupPrefix + newNonce() + unitSuffix
	argv := []string{p.o.Supervisor, "warm", "--run", p.o.RunDir, "--place", string(pasar.PlaceUnit), "--control", "0"}
	accept, cancel := context.WithTimeout(ctx, acceptTimeout)
	defer cancel()
	if err := u.start(accept, name, unitProperties(argv, supervisorEnv(), c.theirs, c.log)); err != nil {
		return nil, fmt.Errorf("start unit %s: %w", name, err)
	}
	_ = c.theirs.Close() // the end of the service is then the end of the connection
	conn := ipc.NewAttachConn(c.ours)
	status, err := hear(ctx, conn, p.ladder.host.hello)
	if err != nil {
		return nil, fmt.Errorf("unit %s: %w", name, err)
	}
	if err := sameWorld(status.SupPid); err != nil {
		return nil, fmt.Errorf("unit %s: %w", name, err)
	}
	w := &warm{pid: status.SupPid, conn: conn, born: time.Now(), place: pasar.PlaceUnit}
	if err := w.follow(); err != nil {
		return nil, fmt.Errorf("unit %s: %w", name, err)
	}
	c.ours = nil // kept
	return w, nil
}

// hear waits for a supervisor's word that it is there.
func hear(ctx context.Context, c *ipc.AttachConn, limit time.Duration) (ipc.Status, error) {
	var s ipc.Status
	if err := c.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return s, err
	}
	unhook := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })
	defer unhook()
	for {
		typ, body, err := c.Recv()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return s, errors.New("no word from the supervisor in time")
		case err != nil:
			return s, fmt.Errorf("the supervisor didn't start: %w", err)
		case typ != ipc.AttachStatus:
			continue
		}
		if err := ipc.DecodeBody(body, &s); err != nil {
			return s, err
		}
		if s.State == ipc.AttemptWarm && s.SupPid > 1 {
			return s, c.SetReadDeadline(time.Time{})
		}
	}
}

// sameWorld fails if a process isn't in the namespaces we are in: a service manager that can be reached
// from a container may be the host's, and jobs are to see what their submitters see.
func sameWorld(pid int) error {
	for _, ns := range []string{"mnt", "pid", "net", "ipc", "user", "uts"} {
		ours, err := os.Readlink("/proc/self/ns/" + ns)
		if errors.Is(err, os.ErrNotExist) {
			continue // this kernel has none
		}
		theirs, terr := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/" + ns)
		if err != nil || terr != nil || ours != theirs {
			return fmt.Errorf("the service manager starts processes in another %s namespace than this one", ns)
		}
	}
	return nil
}

// follow makes the end of a supervisor that isn't our child known, by way of a pidfd.
func (w *warm) follow() error {
	fd, err := unix.PidfdOpen(w.pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return os.NewSyscallError("pidfd_open", err)
	}
	f := os.NewFile(uintptr(fd), "pidfd") // non-blocking, so that the runtime waits for it
	raw, err := f.SyscallConn()
	if err != nil {
		_ = f.Close()
		return err
	}
	exited := make(chan syscall.WaitStatus, 1)
	w.exited = exited
	w.kill = func() {
		_ = raw.Control(func(fd uintptr) { _ = unix.PidfdSendSignal(int(fd), unix.SIGKILL, nil, 0) })
	}
	w.forget = func() { _ = f.Close() }
	go func() { // ends with the process, or with forget
		err := raw.Read(func(fd uintptr) bool {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			return n > 0 || err != nil && err != unix.EINTR
		})
		if err == nil {
			exited <- 0
			close(exited)
		}
	}()
	return nil
}

// A channel is what a supervisor is started with: the control connection and the log.
type channel struct {
	ours   net.Conn
	theirs *os.File
	log    *os.File
}

func (p *pool) newChannel() (*channel, error) {
	log, err := p.openLog()
	if err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		_ = log.Close()
		return nil, os.NewSyscallError("socketpair", err)
	}
	c := &channel{theirs: os.NewFile(uintptr(pair[1]), "control"), log: log}
	ours := os.NewFile(uintptr(pair[0]), "control")
	c.ours, err = net.FileConn(ours)
	_ = ours.Close()
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// close closes what nobody kept.
func (c *channel) close() {
	_ = c.theirs.Close()
	_ = c.log.Close()
	if c.ours != nil {
		_ = c.ours.Close()
	}
}

package remote

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/ipc"
)

const (
	errReset = syscall.ECONNRESET
	errPipe  = syscall.EPIPE
)

// maxDialing is how many connections are made at a time: a server drops some of many that aren't let in yet.
const maxDialing = 4

// sshFailed is the exit status of ssh where it failed itself (ssh(1)); any other is the far program's.
const sshFailed = 255

// What a shell exits with that can't run a program (POSIX, 2.8.2).
const (
	notExecutable = 126
	notFound      = 127
	usageError    = 64 // pasar's own: one that doesn't know the command
)

// An sshWay runs the ssh program once for each connection.
type sshWay struct {
	host, user, port string
	program          string // pasar's path there; empty: pasar, as its PATH has it
	opt              Options
	turn             chan struct{}
}

func newSSH(u *url.URL, o Options) (*sshWay, error) {
	user := u.User.Username()
	if u.User != nil && !isWord(user) {
		return nil, refuse(u.Redacted(), "%q is no user", pasar.Clean(user))
	}
	return &sshWay{host: u.Hostname(), user: user, port: u.Port(), program: strings.TrimSuffix(u.Path, "/"), opt: o, turn: make(chan struct{}, maxDialing)}, nil
}

// args are those of ssh. What the URL names stands where it can't be taken for an option.
func (s *sshWay) args(e Errand) []string {
	args := []string{"-T", "-o", "ClearAllForwardings=yes", "-o", "RemoteCommand=none",
		// A link that is cut is noticed within two of these.
		"-o", "ServerAliveInterval=3", "-o", "ServerAliveCountMax=1", "-o", "ConnectTimeout=" + strconv.Itoa(int(connectTime/time.Second))}
	if !s.opt.Ask {
		args = append(args, "-o", "BatchMode=yes")
	}
	if s.port != "" {
		args = append(args, "-p", s.port)
	}
	if s.user != "" {
		args = append(args, "-l", s.user)
	}
	return append(args, "--", s.host, s.command(e))
}

// command is a line for the far shell.
func (s *sshWay) command(e Errand) string {
	c := "pasar"
	if s.program != "" {
		c = s.program
		home := strings.HasPrefix(c, "/~/")
		c = "'" + strings.ReplaceAll(strings.TrimPrefix(c, "/~/"), "'", `'\''`) + "'"
		if home {
			c = "~/" + c
		}
	}
	c += " proxy"
	if e.NoStart {
		c += " --no-start"
	}
	if e.Job != 0 {
		c += " --job " + e.Job.String()
	}
	if e.Attempt != 0 {
		c += " --attempt " + strconv.Itoa(e.Attempt)
	}
	return c
}

// dial runs ssh and returns once the far end has greeted.
func (s *sshWay) dial(ctx context.Context, e Errand) (net.Conn, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	bin := s.find()
	if bin == "" {
		return nil, linkError("install OpenSSH's client", "reach %s: there is no ssh on the PATH", s.host)
	}
	p, nc, err := start(bin, s.args(e), s.opt.Env)
	if err != nil {
		return nil, linkError("", "reach %s: run %s: %v", s.host, bin, err)
	}
	c := &conn{Conn: nc, r: bufio.NewReaderSize(nc, 16<<10), why: func(err error) error { return s.lost(p, err) }, end: p.leave}
	stop := context.AfterFunc(ctx, p.kill)
	defer stop()
	limit := greetTime
	if s.opt.Ask {
		limit = askTime
	}
	_ = nc.SetReadDeadline(time.Now().Add(limit))
	g, said, err := readGreeting(c.r)
	_ = nc.SetReadDeadline(time.Time{})
	switch {
	case err == nil && g.Error == nil:
		return c, nil
	case err == nil:
		err = s.theirs(e, g.Error)
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	default:
		err = s.failed(p, said, err)
	}
	_ = c.Close()
	p.kill()
	return nil, err
}

func (s *sshWay) find() string {
	for _, dir := range filepath.SplitList(lookup(s.opt.Env, "PATH")) {
		bin := filepath.Join(dir, "ssh")
		if fi, err := os.Stat(bin); err == nil && filepath.IsAbs(bin) && fi.Mode().IsRegular() && fi.Mode().Perm()&0o111 != 0 {
			return bin
		}
	}
	return ""
}

// theirs is an error that the far pasar made. If it could start no daemon it has tried for long enough.
func (s *sshWay) theirs(errand Errand, e *ipc.Error) error {
	told := &ipc.Error{Code: e.Code, Message: s.host + ": " + e.Message, Hint: e.Hint}
	if e.Code == ipc.CodeNoDaemon && !errand.NoStart {
		return &LinkError{told}
	}
	return told
}

// failed says why there was no greeting.
func (s *sshWay) failed(p *process, said string, err error) error {
	var e *ipc.Error
	if errors.As(err, &e) {
		return &LinkError{&ipc.Error{Code: e.Code, Message: s.host + ": " + e.Message, Hint: e.Hint}}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return linkError("`"+s.try("true")+"` has to answer by itself", "%s doesn't answer by ssh", s.host)
	}
	if errors.Is(err, errNoGreeting) || !p.wait() {
		return linkError("the pasar there, and what its shell says at login, are to be looked at: `"+s.try(s.command(Errand{}))+"`", "%s: %v", s.host, errNoGreeting)
	}
	words := p.words()
	if words == "" {
		words = pasar.Clean(said)
	}
	name := s.program
	if name == "" {
		name = "pasar"
	}
	switch status := p.status(); {
	case status.Signaled() && status.Signal() == syscall.SIGINT:
		return &ipc.Error{Code: ipc.CodeInterrupted, Message: "interrupted"}
	case status.ExitStatus() == sshFailed:
		if words == "" {
			words = "ssh failed without a word"
		}
		return linkError("`"+s.try("true")+"` has to work by itself; see also `ssh -v`", "reach %s by ssh: %s", s.host, words)
	case status.ExitStatus() == notFound && s.program == "":
		return linkError("install it there, or give its path: PASAR_URL=ssh://"+s.host+"/path/to/pasar", "%s has no pasar on the PATH that ssh gets", s.host)
	case status.ExitStatus() == notFound || status.ExitStatus() == notExecutable:
		return linkError("the path stands behind the host: PASAR_URL=ssh://"+s.host+"/path/to/pasar", "%s can't run %s: %s", s.host, pasar.Clean(name), words)
	case status.ExitStatus() == usageError:
		return linkError("install the same pasar on both machines", "the pasar on %s doesn't know `pasar proxy`", s.host)
	case words == "":
		return linkError("`"+s.try(s.command(Errand{}))+"` shows more", "%s: pasar ended before it answered (exit code %d)", s.host, status.ExitStatus())
	}
	return linkError("`"+s.try(s.command(Errand{}))+"` shows more", "%s: pasar ended before it answered: %s", s.host, words)
}

// try is an ssh command for a person.
func (s *sshWay) try(command string) string {
	line := "ssh "
	if s.port != "" {
		line += "-p " + s.port + " "
	}
	if s.user != "" {
		line += s.user + "@"
	}
	return line + s.host + " " + command
}

// lost is what became of a connection that stood: the end that the far side made, or that of the link.
func (s *sshWay) lost(p *process, err error) error {
	if !ended(err) || !p.wait() {
		return err
	}
	status := p.status()
	if !status.Signaled() && status.ExitStatus() != sshFailed {
		return err // the far program's end: the socket's
	}
	words := p.words()
	if words == "" {
		words = "ssh ended"
	}
	return linkError("jobs go on there; the same command tries again", "lost the connection to %s: %s", s.host, words)
}

// A process is an ssh that runs.
type process struct {
	cmd  *exec.Cmd
	tail tail
	done chan struct{} // closed once it has ended
}

// start runs ssh with one end of a pair of sockets, and returns the other.
func start(bin string, args, env []string) (*process, net.Conn, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "ssh"), os.NewFile(uintptr(fds[1]), "ssh")
	defer theirs.Close()
	nc, err := net.FileConn(ours)
	_ = ours.Close()
	if err != nil {
		return nil, nil, err
	}
	p := &process{cmd: exec.Command(bin, args...), done: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = env, theirs, theirs, &p.tail
	p.cmd.WaitDelay = time.Second // a master that it left behind may keep standard error
	if err := p.cmd.Start(); err != nil {
		_ = nc.Close()
		return nil, nil, err
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait()
	}()
	return p, nc, nil
}

// endTime is how long an ssh that is no longer needed, or whose connection has ended, may take to end.
const endTime = 3 * time.Second

// wait waits for ssh to end, for a while.
func (p *process) wait() bool {
	select {
	case <-p.done:
		return true
	case <-time.After(endTime):
		return false
	}
}

// leave lets ssh end: it does when its input has ended and the far end closes. It may carry other connections than ours,
// so it is not killed unless it stays.
func (p *process) leave() {
	go func() {
		if !p.wait() {
			p.kill()
		}
	}()
}

func (p *process) kill() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }

// status is how it ended.
func (p *process) status() syscall.WaitStatus {
	if p.cmd.ProcessState == nil {
		return sshFailed << 8 // it could not even be waited for
	}
	s, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return s
}

// words is the last line of what ssh said, made fit to be shown.
func (p *process) words() string {
	lines := strings.Split(p.tail.String(), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		w := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(lines[i]), "ssh: "))
		if w = strings.TrimSuffix(w, "."); w != "" {
			return pasar.Clean(w)
		}
	}
	return ""
}

// A tail keeps the end of what is written.
type tail struct {
	mu sync.Mutex // guards b
	b  []byte
}

// maxWords is how many bytes of ssh's words are kept.
const maxWords = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if over := len(t.b) - maxWords; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}

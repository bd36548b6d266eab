package supervisor

import (
	"bytes"
	"os"
	"strings"
	"syscall"

	"pasar"
	"pasar/attemptdir"
)

// A missingInterpreter is why execve(2) says that there is no such file, though the program is there.
type missingInterpreter struct {
	name string // as in the program's first line; empty if it is no script
}

func (e *missingInterpreter) Error() string {
	if e.name == "" {
		return "no such loader: it was built for another kind of system than this"
	}
	s := "no such interpreter: " + pasar.Clean(e.name)
	if strings.HasSuffix(e.name, "\r") {
		s += " (the script's lines end in CR LF, as on Windows)"
	}
	return s
}

// Is says that a missing interpreter is a missing file.
func (e *missingInterpreter) Is(err error) bool { return err == error(syscall.ENOENT) }

// As gives the system's error.
func (e *missingInterpreter) As(to any) bool {
	no, ok := to.(*syscall.Errno)
	if ok {
		*no = syscall.ENOENT
	}
	return ok
}

// lacking finds what is missing of a program that can't be run as something isn't there; nil if it is the
// program itself. An interpreter may be a script too, up to as deep as the kernel goes.
func lacking(file, cwd string) error {
	for range 5 {
		file = absolute(file, cwd)
		if runnable(file) != nil {
			return nil
		}
		name, script := interpreter(file)
		if !script {
			break
		}
		if name == "" {
			return nil
		}
		if runnable(absolute(name, cwd)) != nil {
			return &missingInterpreter{name}
		}
		file = name
	}
	return &missingInterpreter{}
}

// interpreter is what the first line of a script names.
func interpreter(file string) (name string, script bool) {
	const most = 256 // bytes that the kernel looks at
	f, err := attemptdir.OpenFile(file, os.O_RDONLY, 0)
	if err != nil {
		return "", false
	}
	defer f.Close()
	buf := make([]byte, most)
	n, _ := f.Read(buf)
	return firstLine(buf[:n])
}

// firstLine reads a script's first line as execve(2) does.
func firstLine(head []byte) (name string, script bool) {
	line, script := bytes.CutPrefix(head, []byte("#!"))
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	line = bytes.TrimLeft(line, " \t")
	if i := bytes.IndexAny(line, " \t\x00"); i >= 0 {
		line = line[:i]
	}
	if !script {
		return "", false
	}
	return string(line), true
}

package supervisor

import (
	"os"
	"path/filepath"
	"strings"
)

// Programs are pasar's own that a job may start and that outlive it: this one, and the daemon beside it
// or where both are installed.
type programs struct {
	self  os.FileInfo // the file we run, wherever it is now
	paths []string
}

// goneSuffix is what proc(5) adds to the name of a program whose file was removed or replaced.
const goneSuffix = " (deleted)"

func ownPrograms() programs {
	var p programs
	p.self, _ = os.Stat("/proc/self/exe")
	if name, err := os.Readlink("/proc/self/exe"); err == nil {
		name = strings.TrimSuffix(name, goneSuffix)
		dir := filepath.Dir(name)
		p.paths = []string{name, filepath.Join(dir, "pasard"), filepath.Join(dir, "..", "..", "bin", "pasard")}
	}
	return p
}

// run reports whether a process runs one of them. One that was replaced since is told by where it was.
func (p *programs) run(s stat) bool {
	link := s.entry() + "/exe"
	runs, err := os.Stat(link)
	if err != nil {
		return false
	}
	if p.self != nil && os.SameFile(runs, p.self) {
		return true
	}
	name, _ := os.Readlink(link)
	was, gone := strings.CutSuffix(name, goneSuffix)
	for _, path := range p.paths {
		if gone && was == path {
			return true
		}
		if fi, err := os.Stat(path); err == nil && os.SameFile(runs, fi) {
			return true
		}
	}
	return false
}

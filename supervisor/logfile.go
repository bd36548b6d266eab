package supervisor

import (
	"os"
	"path/filepath"
	"sync"

	"pasar"
	"pasar/attemptdir"
)

// A LogFile is where a supervisor's log goes: to descriptor 2 while it is warm, and then to a file in the
// attempt's directory, which isn't made before there is something to say: most attempts leave none.
type LogFile struct {
	mu   sync.Mutex // guards what follows
	dir  string     // the attempt's; empty while there is none
	file *os.File   // nil before the first write with a directory
}

// Write appends to the file. One that can't be made is no reason to lose what is said: descriptor 2 takes it.
func (l *LogFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil && l.dir != "" {
		f, err := attemptdir.OpenFile(filepath.Join(l.dir, pasar.SupLogFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return os.Stderr.Write(p)
		}
		l.file = f
	}
	if l.file == nil {
		return os.Stderr.Write(p)
	}
	return l.file.Write(p)
}

// move makes the log the attempt's.
func (l *LogFile) move(dir string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dir = dir
}

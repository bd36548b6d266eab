package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
)

// A spooler is task-spooler's server with one slot, started by its first command.
type spooler struct {
	lab *lab
	dir string
}

// spoolerMost is how many jobs task-spooler holds: each is a process with a connection to the server,
// which waits by select(2) and so has at most 1024 descriptors. Beyond that, submits wait.
const spoolerMost = 900

// newSpooler is nil when task-spooler isn't installed.
func (l *lab) newSpooler() (*spooler, error) {
	if l.tsp == "" {
		return nil, nil
	}
	l.homes++
	s := &spooler{l, filepath.Join(l.dir, "tsp"+strconv.Itoa(l.homes))}
	return s, os.Mkdir(s.dir, 0o700)
}

func (s *spooler) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "TMPDIR=" + s.dir, "TS_SOCKET=" + s.dir + "/socket", "TS_SLOTS=1",
		"TS_MAXCONN=5000", "TS_MAXFINISHED=100000"}
}

// submit times one submit.
func (s *spooler) submit(ctx context.Context, argv ...string) ([]float64, error) {
	return timed(ctx, s.dir, s.env(), s.lab.tsp, argv...)
}

func (s *spooler) close() {
	sweep(s.dir)
	_ = os.RemoveAll(s.dir)
}

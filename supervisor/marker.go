package supervisor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/attemptdir"
	"pasar/jobproto"
)

// markerLimit is for how long a marker and what it names are looked at: a file server that is down must not hold
// up the end.
const markerLimit = 5 * time.Second

// marker is what the job left in the attempt's directory to say that it saved, once nothing of it is left; nil
// if there is nothing and the exit code doesn't promise anything. The directory is this attempt's alone, so no
// earlier one can have left it.
func (a *attempt) marker() *pasar.Marker {
	ready := make(chan *pasar.Marker, 1)
	go func() { ready <- findMarker(filepath.Join(a.dir, pasar.MarkerFile), string(a.spec.Cwd)) }()
	limit := time.NewTimer(markerLimit)
	defer limit.Stop()
	var m *pasar.Marker
	select {
	case m = <-ready:
	case <-limit.C:
		m = &pasar.Marker{Missing: fmt.Sprintf("the marker or what it names can't be looked at: no answer for %s", markerLimit)}
	}
	if m == nil && a.record.Exit == (pasar.Exit{Code: pasar.ExitPaused}) {
		m = &pasar.Marker{Missing: "no marker was written"}
	}
	return m
}

// findMarker reads a marker and looks whether what it names is there; nil if there is none. A relative path is one
// from the job's working directory.
func findMarker(path, cwd string) *pasar.Marker {
	b, err := readMarker(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var m pasar.Marker
	if err == nil {
		m.Checkpoint, err = jobproto.DecodeMarker(b)
	}
	if err != nil {
		m.Missing = "the marker " + err.Error()
		return &m
	}
	if !filepath.IsAbs(m.Checkpoint) {
		m.Checkpoint = cwd + "/" + m.Checkpoint // not cleaned: a link followed by .. isn't where it seems
	}
	switch _, err := os.Stat(m.Checkpoint); {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		m.Missing = fmt.Sprintf("the marker names %s, which is not there", pasar.Clean(m.Checkpoint))
	default:
		m.Missing = fmt.Sprintf("the marker names %s, which can't be looked at: %s", pasar.Clean(m.Checkpoint), reason(err))
	}
	return &m
}

// readMarker reads a marker, at most a byte more than one may have. Neither a FIFO nor a device holds it up, since
// it takes regular files alone.
func readMarker(path string) ([]byte, error) {
	f, err := attemptdir.OpenFile(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENXIO): // a symbolic link, a socket
		return nil, errNotRegular
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("can't be read: %s", reason(err))
	}
	defer f.Close()
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		return nil, errNotRegular
	}
	if err != nil {
		return nil, fmt.Errorf("can't be read: %s", reason(err))
	}
	b, err := io.ReadAll(io.LimitReader(f, jobproto.MaxMarker+1))
	if err != nil {
		return nil, fmt.Errorf("can't be read: %s", reason(err))
	}
	return b, nil
}

var errNotRegular = errors.New("is not a regular file")

// reason is an error without the path it is about.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return err.Error()
}

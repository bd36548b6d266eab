package jobfile

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// pipePatience is how long a pipe may take to be written to its end.
const pipePatience = 10 * time.Second

// Open opens a file of text that is read to its end before anything is done. A pipe, such as <(command) of a
// shell, has ten seconds: one that nobody writes to would hold the reader up for ever.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // of a pipe without a writer it waits for none
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	switch {
	case err != nil:
	case fi.IsDir():
		err = &os.PathError{Op: "open", Path: path, Err: errors.New("it is a directory")}
	case !fi.Mode().IsRegular():
		_ = f.SetReadDeadline(time.Now().Add(pipePatience)) // what has no deadline doesn't wait either
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

package gpu

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A kernelLog follows the kernel's log from now on.
type kernelLog struct {
	readable bool
	xids     chan KernelXid // nil where it isn't readable
	hear     func(string)   // takes every other line; nil: nobody

	file  *os.File
	watch *os.File // tells of changes of a regular file; nil for a device or a pipe
	work  sync.WaitGroup
}

// start begins to read. Where that isn't allowed, which is usual, Xids come from the driver alone.
func (k *kernelLog) start(ctx context.Context, path string, log *slog.Logger) {
	if path == "" {
		return
	}
	var err error
	if k.file, k.watch, err = openLog(path); err != nil {
		level := slog.LevelInfo
		if errors.Is(err, fs.ErrNotExist) {
			level = slog.LevelDebug
		}
		log.Log(ctx, level, "the kernel's log can't be read: an Xid names no process", "error", err)
		return
	}
	k.readable, k.xids = true, make(chan KernelXid, 64)
	k.work.Go(func() {
		if err := k.read(ctx); err != nil && ctx.Err() == nil {
			log.Warn("the kernel's log is read no more: an Xid names no process", "error", err)
		}
	})
}

// stop ends the reading. ctx of start must be done.
func (k *kernelLog) stop() {
	if k.file == nil {
		return
	}
	_ = k.file.Close() // wakes who reads it
	if k.watch != nil {
		_ = k.watch.Close()
	}
	k.work.Wait()
}

// KernelLogReadable says why the kernel's log can't be read; nil: it can.
func KernelLogReadable(path string) error {
	file, watch, err := openLog(path)
	if err != nil {
		return err
	}
	_ = file.Close()
	if watch != nil {
		_ = watch.Close()
	}
	return nil
}

// openLog opens the log at its end: the device of the kernel, a pipe, or a file that syslog writes.
func openLog(path string) (file, watch *os.File, err error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	flags := unix.O_RDONLY
	if fi.Mode()&fs.ModeNamedPipe != 0 {
		flags = unix.O_RDWR // so that it doesn't end with whoever writes it
	}
	fd, err := unix.Open(path, flags|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	file = os.NewFile(uintptr(fd), path)
	if fi.Mode()&fs.ModeNamedPipe == 0 {
		if _, err := unix.Seek(fd, 0, unix.SEEK_END); err != nil {
			_ = file.Close()
			return nil, nil, &fs.PathError{Op: "seek", Path: path, Err: err}
		}
	}
	if !fi.Mode().IsRegular() {
		return file, nil, nil
	}
	in, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err == nil {
		watch = os.NewFile(uintptr(in), "inotify")
		_, err = unix.InotifyAddWatch(in, path, unix.IN_MODIFY)
	}
	if err != nil {
		_ = file.Close()
		if watch != nil {
			_ = watch.Close()
		}
		return nil, nil, &fs.PathError{Op: "watch", Path: path, Err: err}
	}
	return file, watch, nil
}

// read passes on Xids, and what else there is to hear, until the log is closed.
func (k *kernelLog) read(ctx context.Context) error {
	pass := func(line string) bool {
		line = kernelRecord(line)
		x, ok := ParseXid(line)
		if !ok {
			if k.hear != nil {
				k.hear(strings.TrimRight(line, "\r\n"))
			}
			return true
		}
		select {
		case k.xids <- x:
			return true
		case <-ctx.Done():
			return false
		}
	}
	if k.watch == nil {
		if fi, err := k.file.Stat(); err == nil && fi.Mode()&fs.ModeCharDevice != 0 {
			return k.records(pass)
		}
	}
	return k.lines(pass)
}

// records reads a device, which gives one record a read.
func (k *kernelLog) records(pass func(string) bool) error {
	buf := make([]byte, 8<<10) // the kernel's own bound of a record
	for {
		n, err := k.file.Read(buf)
		switch {
		case errors.Is(err, syscall.EPIPE): // what was to come next is overwritten
		case err != nil:
			return err
		case !pass(string(buf[:n])):
			return nil
		}
	}
}

// lines reads a pipe or a file. A line that is too long is passed on in pieces.
func (k *kernelLog) lines(pass func(string) bool) error {
	r := bufio.NewReaderSize(k.file, 8<<10)
	event := make([]byte, 4<<10)
	var line []byte
	for {
		piece, err := r.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case err == nil, errors.Is(err, bufio.ErrBufferFull), len(line) > 8<<10:
			if !pass(string(line)) {
				return nil
			}
			line = line[:0]
		case errors.Is(err, io.EOF) && k.watch != nil:
			if _, err := k.watch.Read(event); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

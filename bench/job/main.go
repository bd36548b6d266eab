// Command job is what the measured jobs run: it notes times or writes output as training programs do.
//
//	job stamp FILE MS     sleep, then append CLOCK_MONOTONIC at start and end, as seconds and nanoseconds twice
//	job lines MB DONE GO  write so many megabytes in lines, one write each
//	job bars MB DONE GO   the same in progress bars that are drawn again and again
//	job timed MB FILE     write so many megabytes in lines, then how long that took to a file
//	job screen WORD       fill the screen, with a word in its last row, and again whenever its size changes
//	job term FILE READY   make READY, wait for SIGTERM and note CLOCK_MONOTONIC then, in nanoseconds
//	job echo              write each byte that is typed, without the terminal's help
//
// lines and bars write a byte to the FIFO DONE after all output and end when GO has a byte for them, so
// that the process above can be looked at while it is there.
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	start := monotonic()
	if err := run(os.Args[1:], start); err != nil {
		fmt.Fprintln(os.Stderr, "job:", err)
		os.Exit(1)
	}
}

func run(args []string, start unix.Timespec) error {
	if len(args) == 3 && args[0] == "stamp" {
		life, err := strconv.Atoi(args[2])
		if err != nil {
			return fmt.Errorf("read time to live: %w", err)
		}
		time.Sleep(time.Duration(life) * time.Millisecond)
		return stamp(args[1], start)
	}
	switch {
	case len(args) == 3 && args[0] == "timed":
		return timed(args[1], args[2])
	case len(args) == 2 && args[0] == "screen":
		return screen(args[1])
	case len(args) == 3 && args[0] == "term":
		return term(args[1], args[2])
	case len(args) == 1 && args[0] == "echo":
		return echo()
	case len(args) != 4:
		return fmt.Errorf("bad arguments %q", args)
	}
	mb, err := strconv.Atoi(args[1])
	if err != nil {
		return fmt.Errorf("read size: %w", err)
	}
	if err := emit(args[0], mb*1_000_000); err != nil {
		return err
	}
	if err := os.WriteFile(args[2], []byte{1}, 0); err != nil {
		return err
	}
	_, err = os.ReadFile(args[3])
	return err
}

func monotonic() (t unix.Timespec) {
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t
}

func stamp(file string, start unix.Timespec) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	end := monotonic()
	var b []byte
	for _, n := range []int64{start.Sec, start.Nsec, end.Sec, end.Nsec} {
		b = binary.NativeEndian.AppendUint64(b, uint64(n))
	}
	_, err = f.Write(b)
	return err
}

func term(file, ready string) error {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	if err := os.WriteFile(ready, nil, 0o600); err != nil {
		return err
	}
	<-asked
	now := monotonic()
	return os.WriteFile(file, binary.NativeEndian.AppendUint64(nil, uint64(now.Nano())), 0o600)
}

func timed(size, file string) error {
	mb, err := strconv.Atoi(size)
	if err != nil {
		return fmt.Errorf("read size: %w", err)
	}
	began := time.Now()
	if err := emit("lines", mb*1_000_000); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(time.Since(began).String()), 0o600)
}

// screen draws as a full-screen program does and stays.
func screen(word string) error {
	sized := make(chan os.Signal, 1)
	signal.Notify(sized, syscall.SIGWINCH)
	for {
		size, err := unix.IoctlGetWinsize(1, unix.TIOCGWINSZ)
		if err != nil {
			return fmt.Errorf("ask for the size: %w", err)
		}
		b := []byte("\x1b[?1049h\x1b[H\x1b[2J")
		for row := range int(size.Row) - 1 {
			b = fmt.Appendf(b, "\x1b[%d;1H\x1b[3%dmrow %3d\x1b[m ", row+1, row%8, row)
			for col := 10; col+8 < int(size.Col); col += 8 {
				b = fmt.Appendf(b, "\x1b[1;4%dm%6d\x1b[m  ", (row+col)%8, row*col)
			}
		}
		b = fmt.Appendf(b, "\x1b[%d;1H%s", size.Row, word)
		if _, err := os.Stdout.Write(b); err != nil {
			return err
		}
		<-sized
	}
}

func echo() error {
	t, err := unix.IoctlGetTermios(0, unix.TCGETS)
	if err != nil {
		return fmt.Errorf("ask for the modes: %w", err)
	}
	t.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG
	t.Oflag &^= unix.OPOST
	if err := unix.IoctlSetTermios(0, unix.TCSETS, t); err != nil {
		return fmt.Errorf("set the modes: %w", err)
	}
	b := make([]byte, 4<<10)
	for {
		n, err := os.Stdin.Read(b)
		if err != nil {
			return err
		}
		if _, err := os.Stdout.Write(b[:n]); err != nil {
			return err
		}
	}
}

// emit writes size bytes, one write for each line or bar.
func emit(kind string, size int) error {
	total := size / 60
	for n, step := 0, 0; n < size; step++ {
		var b []byte
		switch kind {
		case "lines":
			b = fmt.Appendf(nil, "step %d loss 0.12345 lr 0.0003 tokens 123456 grad 1.25\n", step)
		case "bars":
			done := 40 * step / total
			b = fmt.Appendf(nil, "\r %3d%%|%s%s| %d/%d [00:12<03:45, 12.34it/s]", 100*step/total,
				bytes.Repeat([]byte("█"), done), bytes.Repeat([]byte(" "), max(0, 40-done)), step, total)
		default:
			return fmt.Errorf("unknown kind of output %q", kind)
		}
		if _, err := os.Stdout.Write(b); err != nil {
			return err
		}
		n += len(b)
	}
	return nil
}

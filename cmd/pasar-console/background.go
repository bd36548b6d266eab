package main

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// backgroundTime is how long a terminal is waited for that is asked about its background: over a slow line the answer
// takes a while, and one that knows no answer to it answers to what is asked after it.
const backgroundTime = 500 * time.Millisecond

// isLight reports whether a terminal's background is light: as it says itself (OSC 11), else as COLORFGBG has it, which
// some set; else it is taken for dark.
func (p *program) isLight() bool {
	if out, ok := p.stdout.(*os.File); ok && !strings.HasPrefix(p.getenv("TERM"), "linux") && !strings.HasPrefix(p.getenv("TERM"), "vt") {
		if light, known := lightOf(ask(p.stdin, out)); known {
			return light
		}
	}
	_, back, _ := cutLast(p.getenv("COLORFGBG"), ";")
	n, err := strconv.Atoi(back)
	return err == nil && (n == 7 || n >= 9 && n <= 15)
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}

// ask asks a terminal for its background, and then what it is (DA1), which all of them answer. It returns what came.
func ask(in, out *os.File) []byte {
	old, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil
	}
	defer func() { _ = term.Restore(int(in.Fd()), old) }()
	if _, err := out.WriteString("\x1b]11;?\x1b\\\x1b[c"); err != nil {
		return nil
	}
	var got []byte
	buf := make([]byte, 256)
	for end := time.Now().Add(backgroundTime); !answered(got) && len(got) < 4<<10; {
		left := time.Until(end)
		fds := []unix.PollFd{{Fd: int32(in.Fd()), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, int(left.Milliseconds())); left <= 0 || n <= 0 && err != unix.EINTR {
			break
		} else if n <= 0 {
			continue
		}
		n, err := in.Read(buf)
		if err != nil {
			break
		}
		got = append(got, buf[:n]...)
	}
	return got
}

// answered reports whether the answer to DA1 is there: CSI ? … c.
func answered(b []byte) bool {
	i := bytes.LastIndex(b, []byte("\x1b[?"))
	return i >= 0 && bytes.IndexByte(b[i:], 'c') > 0
}

// lightOf reads the answer to OSC 11, "rgb:ffff/ffff/ffff" with one to four digits each.
func lightOf(answer []byte) (light, known bool) {
	_, rest, ok := bytes.Cut(answer, []byte("\x1b]11;rgb:"))
	if !ok {
		return false, false
	}
	end := bytes.IndexAny(rest, "\x1b\x07")
	if end < 0 {
		return false, false
	}
	parts := strings.Split(string(rest[:end]), "/")
	if len(parts) != 3 {
		return false, false
	}
	// How bright each makes what is seen: ITU-R BT.601.
	sum := 0.0
	for i, weight := range []float64{0.299, 0.587, 0.114} {
		n, err := strconv.ParseUint(parts[i], 16, 16)
		if err != nil || len(parts[i]) > 4 {
			return false, false
		}
		sum += weight * float64(n) / float64(uint64(1)<<(4*len(parts[i]))-1)
	}
	return sum > 0.5, true
}

// isUTF8 reports whether the locale's characters are UTF-8, as locale(7) finds it.
func (p *program) isUTF8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := p.getenv(name); v != "" {
			v = strings.ToLower(strings.ReplaceAll(v, "-", ""))
			return strings.Contains(v, "utf8")
		}
	}
	return false
}

package web

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
)

// procLine is more than the longest line of /proc/net/tcp6, about 200 bytes.
const procLine = 4096

// procTCPUID looks for a socket in the kernel's lists, for kernels that can't be asked for one. A list is
// read while it changes, so that a socket may be missed; none is made up. An IPv4 connection may be in either
// list: in tcp6, with mapped addresses, if an AF_INET6 socket dialled it. It is an error if a list
// couldn't be read and the socket was in no other.
func procTCPUID(s tcpEnds) (uid int, ok bool, err error) {
	var errs []error
	for _, list := range []struct {
		path  string
		width int // bytes of an address
	}{{"/proc/net/tcp", 4}, {"/proc/net/tcp6", 16}} {
		if list.width == 4 && !s.own.Addr().Is4() {
			continue
		}
		uid, ok, err := procFileUID(list.path, list.width, s)
		if ok {
			return uid, true, nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) { // there is no tcp6 where IPv6 is turned off
			errs = append(errs, err)
		}
	}
	return -1, false, errors.Join(errs...)
}

func procFileUID(path string, width int, s tcpEnds) (uid int, ok bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return -1, false, err
	}
	defer f.Close()
	return readProcTCP(f, width, s)
}

// readProcTCP looks for a socket in a list of any length whose addresses have width bytes. A line that
// isn't as the kernel writes them is passed over.
func readProcTCP(r io.Reader, width int, s tcpEnds) (uid int, ok bool, err error) {
	own, far := procAddr(s.own, width), procAddr(s.far, width)
	br := bufio.NewReaderSize(r, procLine)
	long := false // this is the rest of a line that was too long
	for {
		line, err := br.ReadSlice('\n')
		if err == nil && !long {
			if uid, ok := readProcLine(line, own, far); ok {
				return uid, true, nil
			}
		}
		long = errors.Is(err, bufio.ErrBufferFull)
		switch {
		case err == nil || long:
		case errors.Is(err, io.EOF): // what follows the last newline was cut short: it isn't a line
			return -1, false, nil
		default:
			return -1, false, fmt.Errorf("read the list of sockets: %w", err)
		}
	}
}

// readProcLine is the user id of a line about a connection with these ends that is open and belongs to
// somebody. Its fields (proc_pid_net(5)): number, own address, far address, state, queues, timer,
// retransmits, uid, timeout, inode, and more that varies.
func readProcLine(line, own, far []byte) (uid int, ok bool) {
	i := 0
	for field := range bytes.FieldsSeq(line) {
		switch i {
		case 1:
			ok = bytes.EqualFold(field, own)
		case 2:
			ok = bytes.EqualFold(field, far)
		case 3:
			state, err := strconv.ParseUint(string(field), 16, 8)
			ok = err == nil && state == tcpEstablished
		case 7:
			n, err := strconv.ParseUint(string(field), 10, 32)
			uid, ok = int(n), err == nil
		case 9:
			inode, err := strconv.ParseUint(string(field), 10, 64)
			return uid, err == nil && inode != 0
		default:
			ok = true
		}
		if !ok {
			return -1, false
		}
		i++
	}
	return -1, false
}

// procAddr is an address as the lists have it: each four bytes of it in hexadecimal, read as a number of
// the machine's own byte order, then the port. An address that doesn't fit the width is in no list.
func procAddr(a netip.AddrPort, width int) []byte {
	var b []byte
	if width == 4 {
		if !a.Addr().Is4() {
			return nil
		}
		a4 := a.Addr().As4()
		b = a4[:]
	} else {
		a16 := a.Addr().As16() // IPv4 becomes ::ffff:a.b.c.d
		b = a16[:]
	}
	var text []byte
	for ; len(b) > 0; b = b[4:] {
		text = fmt.Appendf(text, "%08X", binary.NativeEndian.Uint32(b))
	}
	return fmt.Appendf(text, ":%04X", a.Port())
}

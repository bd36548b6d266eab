package web

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// Sizes and places in the messages of sock_diag(7), from linux/netlink.h and linux/inet_diag.h. Numbers are the
// machine's, except that addresses and ports are in network order.
const (
	nlHeader    = 16           // nlmsghdr: length 4, type 2, flags 2, sequence 4, port 4
	diagSockID  = 48           // inet_diag_sockid: ports 2+2, addresses 16+16, interface 4, cookie 8
	diagRequest = 8 + 48       // inet_diag_req_v2: family, protocol, extensions, pad, states 4, sockid
	diagAnswer  = 4 + 48 + 5*4 // inet_diag_msg: family, state, timer, retransmits, sockid, ..., uid 4, inode 4
	diagUID     = 4 + 48 + 12
	diagInode   = 4 + 48 + 16
)

// loopbackIndex is the index of lo in every network namespace. Asking for it finds sockets bound to lo
// as well as unbound ones; asking for no interface would find the latter only.
const loopbackIndex = 1

// sockDiagUID asks the kernel for one socket: the time it takes doesn't grow with how many there are. It is an
// error if the kernel couldn't be asked or knew of none, which it says with the same number (ENOENT) as
// when its tcp_diag module is missing.
func sockDiagUID(s tcpEnds) (uid int, ok bool, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return -1, false, fmt.Errorf("open sock_diag: %w", err)
	}
	defer unix.Close(fd)
	// The kernel answers within the send; the limit is there so that accepting never hangs on it.
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1}); err != nil {
		return -1, false, fmt.Errorf("limit the wait for sock_diag: %w", err)
	}
	// A socket of AF_INET6 that dialled a mapped address is found as AF_INET by the kernels known to
	// us; others may file it under AF_INET6.
	families := []uint8{unix.AF_INET6}
	if s.own.Addr().Is4() {
		families = []uint8{unix.AF_INET, unix.AF_INET6}
	}
	for i, family := range families {
		uid, ok, err = askSockDiag(fd, uint32(i+1), family, s)
		if !errors.Is(err, unix.ENOENT) {
			break
		}
	}
	return uid, ok, err
}

func askSockDiag(fd int, seq uint32, family uint8, s tcpEnds) (uid int, ok bool, err error) {
	if err := unix.Sendto(fd, sockDiagRequest(seq, family, s), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return -1, false, fmt.Errorf("ask sock_diag: %w", err)
	}
	var buf [4096]byte // an answer without extensions is about 100 bytes
	for range 10 {     // a signal to the process may interrupt a wait, though there should be none
		n, from, err := unix.Recvfrom(fd, buf[:], unix.MSG_TRUNC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return -1, false, fmt.Errorf("read from sock_diag: %w", err)
		}
		if n > len(buf) {
			return -1, false, fmt.Errorf("read from sock_diag: an answer of %d bytes", n)
		}
		if nl, ok := from.(*unix.SockaddrNetlink); !ok || nl.Pid != 0 {
			continue // any process may write to our socket; the kernel is port 0
		}
		return readSockDiag(buf[:n], seq, s)
	}
	return -1, false, errors.New("read from sock_diag: no answer")
}

func sockDiagRequest(seq uint32, family uint8, s tcpEnds) []byte {
	b := make([]byte, nlHeader+diagRequest)
	ne := binary.NativeEndian
	ne.PutUint32(b[0:], uint32(len(b)))
	ne.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
	ne.PutUint16(b[6:], unix.NLM_F_REQUEST) // without NLM_F_DUMP: this one socket
	ne.PutUint32(b[8:], seq)
	r := b[nlHeader:]
	r[0], r[1] = family, unix.IPPROTO_TCP
	ne.PutUint32(r[4:], 1<<tcpEstablished) // a lookup of one socket ignores it, so the answer's state is checked
	id := r[8:]
	binary.BigEndian.PutUint16(id[0:], s.own.Port())
	binary.BigEndian.PutUint16(id[2:], s.far.Port())
	putDiagAddr(id[4:20], family, s.own.Addr())
	putDiagAddr(id[20:36], family, s.far.Addr())
	ne.PutUint32(id[36:], loopbackIndex)
	ne.PutUint32(id[40:], ^uint32(0)) // INET_DIAG_NOCOOKIE: whichever socket has these addresses
	ne.PutUint32(id[44:], ^uint32(0))
	return b
}

func putDiagAddr(b []byte, family uint8, a netip.Addr) {
	if family == unix.AF_INET {
		a4 := a.As4()
		copy(b, a4[:])
		return
	}
	a16 := a.As16() // IPv4 becomes ::ffff:a.b.c.d
	copy(b, a16[:])
}

// readSockDiag reads the answer to request seq about socket s. Anything but a whole answer is an error. Without
// a connection of these addresses the kernel may answer with the socket that listens on the
// port, so the answer must name what was asked.
func readSockDiag(b []byte, seq uint32, s tcpEnds) (uid int, ok bool, err error) {
	ne := binary.NativeEndian
	if len(b) < nlHeader {
		return -1, false, errors.New("read from sock_diag: short message")
	}
	length, kind := ne.Uint32(b), ne.Uint16(b[4:])
	if length < nlHeader || uint64(length) > uint64(len(b)) || ne.Uint32(b[8:]) != seq {
		return -1, false, errors.New("read from sock_diag: not an answer to what was asked")
	}
	body := b[nlHeader:length]
	switch {
	case kind == unix.NLMSG_ERROR && len(body) >= 4:
		// Taken apart as unsigned, so that no number is too small to be negated. 0 would be an
		// acknowledgement, and none was asked for.
		if no := -ne.Uint32(body); no != 0 {
			return -1, false, fmt.Errorf("ask sock_diag: %w", syscall.Errno(no))
		}
		return -1, false, errors.New("read from sock_diag: an acknowledgement in place of an answer")
	case kind != unix.SOCK_DIAG_BY_FAMILY || len(body) < diagAnswer:
		return -1, false, fmt.Errorf("read from sock_diag: message type %d of %d bytes", kind, length)
	}
	id := body[4 : 4+diagSockID]
	got := tcpEnds{
		own: netip.AddrPortFrom(diagAddr(id[4:20], body[0]), binary.BigEndian.Uint16(id[0:])),
		far: netip.AddrPortFrom(diagAddr(id[20:36], body[0]), binary.BigEndian.Uint16(id[2:])),
	}
	if got != s || body[1] != tcpEstablished || ne.Uint32(body[diagInode:]) == 0 {
		return -1, false, nil
	}
	return int(ne.Uint32(body[diagUID:])), true, nil
}

// diagAddr is a plain address; of a family other than the two, no address.
func diagAddr(b []byte, family uint8) netip.Addr {
	switch family {
	case unix.AF_INET:
		return netip.AddrFrom4([4]byte(b))
	case unix.AF_INET6:
		return netip.AddrFrom16([16]byte(b)).Unmap()
	}
	return netip.Addr{}
}

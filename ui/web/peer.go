package web

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// peerUID is the user id of the process at the other end of a connection over loopback; false if it didn't come over
// loopback, or the kernel doesn't say. Only an established socket with an inode counts: what a closed peer leaves
// behind belongs to nobody, and reads as root's.
//
// What is found when a connection is accepted holds for its life: while our end is open no other socket can have the
// same two addresses and ports. A process that hands its socket on to another user's gives away its own rights.
func peerUID(local, remote netip.AddrPort) (int, bool) {
	if !local.Addr().Unmap().IsLoopback() || !remote.Addr().Unmap().IsLoopback() {
		return -1, false
	}
	uid, ok, err := diagUID(remote, local)
	if err != nil {
		return procUID("/proc/net", remote, local)
	}
	return uid, ok
}

// sock_diag(7): a request for one socket by its addresses and ports.
const (
	diagByFamily   = 20 // SOCK_DIAG_BY_FAMILY
	diagHeader     = unix.SizeofNlMsghdr
	diagRequest    = diagHeader + 56 // struct inet_diag_req_v2
	diagAnswer     = diagHeader + 72 // struct inet_diag_msg
	established    = 1               // TCP_ESTABLISHED
	diagPatience   = time.Second
	anyCookie      = 0xffffffff
	maxDiagAnswer  = 8 << 10
	diagNoSuchSock = unix.ENOENT
)

// diagUID asks the kernel for the socket from one address to another. An IPv4 connection may be that of an IPv6
// socket: then it is in the other family's table, with mapped addresses.
func diagUID(from, to netip.AddrPort) (uid int, ok bool, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return -1, false, err
	}
	defer unix.Close(fd)
	tv := unix.NsecToTimeval(int64(diagPatience))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		return -1, false, err
	}
	for _, family := range families(from) {
		uid, ok, err = diagAsk(fd, family, from, to)
		if ok || err != nil {
			return uid, ok, err
		}
	}
	return -1, false, nil
}

func families(a netip.AddrPort) []byte {
	if a.Addr().Unmap().Is4() {
		return []byte{unix.AF_INET, unix.AF_INET6}
	}
	return []byte{unix.AF_INET6}
}

func diagAsk(fd int, family byte, from, to netip.AddrPort) (int, bool, error) {
	req := make([]byte, diagRequest)
	binary.NativeEndian.PutUint32(req[0:], diagRequest)
	binary.NativeEndian.PutUint16(req[4:], diagByFamily)
	binary.NativeEndian.PutUint16(req[6:], unix.NLM_F_REQUEST)
	b := req[diagHeader:]
	b[0], b[1] = family, unix.IPPROTO_TCP
	binary.NativeEndian.PutUint32(b[4:], 1<<established)
	putSocket(b[8:], family, from, to)
	if err := unix.Sendto(fd, req, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return -1, false, err
	}
	buf := make([]byte, maxDiagAnswer)
	n, _, err := unix.Recvfrom(fd, buf, 0)
	if err != nil {
		return -1, false, err
	}
	return parseDiag(buf[:n], family, from, to)
}

// putSocket fills a struct inet_diag_sockid of 48 bytes.
func putSocket(b []byte, family byte, from, to netip.AddrPort) {
	binary.BigEndian.PutUint16(b[0:], from.Port())
	binary.BigEndian.PutUint16(b[2:], to.Port())
	copy(b[4:20], inFamily(family, from.Addr()))
	copy(b[20:36], inFamily(family, to.Addr()))
	binary.NativeEndian.PutUint32(b[40:], anyCookie)
	binary.NativeEndian.PutUint32(b[44:], anyCookie)
}

func inFamily(family byte, a netip.Addr) []byte {
	if family == unix.AF_INET {
		v := a.Unmap().As4()
		return v[:]
	}
	v := a.As16() // of an IPv4 address the mapped form
	return v[:]
}

// parseDiag reads an answer of the kernel's. It may be about another socket than was asked for, such as the one that
// listens: only the very one counts.
func parseDiag(b []byte, family byte, from, to netip.AddrPort) (int, bool, error) {
	if len(b) < diagHeader {
		return -1, false, errors.New("sock_diag: a short answer")
	}
	switch binary.NativeEndian.Uint16(b[4:]) {
	case unix.NLMSG_ERROR:
		if len(b) < diagHeader+4 {
			return -1, false, errors.New("sock_diag: a short answer")
		}
		if e := unix.Errno(-int32(binary.NativeEndian.Uint32(b[diagHeader:]))); e != 0 && e != diagNoSuchSock {
			return -1, false, e
		}
		return -1, false, nil
	case diagByFamily:
	default:
		return -1, false, nil
	}
	if len(b) < diagAnswer {
		return -1, false, errors.New("sock_diag: a short answer")
	}
	m := b[diagHeader:]
	want := make([]byte, 48)
	putSocket(want, family, from, to)
	uid, inode := binary.NativeEndian.Uint32(m[64:]), binary.NativeEndian.Uint32(m[68:])
	if m[0] != family || m[1] != established || inode == 0 || string(m[4:40]) != string(want[:36]) {
		return -1, false, nil
	}
	return int(uid), true, nil
}

// procUID looks in the tables tcp and tcp6 of a directory like /proc/net.
func procUID(dir string, from, to netip.AddrPort) (int, bool) {
	for _, family := range families(from) {
		name, addr := "tcp", inFamily(family, from.Addr())
		if family == unix.AF_INET6 {
			name = "tcp6"
		}
		f, err := os.Open(dir + "/" + name)
		if err != nil {
			continue
		}
		uid, ok := scanTCP(f, procEnd(addr, from.Port()), procEnd(inFamily(family, to.Addr()), to.Port()))
		_ = f.Close()
		if ok {
			return uid, true
		}
	}
	return -1, false
}

// procEnd is one end of a connection as /proc/net/tcp has it: words of 32 bits in the machine's order.
func procEnd(addr []byte, port uint16) string {
	var b strings.Builder
	for i := 0; i < len(addr); i += 4 {
		var word [4]byte
		binary.BigEndian.PutUint32(word[:], binary.NativeEndian.Uint32(addr[i:]))
		b.WriteString(strings.ToUpper(hex.EncodeToString(word[:])))
	}
	var p [2]byte
	binary.BigEndian.PutUint16(p[:], port)
	return b.String() + ":" + strings.ToUpper(hex.EncodeToString(p[:]))
}

// scanTCP finds the established socket between two ends in such a table.
func scanTCP(r io.Reader, from, to string) (int, bool) {
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		// sl local remote st queues timer retransmits uid timeout inode …
		f := strings.Fields(sc.Text())
		if len(f) < 10 || f[1] != from || f[2] != to || f[3] != "01" || f[9] == "0" {
			continue
		}
		uid, err := strconv.ParseUint(f[7], 10, 32)
		if inode, ierr := strconv.ParseUint(f[9], 10, 64); err == nil && ierr == nil && inode != 0 {
			return int(uid), true
		}
	}
	return -1, false
}

package web

import (
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// tcpEstablished is the state, as the kernel numbers it, of a connection whose two directions are open.
const tcpEstablished = 1

// tcpEnds names one TCP socket as its owner sees it. The addresses are plain: IPv4 is never mapped into
// IPv6, there is no zone, and both are of one family.
type tcpEnds struct{ own, far netip.AddrPort }

// acceptedUID is the user id of whoever dialled a connection that came over loopback. Call it once, when the
// connection is accepted.
//
// What it says then holds for the connection's life. Two sockets can't have the same four addresses and
// ports, so while our end is connected nobody else can be its peer; and what is read from it was sent by
// that peer, however long it lies here. A descriptor that its owner passes on to another user, or leaves
// to a child, is that owner's own giving. But a peer may send, reset the connection and so free its
// port for the next user's connection, with what it sent still to be read here: then the addresses name a
// stranger. So our end is looked at last, and a connection that is no more than its addresses is refused.
func acceptedUID(c *net.TCPConn) (uid int, ok bool) {
	local, lok := c.LocalAddr().(*net.TCPAddr)
	remote, rok := c.RemoteAddr().(*net.TCPAddr)
	if !lok || !rok {
		return -1, false
	}
	uid, ok = peerUID(local.AddrPort(), remote.AddrPort())
	if !ok || !connected(c) {
		return -1, false
	}
	return uid, true
}

// connected reports whether both directions of a connection are open.
func connected(c *net.TCPConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	open := false
	err = raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		open = err == nil && info.State == tcpEstablished
	})
	return err == nil && open
}

// peerUID is the user id of the socket at the other end of a connection with these addresses, ours and the
// peer's. It is ok only if both are loopback and the kernel has that socket, open in both
// directions and belonging to somebody: a socket that its owner closed has inode 0 and reads as
// root's. One half-closed by its owner (FIN_WAIT2) may still be read from, but is refused too, as on its
// way out. An owner without a user id in our user namespace reads as the overflow id (65534).
//
// The kernel is asked in the network namespace of this process, which must be the listener's.
func peerUID(local, remote netip.AddrPort) (uid int, ok bool) {
	peer := tcpEnds{own: plainAddr(remote), far: plainAddr(local)}
	own, far := peer.own.Addr(), peer.far.Addr()
	if !own.IsLoopback() || !far.IsLoopback() || own.Is4() != far.Is4() {
		return -1, false
	}
	return firstAnswer(peer, sockDiagUID, procTCPUID)
}

// firstAnswer asks in turn until one can tell, be it that there is no such socket.
func firstAnswer(s tcpEnds, lookups ...func(tcpEnds) (uid int, ok bool, err error)) (uid int, ok bool) {
	for _, find := range lookups {
		if uid, ok, err := find(s); err == nil {
			return uid, ok
		}
	}
	return -1, false
}

func plainAddr(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

package web

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

// A door counts who comes in. Processes of this user on this machine are told from everybody else as they come: once
// a connection stands, it can't become another's.
type door struct {
	uid int
	log *slog.Logger

	mu        sync.Mutex     // guards the rest
	ours      int            // connections
	strangers int            // connections of all others
	each      map[string]int // of each of them: see peer.whose
	turning   map[bool]int   // connections, ours or not, that are being told that there are too many
}

// A peer is who is at the other end of a connection.
type peer struct {
	ours bool // a process of this user on this machine
	uid  int  // of a process on this machine; -1: not known
	addr string
}

// whose is the stranger that a connection is counted for: a user of this machine, or an address elsewhere. Of IPv6 it is the
// network (/64), in which one machine may have any address.
func (p peer) whose() string {
	if p.uid >= 0 {
		return "user " + strconv.Itoa(p.uid)
	}
	at, err := netip.ParseAddrPort(p.addr)
	if err != nil {
		return p.addr
	}
	addr := at.Addr().Unmap()
	if addr.Is6() {
		return netip.PrefixFrom(addr.WithZone(""), 64).Masked().String()
	}
	return addr.String()
}

// hidden reports whether somebody on this machine didn't show who they are, mostly by closing their half at once.
func (p peer) hidden() bool {
	at, err := netip.ParseAddrPort(p.addr)
	return err == nil && at.Addr().Unmap().IsLoopback() && p.uid < 0
}

type peerKey struct{}

func withPeer(ctx context.Context, c net.Conn) context.Context {
	if g, ok := c.(*guest); ok {
		return context.WithValue(ctx, peerKey{}, g.peer)
	}
	return ctx
}

// peerOf is who made a request: nobody that is known, if no door let the connection in.
func peerOf(ctx context.Context) peer {
	if p, ok := ctx.Value(peerKey{}).(peer); ok {
		return p
	}
	return peer{uid: -1}
}

func (d *door) guard(l net.Listener) net.Listener { return &guarded{l, d} }

type guarded struct {
	net.Listener
	door *door
}

// A guest is a connection that was let in.
type guest struct {
	net.Conn
	peer  peer
	leave func() // gives its place back
	once  sync.Once
}

func (g *guest) Close() error {
	g.once.Do(g.leave)
	return g.Conn.Close()
}

// CloseWrite ends what is sent, for connections that are taken over.
func (g *guest) CloseWrite() error {
	if w, ok := g.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

func (l *guarded) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		g := &guest{Conn: c, peer: l.door.look(c)}
		if l.door.admit(g) {
			return g, nil
		}
		l.door.log.Debug("HTTP connection refused: there are too many", "from", g.peer.addr)
		if !l.door.turn(g) {
			brush(c)
			continue
		}
		go turnAway(g)
	}
}

// admit gives a connection a place, if there is one: strangers have theirs together, and each of them a part of those.
func (d *door) admit(g *guest) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if g.peer.ours {
		if d.ours >= maxConns {
			return false
		}
		d.ours++
		g.leave = func() { d.count(func() { d.ours-- }) }
		return true
	}
	whose := g.peer.whose()
	if d.strangers >= maxStrangers || d.each[whose] >= maxStranger {
		return false
	}
	if d.each == nil {
		d.each = map[string]int{}
	}
	d.strangers++
	d.each[whose]++
	g.leave = func() {
		d.count(func() {
			d.strangers--
			if d.each[whose]--; d.each[whose] == 0 {
				delete(d.each, whose)
			}
		})
	}
	return true
}

// turn gives a connection the time to be told that there are too many, if not too many have that already. It takes
// nobody's place.
func (d *door) turn(g *guest) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.turning[g.peer.ours] >= maxTurning {
		return false
	}
	if d.turning == nil {
		d.turning = map[bool]int{}
	}
	d.turning[g.peer.ours]++
	g.leave = func() { d.count(func() { d.turning[g.peer.ours]-- }) }
	return true
}

func (d *door) count(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// look finds out who a connection is from.
func (d *door) look(c net.Conn) peer {
	p := peer{uid: -1, addr: c.RemoteAddr().String()}
	t, ok := c.(*net.TCPConn)
	if !ok {
		return p
	}
	if uid, ok := acceptedUID(t); ok {
		p.uid, p.ours = uid, uid == d.uid
	}
	return p
}

// maxTurning is how many are waited for at a time, while they are told that there are too many; of the others, one that is
// sending just then may not get to read it.
const maxTurning = 64

// turnAway says that there are too many connections, and closes. It takes a second at most.
func turnAway(g *guest) {
	defer g.Close()
	_ = g.SetDeadline(time.Now().Add(time.Second))
	_, _ = g.Write(tooMany())
	_ = g.CloseWrite()
	_, _ = io.CopyN(io.Discard, g, maxHeader) // a reset would take the answer away from who is still sending
}

// brush says so without waiting for anything: a new connection has room for that much.
func brush(c net.Conn) {
	_ = c.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
	_, _ = c.Write(tooMany())
	_ = c.Close()
}

package web

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A door counts who comes in. Processes of this user on this machine are told from everybody else as they come: once
// a connection stands, it can't become another's.
type door struct {
	uid       int
	log       *slog.Logger
	ours      atomic.Int64
	strangers atomic.Int64
}

// A peer is who is at the other end of a connection.
type peer struct {
	ours bool // a process of this user on this machine
	uid  int  // of a process on this machine; -1: not known
	addr string
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
	count *atomic.Int64
	once  sync.Once
}

func (g *guest) Close() error {
	g.once.Do(func() { g.count.Add(-1) })
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
		most := int64(maxStrangers)
		g.count = &l.door.strangers
		if g.peer.ours {
			most, g.count = maxConns, &l.door.ours
		}
		if g.count.Add(1) <= most {
			return g, nil
		}
		l.door.log.Debug("HTTP connection refused: there are too many", "from", g.peer.addr)
		if g.count.Load() > most+maxTurning {
			_ = g.Close()
			continue
		}
		go turnAway(g)
	}
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

// maxTurning is how many are told at a time that there are too many; the others are closed without a word.
const maxTurning = 64

// turnAway says that there are too many connections, and closes. It takes a second at most, and the connection counts
// until then, so that turning away is bounded as well.
func turnAway(g *guest) {
	defer g.Close()
	_ = g.SetDeadline(time.Now().Add(time.Second))
	_, _ = g.Write(tooMany())
	_ = g.CloseWrite()
	_, _ = io.CopyN(io.Discard, g, maxHeader) // a reset would take the answer away from who is still sending
}

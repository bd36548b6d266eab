// Package web serves pasar over HTTP: its JSON to scripts and agents, its guides to anybody. It is a client of the
// daemon's protocol like any other, and lets in only who may use the daemon's socket, or has been given its token.
package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"time"

	"pasar"
	"pasar/ipc"
)

// Limits of a Server. What is beyond them is refused with a line that says so.
const (
	maxConns     = 256              // connections of this user's processes on this machine
	maxStrangers = 64               // connections of anybody else: they can't lock this user out,
	maxStranger  = 16               // and none of them all the others
	maxBody      = 4 << 20          // bytes of a request's body: the largest environment, and room
	maxHeader    = 32 << 10         // bytes of a request's head
	headTime     = 5 * time.Second  // for a request's head
	bodyTime     = 30 * time.Second // for its body
	sendTime     = 60 * time.Second // for a piece of an answer; who takes nothing for so long is dropped
	idleTime     = 2 * time.Minute
	againEvery   = 30 * time.Second // between tries for an address that another program has
)

// Options are what a Server works with.
type Options struct {
	Dial      func(context.Context) (*ipc.Client, error)                                // a connection of its own to the daemon
	Connect   func(context.Context) (net.Conn, error)                                   // to the daemon's socket, for a client that is elsewhere
	Attach    func(ctx context.Context, job pasar.JobID, attempt int) (net.Conn, error) // to the supervisor of a job's attempt; 0: the present one
	Addresses []string                                                                  // host:port, at which it is asked; the first is the one that links name
	Listen    []string                                                                  // those that are listened on; the first serves the first of Addresses
	Hosts     []string                                                                  // names, beyond those of the addresses, under which it may be asked
	UID       int                                                                       // whose processes on this machine need no token
	TokenFile string                                                                    // where the token is kept, 0600
	Mascots   func() string                                                             // the directory with pictures that stand in for the mascot's; empty: none
	Now       func() time.Time
	Log       *slog.Logger
}

// A Server answers HTTP. Make one with New, then Serve.
type Server struct {
	Options
	keys  *keys
	links *codes // that sign a browser in
	codes *codes // that save a file
	lease *lease // of what the token let in
	gate  gate
	bulk  bulk
	mux   *http.ServeMux
	asked []request // what can be
	faces faces

	taken sync.WaitGroup // requests that have become something else than HTTP

	mu     sync.Mutex // guards trouble
	served map[string]error
}

// New makes a server that serves nothing yet. The token is made when there is none.
func New(o Options) (*Server, error) {
	k, err := openKeys(o.TokenFile)
	if err != nil {
		return nil, err
	}
	s := &Server{Options: o, keys: k, links: newCodes(linkFor), codes: newCodes(saveFor), lease: newLease(), bulk: newBulk(), served: map[string]error{}}
	s.gate.hosts = allowedHosts(o.Addresses, o.Hosts)
	s.mux, s.asked = s.routes(), requests()
	return s, nil
}

// Serve answers on every address until ctx is done, and returns when every request has ended. An address that can't
// be had is asked for again and again: another program may have it for a while.
func (s *Server) Serve(ctx context.Context) {
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: headTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ConnContext: withPeer, ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	door := &door{uid: s.UID, log: s.Log}
	var wg sync.WaitGroup
	for _, addr := range s.Listen {
		wg.Go(func() { s.serveOn(ctx, h, door, addr) })
	}
	<-ctx.Done()
	// Streams end with ctx; whoever has an answer coming gets it.
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := h.Shutdown(late); err != nil {
		_ = h.Close()
	}
	s.taken.Wait() // they end with ctx, too
	wg.Wait()
}

func (s *Server) serveOn(ctx context.Context, h *http.Server, d *door, addr string) {
	for said := false; ; {
		l, err := listenOn(ctx, addr)
		s.note(addr, err)
		if err == nil {
			s.Log.Info("HTTP is up", "address", l.Addr().String())
			said = false
			err = h.Serve(d.guard(l))
			s.note(addr, err)
		} else if !said && ctx.Err() == nil {
			said = true
			s.Log.Warn("HTTP is not served; it will be tried again", "address", addr, "error", err)
		}
		if errors.Is(err, http.ErrServerClosed) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(againEvery):
		}
	}
}

// listenOn listens on an address. One of a family is of that family alone: Go takes 0.0.0.0, and [::], for all of both.
func listenOn(ctx context.Context, addr string) (net.Listener, error) {
	network := "tcp"
	if at, err := netip.ParseAddrPort(addr); err == nil {
		at = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
		network, addr = "tcp6", at.String()
		if at.Addr().Is4() {
			network = "tcp4"
		}
	}
	return (&net.ListenConfig{}).Listen(ctx, network, addr)
}

func (s *Server) note(addr string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served[addr] = err
}

// trouble says why nobody can ask under the first address; nil if they can.
func (s *Server) trouble() error {
	if len(s.Listen) == 0 {
		return &ipc.Error{Code: ipc.CodeUnsupported, Message: "HTTP is turned off", Hint: "`http = false` in the configuration, or PASAR_ADDRESS=off, does that"}
	}
	s.mu.Lock()
	err, tried := s.served[s.Listen[0]]
	s.mu.Unlock()
	var others strings.Builder
	for _, a := range s.Served()[1:] {
		if a.Why != "" {
			fmt.Fprintf(&others, ", nor on %s: %s", a.Address, a.Why)
		}
	}
	switch {
	case !tried:
		return &ipc.Error{Code: ipc.CodeUnavailable, Message: "HTTP isn't up yet", Hint: "try again in a moment"}
	case err != nil:
		hint := "PASAR_ADDRESS, and `bind` in the configuration, say where it is served"
		if errors.Is(err, syscall.EADDRINUSE) {
			hint = "another pasard may have the port: give this one another with PASAR_ADDRESS, such as 127.0.0.1:8751"
		}
		return &ipc.Error{Code: ipc.CodeUnavailable, Message: fmt.Sprintf("HTTP is not served on %s: %s%s", s.Addresses[0], unserved(err), &others), Hint: hint}
	}
	return nil
}

// Served is each address that is listened on, and why it can't be.
func (s *Server) Served() []ipc.WebAddress {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]ipc.WebAddress, len(s.Listen))
	for i, addr := range s.Listen {
		out[i].Address = addr
		if err := s.served[addr]; err != nil {
			out[i].Why = unserved(err)
		}
	}
	return out
}

// unserved says why an address can't be listened on, without naming it again.
func unserved(err error) string {
	var en syscall.Errno
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &en):
		return en.Error()
	case errors.As(err, &dns):
		return dns.Err
	case errors.As(err, &op):
		return op.Err.Error()
	}
	return err.Error()
}

// Token is the token that lets in who isn't this user on this machine. A fresh one makes the old one, every
// cookie and every link worthless, and ends what they let in.
func (s *Server) Token(fresh bool) (string, error) {
	if fresh {
		if err := s.keys.renew(); err != nil {
			return "", err
		}
		s.links.forget()
		s.codes.forget()
		s.lease.renew()
	}
	return s.keys.token()
}

// url is where a browser on this machine asks: by loopback, if the first address is every one of this machine.
func (s *Server) url() string {
	addr := s.Addresses[0]
	if at, err := netip.ParseAddrPort(addr); err == nil && at.Addr().Unmap().IsUnspecified() {
		ip := netip.IPv6Loopback()
		if at.Addr().Unmap().Is4() {
			ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		}
		addr = netip.AddrPortFrom(ip, at.Port()).String()
	}
	return "http://" + addr
}

// Where is the address of the start page.
func (s *Server) Where() (string, error) {
	if err := s.trouble(); err != nil {
		return "", err
	}
	return s.url(), nil
}

// Link is an address that signs in the browser which opens it first, within linkFor.
func (s *Server) Link() (string, error) {
	if err := s.trouble(); err != nil {
		return "", err
	}
	return s.url() + "/login?code=" + s.links.make(s.Now()), nil
}

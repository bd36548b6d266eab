package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"pasar/ipc"
)

// freePort is one that nobody has on any address of a family.
func freePort(t *testing.T, network, wildcard string) string {
	t.Helper()
	l := listen(t, network, net.JoinHostPort(wildcard, "0"))
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	return port
}

// serveOn serves on some addresses until the test ends, and returns once it is known of each whether it can: of the
// first, why not.
func serveOn(t *testing.T, s *Server, addresses, listen []string) error {
	t.Helper()
	s.Addresses, s.Listen = addresses, listen
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	for stop := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) { // a port can't be waited for
		s.mu.Lock()
		err, tried := s.served[listen[0]], len(s.served)
		s.mu.Unlock()
		if tried == len(listen) {
			return err
		}
		if time.Now().After(stop) {
			t.Fatal("it isn't tried")
		}
	}
}

// statusAt is how a request for the status is answered at an address, with or without a token.
func statusAt(t *testing.T, addr, token string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/api/status", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "localhost"
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// outward are addresses of this machine at which others can reach it.
func outward(t *testing.T, is4 bool) (out []string) {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() == is4 && p.Addr().IsGlobalUnicast() {
			out = append(out, p.Addr().String())
		}
	}
	return out
}

func TestOneListenerOfAllAddressesTellsWhoIsAtEachConnection(t *testing.T) {
	for _, c := range []struct {
		network, wildcard, loopback string
		otherNetwork, other         string // of the family that it leaves alone
	}{{"tcp4", "0.0.0.0", "127.0.0.1", "tcp6", "::1"}, {"tcp6", "::", "::1", "tcp4", "127.0.0.1"}} {
		t.Run(c.network, func(t *testing.T) {
			s, _ := newServer(t)
			token, err := s.Token(false)
			if err != nil {
				t.Fatal(err)
			}
			port := freePort(t, c.network, c.wildcard)
			own, all := net.JoinHostPort(c.loopback, port), net.JoinHostPort(c.wildcard, port)
			if err := serveOn(t, s, []string{own, all}, []string{all}); err != nil {
				t.Fatal(err)
			}
			for range 2 { // one kind of connection doesn't make another of the next
				if got := statusAt(t, own, ""); got != http.StatusOK {
					t.Errorf("this user by loopback: %d", got)
				}
				for _, ip := range outward(t, c.network == "tcp4") {
					addr := net.JoinHostPort(ip, port)
					if without, with := statusAt(t, addr, ""), statusAt(t, addr, token); without != http.StatusUnauthorized || with != http.StatusOK {
						t.Errorf("by %s: %d, with the token %d", ip, without, with)
					}
				}
			}
			url, err := s.Link()
			if err != nil || !strings.HasPrefix(url, "http://"+own+"/login?") {
				t.Errorf("the link is %s: %v", url, err)
			}
			if nc, err := net.Dial(c.otherNetwork, net.JoinHostPort(c.other, port)); err == nil {
				_ = nc.Close()
				t.Errorf("%s is served, too", c.other)
			}
			theirs, _ := newServer(t)
			theirs.UID++
			port = freePort(t, c.network, c.wildcard)
			all = net.JoinHostPort(c.wildcard, port)
			if err := serveOn(t, theirs, []string{all}, []string{all}); err != nil {
				t.Fatal(err)
			}
			if got := statusAt(t, net.JoinHostPort(c.loopback, port), ""); got != http.StatusUnauthorized {
				t.Errorf("another user by loopback: %d", got)
			}
			if url, err := theirs.Link(); err != nil || !strings.HasPrefix(url, "http://"+net.JoinHostPort(c.loopback, port)+"/") {
				t.Errorf("the link is %s: %v", url, err)
			}
		})
	}
}

func TestEachAddressIsToldOfThatIsNotServed(t *testing.T) {
	mine := net.JoinHostPort("127.0.0.1", freePort(t, "tcp4", "0.0.0.0"))
	taken := listen(t, "tcp", "127.0.0.1:0").Addr().String()
	const foreign = "198.51.100.1:8750" // of nobody (RFC 5737)
	all := []string{mine, foreign, taken}
	s, _ := newServer(t)
	if err := serveOn(t, s, all, all); err != nil {
		t.Fatal(err)
	}
	if url, err := s.Where(); url != "http://"+mine || err != nil {
		t.Errorf("%s, %v", url, err)
	}
	for i, want := range []string{"", "cannot assign requested address", "address already in use"} {
		got := s.Served()[i]
		if got.Address != all[i] || got.Why != want {
			t.Errorf("%+v, want %q", got, want)
		}
	}
	s, _ = newServer(t)
	both := []string{taken, foreign}
	_ = serveOn(t, s, both, both)
	var e *ipc.Error
	want := "HTTP is not served on " + taken + ": address already in use, nor on " + foreign + ": cannot assign requested address"
	if _, err := s.Where(); !errors.As(err, &e) || e.Message != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestAnotherPasardIsSuspectedOnlyWhereOneCanBe(t *testing.T) {
	l := listen(t, "tcp", "127.0.0.1:0")
	for addr, suspected := range map[string]bool{l.Addr().String(): true, "198.51.100.1:8750": false, "[::ffff:198.51.100.1]:8750": false} {
		s, _ := newServer(t)
		err := serveOn(t, s, []string{addr}, []string{addr})
		if err == nil {
			t.Errorf("%s is served", addr)
			continue
		}
		var e *ipc.Error
		if _, linkErr := s.Link(); !errors.As(linkErr, &e) || !strings.Contains(e.Message, "HTTP is not served on "+addr) || e.Hint == "" || strings.Contains(e.Hint, "another pasard") != suspected {
			t.Errorf("%s: %+v", addr, linkErr)
		}
		if errors.Is(err, syscall.EADDRINUSE) != suspected {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

package web

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// behind serves with a door on loopback, for a user, until the test ends; it returns the address.
func behind(t *testing.T, uid int) string {
	t.Helper()
	s, _ := newServer(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &http.Server{Handler: s, ConnContext: withPeer, ReadHeaderTimeout: time.Minute}
	go func() { _ = h.Serve((&door{uid: uid, log: slog.New(slog.DiscardHandler)}).guard(l)) }()
	t.Cleanup(func() { _ = h.Close() })
	return l.Addr().String()
}

func hold(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestOneConnectionTooManyIsToldSo(t *testing.T) {
	for who, c := range map[string]struct{ uid, most int }{"this user": {os.Geteuid(), maxConns}, "one of the others": {os.Geteuid() + 1, maxStranger}} {
		t.Run(who, func(t *testing.T) {
			addr := behind(t, c.uid)
			var held []net.Conn
			for range c.most {
				held = append(held, hold(t, addr))
			}
			// A request on the last of them shows that all were let in before the next comes.
			last := held[len(held)-1]
			_, _ = io.WriteString(last, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
			res, err := http.ReadResponse(bufio.NewReader(last), nil)
			if err != nil || res.StatusCode != 200 {
				t.Fatalf("%v %v", res, err)
			}
			for range 20 {
				extra := hold(t, addr)
				_, _ = io.WriteString(extra, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
				res, err := http.ReadResponse(bufio.NewReader(extra), nil)
				if err != nil {
					t.Fatal(err)
				}
				b, _ := io.ReadAll(res.Body)
				if res.StatusCode != 503 || !strings.Contains(string(b), "as many connections as it takes") {
					t.Fatalf("%d %s", res.StatusCode, b)
				}
				_ = extra.Close()
			}
		})
	}
}

func TestAThousandSlowClientsAreBoundedAndLeaveRoomAgain(t *testing.T) {
	addr := behind(t, os.Geteuid())
	var held []net.Conn
	for range 1000 {
		c := hold(t, addr)
		_, _ = io.WriteString(c, "GET /api/status HTTP/1.1\r\nHo") // and never the rest
		held = append(held, c)
	}
	for _, c := range held {
		_ = c.Close()
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		res, err := http.Get("http://" + addr + "/api/status") // refused until the closed ones have been noticed
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no room was left: %v %v", res, err)
		}
	}
}

func TestEachOfManyConnectionsTooManyIsToldSo(t *testing.T) {
	addr := behind(t, os.Geteuid())
	for range maxConns {
		hold(t, addr)
	}
	var extra []net.Conn
	for range 3 * maxTurning {
		extra = append(extra, hold(t, addr))
	}
	for i, c := range extra {
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
		if b, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 503 ") || !strings.HasSuffix(string(b), "}\n") {
			t.Fatalf("%d of %d: %v %q", i, len(extra), err, b)
		}
	}
}

func TestWhoClosesTheirSideAtOnceIsToldWhyTheyAreNobody(t *testing.T) {
	s, _ := newServer(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := hold(t, l.Addr().String())
	_, _ = io.WriteString(c, "GET /api/status HTTP/1.1\r\nHost: localhost\r\n\r\n")
	_ = c.(*net.TCPConn).CloseWrite() // before anybody looks at it
	h := &http.Server{Handler: s, ConnContext: withPeer, ReadHeaderTimeout: time.Minute}
	go func() { _ = h.Serve((&door{uid: os.Geteuid(), log: slog.New(slog.DiscardHandler)}).guard(l)) }()
	t.Cleanup(func() { _ = h.Close() })
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(res.Body)
	if res.StatusCode != 401 || !strings.Contains(string(b), "don't close your side before the answer is there") {
		t.Errorf("%d %s", res.StatusCode, b)
	}
	for addr, hidden := range map[string]bool{"127.0.0.1:9": true, "[::1]:9": true, "[::ffff:127.0.0.1]:9": true, "192.0.2.1:9": false, "": false} {
		if p := (peer{uid: -1, addr: addr}); p.hidden() != hidden {
			t.Errorf("%q: %v", addr, !hidden)
		}
	}
	if (peer{uid: 1000, addr: "127.0.0.1:9"}).hidden() {
		t.Error("somebody who is known is hidden")
	}
}

// from is a connection to a door from an address, or of a user.
func from(uid int, addr string) *guest {
	c, _ := net.Pipe()
	return &guest{Conn: c, peer: peer{uid: uid, addr: addr}}
}

func TestOneStrangerLeavesRoomForTheOthers(t *testing.T) {
	d := &door{log: slog.New(slog.DiscardHandler)}
	var held []*guest
	fill := func(uid int, addr string) (n int) {
		for range 2 * maxStrangers {
			g := from(uid, addr)
			if !d.admit(g) {
				d.turn(g) // being told takes no place
				continue
			}
			held = append(held, g)
			n++
		}
		return n
	}
	for i, c := range []struct {
		uid  int
		addr string
		want int
	}{
		{1001, "127.0.0.1:1", maxStranger},
		{1001, "[::1]:7", 0}, // the same user
		{-1, "192.0.2.7:9", maxStranger},
		{-1, "[::ffff:192.0.2.7]:10", 0}, // the same machine
		{-1, "[2001:db8::1]:9", maxStranger},
		{-1, "[2001:db8::2]:9", 0}, // the same network
		{-1, "[2001:db8:0:1::1]:9", maxStranger},
		{1002, "127.0.0.1:1", 0}, // all places are taken
	} {
		if n := fill(c.uid, c.addr); n != c.want {
			t.Errorf("%d: %d places of %d", i, n, c.want)
		}
	}
	if mine := (&guest{peer: peer{ours: true}}); !d.admit(mine) {
		t.Error("this user is locked out")
	}
	for _, g := range held {
		_ = g.Close()
		_ = g.Close() // once is enough
	}
	if n := fill(1002, "127.0.0.1:1"); n != maxStranger || d.strangers != maxStranger || len(d.each) != 1 {
		t.Errorf("afterwards %d places; %d strangers, %v", n, d.strangers, d.each)
	}
}

func TestWhoSendsNoWholeHeadIsLetGo(t *testing.T) {
	t.Parallel() // it takes as long as is given for a head
	_, _, addr, _ := rawServer(t)
	_ = upgrade(t, addr, "/ipc").Close() // it serves
	c := hold(t, addr)
	_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHo")
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	begin := time.Now()
	var late net.Error
	if _, err := io.Copy(io.Discard, c); errors.As(err, &late) && late.Timeout() {
		t.Errorf("it is still there after %v", time.Since(begin))
	}
}

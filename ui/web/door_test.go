package web

import (
	"bufio"
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
	for who, c := range map[string]struct{ uid, most int }{"this user": {os.Geteuid(), maxConns}, "others": {os.Geteuid() + 1, maxStrangers}} {
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

package web

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// rawServer serves on loopback until end is called or the test ends.
func rawServer(t *testing.T) (s *Server, d *double, addr string, end func()) {
	t.Helper()
	s, d = newServer(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	_ = l.Close()
	s.Addresses, s.Listen = []string{addr}, []string{addr}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(ctx) }()
	end = func() { cancel(); <-done }
	t.Cleanup(end)
	return s, d, addr, end
}

// upgrade asks for a socket's bytes and returns the connection once they follow.
func upgrade(t *testing.T, addr, target string) net.Conn {
	t.Helper()
	var c net.Conn
	var err error
	for stop := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) { // a port can't be waited for
		if c, err = net.Dial("tcp", addr); err == nil {
			break
		}
		if time.Now().After(stop) {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = c.Close() })
	_, _ = io.WriteString(c, "GET "+target+" HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, Upgrade\r\nUpgrade: pasar-ipc\r\n\r\n")
	r := bufio.NewReader(c)
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusSwitchingProtocols || res.Header.Get("Upgrade") != "pasar-ipc" || r.Buffered() > 0 {
		t.Fatalf("%s %v, %d bytes more", res.Status, res.Header, r.Buffered())
	}
	return c
}

func client(t *testing.T, nc net.Conn) *ipc.Client {
	t.Helper()
	c, err := ipc.NewClient(t.Context(), nc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestWhoDoesNotAskForASocketsBytesRightIsToldHow(t *testing.T) {
	s, _ := newServer(t)
	right := func(r *http.Request) {
		r.Header.Set("Connection", "Upgrade")
		r.Header.Set("Upgrade", "pasar-ipc")
	}
	for what, c := range map[string]struct {
		target string
		change func(*http.Request)
		status int
		want   string
	}{
		"nothing":           {"/ipc", nil, http.StatusUpgradeRequired, "Upgrade: pasar-ipc"},
		"another protocol":  {"/ipc", func(r *http.Request) { right(r); r.Header.Set("Upgrade", "websocket") }, http.StatusUpgradeRequired, "Upgrade: pasar-ipc"},
		"no Connection":     {"/ipc", func(r *http.Request) { r.Header.Set("Upgrade", "pasar-ipc") }, http.StatusUpgradeRequired, "Upgrade: pasar-ipc"},
		"HTTP/1.0":          {"/ipc", func(r *http.Request) { right(r); r.ProtoMinor = 0 }, http.StatusUpgradeRequired, "Upgrade: pasar-ipc"},
		"a stranger":        {"/ipc", func(r *http.Request) { right(r); stranger(r) }, http.StatusUnauthorized, "token"},
		"another name":      {"/ipc", func(r *http.Request) { right(r); r.Host = "evil.example" }, http.StatusForbidden, "evil.example"},
		"another's page":    {"/ipc", func(r *http.Request) { right(r); r.Header.Set("Origin", "http://evil.example") }, http.StatusForbidden, "evil.example"},
		"a job by name":     {"/ipc?job=train", right, http.StatusBadRequest, "train"},
		"no job":            {"/ipc?job=0", right, http.StatusBadRequest, "from 1 on"},
		"an attempt alone":  {"/ipc?attempt=1", right, http.StatusBadRequest, "from 1 on"},
		"something unknown": {"/ipc?host=x", right, http.StatusBadRequest, "host"},
		"a change":          {"/ipc", func(r *http.Request) { right(r); r.Method = http.MethodPost }, http.StatusMethodNotAllowed, "GET"},
	} {
		w := ask(t, s, "GET", c.target, "", c.change)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) || strings.Count(w.Body.String(), "\n") != 1 {
			t.Errorf("%s: %d %s", what, w.Code, w.Body)
		}
		if c.status == http.StatusUpgradeRequired && w.Header().Get("Upgrade") != "pasar-ipc" {
			t.Errorf("%s: Upgrade: %q", what, w.Header().Get("Upgrade"))
		}
	}
	s.Connect = func(context.Context) (net.Conn, error) {
		return nil, &ipc.Error{Code: ipc.CodeNoDaemon, Message: "none"}
	}
	if w := ask(t, s, "GET", "/ipc", "", right); w.Code != http.StatusServiceUnavailable {
		t.Errorf("without a daemon: %d %s", w.Code, w.Body)
	}
}

func TestTheDaemonsProtocolPassesThroughHTTPAndSaysSo(t *testing.T) {
	_, d, addr, _ := rawServer(t)
	via := make(chan string, 1)
	gone := make(chan struct{})
	d.reply[ipc.VerbStatus] = func(_ context.Context, c *ipc.Call) error {
		via <- c.Peer.Via
		return c.Answer(ipc.ViewAnswer{JSON: []byte(`{"big":"` + strings.Repeat("x", 3<<20) + `"}`)})
	}
	d.reply[ipc.VerbWait] = func(ctx context.Context, c *ipc.Call) error {
		_ = c.Chunk([]byte("here"))
		<-ctx.Done()
		close(gone)
		return nil
	}
	c := client(t, upgrade(t, addr, "/ipc"))
	if b, err := c.Status(t.Context()); err != nil || len(b) < 3<<20 {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	if v := <-via; v != ipc.ViaHTTP {
		t.Errorf("it came by %q", v)
	}
	here := errors.New("here")
	if err := c.Wait(t.Context(), ipc.WaitRequest{Jobs: []pasar.JobID{1}}, func([]byte) error { return here }); !errors.Is(err, here) {
		t.Fatal(err)
	}
	_ = c.Close()
	<-gone // who leaves is seen to have left

	// A client that claims to have come by no way isn't believed.
	nc := upgrade(t, addr, "/ipc")
	hello, err := ipc.AppendFrame(nil, ipc.MaxFrame, 1, ipc.MinVersion, ipc.MaxVersion, "x", "")
	if err != nil {
		t.Fatal(err)
	}
	body, err := ipc.Encode(ipc.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	if hello, err = ipc.AppendFrame(hello, ipc.MaxFrame, 2, 1, string(ipc.VerbStatus), body); err != nil {
		t.Fatal(err)
	}
	_, _ = nc.Write(hello)
	if v := <-via; v != ipc.ViaHTTP {
		t.Errorf("it came by %q", v)
	}
	// Who says something else than a greeting is let go.
	nc = upgrade(t, addr, "/ipc")
	_, _ = io.WriteString(nc, "GET / HTTP/1.1\r\n\r\n")
	if _, err := io.Copy(io.Discard, nc); err != nil && !isReset(err) {
		t.Error(err)
	}
}

func isReset(err error) bool { return strings.Contains(err.Error(), "reset by peer") }

// TestASupervisorsSocketPassesThroughHTTPToTheLastByte holds that either side may say that it sends no more, and is still
// sent the rest.
func TestASupervisorsSocketPassesThroughHTTPToTheLastByte(t *testing.T) {
	s, _, addr, _ := rawServer(t)
	inners := make(chan *net.UnixConn, 2)
	s.Attach = func(_ context.Context, job pasar.JobID, attempt int) (net.Conn, error) {
		if job != 7 || attempt != 2 {
			return nil, &ipc.Error{Code: ipc.CodeWrongState, Message: "another one"}
		}
		dir := t.TempDir()
		l, err := net.Listen("unix", dir+"/s")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		c, err := net.Dial("unix", dir+"/s")
		if err != nil {
			return nil, err
		}
		inner, err := l.Accept()
		if err != nil {
			return nil, err
		}
		inners <- inner.(*net.UnixConn)
		return c, nil
	}
	outer := upgrade(t, addr, "/ipc?job=7&attempt=2")
	inner := <-inners
	typed := strings.Repeat("typed\x00\xff", 100_000)
	go func() {
		_, _ = io.WriteString(outer, typed)
		_ = outer.(*net.TCPConn).CloseWrite()
	}()
	if b, err := io.ReadAll(inner); err != nil || string(b) != typed {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	go func() {
		_, _ = io.WriteString(inner, typed)
		_ = inner.Close()
	}()
	if b, err := io.ReadAll(outer); err != nil || string(b) != typed {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	// And the other way round: who is told that the socket has ended still has its say taken.
	outer2 := upgrade(t, addr, "/ipc?job=7&attempt=2")
	inner2 := <-inners
	_, _ = io.WriteString(inner2, "last words")
	_ = inner2.CloseWrite()
	if b, err := io.ReadAll(outer2); err != nil || string(b) != "last words" {
		t.Fatalf("%q, %v", b, err)
	}
	_, _ = io.WriteString(outer2, "bye")
	_ = outer2.Close()
	if b, err := io.ReadAll(inner2); err != nil || string(b) != "bye" {
		t.Fatalf("%q, %v", b, err)
	}
}

func TestConnectionsThatArePassedOnEndWithTheServer(t *testing.T) {
	_, d, addr, end := rawServer(t)
	d.reply[ipc.VerbWait] = func(ctx context.Context, c *ipc.Call) error {
		_ = c.Chunk([]byte("here"))
		<-ctx.Done()
		return nil
	}
	c := client(t, upgrade(t, addr, "/ipc"))
	here := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- c.Wait(t.Context(), ipc.WaitRequest{Jobs: []pasar.JobID{1}}, func([]byte) error { close(here); return nil })
	}()
	<-here
	idle := upgrade(t, addr, "/ipc") // has not even greeted
	end()
	if err := <-ended; err == nil {
		t.Error("it goes on")
	}
	if _, err := io.Copy(io.Discard, idle); err != nil && !isReset(err) {
		t.Error(err)
	}
}

func TestWhoTakesNothingHoldsUpNobodyElse(t *testing.T) {
	_, d, addr, _ := rawServer(t)
	full := make(chan struct{})
	d.reply[ipc.VerbFacts] = func(ctx context.Context, c *ipc.Call) error {
		piece := make([]byte, 64<<10)
		for i := range 1000 { // 64 MB: more than any buffer on the way
			if i == 1 {
				close(full)
			}
			if err := c.Chunk(piece); err != nil {
				return err
			}
		}
		t.Error("it was all taken")
		return nil
	}
	slow := client(t, upgrade(t, addr, "/ipc"))
	stuck := make(chan struct{})
	defer close(stuck)
	go func() {
		_ = slow.Facts(t.Context(), ipc.FactsRequest{}, func([]byte) error { <-stuck; return context.Canceled })
	}()
	<-full
	if _, err := client(t, upgrade(t, addr, "/ipc")).Status(t.Context()); err != nil {
		t.Error(err)
	}
}

// A dated connection remembers its deadlines.
type dated struct {
	net.Conn
	read, write time.Time
}

func (d *dated) SetDeadline(t time.Time) error      { d.read, d.write = t, t; return nil }
func (d *dated) SetReadDeadline(t time.Time) error  { d.read = t; return nil }
func (d *dated) SetWriteDeadline(t time.Time) error { d.write = t; return nil }

func TestNoDeadlineOfHTTPsOutlivesTheUpgrade(t *testing.T) {
	near, far := net.Pipe()
	in, daemon := net.Pipe()
	outer := &dated{Conn: near, read: time.Unix(1, 0), write: time.Unix(1, 0)}
	tb := &tube{outer: outer, from: bufio.NewReader(near), inner: in}
	go func() {
		hello, _ := ipc.AppendFrame(nil, ipc.MaxFrame, 1, 1, 1, "x")
		_, _ = http.ReadResponse(bufio.NewReaderSize(far, 16), nil)
		_, _ = far.Write(hello)
	}()
	go func() { _, _ = io.Copy(io.Discard, daemon) }()
	if err := errors.Join(tb.open(), tb.greet()); err != nil {
		t.Fatal(err)
	}
	if !outer.read.IsZero() {
		t.Errorf("reading ends at %v", outer.read)
	}
	tb.close()
}

package remote

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pasar/ipc"
)

// answering is a server that gives one answer to whoever connects, and hands over what was asked.
func answering(t *testing.T, answer string) (addr string, asked <-chan *http.Request) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan *http.Request, 8)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				got <- r
				_, _ = io.WriteString(c, answer)
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String(), got
}

func TestAConnectionIsAskedForInHTTP(t *testing.T) {
	addr, asked := answering(t, "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: Pasar-IPC\r\n\r\nbytes\r\n\r\n\x00")
	r, err := New("http://"+addr+"/", Options{Env: []string{"PASAR_TOKEN=old", "PASAR_TOKEN=pasar_x"}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.dial(t.Context(), Errand{Job: 7, Attempt: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if b, err := io.ReadAll(c); err != nil || string(b) != "bytes\r\n\r\n\x00" {
		t.Errorf("%q, %v", b, err)
	}
	q := <-asked
	if q.Method != "GET" || q.RequestURI != "/ipc?job=7&attempt=2" || q.Host != addr || q.Header.Get("Upgrade") != Protocol || q.Header.Get("Connection") != "Upgrade" || q.Header.Get("Authorization") != "Bearer pasar_x" {
		t.Errorf("%s %s %v", q.Method, q.RequestURI, q.Header)
	}
}

func TestWhatRefusesByHTTPIsOneClearError(t *testing.T) {
	in := func(status, body string) string {
		return "HTTP/1.1 " + status + "\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
	}
	said := func(code, message string) string {
		return `{"schema":1,"error":{"code":"` + code + `","message":"` + message + `","hint":"do so"}}`
	}
	for what, c := range map[string]struct {
		answer, token string
		code          ipc.Code
		want, hint    string
		cut           bool
	}{
		"no token":     {in("401 Unauthorized", said("not_allowed", "x")), "", ipc.CodeNotAllowed, "ADDR wants a token", "set PASAR_TOKEN to what `pasar token` prints there", true},
		"a wrong one":  {in("401 Unauthorized", said("not_allowed", "x")), "y", ipc.CodeNotAllowed, "ADDR doesn't know the token in PASAR_TOKEN", "`pasar token` prints it there", true},
		"another name": {in("403 Forbidden", said("not_allowed", "not asked so")), "", ipc.CodeNotAllowed, "ADDR: not asked so", "do so", true},
		"a proxy's":    {"HTTP/1.1 403 Forbidden\r\nContent-Type: text/html\r\n\r\n<html>", "", ipc.CodeNoDaemon, "ADDR refuses: HTTP status 403, and not in pasar's words", "what stands before", true},
		"older pasard": {in("404 Not Found", said("bad_request", "there is nothing")), "", ipc.CodeNoDaemon, "the pasard at ADDR doesn't know /ipc", "install the same", true},
		"no job":       {in("404 Not Found", said("unknown_job", "there is no job 7")), "", ipc.CodeUnknownJob, "ADDR: there is no job 7", "do so", true},
		"ends":         {in("503 Service Unavailable", said("no_daemon", "it ends")), "", ipc.CodeNoDaemon, "ADDR: it ends", "do so", false},
		"too many":     {in("503 Service Unavailable", said("over_limit", "as many as it takes")), "", ipc.CodeOverLimit, "ADDR: as many as it takes", "do so", true},
		"a web server": {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi", "", ipc.CodeNoDaemon, "ADDR: what answers there isn't pasar (HTTP status 200)", "PASAR_URL names", true},
		"other JSON":   {in("404 Not Found", `{"error":"no"}`), "", ipc.CodeNoDaemon, "ADDR: what answers there isn't pasar (HTTP status 404)", "PASAR_URL names", true},
		"another 101":  {"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n", "", ipc.CodeNoDaemon, "ADDR: what answers there isn't pasar (HTTP status 101)", "PASAR_URL names", true},
		"ssh":          {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "", ipc.CodeNoDaemon, "ADDR: what answers there isn't HTTP", "PASAR_URL names", true},
		"nothing":      {"", "", ipc.CodeNoDaemon, "ADDR closed the connection before it answered", "", false},
		"no end":       {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2*maxHead), "", ipc.CodeNoDaemon, "ADDR: what answers there isn't HTTP", "PASAR_URL names", true},
	} {
		addr, _ := answering(t, c.answer)
		r, err := New("http://"+addr, Options{Env: []string{"PASAR_TOKEN=" + c.token}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.dial(t.Context(), Errand{})
		var e *ipc.Error
		var l *LinkError
		if !errors.As(err, &e) || e.Code != c.code || !strings.HasPrefix(e.Message, strings.ReplaceAll(c.want, "ADDR", addr)) || !strings.HasPrefix(e.Hint, c.hint) || errors.As(err, &l) != c.cut {
			t.Errorf("%s: %+v (%T)", what, e, err)
		}
	}
}

func TestAServerThatSaysNothingIsLeftWhenTheCommandIs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, err := New("http://"+l.Addr().String(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(10*time.Millisecond, func() { cancel(why) })
	if _, err := r.dial(ctx, Errand{}); !errors.Is(err, why) {
		t.Error(err)
	}
}

// TestAServerThatIsNoneOfPasarsIsLeftInTime goes through what a server may do that takes a connection: whatever it is, a
// command learns within the time for it, in words, and isn't to try again.
func TestAServerThatIsNoneOfPasarsIsLeftInTime(t *testing.T) {
	const upgraded = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: pasar-ipc\r\n\r\n"
	const silent, strange = "ADDR took the connection and says nothing", "ADDR: what answers there says that it is pasar, and doesn't speak as it does"
	for what, c := range map[string]struct {
		answer string
		drips  bool // goes on, a byte at a time
		says   string
	}{
		"silent":                        {"", false, silent},
		"a head that drips":             {"HTTP/1.1 101 Switching Protocols\r\nX: ", true, silent},
		"a refusal that drips":          {"HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n", true, "ADDR refuses: HTTP status 403, and not in pasar's words"},
		"silent once upgraded":          {upgraded, false, silent},
		"garbage once upgraded":         {upgraded + "\xff\xff\xff\xff\xff", false, strange},
		"small garbage once upgraded":   {upgraded + "\x00\x00\x00\x01\xc1", false, strange},
		"no welcome once upgraded":      {upgraded + "\x00\x00\x00\x02\x91\x43", false, strange},
		"a welcome that drips":          {upgraded + "\x00\x00\xff", true, strange},
		"a length that is not finished": {upgraded + "\x00\x00", false, silent},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var served sync.WaitGroup
			served.Go(func() {
				nc, err := l.Accept()
				if err != nil {
					return
				}
				defer nc.Close()
				served.Go(func() { // until the client is gone
					tick := time.NewTicker(5 * time.Millisecond)
					defer tick.Stop()
					_, err := io.WriteString(nc, c.answer)
					for c.drips && err == nil {
						<-tick.C
						_, err = nc.Write([]byte("x"))
					}
				})
				_, _ = io.Copy(io.Discard, nc)
			})
			t.Cleanup(func() { _ = l.Close(); served.Wait() })
			u, err := parse("http://" + l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			h, err := newHTTP(u, "")
			if err != nil || h.limit != linkTime {
				t.Fatal(h, err)
			}
			h.limit = 100 * time.Millisecond
			r := &Remote{Name: u.Hostname(), at: u.Host, dial: h.dial}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err = r.Client(ctx, true)
			var cut *LinkError
			if want := strings.ReplaceAll(c.says, "ADDR", u.Host); !errors.As(err, &cut) || cut.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}

func TestNobodyThereIsSaid(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	r, err := New("http://"+addr, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.dial(t.Context(), Errand{})
	var e *ipc.Error
	if !errors.As(err, &e) || e.Code != ipc.CodeNoDaemon || e.Message != "reach "+addr+": connection refused" || e.Hint == "" {
		t.Errorf("%+v", e)
	}
}

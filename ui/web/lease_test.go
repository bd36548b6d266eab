package web

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"pasar/ipc"
)

// waiting asks, over a connection of its own, for what never ends, with the headers that are given, and returns what
// follows the answer's head.
func waiting(t *testing.T, addr, target, headers string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c := hold(t, addr)
	_, _ = io.WriteString(c, "GET "+target+" HTTP/1.1\r\nHost: localhost\r\n"+headers+"\r\n")
	r := bufio.NewReader(c)
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	res, err := http.ReadResponse(r, nil)
	if err != nil || res.StatusCode != 200 && res.StatusCode != 101 {
		t.Fatalf("%s: %v %v", target, res, err)
	}
	return c, r
}

func TestANewTokenEndsWhatTheOldOneLetIn(t *testing.T) {
	s, d, addr, _ := rawServer(t)
	upgrade(t, addr, "/ipc") // it serves
	d.reply[ipc.VerbLogs] = func(ctx context.Context, c *ipc.Call) error {
		_ = c.Chunk([]byte(`{"attempt":1,"offset":0}`))
		<-ctx.Done()
		return nil
	}
	token, err := s.Token(false)
	if err != nil {
		t.Fatal(err)
	}
	cookie, key := signIn(t, s)
	link, err := s.Link()
	if err != nil {
		t.Fatal(err)
	}
	bearer := "Authorization: Bearer " + token + "\r\n"
	page := "Cookie: " + cookie.Name + "=" + cookie.Value + "\r\nPasar-Key: " + key + "\r\n"
	const ipcUp = "Connection: Upgrade\r\nUpgrade: pasar-ipc\r\n"
	var ends []*bufio.Reader
	for _, headers := range []string{bearer, page} {
		_, r := waiting(t, addr, "/ipc", ipcUp+headers)
		ends = append(ends, r)
		_, r = waiting(t, addr, "/api/jobs/1/logs?raw&follow", headers)
		ends = append(ends, r)
	}
	mine, _ := waiting(t, addr, "/ipc", ipcUp)
	if _, err := s.Token(true); err != nil {
		t.Fatal(err)
	}
	for i, r := range ends {
		var out net.Error
		if _, err := io.Copy(io.Discard, r); errors.As(err, &out) && out.Timeout() {
			t.Errorf("%d goes on", i)
		}
	}
	_ = mine.SetDeadline(time.Time{})
	if _, err := client(t, mine).Status(t.Context()); err != nil {
		t.Errorf("this user's own ended, too: %v", err)
	}
	if w := ask(t, s, "GET", link[len("http://"+s.Addresses[0]):], "", stranger); w.Code != 403 {
		t.Errorf("a link of before signs in: %d", w.Code)
	}
}

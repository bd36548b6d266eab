package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"pasar/ipc"
)

// listening opens a stream of events over a WebSocket.
func listening(t *testing.T, url string, protocols ...string) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	c, res, err := websocket.Dial(ctx, url, &websocket.DialOptions{Subprotocols: protocols})
	if err == nil {
		t.Cleanup(func() { _ = c.CloseNow() })
		c.SetReadLimit(1 << 20)
	}
	return c, res, err
}

// reads takes messages until they have a word in them, and returns all of what came.
func reads(t *testing.T, c *websocket.Conn, word string) string {
	t.Helper()
	var all strings.Builder
	for !strings.Contains(all.String(), word) {
		typ, b, err := c.Read(t.Context())
		if err != nil || typ != websocket.MessageBinary {
			t.Fatalf("%q, then %v %v", all.String(), typ, err)
		}
		all.Write(b)
	}
	return all.String()
}

func TestAStreamOverAWebSocketHasTheSameBytes(t *testing.T) {
	s, d := newServer(t)
	left := make(chan struct{}, 2)
	d.reply[ipc.VerbChanges] = func(ctx context.Context, c *ipc.Call) error {
		for _, v := range []string{`{"schema":1,"seq":1,"é":1}` + "\n", `{"schema":1,"seq":2}` + "\n"} {
			if err := c.Chunk([]byte(v)); err != nil {
				return err
			}
		}
		<-ctx.Done()
		left <- struct{}{}
		return context.Cause(ctx)
	}
	url := served(t, s)
	plain, err := http.Get(url + "/api/stream?limit=5")
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := listening(t, url+"/api/stream?limit=5", eventsProtocol)
	if err != nil {
		t.Fatal(err)
	}
	if c.Subprotocol() != eventsProtocol {
		t.Errorf("it speaks %q", c.Subprotocol())
	}
	over := reads(t, c, "\"seq\":2}\n\n")
	b := make([]byte, len(over))
	if _, err := io.ReadFull(plain.Body, b); err != nil || string(b) != over {
		t.Errorf("%q, and plainly %q %v", over, b, err)
	}
	// Each ends its subscription when its client leaves.
	_ = plain.Body.Close()
	_ = c.CloseNow()
	for range 2 {
		select {
		case <-left:
		case <-time.After(30 * time.Second):
			t.Fatal("nobody told the daemon that the client has left")
		}
	}
}

func TestAStreamThatIsRefusedNeverBecomesAWebSocket(t *testing.T) {
	s, _ := newServer(t)
	url := served(t, s)
	for path, want := range map[string]int{"/api/stream?limit=x": 400, "/api/jobs/x/logs?follow": 404, "/api/jobs/1/logs?follow&lines=-1": 400} {
		if _, res, err := listening(t, url+path, eventsProtocol); err == nil || res == nil || res.StatusCode != want {
			t.Errorf("%s: %v %v", path, res, err)
		}
	}
}

func TestAStreamOverAWebSocketEndsWithTheServer(t *testing.T) {
	s, d := newServer(t)
	d.reply[ipc.VerbChanges] = func(ctx context.Context, c *ipc.Call) error {
		if err := c.Chunk([]byte(`{"schema":1,"seq":1}` + "\n")); err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
	ctx, shut := context.WithCancel(t.Context())
	url := servedUntil(t, ctx, s)
	c, _, err := listening(t, url+"/api/stream", eventsProtocol)
	if err != nil {
		t.Fatal(err)
	}
	reads(t, c, "snapshot")
	shut()
	var closed websocket.CloseError
	for err == nil { // what was on its way
		_, _, err = c.Read(t.Context())
	}
	if !errors.As(err, &closed) || closed.Code != websocket.StatusGoingAway {
		t.Errorf("it ended with %v", err)
	}
	s.taken.Wait()
}

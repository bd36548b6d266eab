package ipc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
)

// A failing connection passes on what comes, and then fails with err instead of ending.
type failing struct {
	net.Conn
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	if err == io.EOF {
		err = f.err
	}
	return n, err
}

// TestAClientSpeaksOverAnyConnection holds that what made a connection is the one to say how it was lost.
func TestAClientSpeaksOverAnyConnection(t *testing.T) {
	why := &Error{Code: CodeNoDaemon, Message: "the link is cut"}
	for name, part := range map[string]func(c *Call) error{
		"between frames": func(c *Call) error { return nil },
		"in a length":    func(c *Call) error { _, err := c.conn.conn.Write([]byte{0}); return err },
		"in a frame":     func(c *Call) error { _, err := c.conn.conn.Write([]byte{0, 0, 0, 9, 0x91}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			path := start(t, func(_ context.Context, c *Call) error {
				err := part(c)
				_ = c.conn.conn.Close()
				return err
			})
			nc, err := DialUnix(path, GreetTimeout)
			if err != nil {
				t.Fatal(err)
			}
			c, err := NewClient(t.Context(), &failing{nc, why})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if c.DaemonVersion != "9.9" {
				t.Errorf("daemon %q", c.DaemonVersion)
			}
			if err := c.Call(t.Context(), VerbStatus, Empty{}, nil, nil); !errors.Is(err, why) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestASupervisorIsGreetedOverAnyConnection(t *testing.T) {
	near, far := net.Pipe()
	go func() {
		c := NewAttachConn(far)
		if _, _, err := c.Recv(); err == nil {
			_ = c.Send(AttachWelcome, &Welcome{Version: 2, Key: "7.1"})
		}
	}()
	c, w, err := GreetAttach(near, Hello{Mode: ModeWatch})
	if err != nil || w.Key != "7.1" {
		t.Fatalf("%+v, %v", w, err)
	}
	_ = far.Close()
	if _, _, err := c.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
	_ = c.Close()
}

func TestAGreetingThatIsPassedOnSaysByWhichWay(t *testing.T) {
	for _, said := range [][]any{{typeHello, 1, 3, "0.9"}, {typeHello, 1, 3, "0.9", ""}, {typeHello, 1, 3, "0.9", "socket", "more"}} {
		b, err := AppendFrame(nil, MaxFrame, said...)
		if err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(bytes.NewReader(append(b, "rest"...)))
		passed, err := PassHello(r, ViaHTTP)
		if err != nil {
			t.Fatal(err)
		}
		body, err := ReadFrame(bufio.NewReader(bytes.NewReader(passed)), MaxFrame)
		if err != nil {
			t.Fatal(err)
		}
		var typ, lo, hi int
		var version, via string
		rest, _ := io.ReadAll(r)
		if err := Unpack(body, &typ, &lo, &hi, &version, &via); err != nil || typ != typeHello || lo != 1 || hi != 3 || version != "0.9" || via != ViaHTTP || string(rest) != "rest" {
			t.Errorf("%v: %d %d %d %q %q, rest %q, %v", said, typ, lo, hi, version, via, rest, err)
		}
	}
	for _, said := range [][]any{{typeRequest, 1, "status"}, {}, {typeHello, 1, 3, string(make([]byte, maxHello))}} {
		b, err := AppendFrame(nil, MaxFrame, said...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := PassHello(bufio.NewReader(bytes.NewReader(b)), ViaHTTP); err == nil {
			t.Errorf("%.40v is passed on", said)
		}
	}
}

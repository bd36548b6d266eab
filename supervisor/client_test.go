package supervisor_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"pasar/attemptdir"
	"pasar/ipc"
)

// A client is someone attached.
type client struct {
	t       testing.TB
	conn    *ipc.AttachConn
	welcome ipc.Welcome
	off     int64
	holders []ipc.HolderNote
	sizes   []ipc.Size
	skipped int64
	notes   []string
	marks   []ipc.MarkFrame
}

// index is what the marks that came say, as an index.
func (c *client) index() *attemptdir.Index {
	var b []byte
	for _, m := range c.marks {
		b = attemptdir.AppendMark(b, attemptdir.Mark{Offset: m.Offset, At: time.UnixMilli(m.At), Runs: []attemptdir.Run{{Stream: m.Stream}}})
	}
	return attemptdir.DecodeIndex(b)
}

// dial attaches with the patience that a machine wants on which much else is tested.
func dial(socket string, h ipc.Hello) (*ipc.AttachConn, ipc.Welcome, error) {
	nc, err := ipc.DialUnix(socket, patience)
	if err != nil {
		return nil, ipc.Welcome{}, err
	}
	return ipc.GreetAttach(nc, h)
}

func (r *rig) attach(h ipc.Hello) *client {
	r.t.Helper()
	h.Nonce = r.spec.Nonce
	conn, w, err := dial(r.holding().Socket, h)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	return &client{t: r.t, conn: conn, welcome: w, off: w.Offset}
}

func (c *client) send(typ int, body any) {
	c.t.Helper()
	if err := c.conn.Send(typ, body); err != nil {
		c.t.Fatal(err)
	}
}

// next reads one frame; output must be without a gap.
func (c *client) next(out io.Writer) (exit *ipc.ExitFrame) {
	c.t.Helper()
	_ = c.conn.SetReadDeadline(time.Now().Add(patience))
	typ, body, err := c.conn.Recv()
	if err != nil {
		c.t.Fatalf("attached: %v", err)
	}
	decode := func(v any) {
		c.t.Helper()
		if err := ipc.DecodeBody(body, v); err != nil {
			c.t.Fatal(err)
		}
	}
	switch typ {
	case ipc.AttachOut:
		var o ipc.Out
		decode(&o)
		if o.Offset != c.off {
			c.t.Fatalf("output at %d, expected %d", o.Offset, c.off)
		}
		c.off += int64(len(o.Data))
		_, _ = out.Write(o.Data)
	case ipc.AttachSkip:
		var s ipc.Skip
		decode(&s)
		if s.From != c.off || s.To <= s.From {
			c.t.Fatalf("skip %+v at %d", s, c.off)
		}
		c.skipped += s.To - s.From
		c.off = s.To
	case ipc.AttachHolder:
		var h ipc.HolderNote
		decode(&h)
		c.holders = append(c.holders, h)
	case ipc.AttachSize:
		var s ipc.Size
		decode(&s)
		c.sizes = append(c.sizes, s)
	case ipc.AttachNote:
		var n ipc.Note
		decode(&n)
		c.notes = append(c.notes, n.Text)
	case ipc.AttachMark:
		var m ipc.MarkFrame
		decode(&m)
		if m.Offset != c.off {
			c.t.Fatalf("mark %+v at %d", m, c.off)
		}
		c.marks = append(c.marks, m)
	case ipc.AttachExit:
		exit = new(ipc.ExitFrame)
		decode(exit)
	}
	return exit
}

// readAll reads output to EXIT.
func (c *client) readAll(out io.Writer) ipc.ExitFrame {
	c.t.Helper()
	for {
		if e := c.next(out); e != nil {
			return *e
		}
	}
}

// until reads output until it ends in s, and returns it.
func (c *client) until(s string) string {
	c.t.Helper()
	var buf bytes.Buffer
	for !strings.HasSuffix(buf.String(), s) {
		if e := c.next(&buf); e != nil {
			c.t.Fatalf("the job ended before it wrote %q; last %q", s, buf.String()[max(0, buf.Len()-200):])
		}
	}
	return buf.String()
}

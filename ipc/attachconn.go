package ipc

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// An AttachConn carries frames of the supervisor's protocol. Send may be called from several
// goroutines, Recv from one.
type AttachConn struct {
	conn net.Conn
	r    *bufio.Reader

	mu  sync.Mutex // guards buf and the order of writes
	buf []byte
}

// NewAttachConn wraps a connection.
func NewAttachConn(c net.Conn) *AttachConn {
	return &AttachConn{conn: c, r: bufio.NewReaderSize(c, 4<<10)}
}

// Send writes one frame [typ, body]. It blocks for at most WriteTimeout.
func (c *AttachConn) Send(typ int, body any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, err := AppendFrame(c.buf[:0], MaxAttachFrame, typ, body)
	c.buf = b
	if err != nil {
		return err
	}
	if err := c.conn.SetWriteDeadline(time.Now().Add(WriteTimeout)); err != nil {
		return fmt.Errorf("send frame: %w", err)
	}
	if _, err := c.conn.Write(b); err != nil {
		return fmt.Errorf("send frame: %w", err)
	}
	return nil
}

// outHead is how many bytes of an OUT frame come before its data.
const outHead = 4 + 1 + 1 + 1 + 9 + 5

// AppendOut appends an OUT frame with output that read puts in place: at most n bytes, of which it returns
// how many there are. It is AppendFrame without another copy; when read returns 0, nothing is appended.
func AppendOut(dst []byte, offset int64, n int, read func(p []byte) int) []byte {
	n = min(n, MaxAttachFrame-outHead)
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0x92, AttachOut, 0x92, 0xcf)
	dst = binary.BigEndian.AppendUint64(dst, uint64(offset))
	dst = append(dst, 0xc6, 0, 0, 0, 0) // a byte string of 32 bits of length
	data := len(dst)
	dst = slices.Grow(dst, n)[:data+n]
	n = read(dst[data:])
	if n == 0 {
		return dst[:start]
	}
	binary.BigEndian.PutUint32(dst[start:], uint32(data-start-4+n))
	binary.BigEndian.PutUint32(dst[data-4:], uint32(n))
	return dst[:data+n]
}

// Recv reads one frame and returns its type and its body, still encoded, for DecodeBody.
func (c *AttachConn) Recv() (typ int, body []byte, err error) {
	b, err := ReadFrame(c.r, MaxAttachFrame)
	if err != nil {
		return 0, nil, err
	}
	var raw msgpack.RawMessage
	typ = -1
	if err := Unpack(b, &typ, &raw); err != nil {
		return 0, nil, err
	}
	if typ < 0 {
		return 0, nil, fmt.Errorf("%w: no type", ErrMalformed)
	}
	return typ, raw, nil
}

// DecodeBody decodes a body that Recv returned; it has been scanned with its frame.
func DecodeBody(body []byte, v any) error {
	if len(body) == 0 {
		return fmt.Errorf("%w: no body", ErrMalformed)
	}
	return unmarshal(body, v)
}

// SetReadDeadline bounds the next Recv.
func (c *AttachConn) SetReadDeadline(t time.Time) error { return c.conn.SetReadDeadline(t) }

// CloseWrite says that no more frames will be sent; the peer, once it has read them all, sees the
// end and closes. Reading on until then shows that what was sent has arrived.
func (c *AttachConn) CloseWrite() error {
	w, ok := c.conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.New("close writing: not possible on this connection")
	}
	return w.CloseWrite()
}

// Close closes the connection.
func (c *AttachConn) Close() error { return c.conn.Close() }

// attachTime is how long a supervisor may take for its welcome. It needs no time: only the way to it does.
const attachTime = time.Second

// DialAttach connects to a supervisor's socket, says hello and returns the connection with its
// welcome. It takes a second at most.
func DialAttach(socket string, hello Hello) (*AttachConn, Welcome, error) {
	nc, err := DialUnix(socket, attachTime)
	if err != nil {
		return nil, Welcome{}, err
	}
	return newAttach(nc, hello, attachTime)
}

// GreetAttach says hello on a connection to a supervisor, however that was made, and returns it with its welcome. It takes
// GreetTimeout at most. After an error the connection is closed.
func GreetAttach(nc net.Conn, hello Hello) (*AttachConn, Welcome, error) {
	return newAttach(nc, hello, GreetTimeout)
}

func newAttach(nc net.Conn, hello Hello, limit time.Duration) (*AttachConn, Welcome, error) {
	c := NewAttachConn(nc)
	w, err := greetAttach(c, hello, limit)
	if err != nil {
		_ = c.Close()
		return nil, Welcome{}, err
	}
	return c, w, nil
}

func greetAttach(c *AttachConn, hello Hello, limit time.Duration) (Welcome, error) {
	hello.Min, hello.Max = MinAttachVersion, MaxAttachVersion
	if err := c.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return Welcome{}, fmt.Errorf("greet supervisor: %w", err)
	}
	unsent := c.Send(AttachHello, &hello) // a supervisor that is full refuses before it has read that
	typ, body, err := c.Recv()
	if unsent != nil && (err != nil || typ != AttachRefused) {
		return Welcome{}, fmt.Errorf("greet supervisor: %w", unsent)
	}
	if err != nil {
		var ne net.Error
		if errors.As(err, &ne) && ne.Timeout() {
			return Welcome{}, &Error{Code: CodeVersion, Message: "the supervisor did not answer within " + spell(limit),
				Hint: "the job is unharmed; it may have been started by an older pasar"}
		}
		return Welcome{}, fmt.Errorf("greet supervisor: %w", err)
	}
	switch typ {
	case AttachWelcome:
		var w Welcome
		if err := DecodeBody(body, &w); err != nil {
			return Welcome{}, fmt.Errorf("greet supervisor: %w", err)
		}
		return w, c.SetReadDeadline(time.Time{})
	case AttachRefused:
		var r RefusedFrame
		if err := DecodeBody(body, &r); err != nil {
			return Welcome{}, fmt.Errorf("greet supervisor: %w", err)
		}
		return Welcome{}, &Error{Code: r.Code, Message: r.Message, Hint: r.Hint}
	}
	return Welcome{}, fmt.Errorf("greet supervisor: %w: frame type %d", ErrMalformed, typ)
}

func spell(limit time.Duration) string {
	if limit == time.Second {
		return "a second"
	}
	return fmt.Sprintf("%d seconds", limit/time.Second)
}

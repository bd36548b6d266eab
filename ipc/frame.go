package ipc

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/vmihailenco/msgpack/v5"
)

// ErrTooLarge is a frame over the connection's bound.
var ErrTooLarge = errors.New("frame too large")

// ErrMalformed is a frame that isn't what it should be.
var ErrMalformed = errors.New("malformed frame")

// ReadFrame reads one frame of at most limit bytes and checks that its body is one well-formed
// msgpack value that can be decoded without allocating more than it holds. io.EOF means the peer
// closed between frames.
func ReadFrame(r *bufio.Reader, limit int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("%w: ends in the length", ErrMalformed)
		}
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if uint64(n) > uint64(limit) {
		return nil, fmt.Errorf("%w: %d bytes announced, at most %d allowed", ErrTooLarge, n, limit)
	}
	// The announced length is not believed before a part of the bytes is there.
	const trusted = 64 << 10
	body := make([]byte, min(int(n), trusted))
	got, err := io.ReadFull(r, body)
	if err == nil && got < int(n) {
		body = append(make([]byte, 0, n), body...)[:n]
		var rest int
		rest, err = io.ReadFull(r, body[got:])
		got += rest
	}
	var e *Error
	if errors.As(err, &e) {
		return nil, err // the frame isn't to blame
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %d of %d bytes", ErrMalformed, got, n)
	}
	if err := Scan(body); err != nil {
		return nil, err
	}
	return body, nil
}

// encoders are pooled: msgpack's encoder is costly to make.
var encoders = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// AppendFrame appends the frame of one msgpack array holding parts.
func AppendFrame(dst []byte, limit int, parts ...any) ([]byte, error) {
	buf := encoders.Get().(*bytes.Buffer)
	defer encoders.Put(buf)
	buf.Reset()
	enc := msgpack.GetEncoder()
	defer msgpack.PutEncoder(enc)
	enc.Reset(buf)
	enc.UseCompactInts(true)
	enc.UseArrayEncodedStructs(true) // fields are only ever added at a struct's end
	if err := enc.EncodeArrayLen(len(parts)); err != nil {
		return dst, fmt.Errorf("encode frame: %w", err)
	}
	for _, p := range parts {
		if err := enc.Encode(p); err != nil {
			return dst, fmt.Errorf("encode frame: %w", err)
		}
	}
	if buf.Len() > limit {
		return dst, fmt.Errorf("%w: %d bytes to send, at most %d allowed", ErrTooLarge, buf.Len(), limit)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(buf.Len()))
	return append(dst, buf.Bytes()...), nil
}

// Unpack decodes a frame's body, one msgpack array, into parts. An array longer than parts is
// fine (a newer peer); a shorter one leaves the rest as it was.
func Unpack(body []byte, parts ...any) (err error) {
	defer malformed(&err)
	dec := msgpack.GetDecoder()
	defer msgpack.PutDecoder(dec)
	dec.Reset(bytes.NewReader(body))
	n, err := dec.DecodeArrayLen()
	if err != nil {
		return fmt.Errorf("%w: not an array", ErrMalformed)
	}
	for _, p := range parts[:max(0, min(n, len(parts)))] {
		if err := dec.Decode(p); err != nil {
			return fmt.Errorf("%w: %v", ErrMalformed, err)
		}
	}
	return nil
}

// FrameType is the first element of a frame's body.
func FrameType(body []byte) (int, error) {
	t := -1
	if err := Unpack(body, &t); err != nil {
		return 0, err
	}
	if t < 0 {
		return 0, fmt.Errorf("%w: no type", ErrMalformed)
	}
	return t, nil
}

// Encode is one value in msgpack, as bodies of requests and answers are.
func Encode(v any) ([]byte, error) { return msgpack.Marshal(v) }

// Decode reads what Encode wrote. The bytes come from a frame and may be foreign, so they are
// scanned first: a body inside a frame is a byte string to the frame's own scan.
func Decode(b []byte, v any) error {
	if err := Scan(b); err != nil {
		return err
	}
	return unmarshal(b, v)
}

// unmarshal decodes one value that was scanned.
func unmarshal(b []byte, v any) (err error) {
	defer malformed(&err)
	if err := msgpack.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%w: %v", ErrMalformed, err)
	}
	return nil
}

// malformed, deferred, makes a panic of the decoder's an error: it has them for values of the wrong kind in
// some places, such as nil for a time.
func malformed(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %v", ErrMalformed, r)
	}
}

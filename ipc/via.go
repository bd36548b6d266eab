package ipc

import (
	"bufio"
	"fmt"
)

// ViaHTTP is the way of a client whose connection HTTP passed on: an agent's, for all that is known.
const ViaHTTP = "http"

// maxHello bounds a greeting, in bytes: two numbers and a version.
const maxHello = 4 << 10

// PassHello reads a client's greeting and returns the frame to pass on in its place, which names the way by which it came.
func PassHello(r *bufio.Reader, via string) ([]byte, error) {
	b, err := ReadFrame(r, maxHello)
	if err != nil {
		return nil, err
	}
	var typ, lo, hi int
	var version string
	if err := Unpack(b, &typ, &lo, &hi, &version); err != nil {
		return nil, err
	}
	if typ != typeHello {
		return nil, fmt.Errorf("%w: no greeting", ErrMalformed)
	}
	return AppendFrame(nil, MaxFrame, typeHello, lo, hi, version, via)
}

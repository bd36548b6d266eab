package ipc

import (
	"encoding/binary"
	"fmt"
)

// Scan walks one msgpack value without decoding it and reports an error unless it is well formed,
// fills b exactly, nests at most MaxDepth deep, and no array or map claims more elements than there
// are bytes left. The decoder allocates what a header claims, so this comes before every decode of
// foreign bytes: ten bytes may claim gigabytes otherwise.
func Scan(b []byte) error {
	i, err := scanValue(b, 0, 0)
	if err != nil {
		return err
	}
	if i != len(b) {
		return fmt.Errorf("%w: %d bytes after the value", ErrMalformed, len(b)-i)
	}
	return nil
}

func scanValue(b []byte, i, depth int) (int, error) {
	if depth > MaxDepth {
		return 0, fmt.Errorf("%w: nested deeper than %d", ErrMalformed, MaxDepth)
	}
	if i >= len(b) {
		return 0, fmt.Errorf("%w: ends early", ErrMalformed)
	}
	c := b[i]
	i++
	switch {
	case c <= 0x7f, c >= 0xe0: // small integers
		return i, nil
	case c <= 0x8f:
		return scanMany(b, i, depth, 2*uint64(c&0x0f))
	case c <= 0x9f:
		return scanMany(b, i, depth, uint64(c&0x0f))
	case c <= 0xbf:
		return skip(b, i, uint64(c&0x1f))
	}
	switch c {
	case 0xc0, 0xc2, 0xc3: // nil, false, true
		return i, nil
	case 0xc4, 0xd9:
		return skipSized(b, i, 1, 0)
	case 0xc5, 0xda:
		return skipSized(b, i, 2, 0)
	case 0xc6, 0xdb:
		return skipSized(b, i, 4, 0)
	case 0xc7:
		return skipSized(b, i, 1, 1)
	case 0xc8:
		return skipSized(b, i, 2, 1)
	case 0xc9:
		return skipSized(b, i, 4, 1)
	case 0xcc, 0xd0:
		return skip(b, i, 1)
	case 0xcd, 0xd1:
		return skip(b, i, 2)
	case 0xca, 0xce, 0xd2:
		return skip(b, i, 4)
	case 0xcb, 0xcf, 0xd3:
		return skip(b, i, 8)
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8: // fixed extensions of 1, 2, 4, 8, 16 bytes
		return skip(b, i, 1+uint64(1)<<(c-0xd4))
	case 0xdc, 0xdd, 0xde, 0xdf:
		size := 2
		if c == 0xdd || c == 0xdf {
			size = 4
		}
		n, i, err := readLen(b, i, size)
		if err != nil {
			return 0, err
		}
		if c >= 0xde {
			n *= 2
		}
		return scanMany(b, i, depth, n)
	}
	return 0, fmt.Errorf("%w: byte 0x%02x", ErrMalformed, c) // 0xc1 is never used
}

func scanMany(b []byte, i, depth int, n uint64) (int, error) {
	if n > uint64(len(b)-i) { // each element takes a byte at least
		return 0, fmt.Errorf("%w: claims %d elements in %d bytes", ErrMalformed, n, len(b)-i)
	}
	var err error
	for ; n > 0; n-- {
		if i, err = scanValue(b, i, depth+1); err != nil {
			return 0, err
		}
	}
	return i, nil
}

func skip(b []byte, i int, n uint64) (int, error) {
	if n > uint64(len(b)-i) {
		return 0, fmt.Errorf("%w: claims %d bytes of %d", ErrMalformed, n, len(b)-i)
	}
	return i + int(n), nil
}

func skipSized(b []byte, i, size int, extra uint64) (int, error) {
	n, i, err := readLen(b, i, size)
	if err != nil {
		return 0, err
	}
	return skip(b, i, n+extra)
}

func readLen(b []byte, i, size int) (uint64, int, error) {
	if len(b)-i < size {
		return 0, 0, fmt.Errorf("%w: ends in a length", ErrMalformed)
	}
	switch size {
	case 1:
		return uint64(b[i]), i + 1, nil
	case 2:
		return uint64(binary.BigEndian.Uint16(b[i:])), i + 2, nil
	}
	return uint64(binary.BigEndian.Uint32(b[i:])), i + 4, nil
}

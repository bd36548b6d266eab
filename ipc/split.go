package ipc

import "encoding/binary"

// splitReply reads a scanned frame [type, id, bytes, …] in place: body is part of b, where the decoder
// would copy it. A list of ten thousand jobs is many megabytes, all in such frames. Not ok means that b
// is something else, for the decoder.
func splitReply(b []byte) (typ int, id uint64, body []byte, ok bool) {
	if len(b) == 0 || b[0] < 0x93 || b[0] > 0x9f { // an array of three to fifteen
		return 0, 0, nil, false
	}
	t, rest, ok := uintAt(b[1:])
	if !ok || t > 0xff {
		return 0, 0, nil, false
	}
	id, rest, ok = uintAt(rest)
	if !ok || len(rest) < 2 {
		return 0, 0, nil, false
	}
	var n, head uint64
	switch rest[0] {
	case 0xc4:
		n, head = uint64(rest[1]), 2
	case 0xc5:
		if len(rest) < 3 {
			return 0, 0, nil, false
		}
		n, head = uint64(binary.BigEndian.Uint16(rest[1:])), 3
	case 0xc6:
		if len(rest) < 5 {
			return 0, 0, nil, false
		}
		n, head = uint64(binary.BigEndian.Uint32(rest[1:])), 5
	default:
		return 0, 0, nil, false
	}
	if n > uint64(len(rest))-head {
		return 0, 0, nil, false
	}
	return int(t), id, rest[head : head+n : head+n], true
}

// uintAt reads a number that isn't negative, in any of its forms.
func uintAt(b []byte) (n uint64, rest []byte, ok bool) {
	if len(b) == 0 {
		return 0, nil, false
	}
	size := 0
	switch c := b[0]; {
	case c <= 0x7f:
		return uint64(c), b[1:], true
	case c >= 0xcc && c <= 0xcf:
		size = 1 << (c - 0xcc)
	}
	if size == 0 || len(b) < 1+size {
		return 0, nil, false
	}
	for _, x := range b[1 : 1+size] {
		n = n<<8 | uint64(x)
	}
	return n, b[1+size:], true
}

package supervisor

// Sizes of the ring of recent output, in bytes.
const (
	ringMin = 16 << 10
	ringMax = 1 << 20
)

// A ring keeps the newest bytes of a stream, addressed by absolute offset. It grows with the output
// and holds all of it up to ringMax bytes.
type ring struct {
	buf []byte // length is a power of two; offset o lies at o % len
	end int64  // bytes ever appended
}

// start is the offset of the oldest byte held.
func (r *ring) start() int64 { return max(0, r.end-int64(len(r.buf))) }

// append adds p, at most ringMax bytes.
func (r *ring) append(p []byte) {
	if need := r.end + int64(len(p)); need > int64(len(r.buf)) && len(r.buf) < ringMax {
		r.grow(need)
	}
	at := int(r.end % int64(len(r.buf)))
	n := copy(r.buf[at:], p)
	copy(r.buf, p[n:])
	r.end += int64(len(p))
}

func (r *ring) grow(need int64) {
	size := max(ringMin, len(r.buf))
	for int64(size) < need && size < ringMax {
		size *= 2
	}
	old, from := *r, r.start()
	r.buf = make([]byte, size)
	for o := from; o < old.end; {
		n := old.piece(r.buf[o%int64(size):], o)
		o += int64(n)
	}
}

// piece copies what is held from offset o on, up to the ring's edge; start() ≤ o ≤ end.
func (r *ring) piece(p []byte, o int64) int {
	if o >= r.end {
		return 0
	}
	at := o % int64(len(r.buf))
	return copy(p, r.buf[at:min(int64(len(r.buf)), at+r.end-o)])
}

// read copies what is held from offset o on into p; start() ≤ o.
func (r *ring) read(p []byte, o int64) int {
	total := 0
	for total < len(p) {
		n := r.piece(p[total:], o)
		if n == 0 {
			break
		}
		total += n
		o += int64(n)
	}
	return total
}

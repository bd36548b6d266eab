package vt

import "encoding/binary"

// DefaultHistory is how many bytes of scrolled-off lines a Screen keeps unless it is told otherwise.
const DefaultHistory = 256 << 10

// A history is the lines that scrolled off a screen, as text with SGR sequences, in at most limit bytes.
// They lie in chunks of whole lines; the oldest chunk goes when there is no room for a new one.
//
// A line is stored as: length, text, length; lengths are 4 bytes, with the top bit set if the line goes on
// in the next one. So both ends can be walked from.
type history struct {
	limit  int
	chunks [][]byte
	counts []int // lines in each chunk
	size   int   // capacity of the chunks
	lines  int
	spare  []byte // a dropped chunk, to be used again
}

const (
	historyFrame   = 8
	historyWrapped = 1 << 31
	minChunk       = 1 << 10
	maxChunk       = 16 << 10
)

// chunk is the usual size of a chunk: small enough that dropping one loses little.
func (h *history) chunk() int { return min(max(h.limit/16, minChunk), maxChunk) }

// room makes sure that n more bytes fit into the newest chunk, and returns it. False: not even alone.
func (h *history) room(n int) bool {
	n += historyFrame
	if n > h.limit {
		return false
	}
	last := len(h.chunks) - 1
	if last >= 0 && cap(h.chunks[last])-len(h.chunks[last]) >= n {
		return true
	}
	want := max(n, h.chunk())
	for h.size+want > h.limit && len(h.chunks) > 0 {
		h.dropOldest()
	}
	c := h.spare
	h.spare = nil
	if cap(c) < want || cap(c) > 2*want {
		c = make([]byte, 0, min(want, h.limit))
	}
	h.size += cap(c)
	h.chunks = append(h.chunks, c[:0])
	h.counts = append(h.counts, 0)
	return true
}

func (h *history) dropOldest() {
	h.size -= cap(h.chunks[0])
	h.lines -= h.counts[0]
	h.spare = h.chunks[0]
	h.chunks = h.chunks[:copy(h.chunks, h.chunks[1:])]
	h.counts = h.counts[:copy(h.counts, h.counts[1:])]
}

// add keeps a line as the newest.
func (h *history) add(text []byte, wrapped bool) {
	if !h.room(len(text)) {
		return
	}
	frame := uint32(len(text))
	if wrapped {
		frame |= historyWrapped
	}
	last := len(h.chunks) - 1
	c := binary.LittleEndian.AppendUint32(h.chunks[last], frame)
	c = append(c, text...)
	h.chunks[last] = binary.LittleEndian.AppendUint32(c, frame)
	h.counts[last]++
	h.lines++
}

// newest is the newest line; it is true until the next change. False: there is none.
func (h *history) newest() (text []byte, wrapped, ok bool) {
	if h.lines == 0 {
		return nil, false, false
	}
	c := h.chunks[len(h.chunks)-1]
	frame := binary.LittleEndian.Uint32(c[len(c)-4:])
	n := int(frame &^ historyWrapped)
	end := len(c) - 4
	return c[end-n : end], frame&historyWrapped != 0, true
}

// pop forgets the newest line, of so many bytes.
func (h *history) pop(n int) {
	last := len(h.chunks) - 1
	c := h.chunks[last]
	h.chunks[last] = c[:len(c)-n-historyFrame]
	h.counts[last]--
	h.lines--
	if h.counts[last] == 0 {
		h.size -= cap(c)
		h.spare = c
		h.chunks, h.counts = h.chunks[:last], h.counts[:last]
	}
}

// each calls f with the last n lines, oldest first.
func (h *history) each(n int, f func(text []byte, wrapped bool)) {
	skip := max(h.lines-n, 0)
	for i, c := range h.chunks {
		if skip >= h.counts[i] {
			skip -= h.counts[i]
			continue
		}
		for len(c) > 0 {
			frame := binary.LittleEndian.Uint32(c)
			n := int(frame &^ historyWrapped)
			if skip > 0 {
				skip--
			} else {
				f(c[4:4+n], frame&historyWrapped != 0)
			}
			c = c[n+historyFrame:]
		}
	}
}

func (h *history) clear() { *h = history{limit: h.limit} }

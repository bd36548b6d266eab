package supervisor

import "bytes"

// A wholeness follows what is typed and tells whether it ends between two keys: not within a character,
// the sequence of a key, or a bracketed paste. An Escape alone is a key.
type wholeness struct {
	state typedState
	left  int    // bytes of a character still to come
	seq   []byte // parameters of a CSI sequence, the first few
	paste bool
}

type typedState int

const (
	typedGround typedState = iota
	typedEscape
	typedSS3
	typedCSI
)

func (w *wholeness) is() bool {
	return !w.paste && w.left == 0 && (w.state == typedGround || w.state == typedEscape)
}

func (w *wholeness) feed(p []byte) {
	for len(p) > 0 {
		if w.paste && w.state == typedGround { // nothing but its end counts
			i := bytes.IndexByte(p, '\x1b')
			if i < 0 {
				return
			}
			p = p[i:]
		}
		w.next(p[0])
		p = p[1:]
	}
}

func (w *wholeness) next(c byte) {
	switch {
	case c == '\x1b':
		w.state, w.left = typedEscape, 0
	case w.state == typedEscape && c == '[':
		w.state, w.seq = typedCSI, w.seq[:0]
	case w.state == typedEscape && c == 'O':
		w.state = typedSS3
	case w.state == typedCSI && c >= 0x20 && c < 0x40:
		if len(w.seq) < 8 {
			w.seq = append(w.seq, c)
		}
	case w.state == typedCSI:
		if c == '~' {
			switch string(w.seq) {
			case "200":
				w.paste = true
			case "201":
				w.paste = false
			}
		}
		w.state = typedGround
	default:
		w.state = typedGround
		w.character(c)
	}
}

// character counts the bytes of a character in UTF-8.
func (w *wholeness) character(c byte) {
	switch {
	case c < 0x80:
		w.left = 0
	case c < 0xc0:
		w.left = max(0, w.left-1)
	case c < 0xe0:
		w.left = 1
	case c < 0xf0:
		w.left = 2
	case c < 0xf8:
		w.left = 3
	default:
		w.left = 0
	}
}

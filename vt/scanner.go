package vt

import "bytes"

// A Scanner looks at output as it passes, at little cost, for those who don't keep a Screen up to date.
// The zero value is ready.
type Scanner struct {
	p        parser
	finding  finding
	prepared bool
}

// Scan looks at the next bytes. How the stream is cut makes no difference to what is found, only to which
// call tells it. Asked says that a query ended in p that Screen would answer. Drew is the index in p behind
// the last byte that was anything but plain lines: characters, CR, LF, BS, BEL, tabs and SGR sequences; -1
// if all of it was plain. What is cut off in the middle counts when its end comes, but a string (a title or
// the like) counts as far as it has come.
func (s *Scanner) Scan(p []byte) (asked bool, drew int) {
	if !s.prepared {
		s.p.h, s.p.dev, s.prepared = &s.finding, &s.finding, true
	}
	s.finding = finding{}
	drew = lastMovement(p)
	for i := 0; i < len(p); {
		if s.p.state == ground {
			n := bytes.IndexByte(p[i:], 0x1b)
			if n < 0 {
				break
			}
			i += n
			if n = lengthSGR(p[i:]); n > 0 {
				i += n
				continue
			}
		}
		for i < len(p) {
			s.finding.plain = false
			inString := s.p.state == stringOSC || s.p.state == stringOther
			s.p.byte(p[i])
			i++
			if inString {
				drew = max(drew, i)
			}
			if s.p.state == ground {
				if !s.finding.plain {
					drew = max(drew, i)
				}
				break
			}
		}
		s.p.partial = s.p.partial[:0] // characters are of no interest
	}
	return s.finding.asked, drew
}

// lengthSGR is the length of the SGR sequence that p begins with, if it is one of the usual kind; else 0.
func lengthSGR(p []byte) int {
	const most = 32 // bytes: fewer parameters than a parser's limit
	if len(p) < 3 || p[1] != '[' {
		return 0
	}
	for i, c := range p[2:min(len(p), most)] {
		switch {
		case c == 'm':
			return 2 + i + 1
		case c < '0' || c > ';':
			return 0
		}
	}
	return 0
}

// lastMovement is the index behind the last control that moves the cursor or selects characters in other
// ways than those of plain lines; -1 if there is none.
func lastMovement(p []byte) int {
	last := -1
	for _, c := range []byte{'\v', '\f', 0x0e, 0x0f} {
		if bytes.IndexByte(p, c) >= 0 { // much faster than to look for the last one
			last = max(last, bytes.LastIndexByte(p, c)+1)
		}
	}
	return last
}

// A finding is what came of the last bytes.
type finding struct {
	asked bool
	plain bool // the sequence that ended is an SGR
}

func (*finding) print(rune)                {}
func (*finding) ascii([]byte)              {}
func (*finding) control(byte)              {}
func (*finding) escape(byte)               {}
func (*finding) designate(inter, end byte) {}

func (f *finding) sequence(q *sequence) {
	f.plain = q.final == 'm' && q.private == 0 && q.inter == 0
	f.asked = f.asked || isQuery(q)
}

func (f *finding) str(kind byte, text []byte, _ string) {
	f.asked = f.asked || isStringQuery(kind, text)
}

package vt

// A Tint is a colour of a cell. The zero Tint is the terminal's own.
type Tint struct {
	Kind    TintKind
	Index   uint8 // of Indexed: one of the terminal's 256
	R, G, B uint8 // of Direct
}

// A TintKind says how a Tint names its colour.
type TintKind uint8

// Kinds of Tint.
const (
	Default TintKind = iota
	Indexed
	Direct
)

// A Pen is how a cell looks.
type Pen struct {
	Fore, Back                                                        Tint
	Bold, Faint, Italic, Underline, Blink, Inverse, Concealed, Struck bool
}

// Cells calls each for every cell of a row that isn't a plain blank, from the left: its column from 0, how many columns it
// takes, 1 or 2, its text, a character with what is combined with it, and how it looks.
func (s *Screen) Cells(row int, each func(col, width int, text string, p Pen)) {
	if row < 0 || row >= s.rows {
		return
	}
	r := s.now.row(row)
	var number uint16
	var looks Pen
	for x, at := range r.slots[:r.used()] {
		if at&slotTail != 0 {
			continue
		}
		if at.pen() != number {
			number = at.pen()
			looks = s.look.pens[number].public()
		}
		s.scratch = s.appendText(s.scratch[:0], at)
		width := 1
		if at&slotHead != 0 {
			width = 2
		}
		each(x, width, string(s.scratch), looks)
	}
}

func (p pen) public() Pen {
	return Pen{p.fore.public(), p.back.public(), p.attr&penBold != 0, p.attr&penFaint != 0, p.attr&penItalic != 0,
		p.attr&penUnderMask != 0, p.attr&penBlink != 0, p.attr&penInverse != 0, p.attr&penConceal != 0, p.attr&penStruck != 0}
}

func (t tint) public() Tint {
	switch {
	case t&tintDirect != 0:
		return Tint{Kind: Direct, R: uint8(t >> 16), G: uint8(t >> 8), B: uint8(t)}
	case t != 0:
		return Tint{Kind: Indexed, Index: uint8(t)}
	}
	return Tint{}
}

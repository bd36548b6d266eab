package vt

import (
	"fmt"
	"unicode/utf8"
)

// A cell is a character and its style. A zero rune is a place that nothing was written to.
type cell struct {
	r  rune
	st uint16 // index into canvas.styles
}

type line struct {
	cells []cell
	over  int // characters beyond MaxLine
}

// A canvas is the newest lines of an endless page, with a cursor. It has no width and no wrapping.
type canvas struct {
	emit    func(string)
	colours bool

	lines    []line // never empty
	kept     int    // cells in lines, about
	row, col int
	saved    [2]int // row, col
	alt      bool   // the alternate screen is on: nothing is drawn

	style  style
	st     uint16
	styles []style // index 0 is the plain one
	known  map[style]uint16
	out    []byte
}

// print puts a character at the cursor.
func (c *canvas) print(r rune) {
	if c.alt {
		return
	}
	l := &c.lines[c.row]
	if c.col >= MaxLine {
		l.over++
		return
	}
	if c.col > len(l.cells) {
		c.extend(l, c.col)
	}
	if c.col == len(l.cells) {
		l.cells = append(l.cells, cell{r, c.st})
		c.kept++
	} else {
		l.cells[c.col] = cell{r, c.st}
	}
	c.col++
}

// ascii puts characters at the cursor.
func (c *canvas) ascii(b []byte) {
	if c.alt {
		return
	}
	l := &c.lines[c.row]
	if c.col > len(l.cells) || c.col+len(b) > MaxLine {
		for _, x := range b {
			c.print(rune(x))
		}
		return
	}
	n := min(len(b), len(l.cells)-c.col) // these overwrite
	for i, x := range b[:n] {
		l.cells[c.col+i] = cell{rune(x), c.st}
	}
	for _, x := range b[n:] {
		l.cells = append(l.cells, cell{rune(x), c.st})
	}
	c.kept += len(b) - n
	c.col += len(b)
}

// extend makes a line reach col with nothing.
func (c *canvas) extend(l *line, col int) {
	n := max(0, col-len(l.cells))
	l.cells = append(l.cells, make([]cell, n)...)
	c.kept += n
}

func (c *canvas) control(b byte) {
	if c.alt {
		return
	}
	switch b {
	case '\n':
		c.down()
		c.col = 0 // the terminal's driver has put a \r there, or there was no terminal
	case '\r':
		c.col = 0
	case '\b':
		c.col = max(0, c.col-1)
	case '\t':
		c.print('\t')
	}
}

// down moves the cursor to the next line, and makes it if need be.
func (c *canvas) down() {
	if c.row++; c.row == len(c.lines) {
		c.lines = append(c.lines, line{})
	}
	for len(c.lines) > Window || c.kept > maxKept && len(c.lines) > 1 && c.row > 0 {
		c.drop()
	}
}

// drop emits the first line.
func (c *canvas) drop() {
	c.put(&c.lines[0])
	c.kept -= len(c.lines[0].cells)
	spare := c.lines[0].cells[:0]
	copy(c.lines, c.lines[1:])
	c.lines = c.lines[:len(c.lines)-1]
	if n := len(c.lines); n > 0 && cap(spare) <= 4<<10 && c.lines[n-1].cells == nil {
		c.lines[n-1].cells = spare
	}
	c.row = max(0, c.row-1)
	c.saved[0] = max(0, c.saved[0]-1)
}

// flush emits the lines above the cursor.
func (c *canvas) flush() {
	for c.row > 0 {
		c.drop()
	}
}

// commit emits all there is and starts on an empty page.
func (c *canvas) commit() {
	for n := len(c.lines); n > 0; n-- {
		if n == 1 && len(c.lines[0].cells) == 0 && c.lines[0].over == 0 {
			break
		}
		c.drop()
	}
	c.lines = append(c.lines[:0], line{})
	c.kept, c.row, c.col, c.saved = 0, 0, 0, [2]int{}
}

// put emits a line.
func (c *canvas) put(l *line) { c.emit(string(c.text(l))) }

// text is a line, valid until the next call; places with nothing written at its end are left out.
func (c *canvas) text(l *line) []byte {
	cells := l.cells
	for len(cells) > 0 && cells[len(cells)-1].r == 0 {
		cells = cells[:len(cells)-1]
	}
	b, st := c.out[:0], uint16(0)
	for _, x := range cells {
		if c.colours && x.st != st {
			b, st = c.styles[x.st].appendSGR(b), x.st
		}
		switch {
		case x.r == 0:
			b = append(b, ' ')
		case x.r < utf8.RuneSelf:
			b = append(b, byte(x.r))
		default:
			b = utf8.AppendRune(b, x.r)
		}
	}
	if st != 0 {
		b = append(b, "\x1b[0m"...)
	}
	if l.over > 0 {
		b = fmt.Appendf(b, "… [%d more characters]", l.over)
	}
	c.out = b
	return b
}

func (c *canvas) escape(final byte) {
	if c.alt {
		return
	}
	switch final {
	case '7':
		c.saved = [2]int{c.row, c.col}
	case '8':
		c.goTo(c.saved[0], c.saved[1])
	case 'D':
		c.down()
	case 'E':
		c.down()
		c.col = 0
	case 'M':
		c.row = max(0, c.row-1)
	case 'c':
		c.commit()
		c.setStyle(style{})
	}
}

func (c *canvas) sequence(s *sequence) {
	if s.inter != 0 {
		return
	}
	if s.private == '?' && (s.final == 'h' || s.final == 'l') {
		for _, p := range s.params {
			if p == 47 || p == 1047 || p == 1049 {
				c.alt = s.final == 'h'
			}
		}
		return
	}
	if s.private != 0 {
		return
	}
	if s.final == 'm' {
		if c.colours {
			st := c.style
			st.apply(s)
			c.setStyle(st)
		}
		return
	}
	if !c.alt {
		c.move(s)
	}
}

// move does what a sequence that moves or erases says.
func (c *canvas) move(s *sequence) {
	n := s.param(0, 1)
	switch s.final {
	case 'A':
		c.row = max(0, c.row-n)
	case 'B', 'e':
		c.row = min(len(c.lines)-1, c.row+n)
	case 'C', 'a':
		c.goTo(c.row, c.col+n)
	case 'D':
		c.col = max(0, c.col-n)
	case 'E':
		c.goTo(min(len(c.lines)-1, c.row+n), 0)
	case 'F':
		c.goTo(c.row-n, 0)
	case 'G', '`':
		c.goTo(c.row, n-1)
	case 'H', 'f':
		c.goTo(n-1, s.param(1, 1)-1)
	case 'd':
		c.goTo(n-1, c.col)
	case 's':
		c.saved = [2]int{c.row, c.col}
	case 'u':
		c.goTo(c.saved[0], c.saved[1])
	case 'J':
		c.eraseBelow(s.param(0, 0))
	default:
		c.edit(s.final, n, s.param(0, 0))
	}
}

// goTo moves the cursor; lines that aren't there are made, within the window.
func (c *canvas) goTo(row, col int) {
	row = min(max(row, 0), Window-1)
	for len(c.lines) <= row {
		c.lines = append(c.lines, line{})
	}
	c.row = row
	c.col = min(max(col, 0), max(maxCol, len(c.lines[row].cells)))
}

// eraseBelow does ED. A cleared screen loses nothing here: it begins a new page.
func (c *canvas) eraseBelow(mode int) {
	switch mode {
	case 0:
		c.edit('K', 0, 0)
		for i := c.row + 1; i < len(c.lines); i++ {
			c.kept -= len(c.lines[i].cells)
		}
		c.lines = c.lines[:c.row+1]
	case 2, 3:
		c.commit()
	}
}

// edit changes the cursor's line: EL, ECH, DCH, ICH. The count is n, the mode m.
func (c *canvas) edit(final byte, n, m int) {
	l := &c.lines[c.row]
	at := min(c.col, len(l.cells))
	switch final {
	case 'K':
		switch m {
		case 0:
			c.kept -= len(l.cells) - at
			l.cells, l.over = l.cells[:at], 0
		case 1:
			clear(l.cells[:min(at+1, len(l.cells))])
		case 2:
			c.kept -= len(l.cells)
			l.cells, l.over = l.cells[:0], 0
		}
	case 'X':
		clear(l.cells[at:min(at+n, len(l.cells))])
	case 'P':
		n = min(n, len(l.cells)-at)
		l.cells = append(l.cells[:at], l.cells[at+n:]...)
		c.kept -= n
	case '@':
		n = min(n, maxCol)
		if at == len(l.cells) || len(l.cells)+n > MaxLine {
			return
		}
		c.extend(l, len(l.cells)+n)
		copy(l.cells[at+n:], l.cells[at:])
		clear(l.cells[at : at+n])
	}
}

// setStyle makes a style the one of what is printed next.
func (c *canvas) setStyle(s style) {
	c.style = s
	if c.known == nil {
		c.known, c.styles = map[style]uint16{{}: 0}, []style{{}}
	}
	st, ok := c.known[s]
	if !ok && len(c.styles) < 1<<14 {
		st = uint16(len(c.styles))
		c.styles = append(c.styles, s)
		c.known[s] = st
	}
	c.st = st // with too many styles, plain
}

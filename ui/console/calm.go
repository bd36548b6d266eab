package console

import (
	"unicode/utf8"

	"github.com/gdamore/tcell/v2"

	"pasar/ui"
)

// A calm screen hands the screen beneath it only the cells that have changed since they were shown. That one takes each
// cell that was cleared and drawn again for a change, and would write nearly all of itself each time: over a slow line
// that is seen.
//
// It also shows nothing on a terminal that is gone: the library would draw for ever on one that has no size.
type calm struct {
	tcell.Screen
	lost       func() // is told when the terminal is gone
	w, h       int
	now, shown []cell
}

// A cell of a calm screen.
type cell struct {
	char  rune
	text  string // of several characters, in place of char
	style tcell.Style
}

func (c cell) String() string {
	if c.text != "" {
		return c.text
	}
	return string(c.char)
}

// fit takes up the size of the screen beneath.
func (c *calm) fit() {
	w, h := c.Screen.Size()
	if w == c.w && h == c.h {
		return
	}
	c.w, c.h = w, h
	c.now, c.shown = make([]cell, w*h), make([]cell, w*h) // what is shown is nothing that could be drawn
	for i := range c.now {
		c.now[i].char = ' '
	}
}

// at is a cell; nil beyond the edges.
func (c *calm) at(x, y int) *cell {
	if x < 0 || y < 0 || x >= c.w || y >= c.h {
		return nil
	}
	return &c.now[y*c.w+x]
}

func (c *calm) Clear() { c.Fill(' ', tcell.StyleDefault) }

func (c *calm) Fill(r rune, st tcell.Style) {
	c.fit()
	for i := range c.now {
		c.now[i] = cell{char: r, style: st}
	}
}

func (c *calm) SetContent(x, y int, r rune, combined []rune, st tcell.Style) {
	if at := c.at(x, y); at != nil {
		*at = cell{char: r, style: st}
		if len(combined) > 0 {
			at.text = string(append([]rune{r}, combined...))
		}
	}
}

func (c *calm) SetCell(x, y int, st tcell.Style, chars ...rune) {
	if len(chars) == 0 {
		chars = []rune{' '}
	}
	c.SetContent(x, y, chars[0], chars[1:], st)
}

// Put takes as much of a text as the screen beneath does.
func (c *calm) Put(x, y int, text string, st tcell.Style) (string, int) {
	rest, w := c.Screen.Put(x, y, text, st)
	if at := c.at(x, y); at != nil {
		*at = cell{text: text[:len(text)-len(rest)], style: st}
		c.shown[y*c.w+x] = cell{}
	}
	return rest, w
}

func (c *calm) PutStr(x, y int, s string) { c.PutStrStyled(x, y, s, tcell.StyleDefault) }

func (c *calm) PutStrStyled(x, y int, s string, st tcell.Style) {
	for s != "" && x < c.w {
		var w int
		if s, w = c.Put(x, y, s, st); w == 0 {
			return
		}
		x += w
	}
}

func (c *calm) Get(x, y int) (string, tcell.Style, int) {
	at := c.at(x, y)
	if at == nil {
		return "", tcell.StyleDefault, 0
	}
	text := at.String()
	r, _ := utf8.DecodeRuneInString(text)
	return text, at.style, max(1, ui.RuneWidth(r))
}

func (c *calm) GetContent(x, y int) (rune, []rune, tcell.Style, int) {
	text, st, w := c.Get(x, y)
	if text == "" {
		return 0, nil, st, w
	}
	chars := []rune(text)
	return chars[0], chars[1:], st, w
}

func (c *calm) flush() {
	for i := range c.now {
		if c.now[i] != c.shown[i] {
			c.Screen.Put(i%c.w, i/c.w, c.now[i].String(), c.now[i].style)
			c.shown[i] = c.now[i]
		}
	}
}

func (c *calm) Show() {
	if c.there() {
		c.flush()
		c.Screen.Show()
	}
}

// there reports whether the terminal is, and tells of it if it isn't.
func (c *calm) there() bool {
	tty, ok := c.Screen.Tty()
	if !ok {
		return true // a simulated one
	}
	if size, err := tty.WindowSize(); err == nil && size.Width > 0 && size.Height > 0 {
		return true
	}
	if c.lost != nil {
		c.lost()
	}
	return false
}

// Sync draws everything anew.
func (c *calm) Sync() {
	if !c.there() {
		return
	}
	clear(c.shown)
	c.flush()
	c.Screen.Sync()
}

// Resume takes the terminal again, which somebody else has drawn on; the screen beneath has forgotten what it showed.
func (c *calm) Resume() error {
	if !c.there() {
		return errGone
	}
	clear(c.shown)
	return c.Screen.Resume()
}

package console

import (
	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"pasar/ui"
	"pasar/vt"
)

// A theme turns what text is into how it looks on a terminal. Backgrounds are the terminal's own but for what is
// chosen or filled in, so that it fits whatever the person has.
type theme struct {
	colors int  // that the terminal has; 0: none are to be used
	light  bool // its background is
}

// Colours of jobs, from the 256: far enough from each other and from the background.
var (
	huesOnDark  = [ui.Hues]int{75, 114, 180, 176, 79, 215, 147, 186, 109, 210, 141, 150}
	huesOnLight = [ui.Hues]int{25, 28, 94, 90, 30, 130, 61, 58, 24, 124, 55, 64}
	huesOfFew   = [ui.Hues]int{4, 2, 3, 5, 6, 1, 12, 10, 11, 13, 14, 9}
)

// Colours of roles, from the 256 where there are so many, else from the first 16.
var (
	rolesOnDark  = map[ui.Role]int{ui.Good: 114, ui.Warn: 221, ui.Bad: 203, ui.Calm: 111, ui.Faint: 245, ui.Accent: 117}
	rolesOnLight = map[ui.Role]int{ui.Good: 28, ui.Warn: 130, ui.Bad: 160, ui.Calm: 26, ui.Faint: 243, ui.Accent: 25}
	rolesOfFew   = map[ui.Role]int{ui.Good: 2, ui.Warn: 3, ui.Bad: 1, ui.Calm: 4, ui.Accent: 6}
)

// style is how a span looks.
func (t theme) style(s ui.Span) tcell.Style {
	st := tcell.StyleDefault.Bold(s.Bold)
	c := tcell.ColorDefault
	switch {
	case t.colors < 8:
		if s.Role == ui.Faint {
			st = st.Dim(true)
		}
		if s.Role == ui.Bad || s.Role == ui.Accent {
			st = st.Bold(true)
		}
		if s.Back {
			st = st.Reverse(true)
		}
		return st
	case s.Hue > 0:
		c = t.hue(s.Hue)
	case s.Role != ui.Plain:
		c = t.role(s.Role)
		if s.Role == ui.Faint && c == tcell.ColorDefault {
			st = st.Dim(true)
		}
	}
	if s.Back {
		return st.Background(c).Foreground(t.onFill())
	}
	return st.Foreground(c)
}

func (t theme) hue(n int) tcell.Color {
	n = (n - 1) % ui.Hues
	switch {
	case t.colors < 256:
		return tcell.PaletteColor(huesOfFew[n])
	case t.light:
		return tcell.PaletteColor(huesOnLight[n])
	}
	return tcell.PaletteColor(huesOnDark[n])
}

func (t theme) role(r ui.Role) tcell.Color {
	table := rolesOnDark
	switch {
	case t.colors < 256:
		table = rolesOfFew
	case t.light:
		table = rolesOnLight
	}
	if n, ok := table[r]; ok {
		return tcell.PaletteColor(n)
	}
	return tcell.ColorDefault
}

// onFill is the colour of text on a filled background.
func (t theme) onFill() tcell.Color {
	switch {
	case t.light && t.colors >= 256:
		return tcell.PaletteColor(231)
	case t.light:
		return tcell.PaletteColor(15)
	case t.colors >= 256:
		return tcell.PaletteColor(16)
	}
	return tcell.PaletteColor(0)
}

// chosen is how the chosen row of a table looks.
func (t theme) chosen() tcell.Style {
	switch {
	case t.colors < 256:
		return tcell.StyleDefault.Reverse(true)
	case t.light:
		return tcell.StyleDefault.Background(tcell.PaletteColor(153)).Foreground(tcell.PaletteColor(16))
	}
	return tcell.StyleDefault.Background(tcell.PaletteColor(24)).Foreground(tcell.PaletteColor(231))
}

// field is how a place to type in looks.
func (t theme) field() tcell.Style {
	switch {
	case t.colors < 256:
		return tcell.StyleDefault.Underline(true)
	case t.light:
		return tcell.StyleDefault.Background(tcell.PaletteColor(254)).Foreground(tcell.PaletteColor(16))
	}
	return tcell.StyleDefault.Background(tcell.PaletteColor(237)).Foreground(tcell.PaletteColor(231))
}

// widgets gives the library's own widgets these looks.
func (t theme) widgets() {
	fieldText, fieldBack, _ := t.field().Decompose()
	chosenText, chosenBack, _ := t.chosen().Decompose()
	accent := tcell.ColorDefault
	if t.colors >= 8 {
		accent = t.role(ui.Accent)
	}
	tview.Styles = tview.Theme{
		PrimitiveBackgroundColor: tcell.ColorDefault, ContrastBackgroundColor: fieldBack, MoreContrastBackgroundColor: chosenBack,
		BorderColor: accent, TitleColor: tcell.ColorDefault, GraphicsColor: tcell.ColorDefault,
		PrimaryTextColor: tcell.ColorDefault, SecondaryTextColor: tcell.ColorDefault, TertiaryTextColor: accent,
		InverseTextColor: chosenText, ContrastSecondaryTextColor: fieldText,
	}
}

// cell is how a cell of a job's screen looks.
func (t theme) cell(p vt.Pen) tcell.Style {
	st := tcell.StyleDefault.Bold(p.Bold).Dim(p.Faint).Italic(p.Italic).Underline(p.Underline).Reverse(p.Inverse).StrikeThrough(p.Struck)
	if t.colors < 8 {
		return st
	}
	return st.Foreground(t.tint(p.Fore)).Background(t.tint(p.Back))
}

func (t theme) tint(c vt.Tint) tcell.Color {
	switch c.Kind {
	case vt.Indexed:
		return tcell.PaletteColor(int(c.Index))
	case vt.Direct:
		return tcell.NewRGBColor(int32(c.R), int32(c.G), int32(c.B))
	}
	return tcell.ColorDefault
}

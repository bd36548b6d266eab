package console

import "github.com/gdamore/tcell/v2"

// keyNames are keys without a character, as the table of keys names them.
var keyNames = map[tcell.Key]string{
	tcell.KeyEnter: "Enter", tcell.KeyEsc: "Esc", tcell.KeyUp: "Up", tcell.KeyDown: "Down", tcell.KeyLeft: "Left", tcell.KeyRight: "Right",
	tcell.KeyPgUp: "PgUp", tcell.KeyPgDn: "PgDn", tcell.KeyHome: "Home", tcell.KeyEnd: "End", tcell.KeyTab: "Tab", tcell.KeyBacktab: "Shift-Tab",
	tcell.KeyF1: "F1", tcell.KeyCtrlB: "Ctrl-B", tcell.KeyCtrlF: "Ctrl-F", tcell.KeyCtrlL: "Ctrl-L", tcell.KeyCtrlZ: "Ctrl-Z", tcell.KeyCtrlC: "Ctrl-C",
}

// keyName is a key as the table of keys names it; empty for one that it can't have.
func keyName(ev *tcell.EventKey) string {
	if ev.Key() != tcell.KeyRune {
		return keyNames[ev.Key()]
	}
	if ev.Modifiers()&(tcell.ModAlt|tcell.ModCtrl|tcell.ModMeta) != 0 {
		return ""
	}
	if ev.Rune() == ' ' {
		return "Space"
	}
	return string(ev.Rune())
}

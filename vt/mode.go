package vt

// setMode does DECSET and DECRST of one mode.
func (s *Screen) setMode(mode int, on bool) {
	switch mode {
	case 1:
		s.modes.AppCursor = on
	case 6:
		s.cur.origin = on
		s.goTo(0, 0)
	case 7:
		s.autowrap = on
		s.cur.pending = s.cur.pending && on
	case 12:
		s.blinks = on
	case 25:
		s.hidden = !on
	case 47, 1047:
		s.setAlternate(on)
	case 66:
		s.modes.AppKeypad = on
	case 1048:
		if on {
			s.now.saved = s.cur
		} else {
			s.restore()
		}
	case 1049:
		if on {
			if s.alt == nil {
				s.now.saved = s.cur
			}
			s.setAlternate(true)
		} else {
			s.setAlternate(false)
			s.restore()
		}
	case 9, 1000, 1002, 1003:
		s.modes.Mouse = 0
		if on {
			s.modes.Mouse = mode
		}
	case 1005, 1006, 1015, 1016:
		if on {
			s.modes.MouseEncoding = mode
		} else if s.modes.MouseEncoding == mode {
			s.modes.MouseEncoding = 0
		}
	case 1004:
		s.modes.Focus = on
	case 2004:
		s.modes.Paste = on
	case 2026:
		s.synced = on
	}
}

// setAlternate shows the alternate screen, which is then blank and has neither saved cursor nor keyboard
// flags; or the main one.
func (s *Screen) setAlternate(on bool) {
	if on == (s.alt != nil) {
		return
	}
	s.printed, s.cur.pending = 0, false
	if on {
		s.alt = newPlane(s.rows)
		s.now, s.anchor = s.alt, s.cur.row
	} else {
		s.leaveAlternate()
	}
	s.touchAll(0, s.rows-1)
}

func (s *Screen) leaveAlternate() { s.alt, s.now = nil, s.main }

// mode is the state of a mode, as DECRQM has it: 0 unknown, 1 set, 2 reset, 4 never set.
func (s *Screen) mode(private bool, mode int) int {
	state := func(on bool) int {
		if on {
			return 1
		}
		return 2
	}
	if !private {
		switch mode {
		case 4:
			return state(s.insertMode)
		case 2, 12, 20:
			return 4
		}
		return 0
	}
	switch mode {
	case 1:
		return state(s.modes.AppCursor)
	case 6:
		return state(s.cur.origin)
	case 7:
		return state(s.autowrap)
	case 12:
		return state(s.blinks)
	case 25:
		return state(!s.hidden)
	case 47, 1047, 1049:
		return state(s.alt != nil)
	case 66:
		return state(s.modes.AppKeypad)
	case 9, 1000, 1002, 1003:
		return state(s.modes.Mouse == mode)
	case 1005, 1006, 1015, 1016:
		return state(s.modes.MouseEncoding == mode)
	case 1004:
		return state(s.modes.Focus)
	case 2004:
		return state(s.modes.Paste)
	case 2026:
		return state(s.synced)
	case 3, 5, 45, 69:
		return 4
	}
	return 0
}

package vt

// Ordinary reports whether plain lines do on the screen what they do on a new one, but for colours and tab
// stops: characters overwrite what is there, and the whole page scrolls.
func (s *Screen) Ordinary() bool { return !s.insertMode && s.top == 0 && s.bottom == s.rows-1 }

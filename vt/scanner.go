package vt

// A Scanner looks at output as it passes, at little cost, for those who don't keep a Screen up to date.
type Scanner struct{}

// Scan looks at the next bytes. How the stream is cut makes no difference to what is found, only to which
// call tells it. Asked says that a query ended in p that Screen would answer. Drew is the index in p behind
// the last byte that was anything but plain lines: characters, CR, LF, BS, BEL, tabs and SGR sequences; -1
// if all of it was plain.
func (s *Scanner) Scan(p []byte) (asked bool, drew int) { return false, -1 }

package supervisor

import (
	"io"
	"sync"
)

// logMax is how many bytes a supervisor logs in its life, whatever its peers do.
const logMax = 256 << 10

// A bounded writer passes on the first logMax bytes and swallows the rest.
type bounded struct {
	w io.Writer

	mu   sync.Mutex // guards left
	left int
}

// Bounded limits how much is written to w in all.
func Bounded(w io.Writer) io.Writer { return &bounded{w: w, left: logMax} }

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(p) > b.left {
		b.left = 0
		return len(p), nil
	}
	b.left -= len(p)
	return b.w.Write(p)
}

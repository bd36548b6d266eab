package supervisor

import (
	"sync"

	"pasar/ipc"
)

// sizesKept bounds the changes of size that a reader far behind is told one by one.
const sizesKept = 256

// sizes are the changes of the terminal's size, each with the offset of the output that it is for, in order.
type sizes struct {
	mu    sync.Mutex // guards what follows
	first int        // number of the first in list
	list  []ipc.Size
}

func (s *sizes) add(cols, rows int, at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == sizesKept {
		s.list = append(s.list[:0], s.list[1:]...)
		s.first++
	}
	s.list = append(s.list, ipc.Size{Cols: cols, Rows: rows, Offset: at})
}

// count is the number of the next change.
func (s *sizes) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first + len(s.list)
}

// get is change number n, or the first after it that is still known, with its number.
func (s *sizes) get(n int) (size ipc.Size, number int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = max(n, s.first)
	if n >= s.first+len(s.list) {
		return size, n, false
	}
	return s.list[n-s.first], n, true
}

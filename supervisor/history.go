package supervisor

import (
	"sync"

	"pasar/ipc"
)

// A history is what the control peers are told of the attempt, in order: each state once. The bell
// also rings for whatever else a peer may have to be told.
type history struct {
	mu   sync.Mutex // guards list
	list []ipc.Status
	bell *bell
}

// add appends a state and wakes the peers.
func (h *history) add(s ipc.Status) {
	h.mu.Lock()
	h.list = append(h.list, s)
	h.mu.Unlock()
	h.bell.ring()
}

// trouble adds the present state once more if the attempt runs and its log is better or worse than was said.
func (h *history) trouble(why string) {
	h.mu.Lock()
	n := len(h.list)
	if n == 0 || h.list[n-1].State != ipc.AttemptRunning || h.list[n-1].Log == why {
		h.mu.Unlock()
		return
	}
	s := h.list[n-1]
	s.Log = why
	h.list = append(h.list, s)
	h.mu.Unlock()
	h.bell.ring()
}

// since returns the states from number n on.
func (h *history) since(n int) []ipc.Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.list[min(n, len(h.list)):]
}

// last is the present state and its number.
func (h *history) last() (ipc.Status, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.list)
	if n == 0 {
		return ipc.Status{State: ipc.AttemptWarm}, 0
	}
	return h.list[n-1], n - 1
}

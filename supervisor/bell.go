package supervisor

import "sync"

// A bell tells any number of goroutines that something they look at may have changed. Nothing is
// queued and the ringer never waits: take the channel, look, then wait on it.
type bell struct {
	mu sync.Mutex
	ch chan struct{} // nil while nobody listens
}

// wait returns a channel that closes at the next ring.
func (b *bell) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}

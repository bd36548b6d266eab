package daemon

import "context"

// Beat returns once the loop has taken it up, which proves that the loop answers; else with the cause of
// ctx. While the journal can't be written the loop still answers, but not while a write hangs.
func (d *Daemon) Beat(ctx context.Context) error {
	select {
	case d.beats <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A Load is how much there is to do, as last published.
type Load struct {
	Running int // launched and not over
	Waiting int
	Problem string // why no work is taken; empty: it is
}

// Load also returns a channel that is closed at the next change after the call.
func (d *Daemon) Load() (Load, <-chan struct{}) {
	next := d.changed.next() // before the look, so that no change is missed
	p := d.pub.Load()
	return Load{Running: len(p.active), Waiting: len(p.waiting), Problem: p.problem}, next
}

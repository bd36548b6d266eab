package store

import "pasar"

// checkpointAt is how much is appended before the log is folded into the database.
const checkpointAt = int64(4 * pasar.MiB)

// grown counts appended bytes and wakes the checkpointer when there are enough. The caller holds mu.
func (s *Store) grown(size int64) {
	if s.pending += size; s.pending < checkpointAt {
		return
	}
	select {
	case s.checkpoint <- struct{}{}:
	default: // it has been told
	}
}

// checkpointer folds the write-ahead log into the database, so that the log stays short and no
// Append pays for it. Close stops it and waits for it.
func (s *Store) checkpointer() {
	defer close(s.done)
	for {
		select {
		case <-s.quit:
			return
		case <-s.checkpoint:
		}
		s.mu.Lock()
		// An error, such as a full disk, leaves the log as it is: nothing is lost, and after as many
		// bytes again it is tried again.
		s.run("PRAGMA wal_checkpoint(RESTART)", nil, nil)
		s.pending = 0
		s.mu.Unlock()
	}
}

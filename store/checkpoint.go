package store

import "pasar"

// checkpointAt is how long the log gets before it is folded into the database. The log holds whole
// pages, so its length is counted in those that a transaction is likely to touch: SQLite would tell the
// number only through a hook that the driver doesn't have.
const (
	checkpointAt = 4 * pasar.MiB
	page         = 4 * pasar.KiB
	pagesPerJob  = 7 // of the table, its indexes and the tags
	pagesPerSpec = 3
)

// grown counts what was written, in bytes and in pages beside those that the bytes fill, and wakes the
// checkpointer when it is enough. The caller holds mu.
func (s *Store) grown(size int64, pages int) {
	s.pending += pasar.Bytes(size) + page*pasar.Bytes(2+pages)
	if s.pending < checkpointAt {
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

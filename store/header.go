package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// A header is what the first bytes of a database file say (https://www.sqlite.org/fileformat2.html).
type header struct {
	pageSize    int64 // bytes
	pages       int64 // 0 when the file doesn't say
	version     int   // user_version: the schema
	application uint32
}

const headerSize = 100

var errNotDB = errors.New("it is not a database")

func decodeHeader(b []byte) (h header, err error) {
	if len(b) < headerSize {
		return h, fmt.Errorf("it is cut off after %d bytes", len(b))
	}
	if string(b[:16]) != "SQLite format 3\x00" {
		return h, errNotDB
	}
	h.pageSize = int64(binary.BigEndian.Uint16(b[16:]))
	if h.pageSize == 1 {
		h.pageSize = 64 << 10
	}
	if h.pageSize < 512 || h.pageSize&(h.pageSize-1) != 0 {
		return h, fmt.Errorf("its page size is %d", h.pageSize)
	}
	// The size counts only if the writer that last changed the file knew to keep it.
	if changed := binary.BigEndian.Uint32(b[24:]); changed == binary.BigEndian.Uint32(b[92:]) {
		h.pages = int64(binary.BigEndian.Uint32(b[28:]))
	}
	h.version = int(int32(binary.BigEndian.Uint32(b[60:])))
	h.application = binary.BigEndian.Uint32(b[68:])
	return h, nil
}

// inspect looks at the database file before SQLite may touch it, and refuses what isn't a whole
// database of ours.
func (s *Store) inspect() error {
	f, err := os.Open(s.path)
	if err != nil {
		return fmt.Errorf("open database: %w", known(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("open database: %w", known(err))
	}
	if !info.Mode().IsRegular() {
		return s.damaged("it is not a file", nil)
	}
	if info.Size() == 0 {
		return s.damaged("it is empty", nil)
	}
	buf := make([]byte, headerSize)
	n, err := io.ReadFull(f, buf)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("read %s: %w", s.path, err)
	}
	h, err := decodeHeader(buf[:n])
	if err != nil {
		return s.damaged(err.Error(), nil)
	}
	if h.application != applicationID {
		return s.damaged("it is not pasar's", nil)
	}
	if h.version > Version {
		return &NewerError{Path: s.path, Found: h.version, Known: Version}
	}
	// The environment of jobs is in here, so it is for its owner only.
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		if err := os.Chmod(s.path, 0o600); err != nil {
			return fmt.Errorf("open database: %w", known(err))
		}
	}
	return s.whole(h, info.Size())
}

// whole refuses a file that has lost its end. A file may be shorter than its header says only when
// a checkpoint was cut off, and then the pages it lacks are all in the write-ahead log.
func (s *Store) whole(h header, size int64) error {
	have := size / h.pageSize
	if have >= h.pages {
		return nil
	}
	lost := s.damaged(fmt.Sprintf("it is cut off: %d bytes of %d", size, h.pages*h.pageSize), nil)
	wal, err := os.Open(s.path + "-wal")
	if err != nil {
		return lost
	}
	defer wal.Close()
	in, err := walPages(wal)
	if err != nil {
		return lost
	}
	for page := have + 1; page <= h.pages; page++ {
		if !in[uint32(page)] {
			return lost
		}
	}
	return nil
}

const (
	walHeaderSize   = 32
	frameHeaderSize = 24
)

// walPages is the set of pages that a write-ahead log holds in frames of its present generation. It
// doesn't verify checksums: SQLite does, and this only tells a cut-off checkpoint from lost pages.
func walPages(r io.Reader) (map[uint32]bool, error) {
	head := make([]byte, walHeaderSize)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, fmt.Errorf("read write-ahead log: %w", err)
	}
	if magic := binary.BigEndian.Uint32(head); magic&^1 != 0x377f0682 {
		return nil, fmt.Errorf("it is not a write-ahead log")
	}
	pageSize := binary.BigEndian.Uint32(head[8:])
	if pageSize < 512 || pageSize > 64<<10 || pageSize&(pageSize-1) != 0 {
		return nil, fmt.Errorf("the write-ahead log's page size is %d", pageSize)
	}
	pages := map[uint32]bool{}
	frame := make([]byte, frameHeaderSize+int(pageSize))
	for {
		if _, err := io.ReadFull(r, frame); err != nil {
			return pages, nil // the end, or a frame cut off
		}
		if string(frame[8:16]) != string(head[16:24]) {
			return pages, nil // left over from before the log began anew
		}
		pages[binary.BigEndian.Uint32(frame)] = true
	}
}

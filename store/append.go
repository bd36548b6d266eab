package store

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"pasar"

	"zombiezen.com/go/sqlite"
)

// A Batch is what one turn of the daemon's loop adds.
type Batch struct {
	Records    []pasar.Record // the sequence goes on from LastSeq, without gaps
	Specs      []SpecRow
	Finished   []JobRow
	Unfinished []pasar.JobID // their rows of finished jobs go: they were restarted
}

// A SpecRow is what jobs inherit. It is private, so it is kept apart from facts, which anyone who
// may ask the daemon can read.
type SpecRow struct {
	Jobs         []pasar.JobID
	Surroundings pasar.Surroundings
}

// Append adds a batch in one transaction with one sync: when it returns nil, all of it will be
// found after any crash. After an error none of it is there, and the store can be used again.
// (After a failed sync no one can know what is on disk. The next Append settles it either way.)
func (s *Store) Append(b Batch) error {
	e, err := encode(b)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return fmt.Errorf("append to journal: %w", err)
	}
	for i, r := range b.Records {
		if want := s.last + int64(i) + 1; r.Seq != want {
			return fmt.Errorf("append to journal: fact %d where %d is due", r.Seq, want)
		}
	}
	err = s.within(func() error {
		for i, r := range b.Records {
			if err := s.run(qAddFact, func(stmt *sqlite.Stmt) {
				stmt.BindInt64(1, r.Seq)
				stmt.BindBytes(2, e.facts[i])
			}, nil); err != nil {
				return err
			}
		}
		for i, spec := range b.Specs {
			if err := s.setSpecs(spec.Jobs, e.hashes[i][:], e.specs[i]); err != nil {
				return err
			}
		}
		for _, id := range b.Unfinished {
			if err := s.dropJob(id); err != nil {
				return err
			}
		}
		for i := range b.Finished {
			if err := s.addJob(&b.Finished[i], e.tags[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return s.wrap("append to journal", err)
	}
	s.last += int64(len(b.Records))
	specs := 0
	for _, spec := range b.Specs {
		specs += len(spec.Jobs)
	}
	s.grown(e.size, pagesPerJob*(len(b.Finished)+len(b.Unfinished))+pagesPerSpec*specs)
	return nil
}

// encoded is a batch as bytes, made before the connection is taken.
type encoded struct {
	facts, specs, tags [][]byte
	hashes             [][sha256.Size]byte
	size               int64
}

func encode(b Batch) (e encoded, err error) {
	add := func(list *[][]byte, v any, what string) {
		if err != nil {
			return
		}
		var body []byte
		if body, err = json.Marshal(v); err != nil {
			err = fmt.Errorf("encode %s: %w", what, err)
			return
		}
		*list = append(*list, body)
		e.size += int64(len(body)) + 16
	}
	for i := range b.Records {
		if b.Records[i].Fact == nil {
			return e, fmt.Errorf("encode fact %d: there is none", b.Records[i].Seq)
		}
		body, err := b.Records[i].AppendJSON(nil)
		if err != nil {
			return e, err
		}
		e.facts = append(e.facts, body)
		e.size += int64(len(body)) + 16
	}
	for i := range b.Specs {
		add(&e.specs, b.Specs[i].Surroundings, "surroundings")
	}
	for i := range b.Finished {
		tags := b.Finished[i].Tags
		if tags == nil {
			tags = []string{}
		}
		add(&e.tags, tags, "tags")
		e.size += int64(len(b.Finished[i].Body))
	}
	for _, body := range e.specs {
		e.hashes = append(e.hashes, sha256.Sum256(body))
	}
	return e, err
}

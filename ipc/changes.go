package ipc

import (
	"bytes"
	"context"
	"fmt"
)

// MaxJoined bounds one object of a stream whose objects are longer than a chunk.
const MaxJoined = 64 << 20

// Changes streams the jobs that match and what changes of them: each gets one pasar.ChangesView as JSON at a
// time, which it may keep only until it returns.
func (c *Client) Changes(ctx context.Context, r ChangesRequest, each func(json []byte) error) error {
	j := joiner{each: each}
	return c.Call(ctx, VerbChanges, r, nil, j.take)
}

// A joiner puts together objects that each end in a newline from chunks that end anywhere.
type joiner struct {
	each func([]byte) error
	part []byte // of an object whose end hasn't come yet
}

func (j *joiner) take(chunk []byte) error {
	for len(chunk) > 0 {
		i := bytes.IndexByte(chunk, '\n')
		piece := chunk
		if i >= 0 {
			piece = chunk[:i]
		}
		if len(j.part)+len(piece) > MaxJoined {
			return &Error{Code: CodeOverLimit, Message: fmt.Sprintf("the daemon's answer is over %d bytes", MaxJoined), Hint: "ask for fewer jobs"}
		}
		if i < 0 {
			j.part = append(j.part, piece...)
			return nil
		}
		chunk = chunk[i+1:]
		if len(j.part) > 0 {
			piece = append(j.part, piece...)
			j.part = piece[:0]
		}
		if err := j.each(piece); err != nil {
			return err
		}
		if cap(j.part) > 4*MaxChunk { // the first view is large, those that follow seldom are
			j.part = nil
		}
	}
	return nil
}

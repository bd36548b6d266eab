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
	return c.ChangesInPieces(ctx, r, j.add)
}

// ChangesInPieces is Changes for who passes views on, since a view may be as long as the queue: each gets a piece of
// one at a time, which it may keep only until it returns, and learns whether the view ends with it. Such a piece may be
// empty. While each takes its time, the daemon waits, up to WriteTimeout, and then makes fewer views.
func (c *Client) ChangesInPieces(ctx context.Context, r ChangesRequest, each func(piece []byte, last bool) error) error {
	return c.Call(ctx, VerbChanges, r, nil, func(chunk []byte) error { return cut(chunk, each) })
}

// cut cuts a chunk where objects end.
func cut(chunk []byte, each func(piece []byte, last bool) error) error {
	for len(chunk) > 0 {
		i := bytes.IndexByte(chunk, '\n')
		if i < 0 {
			return each(chunk, false)
		}
		if err := each(chunk[:i], true); err != nil {
			return err
		}
		chunk = chunk[i+1:]
	}
	return nil
}

// A joiner puts together objects that came in pieces.
type joiner struct {
	each func([]byte) error
	part []byte // of an object whose end hasn't come yet
}

func (j *joiner) add(piece []byte, last bool) error {
	if len(j.part)+len(piece) > MaxJoined {
		return &Error{Code: CodeOverLimit, Message: fmt.Sprintf("the daemon's answer is over %d bytes", MaxJoined), Hint: "ask for fewer jobs"}
	}
	if !last {
		j.part = append(j.part, piece...)
		return nil
	}
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
	return nil
}

package ipc

import (
	"context"

	"pasar"
)

// DiffRequest asks how a job's code differed from its commit when it was submitted.
type DiffRequest struct {
	Job pasar.JobID `msgpack:"job"`
}

// Diff calls each with the difference of a job's code from its commit when it was submitted: bytes as git wrote them,
// of a long one only the beginning. CodeWrongState: there is none, or it isn't kept.
func (c *Client) Diff(ctx context.Context, r DiffRequest, each func([]byte) error) error {
	return c.Call(ctx, VerbDiff, r, nil, each)
}

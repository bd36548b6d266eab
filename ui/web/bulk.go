package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"pasar/ipc"
)

// What the bodies of requests may take of the daemon at once. A small one is read as it comes; of large ones a few are read
// and worked on at a time, and the others wait for their turn, so that who sends many holds up nobody but such.
const (
	smallBody = 64 << 10         // bytes
	bulkPlace = 4                // large bodies at a time, of this user's; those of others have as many
	bulkWait  = 20 * time.Second // for a place
)

// A bulk has the places for large bodies.
type bulk struct{ ours, others chan struct{} }

func newBulk() bulk {
	return bulk{make(chan struct{}, bulkPlace), make(chan struct{}, bulkPlace)}
}

// A boundBody is a request's body that takes a place before it becomes large. It is for the goroutine of its request.
type boundBody struct {
	io.ReadCloser
	ctx    context.Context
	rc     *http.ResponseController
	places chan struct{}
	read   int
	placed bool
}

// bound lets the body of a request take a place; free gives that back, once the request is answered.
func (b bulk) bound(w http.ResponseWriter, r *http.Request) (free func()) {
	places := b.others
	if peerOf(r.Context()).ours {
		places = b.ours
	}
	body := &boundBody{ReadCloser: r.Body, ctx: r.Context(), rc: http.NewResponseController(w), places: places}
	r.Body = body
	return func() {
		if body.placed {
			<-places
		}
	}
}

func (b *boundBody) Read(p []byte) (int, error) {
	if !b.placed {
		if b.read >= smallBody {
			if err := b.place(); err != nil {
				return 0, err
			}
		} else {
			p = p[:min(len(p), smallBody-b.read)]
		}
	}
	n, err := b.ReadCloser.Read(p)
	b.read += n
	return n, err
}

// place waits for a place. What is sent has its time from then on.
func (b *boundBody) place() error {
	late := time.NewTimer(bulkWait)
	defer late.Stop()
	select {
	case b.places <- struct{}{}:
	case <-b.ctx.Done():
		return context.Cause(b.ctx)
	case <-late.C:
		return refuse(ipc.CodeUnavailable, "ask again in a while", "pasard is busy with other large requests")
	}
	b.placed = true
	if err := b.rc.SetReadDeadline(time.Now().Add(bodyTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

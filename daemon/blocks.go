package daemon

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// blockItems is how many items one block holds: enough that handing it over costs nothing, and few
// enough that a short list is one block.
const blockItems = 64

// blockBuffers are used again, since a listing of ten thousand jobs is ten megabytes.
var blockBuffers = sync.Pool{New: func() any { return new([]byte) }}

// inBlocks encodes n items on all processors and sends them in order, block by block. A few blocks are
// made ahead of a slow receiver, never all.
func inBlocks(ctx context.Context, n int, send func([]byte) error, encode func(dst []byte, i int) ([]byte, error)) error {
	type block struct {
		buf *[]byte
		err error
	}
	blocks := (n + blockItems - 1) / blockItems
	workers := min(runtime.GOMAXPROCS(0), blocks)
	ctx, cancel := context.WithCancel(ctx)
	made := make([]chan block, blocks)
	for i := range made {
		made[i] = make(chan block, 1)
	}
	ahead := make(chan struct{}, workers+1) // blocks taken up and not sent yet
	var next atomic.Int64
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range workers {
		wg.Go(func() {
			for {
				select {
				case ahead <- struct{}{}:
				case <-ctx.Done():
					return
				}
				i := int(next.Add(1)) - 1
				if i >= blocks {
					return
				}
				b := block{buf: blockBuffers.Get().(*[]byte)}
				dst := (*b.buf)[:0]
				for k := i * blockItems; k < min(n, (i+1)*blockItems) && b.err == nil; k++ {
					dst, b.err = encode(dst, k)
				}
				*b.buf = dst
				made[i] <- b
			}
		})
	}
	for _, m := range made {
		select {
		case b := <-m:
			if b.err == nil {
				b.err = send(*b.buf)
			}
			blockBuffers.Put(b.buf)
			if b.err != nil {
				return b.err
			}
			<-ahead
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

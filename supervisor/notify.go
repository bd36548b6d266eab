package supervisor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// lookAgain is how often files are looked at when the machine is short of inotify instances, of which
// a user often has only 128.
const lookAgain = 5 * time.Second

// A notifier calls a function when a file changed. All functions run on one goroutine.
type notifier struct {
	log *slog.Logger

	mu    sync.Mutex // guards calls
	calls map[int32]func()
	next  int32 // without inotify: numbers for calls

	file *os.File      // inotify; nil if there is none to be had
	quit chan struct{} // closed by close
	done chan struct{}
}

func newNotifier(log *slog.Logger) *notifier {
	n := &notifier{log: log, calls: make(map[int32]func()), quit: make(chan struct{}), done: make(chan struct{})}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		log.Warn("files are looked at every few seconds instead", "error", fmt.Errorf("watch files: %w", err))
		go n.poll()
		return n
	}
	n.file = os.NewFile(uintptr(fd), "inotify")
	go n.follow()
	return n
}

// add calls f, on the notifier's goroutine, after something in mask happened to the file.
func (n *notifier) add(path string, mask uint32, f func()) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.file == nil {
		n.next++
		n.calls[n.next] = f
		return nil
	}
	raw, err := n.file.SyscallConn()
	if err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}
	var wd int
	var werr error
	if err := raw.Control(func(fd uintptr) { wd, werr = unix.InotifyAddWatch(int(fd), path, mask) }); err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}
	if werr != nil {
		return fmt.Errorf("watch %s: %w", path, werr)
	}
	n.calls[int32(wd)] = f
	return nil
}

func (n *notifier) follow() {
	defer close(n.done)
	buf := make([]byte, 4<<10)
	for {
		k, err := n.file.Read(buf)
		if err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, os.ErrClosed) {
				n.log.Error("watch files", "error", err)
			}
			return
		}
		n.call(buf[:k])
	}
}

// call runs the functions of the files named in a read of inotify(7), each once.
func (n *notifier) call(b []byte) {
	const head = 16 // wd, mask, cookie, length of the name
	seen := make(map[int32]bool)
	for len(b) >= head {
		wd := int32(binary.NativeEndian.Uint32(b))
		size := head + int(binary.NativeEndian.Uint32(b[12:]))
		b = b[min(size, len(b)):]
		if seen[wd] {
			continue
		}
		seen[wd] = true
		n.mu.Lock()
		f := n.calls[wd]
		n.mu.Unlock()
		if f != nil {
			f()
		}
	}
}

func (n *notifier) poll() {
	defer close(n.done)
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		select {
		case <-n.quit:
			return
		case <-tick.C:
		}
		n.mu.Lock()
		var calls []func()
		for _, f := range n.calls {
			calls = append(calls, f)
		}
		n.mu.Unlock()
		for _, f := range calls {
			f()
		}
	}
}

// close ends the notifier; no function runs any more when it returns.
func (n *notifier) close() {
	close(n.quit)
	if n.file != nil && n.file.SetReadDeadline(time.Unix(1, 0)) != nil {
		_ = n.file.Close()
	}
	<-n.done
	if n.file != nil {
		// The kernel lets go of watches only after all its processors have seen that they are gone, which
		// takes many milliseconds: nobody waits for that.
		go n.file.Close()
	}
}

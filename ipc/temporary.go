package ipc

import (
	"errors"
	"syscall"
)

// isTemporary reports whether accept may work again later: descriptors or memory ran out, or the
// peer was gone before it was accepted.
func isTemporary(err error) bool {
	for _, e := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EINTR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

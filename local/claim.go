package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/attemptdir"
)

// voidFile is what an empty claim is renamed to before a launch is begun afresh.
const voidFile = pasar.ClaimFile + ".void"

// A claimState is what a claim file says about an attempt.
type claimState int

const (
	claimNone  claimState = iota // no file: nothing was launched, but a late supervisor could still
	claimEmpty                   // lock free, no Holding: nothing was launched, and no late supervisor can
	claimHeld                    // a supervisor lives; its Holding may not be written yet
	claimDead                    // Holding, the lock is free, and the process isn't there: its supervisor is gone
)

// A claim is a look at a claim file.
type claim struct {
	state   claimState
	holding pasar.Holding // zero when not written yet
}

// lookAt looks at the claim in an attempt's directory. Looking takes a shared lock for a moment, so
// that looks don't disturb each other; a supervisor that comes at that moment finds its exclusive
// lock refused, gives up, and leaves an empty claim for the launcher to clear away.
//
// A free lock alone doesn't prove a death: a process can lose its lock (a file system without locks
// that last) and calling it dead would kill its job. So the process must be gone too.
func lookAt(dir string) (claim, error) {
	path := filepath.Join(dir, pasar.ClaimFile)
	for {
		c, current, err := lookOnce(path)
		if err != nil {
			return claim{}, fmt.Errorf("look at claim: %w", err)
		}
		if current {
			return c, nil
		}
	}
}

// lookOnce opens a claim and looks at it; current is false if the file was moved away meanwhile.
func lookOnce(path string) (c claim, current bool, err error) {
	f, err := attemptdir.OpenFile(path, os.O_RDONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return claim{state: claimNone}, true, nil
	}
	if err != nil {
		return claim{}, false, err
	}
	defer f.Close() // and with it the lock
	free, err := tryLock(f, unix.LOCK_SH)
	if err != nil {
		return claim{}, false, err
	}
	// The Holding is written once, before anything is forked: read after the lock was tried, it is
	// there if the lock is free and anything was ever launched.
	h, whole, err := readHolding(f)
	if err != nil {
		return claim{}, false, err
	}
	switch {
	case !free, whole && alive(h.Boot, h.Pid, h.StartTime):
		c = claim{claimHeld, h}
	case whole:
		c = claim{claimDead, h}
	default:
		c = claim{state: claimEmpty}
	}
	there, err := os.Lstat(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return claim{}, false, err
	}
	ours, err2 := f.Stat()
	return c, err == nil && err2 == nil && os.SameFile(ours, there), err2
}

func readHolding(f *os.File) (h pasar.Holding, whole bool, err error) {
	b, err := io.ReadAll(io.LimitReader(f, maxHolding))
	if err != nil {
		return h, false, err
	}
	h, whole = decodeHolding(b)
	return h, whole, nil
}

// decodeHolding reads what a supervisor wrote into its claim; false if it isn't a whole Holding.
func decodeHolding(b []byte) (pasar.Holding, bool) {
	var h pasar.Holding
	if json.Unmarshal(b, &h) != nil || h.Nonce == "" || h.Boot == "" || h.Pid <= 0 {
		return pasar.Holding{}, false
	}
	return h, true
}

// tryLock takes a flock if it is free.
func tryLock(f *os.File, how int) (bool, error) {
	for {
		switch err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, err
		}
	}
}

// bar makes sure that no supervisor can take the claim any more, by making an empty one. It is false
// if there is a claim already: look again.
func bar(dir string) (bool, error) {
	f, err := os.OpenFile(filepath.Join(dir, pasar.ClaimFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	switch {
	case errors.Is(err, os.ErrExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("bar attempt: %w", err)
	}
	return true, f.Close()
}

// void clears an empty claim out of the way, so that a supervisor can take a new one. Only who holds
// the exclusive lock on a claim that is in its place may move it, so that of two launchers one
// clears and the other finds what became of it. False: look again.
func void(dir string) (bool, error) {
	path := filepath.Join(dir, pasar.ClaimFile)
	f, err := attemptdir.OpenFile(path, os.O_RDONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("void claim: %w", err)
	}
	defer f.Close()
	if free, err := tryLock(f, unix.LOCK_EX); err != nil || !free {
		return false, err
	}
	ours, err := f.Stat()
	if err != nil {
		return false, fmt.Errorf("void claim: %w", err)
	}
	if there, err := os.Lstat(path); err != nil || !os.SameFile(ours, there) {
		return false, nil
	}
	if _, whole, err := readHolding(f); err != nil || whole {
		return false, err // whole: filled while we came for the lock
	}
	if err := os.Rename(path, filepath.Join(dir, voidFile)); err != nil {
		return false, fmt.Errorf("void claim: %w", err)
	}
	return true, nil
}

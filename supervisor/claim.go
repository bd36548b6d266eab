package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/attemptdir"
	"pasar/ipc"
)

// errTaken says that another supervisor has the claim, or had it.
var errTaken = errors.New("the attempt is claimed already")

// maxSpec bounds the spec file: argv and environment fit in pasar.MaxArgv, and base64 adds a third.
const maxSpec = 8 << 20

// readSpec reads an attempt's spec.
func readSpec(dir string) (pasar.AttemptSpec, error) {
	var spec pasar.AttemptSpec
	f, err := attemptdir.OpenFile(filepath.Join(dir, pasar.SpecFile), unix.O_RDONLY, 0)
	if err != nil {
		return spec, fmt.Errorf("read spec: %w", err)
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil {
		return spec, fmt.Errorf("read spec: %w", err)
	} else if fi.Size() > maxSpec {
		return spec, fmt.Errorf("read spec: %d bytes; at most %d", fi.Size(), maxSpec)
	}
	if err := json.NewDecoder(f).Decode(&spec); err != nil {
		return spec, fmt.Errorf("read spec: %w", err)
	}
	if len(spec.Argv) == 0 || spec.Nonce == "" {
		return spec, errors.New("read spec: no command or no nonce")
	}
	return spec, nil
}

// takeClaim creates the claim file, which at most one supervisor ever can, and locks it. The file
// stays open, and so locked, for as long as the process lives.
func takeClaim(dir string) (*os.File, error) {
	f, err := attemptdir.OpenFile(filepath.Join(dir, pasar.ClaimFile), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, errTaken
	}
	if err != nil {
		return nil, fmt.Errorf("create claim: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errTaken // someone inspects it, and will find it empty: they decide
		}
		return nil, fmt.Errorf("lock claim: %w", err)
	}
	return f, nil
}

// A self is what proves that a process is this one.
type self struct {
	boot  string
	start uint64
}

func identify() (self, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return self{}, fmt.Errorf("read boot id: %w", err)
	}
	me, err := readStat(os.Getpid())
	if err != nil {
		return self{}, fmt.Errorf("read own start time: %w", err)
	}
	return self{string(trimNewline(boot)), me.start}, nil
}

// writeHolding makes the claim say who we are. From here on a fork may have happened. A claim that
// was moved away before this point isn't ours any more.
func writeHolding(f *os.File, dir string, spec *pasar.AttemptSpec, me self, socket string, place pasar.Place, c *cell) error {
	h := pasar.Holding{
		Key: spec.Key, Nonce: spec.Nonce, Boot: me.boot,
		Pid: os.Getpid(), StartTime: me.start, Socket: socket,
		MinProto: ipc.MinAttachVersion, MaxProto: ipc.MaxAttachVersion, Place: placeOr(place),
	}
	if c != nil {
		h.Cgroup = c.dir
	}
	b, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("encode claim: %w", err)
	}
	ours, err := f.Stat()
	if err != nil {
		return fmt.Errorf("write claim: %w", err)
	}
	there, err := os.Lstat(filepath.Join(dir, pasar.ClaimFile))
	if err != nil || !os.SameFile(ours, there) {
		return errTaken
	}
	if _, err := f.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("write claim: %w", err)
	}
	return nil
}

// placeOr is a place by its name: who wasn't told any is in a session alone.
func placeOr(p pasar.Place) pasar.Place {
	if p == "" {
		return pasar.PlaceSession
	}
	return p
}

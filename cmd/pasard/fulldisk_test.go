package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// smallDisk puts the data directory on a file system of its own, of so many MiB.
func (h *home) smallDisk(mib int) {
	h.t.Helper()
	if os.Geteuid() != 0 {
		h.t.Skip("only root can mount a small file system")
	}
	if err := os.MkdirAll(h.data(), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", h.data(), "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0700", mib)); err != nil {
		h.t.Skipf("can't mount a small file system: %v", err)
	}
	h.t.Cleanup(func() {
		h.kill()
		h.killJobs()
		_ = syscall.Unmount(h.data(), syscall.MNT_DETACH)
	})
}

// fill writes a file until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := 1 << 20; block >= 1; {
		if _, err := f.Write(make([]byte, block)); errors.Is(err, syscall.ENOSPC) {
			block /= 4
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFullDiskRefusesSubmitsHarmsNoJobAndHeals(t *testing.T) {
	h := newHome(t)
	h.smallDisk(24)
	h.start()
	ctx := longContext(t, 2*time.Minute)
	// A gate each: a second reader could slip in before the first writer has closed.
	gate, gate2 := filepath.Join(h.dir, "gate"), filepath.Join(h.dir, "next")
	for _, g := range []string{gate, gate2} {
		if err := syscall.Mkfifo(g, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	id, err := h.submit(ctx, shell("echo before; read line < "+gate+"; echo during; read line < "+gate2+"; echo after; exit 6"))
	if err != nil {
		t.Fatal(err)
	}
	h.started(ctx, id) // a job that is only being launched when the disk is full is tried again later
	ballast := filepath.Join(h.data(), "ballast")
	fill(t, ballast)
	var e *ipc.Error
	if _, err := h.submit(ctx, shell("exit 0")); !errors.As(err, &e) || e.Code != ipc.CodeUnavailable {
		t.Fatalf("submit on a full disk: %v", err)
	}
	openGate(ctx, t, gate) // the job goes on
	if _, err := h.submit(ctx, shell("exit 0")); !errors.As(err, &e) || e.Code != ipc.CodeUnavailable {
		t.Errorf("submit on a full disk: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	next := h.untilAccepted(ctx)
	openGate(ctx, t, gate2)
	if got := h.exitCode(ctx, id); got != 6 {
		t.Errorf("exit code %d, want 6", got)
	}
	if got := h.exitCode(ctx, next); got != 0 {
		t.Errorf("exit code %d of the job after, want 0", got)
	}
}

// openGate lets a job that reads a FIFO go on, as soon as it does.
func openGate(ctx context.Context, t *testing.T, gate string) {
	t.Helper()
	var f *os.File
	for {
		var err error
		if f, err = os.OpenFile(gate, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			break
		}
		if !errors.Is(err, syscall.ENXIO) { // nobody reads yet
			t.Fatal(err)
		}
		select {
		case <-ctx.Done():
			t.Fatal("the job never reads its gate")
		case <-time.After(2 * time.Millisecond):
		}
	}
	defer f.Close()
	if _, err := f.WriteString("go\n"); err != nil {
		t.Fatal(err)
	}
}

// untilAccepted submits until the daemon takes work again.
func (h *home) untilAccepted(ctx context.Context) pasar.JobID {
	h.t.Helper()
	for {
		id, err := h.submit(ctx, shell("exit 0"))
		if err == nil {
			return id
		}
		var e *ipc.Error
		if !errors.As(err, &e) || e.Code != ipc.CodeUnavailable {
			h.t.Fatalf("submit: %v", err)
		}
		select {
		case <-ctx.Done():
			h.t.Fatalf("the daemon does not recover: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestAReadOnlyDiskIsOneLine(t *testing.T) {
	h := newHome(t)
	h.smallDisk(8)
	if err := syscall.Mount("", h.data(), "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("can't remount read-only: %v", err)
	}
	code, said := h.runOnce()
	refusal(t, code, exitRefused, said)
}

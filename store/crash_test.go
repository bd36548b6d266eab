package store

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"pasar"

	"golang.org/x/sys/unix"
)

// The test binary runs itself as a child that a test can kill or put into a small file system.
const (
	childEnv = "PASAR_STORE_TEST_CHILD"
	dirEnv   = "PASAR_STORE_TEST_DIR"
)

func TestMain(m *testing.M) {
	children := map[string]func(dir string) error{"open": openChild, "append": appendChild, "full": fullChild, "readonly": readOnlyChild}
	if child := children[os.Getenv(childEnv)]; child != nil {
		if err := child(os.Getenv(dirEnv)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func openChild(dir string) error {
	s, err := Open(dir)
	if err != nil {
		return err
	}
	return s.Close()
}

// crashBatch is five facts and a job, so that half a batch can be told from a whole one.
func crashBatch(last int64) Batch {
	return Batch{
		Records:  facts(last+1, last+5),
		Finished: []JobRow{{Job: pasar.JobID(last + 5), Tags: []string{"t"}, Body: make([]byte, 500)}},
		Specs:    []SpecRow{{[]pasar.JobID{pasar.JobID(last + 5)}, pasar.Surroundings{Nice: int(last % 7)}}},
	}
}

// appendChild appends until it is killed, saying on its output what was acknowledged.
func appendChild(dir string) error {
	s, err := Open(dir)
	if err != nil {
		return err
	}
	due := make(chan int64)
	go func() {
		for seq := range due {
			s.SaveSnapshot(seq, make([]byte, 600<<10))
			s.Prune(seq)
		}
	}()
	for {
		last, err := s.LastSeq()
		if err == nil {
			err = s.Append(crashBatch(last))
		}
		if err != nil {
			return err
		}
		fmt.Println(last + 5)
		if last%25 == 0 {
			select {
			case due <- last + 5:
			default: // the last snapshot is still being saved
			}
		}
	}
}

func TestKilledInTheMiddleOfAppendsNothingAcknowledgedIsLostAndNothingIsHalf(t *testing.T) {
	dir := t.TempDir()
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 8 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"=append", dirEnv+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		acked, lines, killAt := int64(0), 0, 1+rnd.IntN(80)
		for in := bufio.NewScanner(out); in.Scan(); {
			n, err := strconv.ParseInt(in.Text(), 10, 64)
			if err != nil {
				t.Fatalf("round %d: child: %s", round, in.Text())
			}
			acked = n
			if lines++; lines == killAt {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()

		s, err := Open(dir)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		last, err := s.LastSeq()
		if err != nil || last < acked || last%5 != 0 {
			t.Fatalf("round %d: last fact is %d, %v; acknowledged was %d", round, last, err, acked)
		}
		from, _, err := s.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if got := int64(len(readFacts(t, s, from))); got != last-from {
			t.Errorf("round %d: %d facts after snapshot %d, last %d", round, got, from, last)
		}
		n, err := s.CountByState()
		if err != nil || int64(n[""]) != last/5 {
			t.Errorf("round %d: %d jobs for %d facts, %v", round, n[""], last, err)
		}
		if _, err := s.Surroundings(pasar.JobID(last)); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// inSmallDisk runs a child in name spaces of its own, where it may mount.
func inSmallDisk(t *testing.T, child string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+child, dirEnv+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || string(out) == noMount {
		t.Skip("this system lets no user mount a file system of their own")
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

const noMount = "can't mount\n"

func mountSmall(dir string) {
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		fmt.Print(noMount)
		os.Exit(0)
	}
}

func TestAFullDiskIsSaidAndRecoversAlone(t *testing.T) { inSmallDisk(t, "full") }

func fullChild(dir string) error {
	mountSmall(dir)
	s, err := Open(dir)
	if err != nil {
		return err
	}
	ballast := filepath.Join(dir, "ballast")
	for round := range 3 {
		last, _ := s.LastSeq()
		if err := s.Append(crashBatch(last)); err != nil {
			return fmt.Errorf("with room: %w", err)
		}
		os.WriteFile(ballast, make([]byte, 4<<20), 0o600) // takes what there is
		var failed error
		for range 100 {
			if last, _ = s.LastSeq(); failed != nil {
				break
			}
			failed = s.Append(crashBatch(last))
		}
		if !errors.Is(failed, ErrFull) {
			return fmt.Errorf("round %d: append to a full disk: %w", round, failed)
		}
		if err := s.SaveSnapshot(last, make([]byte, 1<<20)); !errors.Is(err, ErrFull) {
			return fmt.Errorf("snapshot on a full disk: %w", err)
		}
		if n, err := s.CountByState(); err != nil || int64(n[""]) != last/5 {
			return fmt.Errorf("%d jobs for %d facts, %w", n[""], last, err)
		}
		other := filepath.Join(dir, "other")
		if _, err := Open(other); !errors.Is(err, ErrFull) {
			return fmt.Errorf("create on a full disk: %w", err)
		}
		os.RemoveAll(other)
		os.Remove(ballast)
	}
	if err := s.Close(); err != nil {
		return err
	}
	return openChild(dir)
}

func TestAReadOnlyDiskIsSaid(t *testing.T) { inSmallDisk(t, "readonly") }

func readOnlyChild(dir string) error {
	mountSmall(dir)
	remount := func(flags uintptr) error {
		return unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND|flags, "")
	}
	if err := remount(unix.MS_RDONLY); err != nil {
		return err
	}
	for _, path := range []string{dir, filepath.Join(dir, "new")} {
		if _, err := Open(path); !errors.Is(err, ErrReadOnly) {
			return fmt.Errorf("open %s on a read-only disk: %w", path, err)
		}
	}
	if err := remount(0); err != nil {
		return err
	}
	s, err := Open(dir)
	if err != nil {
		return err
	}
	if err := s.Append(crashBatch(0)); err != nil {
		return err
	}
	return s.Close()
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestADaemonThatGaveWayToOneAboutToEndIsStartedAgain holds that a command which comes as a daemon goes down still finds
// one.
func TestADaemonThatGaveWayToOneAboutToEndIsStartedAgain(t *testing.T) {
	h := newHome(t)
	h.env = append(h.env, "PASAR_ADDRESS=off")
	data := filepath.Join(h.dir, ".local/share/pasar")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(filepath.Join(data, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ls := h.command("ls")
	var said strings.Builder
	ls.Stderr = &said
	if err := ls.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) { // a log can't be waited for
		if b, _ := os.ReadFile(filepath.Join(h.dir, ".local/state/pasar/pasard.log")); strings.Contains(string(b), " serves ") {
			break
		}
		if time.Now().After(end) {
			t.Fatal("no daemon gave way")
		}
	}
	_ = lock.Close()
	if err := ls.Wait(); err != nil {
		t.Errorf("%v: %s", err, said.String())
	}
}

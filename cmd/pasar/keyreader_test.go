package main

import (
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"
)

func TestWhatIsTypedAfterOneLeftIsTheShells(t *testing.T) {
	tty, side, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer side.Close()
	defer tty.Close()
	before, err := term.MakeRaw(int(side.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		k, err := readKeys(side, func() {})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tty.WriteString("q"); err != nil {
			t.Fatal(err)
		}
		select {
		case b := <-k.typed:
			if string(b) != "q" {
				t.Fatalf("read %q", b)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("what was typed is not read")
		}
		k.stop()
		if _, err := tty.WriteString("ls\n"); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 10)
		if n, err := side.Read(b); string(b[:n]) != "ls\n" {
			t.Fatalf("the shell reads %q, %v", b[:n], err)
		}
	}
	if err := term.Restore(int(side.Fd()), before); err != nil {
		t.Fatal(err)
	}
	k, err := readKeys(side, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer k.stop()
	_ = tty.Close()
	select {
	case b, ok := <-k.typed:
		if ok {
			t.Errorf("of a terminal that is gone it reads %q", b)
		}
	case <-time.After(20 * time.Second):
		t.Error("that the terminal is gone isn't told")
	}
}

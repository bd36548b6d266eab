package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pasar/config"
)

func TestARemovedSocketComesBack(t *testing.T) {
	dir, err := os.MkdirTemp("", "pasar") // short: a socket path
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	run := filepath.Join(dir, "run")
	p := config.Paths{Run: run, Socket: filepath.Join(run, "pasard.sock")}
	first, err := listen(p)
	if err != nil {
		t.Fatal(err)
	}
	var l net.Listener = first
	ctx, cancel := context.WithCancel(t.Context())
	back := make(chan net.Listener)
	done := make(chan struct{})
	go func() {
		defer close(done)
		guardSocket(ctx, p, l, time.Millisecond, slog.New(slog.NewTextHandler(io.Discard, nil)), func(l net.Listener) { back <- l })
	}()
	for name, remove := range map[string]func() error{
		"the socket":    func() error { return os.Remove(p.Socket) },
		"its directory": func() error { return os.RemoveAll(run) },
	} {
		if err := remove(); err != nil {
			t.Fatal(err)
		}
		select {
		case l = <-back:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s was removed and does not come back", name)
		}
		c, err := net.Dial("unix", p.Socket)
		if err != nil {
			t.Fatalf("after %s was removed: %v", name, err)
		}
		_ = c.Close()
	}
	cancel()
	<-done
	_ = l.Close()
}

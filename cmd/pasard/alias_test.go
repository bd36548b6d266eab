package main

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"

	"pasar/config"
	"pasar/ipc"
)

func TestJobsFromBeforeLingerWasChangedReachTheDaemon(t *testing.T) {
	dir := shortDir(t)
	p := config.Paths{Run: dir + "/new", Socket: dir + "/new/pasard.sock", OtherSocket: dir + "/old/pasard.sock"}
	log := slog.New(slog.DiscardHandler)
	leadHere(p, log)()
	if boundFile(dir+"/old") != nil {
		t.Error("a directory was made where no daemon ever was")
	}
	if err := os.Mkdir(dir+"/old", 0o700); err != nil {
		t.Fatal(err)
	}
	dead, err := ipc.ListenUnix(p.OtherSocket)
	if err != nil {
		t.Fatal(err)
	}
	_ = dead.Close()
	l, err := listen(p)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	undo := leadHere(p, log)
	c, err := ipc.DialUnix(p.OtherSocket, 0)
	if err != nil {
		t.Fatalf("by the old name: %v", err)
	}
	_ = c.Close()

	// The next daemon may be at the old place again.
	back := config.Paths{Run: filepath.Dir(p.OtherSocket), Socket: p.OtherSocket}
	again, err := listen(back)
	if err != nil {
		t.Fatalf("where a link is: %v", err)
	}
	undo() // must not take what isn't its own any more
	if c, err := net.Dial("unix", p.OtherSocket); err != nil {
		t.Error(err)
	} else {
		_ = c.Close()
	}
	_ = again.Close()

	leadHere(p, log)()
	if boundFile(p.OtherSocket) != nil {
		t.Error("the link stays")
	}
	if err := os.WriteFile(p.OtherSocket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	leadHere(p, log)()
	if boundFile(p.OtherSocket) == nil {
		t.Error("somebody's file is gone")
	}
}

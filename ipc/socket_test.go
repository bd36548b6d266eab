package ipc

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func privateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ipc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestAPanicIsThatRequestsErrorAndNobodyElses(t *testing.T) {
	c := dial(t, start(t, func(_ context.Context, call *Call) error {
		if call.Verb == "panic" {
			panic("oh no")
		}
		return nil
	}))
	if err := c.Call(t.Context(), "panic", Empty{}, nil, nil); code(err) != CodeInternal {
		t.Errorf("panic was answered %v", err)
	}
	if err := c.Call(t.Context(), "fine", Empty{}, nil, nil); err != nil {
		t.Errorf("the next request: %v", err)
	}
}

func TestAStoppedClientHoldsUpNobodyElse(t *testing.T) {
	path := start(t, func(ctx context.Context, call *Call) error {
		for call.Verb == "flood" && ctx.Err() == nil {
			if err := call.Chunk(make([]byte, MaxChunk)); err != nil {
				return err
			}
		}
		return nil
	})
	nc, _ := raw(t, path) // asks for a flood and reads none of it
	b := frameOf(t, typeHello, MinVersion, MaxVersion, "x")
	b = append(b, frameOf(t, typeRequest, 1, "flood", []byte{0x80})...)
	if _, err := nc.Write(b); err != nil {
		t.Fatal(err)
	}
	c := dial(t, path)
	for range 100 {
		if err := c.Call(t.Context(), "quick", Empty{}, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNobodyListeningIsNoDaemon(t *testing.T) {
	dir := privateDir(t)
	if _, err := Dial(t.Context(), filepath.Join(dir, "none.sock")); code(err) != CodeNoDaemon {
		t.Errorf("no socket: %v", err)
	}
	path := filepath.Join(dir, "dead.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	if _, err := Dial(t.Context(), path); code(err) != CodeNoDaemon {
		t.Errorf("a dead socket: %v", err)
	}
}

func TestASilentDaemonIsGivenUp(t *testing.T) {
	path := filepath.Join(privateDir(t), "d.sock")
	l, err := ListenUnix(path) // never accepts
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if _, err := Dial(ctx, path); code(err) != CodeNoDaemon {
		t.Errorf("dial: %v", err)
	}
}

func TestPathsOver107BytesWork(t *testing.T) {
	dir := privateDir(t)
	for len(dir) < 200 {
		dir = filepath.Join(dir, "a-directory-with-a-name")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "pasard.sock")
	serve(t, path, echo)
	if err := dial(t, path).Call(t.Context(), "echo", map[string]string{}, nil, nil); err != nil {
		t.Error(err)
	}
}

func TestANameThatCantBeBoundSaysHowLongItMayBe(t *testing.T) {
	path := filepath.Join(privateDir(t), strings.Repeat("x", 120))
	if _, err := ListenUnix(path); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("listen: %v", err)
	}
}

func TestADirectoryThatOthersCanEnterIsRefused(t *testing.T) {
	for _, mode := range []os.FileMode{0o755, 0o770, 0o701} {
		dir := privateDir(t)
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		_, err := ListenUnix(filepath.Join(dir, "d.sock"))
		if err == nil || !strings.Contains(err.Error(), "chmod 700") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

func TestADirectoryMeantToBeSharedIsNotToBeClosed(t *testing.T) {
	for _, mode := range []os.FileMode{0o777 | os.ModeSticky, 0o777, 0o755 | os.ModeSticky} {
		dir := privateDir(t)
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		err := CheckPrivateDir(dir)
		if err == nil || strings.Contains(err.Error(), "chmod") || !strings.Contains(err.Error(), "a directory of your own with mode 0700") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

func TestALinkToADirectoryIsRefused(t *testing.T) {
	dir := privateDir(t)
	link := filepath.Join(privateDir(t), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := CheckPrivateDir(link); err == nil {
		t.Error("a link passed for a private directory")
	}
}

func TestSomeoneElsesDirectoryAndSocketAreRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const other = 12345
	dir := privateDir(t)
	if err := os.Chown(dir, other, other); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenUnix(filepath.Join(dir, "d.sock")); err == nil || !strings.Contains(err.Error(), "uid 12345") {
		t.Errorf("their directory: %v", err)
	}
	path := start(t, echo)
	if err := os.Chown(path, other, other); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), path); code(err) != CodeNotAllowed {
		t.Errorf("their socket: %v", err)
	}
}

func TestAPeerOfAnotherUserIsRefused(t *testing.T) {
	path := filepath.Join(privateDir(t), "d.sock")
	l, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s := &Server{Handler: echo, Log: slog.New(slog.DiscardHandler), UID: os.Geteuid() + 1}
		_ = s.Serve(ctx, l)
	}()
	defer func() { cancel(); <-done }()
	if _, err := Dial(t.Context(), path); code(err) != CodeNotAllowed {
		t.Errorf("dial: %v", err)
	}
}

func TestTheSocketIsTheOwnersAlone(t *testing.T) {
	path := start(t, echo)
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %o", fi.Mode().Perm())
	}
}

func TestAFileInTheSocketsPlaceIsNotRemoved(t *testing.T) {
	path := filepath.Join(privateDir(t), "d.sock")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenUnix(path); err == nil {
		t.Fatal("listened over a file")
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "precious" {
		t.Errorf("the file is now %q, %v", b, err)
	}
}

func TestADescriptorShortageIsOverWhenItIsOver(t *testing.T) {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ECONNABORTED} {
		if !isTemporary(&net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", e)}) {
			t.Errorf("%v ends the server", e)
		}
	}
	if isTemporary(&net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EINVAL)}) {
		t.Error("a broken listener would be tried for ever")
	}
}

package ipc

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAnOutFrameMadeInPlaceIsLikeAnyOther(t *testing.T) {
	for _, n := range []int{1, 31, 300, 40_000, MaxAttachFrame - outHead} {
		data := bytes.Repeat([]byte("x"), n)
		b := AppendOut([]byte("before"), 1<<40, MaxAttachFrame, func(p []byte) int { return copy(p, data) })
		body, err := ReadFrame(bufio.NewReader(bytes.NewReader(b[len("before"):])), MaxAttachFrame)
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		var typ int
		var out Out
		if err := Unpack(body, &typ, &out); err != nil || typ != AttachOut || out.Offset != 1<<40 || !bytes.Equal(out.Data, data) {
			t.Errorf("%d bytes: type %d, offset %d, %d bytes, %v", n, typ, out.Offset, len(out.Data), err)
		}
	}
	if b := AppendOut([]byte("x"), 1, 100, func([]byte) int { return 0 }); string(b) != "x" {
		t.Errorf("nothing to send, and %q", b)
	}
}

// listenAttach is a supervisor's socket at which serve answers.
func listenAttach(t *testing.T, serve func(c net.Conn)) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "attach")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "sock")
	l, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serve(c)
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
		_ = os.RemoveAll(dir)
	})
	return path
}

func TestASilentSupervisorIsGivenUpWithAReason(t *testing.T) {
	path := listenAttach(t, func(c net.Conn) { t.Cleanup(func() { _ = c.Close() }) })
	began := time.Now()
	_, _, err := DialAttach(path, Hello{Mode: ModeWatch})
	var e *Error
	if took := time.Since(began); took > 20*time.Second || !errors.As(err, &e) || e.Code != CodeVersion || !strings.Contains(e.Hint, "unharmed") {
		t.Errorf("after %s: %v", took, err)
	}
}

func TestWhatASupervisorRefusesIsToldWithItsHint(t *testing.T) {
	path := listenAttach(t, func(c net.Conn) {
		b, err := AppendFrame(nil, MaxAttachFrame, AttachRefused, &RefusedFrame{Code: CodeWrongState, Message: "no", Hint: "do this"})
		if err == nil {
			_, _ = c.Write(b)
		}
		_ = c.Close()
	})
	_, _, err := DialAttach(path, Hello{Mode: ModeWatch})
	var e *Error
	if !errors.As(err, &e) || *e != (Error{Code: CodeWrongState, Message: "no", Hint: "do this"}) {
		t.Errorf("%#v", err)
	}
}

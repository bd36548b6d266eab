package ipc

import (
	"bufio"
	"bytes"
	"testing"
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

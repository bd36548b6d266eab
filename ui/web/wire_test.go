package web

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"pasar/ipc"
)

func TestOfManySizesTheNewestReachesASupervisorThatIsSlow(t *testing.T) {
	near, far := net.Pipe() // it holds nothing: whatever is sent waits for its reader
	v := &viewer{job: 7, dial: func(context.Context, ipc.Hello) (*ipc.AttachConn, ipc.Welcome, error) {
		return ipc.NewAttachConn(near), ipc.Welcome{}, nil
	}}
	var err error
	if v.wire, err = v.connect(t.Context(), ipc.Hello{Mode: ipc.ModeType}); err != nil {
		t.Fatal(err)
	}
	defer v.wire.close()
	v.holder = true
	for range maxWaiting {
		if err := v.typed([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	order := func(format string, args ...any) {
		if err := v.ordered(t.Context(), fmt.Appendf(nil, format, args...)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3000 {
		order(`{"resize":{"cols":%d,"rows":20}}`, 100+i%50)
	}
	v.holder = false // somebody else took the keyboard
	for range 100 {
		order(`{"take":true,"cols":90,"rows":30}`)
	}
	order(`{"resize":{"cols":77,"rows":33}}`)
	if !v.asked {
		t.Error("it hasn't asked for the keyboard")
	}

	_ = far.SetReadDeadline(time.Now().Add(20 * time.Second))
	got := map[int]int{}
	var size ipc.Size
	for c := ipc.NewAttachConn(far); size.Cols != 77; {
		typ, body, err := c.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if got[typ]++; typ == ipc.AttachResize && ipc.DecodeBody(body, &size) != nil {
			t.Fatalf("%x", body)
		}
	}
	if got[ipc.AttachIn] != maxWaiting || got[ipc.AttachTake] != 1 || got[ipc.AttachResize] > 2 || size.Rows != 33 {
		t.Errorf("it got %v, and last %+v", got, size)
	}
}

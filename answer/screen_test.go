package answer_test

import (
	"errors"
	"io"
	"net"
	"slices"
	"testing"

	"pasar/answer"
	"pasar/ipc"
)

func TestAScreenIsPutTogetherOfItsFrames(t *testing.T) {
	near, far := net.Pipe()
	to, from := ipc.NewAttachConn(near), ipc.NewAttachConn(far)
	defer to.Close()
	defer from.Close()
	sent := make(chan error, 1)
	go func() {
		sent <- errors.Join(to.Send(ipc.AttachNote, &ipc.Note{Text: "beside it"}),
			to.Send(ipc.AttachScreen, &ipc.ScreenFrame{Cols: 80, Rows: 2, Lines: []string{"one"}, More: true}),
			to.Send(ipc.AttachScreen, &ipc.ScreenFrame{Cols: 80, Rows: 2, Lines: []string{"two\xff"}}))
	}()
	v, err := answer.Screen(42, ipc.Welcome{Key: "42.3"}, from.Recv)
	if err := errors.Join(err, <-sent); err != nil {
		t.Fatal(err)
	}
	if v.ID != 42 || v.Attempt != 3 || v.Cols != 80 || !slices.Equal(v.Lines, []string{"one", "two\ufffd"}) {
		t.Errorf("%+v", v)
	}
}

func TestNoScreenIsAnError(t *testing.T) {
	var e *ipc.Error
	if _, err := answer.Screen(42, ipc.Welcome{NoPTY: true}, nil); !errors.As(err, &e) || e.Code != ipc.CodeWrongState {
		t.Errorf("without a terminal: %v", err)
	}
	if _, err := answer.Screen(42, ipc.Welcome{}, func() (int, []byte, error) { return 0, nil, io.EOF }); !errors.Is(err, io.EOF) {
		t.Errorf("at an end: %v", err)
	}
}

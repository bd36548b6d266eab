package supervisor

import (
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/attemptdir"
	"pasar/ipc"
)

// frames are frames as a client sends them, one after the other.
func framesOf(t testing.TB, typed ...any) []byte {
	t.Helper()
	var b []byte
	for i := 0; i < len(typed); i += 2 {
		f, err := ipc.AppendFrame(nil, ipc.MaxAttachFrame, typed[i].(int), typed[i+1])
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, f...)
	}
	return b
}

// FuzzAttachStream is a client that sends anything, in anything but one piece. Its connection ends with it,
// nothing panics, and the next client is served.
func FuzzAttachStream(f *testing.F) {
	hello := func(m ipc.AttachMode, change func(*ipc.Hello)) *ipc.Hello {
		h := &ipc.Hello{Min: 1, Max: ipc.MaxAttachVersion, Mode: m, Cols: 80, Rows: 24}
		change(h)
		return h
	}
	as := func(*ipc.Hello) {}
	paint := func(h *ipc.Hello) { h.Paint, h.History, h.Take = true, 20, true }
	for _, b := range [][]byte{
		framesOf(f, ipc.AttachHello, hello(ipc.ModeWatch, as)),
		framesOf(f, ipc.AttachHello, hello(ipc.ModeType, paint), ipc.AttachIn, &ipc.In{Data: []byte("x\x1b[I")}, ipc.AttachResize, &ipc.Size{Cols: 9, Rows: 9},
			ipc.AttachSignal, &ipc.SignalFrame{Signal: "INT"}, ipc.AttachRelease, &ipc.Note{}, ipc.AttachTake, &ipc.Note{}, ipc.AttachDetach, &ipc.Note{}),
		framesOf(f, ipc.AttachHello, hello(ipc.ModeScreen, as)),
		framesOf(f, ipc.AttachHello, hello(ipc.ModeControl, as), ipc.AttachStop, &ipc.StopFrame{Stop: pasar.Stop{ID: "a"}}, ipc.AttachDone, &ipc.Note{}),
		{0, 0, 0, 1, 0xc0}, {0xff, 0xff, 0xff, 0xff}, nil,
	} {
		f.Add(b, uint8(7))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte, cut uint8) {
		disk, err := attemptdir.Create(dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		log := slog.New(slog.NewTextHandler(&said, nil))
		a := &attempt{log: log, spec: pasar.AttemptSpec{Nonce: "n"}, stops: make(chan pasar.Stop), over: make(chan struct{})}
		close(a.over)
		a.history.bell = &a.changed
		a.output = newOutput(log, disk, func(string) {})
		a.keys = newKeyboard(a)
		a.display = newDisplay(log, a.output, 80, 24, a.keys.in.answer)
		a.output.display = a.display
		a.events = &events{log: log, changed: &a.changed}
		a.output.add([]byte("one line\r\n\x1b[31mand \x1b[?1049hanother\x1b[6n"), 1, time.Now())
		a.history.add(a.status(ipc.AttemptRunning))
		s := &server{log: log, peers: make(map[*peer]struct{})}
		s.hold(a)
		serve := func(b []byte, cut int) {
			ours, theirs := net.Pipe()
			p := newPeer(s, ours, ipc.NewAttachConn(ours))
			s.join(p)
			over := make(chan struct{})
			go func() { defer close(over); p.serve() }()
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			for len(b) > 0 {
				n := min(len(b), cut+1)
				if _, err := theirs.Write(b[:n]); err != nil {
					break // hung up on
				}
				b = b[n:]
			}
			_ = theirs.Close()
			select {
			case <-over:
			case <-time.After(20 * time.Second):
				t.Fatal("its connection goes on without it")
			}
		}
		serve(b, int(cut))
		if strings.Contains(said.String(), "panic") {
			t.Fatal(said.String())
		}
		serve(framesOf(t, ipc.AttachHello, hello(ipc.ModeType, paint)), 1<<10)
		a.keys.close()
		a.output.close()
	})
}

package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"testing"

	"pasar/ipc"
)

// sentTo is the end of a connection on which only what was sent can be read.
type sentTo struct {
	net.Conn
	r io.Reader
}

func (s sentTo) Read(p []byte) (int, error) { return s.r.Read(p) }

// FuzzAttachFrames is a supervisor that sends anything: the client takes it or says what was wrong, writes
// nothing on the terminal but what a job may, and can still put it back.
func FuzzAttachFrames(f *testing.F) {
	add := func(typed ...any) {
		var b []byte
		for i := 0; i < len(typed); i += 2 {
			p, err := ipc.AppendFrame(nil, ipc.MaxAttachFrame, typed[i].(int), typed[i+1])
			if err != nil {
				f.Fatal(err)
			}
			b = append(b, p...)
		}
		f.Add(b, 80, 24)
	}
	add(ipc.AttachSnap, &ipc.Snap{Cols: 80, Rows: 24, Data: []byte("\x1b[Hone\x1b[31m two\x1b]52;c;eA==\x07"), More: true}, ipc.AttachSnap, &ipc.Snap{Cols: 80, Rows: 24},
		ipc.AttachOut, &ipc.Out{Data: []byte("more\x1b[6n\x1bP1$r\x1b\\")}, ipc.AttachExit, &ipc.ExitFrame{})
	add(ipc.AttachSize, &ipc.Size{Cols: 1 << 30, Rows: -1}, ipc.AttachSnap, &ipc.Snap{Cols: -5, Rows: 1 << 40}, ipc.AttachNote, &ipc.Note{Text: "a\x1b[2Jb"},
		ipc.AttachHolder, &ipc.HolderNote{You: true, Who: "\x9b"}, ipc.AttachSkip, &ipc.Skip{From: 9, To: 3}, ipc.AttachRefused, &ipc.RefusedFrame{Message: "no"})
	f.Fuzz(func(t *testing.T, b []byte, cols, rows int) {
		cols, rows = min(max(cols, 1), 300), min(max(rows, 1), 100)
		var out bytes.Buffer
		a := &attachment{call: &call{app: &app{stdout: bufio.NewWriter(&out), stderr: io.Discard}}, link: &link{send: &sender{some: make(chan struct{}, 1)}}}
		a.out = newOutlet(a.stdout)
		a.show = newDisplay(a.out, cols, rows, 0)
		a.arrive(false)
		conn := ipc.NewAttachConn(sentTo{r: bytes.NewReader(b)})
		for {
			typ, body, err := conn.Recv()
			if err != nil {
				break
			}
			if end, err := a.frame(frame{typ: typ, body: body}); end != nil || err != nil {
				break
			}
			a.show.paint()
		}
		a.leave(true)
		for _, bad := range []string{"\x1b]52", "\x1bP", "\x1b_", "\x1b^", "\x1b[6n", "\x1b[c", "\x05", "\x1b[?2026h"} {
			if bytes.Contains(out.Bytes(), []byte(bad)) {
				t.Errorf("%q reaches the terminal in %q", bad, out.Bytes())
			}
		}
	})
}

package supervisor_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// flood is a job that writes without end.
const flood = `yes 'the quick brown fox jumps over the lazy dog, again and again'`

// far is the bound of what should take a few milliseconds, on a machine that is busy with other things.
const far = 5 * time.Second

// within fails if f takes longer than it ever should.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	began := time.Now()
	f()
	took := time.Since(began)
	t.Logf("%s: %s", what, took.Round(10*time.Microsecond))
	if took > far {
		t.Errorf("%s took %s", what, took)
	}
}

func TestStoppedClientsOfAFloodHoldUpNobodyAndTakeLittle(t *testing.T) {
	r := start(t, "sh", "-c", flood)
	var stopped []*client
	for i := range 40 {
		h := ipc.Hello{Mode: ipc.ModeWatch, Paint: i%3 > 0}
		if i%5 == 0 {
			h.Mode = ipc.ModeType
		}
		stopped = append(stopped, r.attach(h)) // and never reads
	}
	var end int64
	eventually(t, time.Duration(rounds(1, 40))*patience, "a lot is written", func() bool {
		end = r.shot().Offset
		return end > int64(rounds(8<<20, 10<<30))
	})
	for range 3 {
		within(t, "another client sees the screen", func() {
			w := r.paint(ipc.Hello{Mode: ipc.ModeWatch})
			if !strings.Contains(w.text(), "lazy dog") {
				t.Errorf("%q", w.text())
			}
			_ = w.conn.Close()
		})
	}
	r.mustBeSmall()
	within(t, "the job is killed", func() {
		r.stop(pasar.Stop{ID: "end", Now: true})
		r.wait(ipc.AttemptExited)
	})
	within(t, "it has ended", func() { r.wait(ipc.AttemptEnded) })
	// A stopped follower lost nothing, and is told of the end.
	sleeper := stopped[0]
	var n countWriter
	exit := sleeper.readAll(&n)
	if exit.Offset != int64(n) || exit.Offset < end {
		t.Errorf("%d bytes of %d", n, exit.Offset)
	}
	for _, c := range stopped {
		_ = c.conn.Close()
	}
	r.leave()
}

type countWriter int64

func (n *countWriter) Write(p []byte) (int, error) { *n += countWriter(len(p)); return len(p), nil }

func TestASlowClientDoesNotSlowTheJob(t *testing.T) {
	r := sh(t, `read x; seq 1 1000000; echo done`)
	slow := r.paint(ipc.Hello{Mode: ipc.ModeType, Cols: 80, Rows: 24})
	slow.send(ipc.AttachIn, &ipc.In{Data: []byte("\n")})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.wait(ipc.AttemptEnded)
	}()
	took, over := 0, false
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case <-ended:
			tick.Stop()
			t.Logf("it had taken %d bytes of output when the job had ended", slow.output)
			if slow.output > 4<<20 {
				t.Errorf("%d bytes: it wasn't slow", slow.output)
			}
			if !over {
				slow.ended()
			}
			if !strings.HasSuffix(slow.text(), "done") {
				t.Errorf("it sees %q at the end", slow.text())
			}
			r.leave()
			return
		case <-tick.C:
			if took++; took < 100 && !over {
				over = slow.step() != nil // the end of the attempt may be told here first
			}
		}
	}
}

func TestManyClientsDroppedAtOnceLeaveNothing(t *testing.T) {
	r := start(t, "sh", "-c", flood)
	fds := func() int {
		d, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", r.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		return len(d)
	}
	_ = r.paint(ipc.Hello{Mode: ipc.ModeWatch}).conn.Close()
	before := fds() + 1 // its own log may be opened
	for range rounds(2, 50) {
		var all []net.Conn
		for i := range 200 {
			h := ipc.Hello{Min: 1, Max: ipc.MaxAttachVersion, Mode: ipc.ModeWatch, Paint: i%2 == 0, Nonce: r.spec.Nonce}
			if i%7 == 0 {
				h.Mode = ipc.ModeType
			}
			c := r.raw()
			b, err := ipc.AppendFrame(nil, ipc.MaxAttachFrame, ipc.AttachHello, &h)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write(b); err != nil {
				t.Fatal(err)
			}
			all = append(all, c)
		}
		for i, c := range all { // each has been taken in
			_ = c.SetReadDeadline(time.Now().Add(patience))
			if _, err := io.ReadFull(c, make([]byte, 20)); err != nil {
				t.Fatalf("client %d: %v", i, err)
			}
		}
		for _, c := range all {
			_ = c.Close()
		}
		within(t, "a client among the ruins sees the screen", func() { _ = r.paint(ipc.Hello{Mode: ipc.ModeWatch}).conn.Close() })
	}
	eventually(t, patience, "descriptors are closed", func() bool { return fds() <= before })
	t.Logf("%d descriptors before and %d after", before, fds())
	r.mustBeSmall()
	r.cancel()
}

func TestClientsBeyondTheLimitAreToldAndMuteOnesGiveWay(t *testing.T) {
	r := start(t, "sleep", "1000")
	var attached []*client
	for range 200 {
		attached = append(attached, r.attach(ipc.Hello{Mode: ipc.ModeWatch}))
	}
	for range 300 {
		r.raw() // says nothing
	}
	for range 50 {
		attached = append(attached, r.attach(ipc.Hello{Mode: ipc.ModeWatch}))
	}
	refused := false
	for range 10 {
		conn, _, err := dial(r.holding().Socket, ipc.Hello{Mode: ipc.ModeWatch, Nonce: r.spec.Nonce})
		if err == nil {
			defer conn.Close()
			continue
		}
		var e *ipc.Error
		if refused = errors.As(err, &e) && e.Code == ipc.CodeOverLimit; !refused {
			t.Errorf("beyond the limit: %v", err)
		}
	}
	if !refused {
		t.Error("there is no limit")
	}
	for _, c := range attached {
		_ = c.conn.Close()
	}
	eventually(t, patience, "there is room again", func() bool {
		conn, _, err := dial(r.holding().Socket, ipc.Hello{Mode: ipc.ModeWatch, Nonce: r.spec.Nonce})
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	r.cancel()
}

func TestComingAndGoingChangesNoByte(t *testing.T) {
	r := sh(t, `for i in $(seq 1 20000); do echo line $i; done; read x`)
	for i := range rounds(60, 1000) {
		h := ipc.Hello{Mode: ipc.ModeWatch, Paint: i%2 == 0, Cols: 80, Rows: 24}
		if i%3 == 0 {
			h.Mode = ipc.ModeType
		}
		c := r.attach(h)
		if i%4 == 0 {
			_, _, _ = c.conn.Recv()
		}
		_ = c.conn.Close()
	}
	eventually(t, patience, "all is written", func() bool { return strings.HasSuffix(r.output(), "line 20000\r\n") })
	want := new(strings.Builder)
	for i := range 20000 {
		fmt.Fprintf(want, "line %d\r\n", i+1)
	}
	if got := r.output(); got != want.String() {
		t.Errorf("%d bytes, not %d", len(got), want.Len())
	}
	r.cancel()
}

func TestATypistThatDiesWithinAFrameHarmsNothing(t *testing.T) {
	r := sh(t, `stty raw -echo; printf up; exec cat`)
	watcher := r.attach(ipc.Hello{Mode: ipc.ModeWatch})
	watcher.until("up")
	for i := range 20 {
		dying := r.raw()
		hello, err := ipc.AppendFrame(nil, ipc.MaxAttachFrame, ipc.AttachHello, &ipc.Hello{Min: 1, Max: 2, Mode: ipc.ModeType, Nonce: r.spec.Nonce})
		if err != nil {
			t.Fatal(err)
		}
		in, err := ipc.AppendFrame(nil, ipc.MaxAttachFrame, ipc.AttachIn, &ipc.In{Data: bytes.Repeat([]byte("x"), 1000)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dying.Write(append(hello, in[:4+i*50]...)); err != nil {
			t.Fatal(err)
		}
		_ = dying.Close()
	}
	next := r.attach(ipc.Hello{Mode: ipc.ModeType, Take: true, Offset: -1})
	next.send(ipc.AttachIn, &ipc.In{Data: []byte("alive")})
	if got := watcher.until("alive"); got != "alive" {
		t.Errorf("the job read %q", got)
	}
	_ = watcher.conn.Close()
	_ = next.conn.Close()
	r.cancel()
}

func TestEveryFrameValidOrNotLeavesTheJobAlone(t *testing.T) {
	r := sh(t, `stty raw -echo; printf up; exec cat`)
	for typ := range 80 {
		if typ == ipc.AttachStop {
			continue
		}
		for _, mode := range []ipc.AttachMode{ipc.ModeWatch, ipc.ModeType, ipc.ModeScreen, ipc.ModeControl, ""} {
			for _, body := range []string{"", "\xc0", "\x90", "\x91\xa1x", "\x93\x01\x02\xc4\x01z", "\xc4\x03abc", "\x91\xff", "\x94\xd2\x80\x00\x00\x00\x00\x01\x02"} {
				c := r.raw()
				var b []byte
				if mode != "" {
					b, _ = ipc.AppendFrame(nil, ipc.MaxAttachFrame, ipc.AttachHello, &ipc.Hello{Min: 1, Max: 2, Mode: mode, Nonce: r.spec.Nonce})
				}
				frame := append([]byte{0x92, 0xd1, 0, byte(typ)}, body...)
				b = append(binary.BigEndian.AppendUint32(b, uint32(len(frame))), frame...)
				_, _ = c.Write(b)
				_ = c.CloseWrite()
				_ = c.SetReadDeadline(time.Now().Add(patience))
				if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatalf("type %d, mode %q, body %q: it isn't closed", typ, mode, body)
				}
				_ = c.Close()
			}
		}
	}
	typist := r.attach(ipc.Hello{Mode: ipc.ModeType, Take: true})
	typist.send(ipc.AttachIn, &ipc.In{Data: []byte("alive")})
	typist.until("alive")
	_ = typist.conn.Close()
	r.cancel()
}

// switches is how often a supervisor's threads have waited.
func (r *rig) switches() (n int) {
	r.t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", r.cmd.Process.Pid))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range tasks {
		b, _ := os.ReadFile(f)
		for line := range strings.Lines(string(b)) {
			if v, ok := strings.CutPrefix(line, "voluntary_ctxt_switches:"); ok {
				k, _ := strconv.Atoi(strings.TrimSpace(v))
				n += k
			}
		}
	}
	return n
}

func TestClientsOfAnIdleJobDoNotWakeItsSupervisor(t *testing.T) {
	r := sh(t, `printf '\e[?1049hup'; exec sleep 1000`)
	var all []*terminal
	for i := range 6 {
		h := ipc.Hello{Mode: ipc.ModeWatch, Cols: 80, Rows: 24}
		if i%2 == 0 {
			h.Mode = ipc.ModeType
		}
		w := r.paint(h)
		w.sees("up")
		all = append(all, w)
	}
	all[0].send(ipc.AttachIn, &ipc.In{Data: []byte("x")})
	all[0].sees("upx")
	// A periodic timer would show in every window; settling down needs some.
	window := time.Duration(rounds(1, 60)) * time.Second
	most := rounds(0, 4) // the runtime itself looks once a minute, and waits twice for that
	woken := 0
	for range 10 {
		before := r.switches()
		<-time.After(window)
		if woken = r.switches() - before; woken <= most {
			break
		}
	}
	t.Logf("%d wake-ups in %s", woken, window)
	if woken > most {
		t.Errorf("it wakes up though nothing happens")
	}
	for _, w := range all {
		_ = w.conn.Close()
	}
	r.cancel()
}

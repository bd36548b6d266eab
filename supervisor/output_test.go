package supervisor_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// rounds is how often a race is run: few times always, many in a torture run.
func rounds(few, many int) int {
	if os.Getenv("PASAR_TORTURE") != "" {
		return many
	}
	return few
}

func TestTheLastBytesAreNeverLost(t *testing.T) {
	for range rounds(25, 10_000) {
		rec, out := run(t, nil, "sh", "-c", "head -c 100000 /dev/urandom | base64; exit 3")
		lines := strings.Count(out, "\r\n")
		if lines != 1755 || len(out) != 133336+2*lines || rec.Exit.Code != 3 || rec.Output != int64(len(out)) || rec.Lines != int64(lines) || rec.Dropped != 0 || rec.TailForced {
			t.Fatalf("%d bytes in %d lines, record %+v", len(out), lines, rec)
		}
		if !strings.HasSuffix(out, "=\r\n") {
			t.Fatalf("ends in %q", out[len(out)-20:])
		}
	}
}

func TestABurstAndItsEndMarkArriveWhole(t *testing.T) {
	for range rounds(10, 1000) {
		rec, out := run(t, nil, "sh", "-c", "head -c 200000 /dev/zero | tr '\\0' x; echo END")
		if len(out) != 200005 || !strings.HasSuffix(out, "xEND\r\n") || rec.Output != 200005 {
			t.Fatalf("%d bytes, record %d", len(out), rec.Output)
		}
	}
}

func TestALineOfAJobThatExitsAtOnceIsThere(t *testing.T) {
	for range rounds(20, 1000) {
		if rec, out := run(t, nil, "echo", "hoge"); out != "hoge\r\n" || len(rec.Tail) != 1 || rec.Tail[0] != "hoge" {
			t.Fatalf("%q, %q", out, rec.Tail)
		}
	}
}

func TestClosingEveryDescriptorIsNotTheEnd(t *testing.T) {
	rec, out := run(t, nil, "sh", "-c", "exec </dev/null >/dev/null 2>&1; read x < /proc/self/stat; sleep 0.3; exec >/dev/tty; echo back; exit 4")
	if out != "back\r\n" || rec.Exit.Code != 4 {
		t.Errorf("%q, %+v", out, rec)
	}
}

func TestAnUnfinishedLineAndABarAreKept(t *testing.T) {
	rec, out := run(t, nil, "printf", `10%%\r50%%\r100%%\nno newline`)
	if out != "10%\r50%\r100%\r\nno newline" {
		t.Errorf("log: %q", out)
	}
	if got := strings.Join(rec.Tail, "|"); got != "100%|no newline" {
		t.Errorf("tail: %q", got)
	}
}

func TestALateReaderSeesEverythingThenTheEnd(t *testing.T) {
	r := start(t, "sh", "-c", "seq 1 300000; exit 5")
	st := r.wait(ipc.AttemptEnded)
	if st.Exit.Code != 5 {
		t.Errorf("%+v", st.Exit)
	}
	c := r.attach(ipc.Hello{Mode: ipc.ModeWatch})
	var buf bytes.Buffer
	exit := c.readAll(&buf)
	if buf.String() != r.output() || exit.Exit.Code != 5 || exit.Offset != int64(buf.Len()) {
		t.Errorf("%d bytes of %d, exit %+v", buf.Len(), len(r.output()), exit)
	}
	tail := r.attach(ipc.Hello{Mode: ipc.ModeWatch, Offset: -9})
	buf.Reset()
	tail.readAll(&buf)
	if buf.String() != "300000\r\n" {
		t.Errorf("the last 8 bytes: %q", buf.String())
	}
	r.leave()
}

func TestAStoppedReaderHoldsUpNobody(t *testing.T) {
	r := startWith(t, nil, "sh", "-c", "read x; seq 1 400000; echo done")
	stuck := r.attach(ipc.Hello{Mode: ipc.ModeWatch}) // never read from
	typist := r.attach(ipc.Hello{Mode: ipc.ModeType})
	typist.send(ipc.AttachIn, &ipc.In{Data: []byte("go\n")})
	other := r.attach(ipc.Hello{Mode: ipc.ModeWatch})
	var buf bytes.Buffer
	other.readAll(&buf)
	if !strings.HasSuffix(buf.String(), "done\r\n") {
		t.Errorf("ends in %q", buf.String()[max(0, buf.Len()-20):])
	}
	// What the stuck one missed is still to be had.
	var late bytes.Buffer
	stuck.readAll(&late)
	if late.String() != buf.String() {
		t.Errorf("%d bytes, not %d", late.Len(), buf.Len())
	}
	_ = typist.conn.Close()
	r.end()
}

func TestALogThatCannotBeWrittenHasAGapAndTheJobGoesOn(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs to mount a small file system")
	}
	r := warm(t)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=3m,mode=700", "tmpfs", r.dir).CombinedOutput(); err != nil {
		t.Skipf("can't mount: %s", out)
	}
	t.Cleanup(func() { _ = syscall.Unmount(r.dir, syscall.MNT_DETACH) })
	r.spec.Argv = pasar.Args([]string{"sh", "-c", "seq 1 1200000; echo full; read x; echo again; read x"})
	r.launch()
	r.wait(ipc.AttemptRunning)
	typist := r.attach(ipc.Hello{Mode: ipc.ModeType, Offset: -1})
	typist.until("full\r\n") // nine times what fits was written: nothing waited for the disk
	if err := os.Truncate(filepath.Join(r.dir, pasar.OutputFile), 1<<20); err != nil {
		t.Fatal(err)
	}
	typist.send(ipc.AttachIn, &ipc.In{Data: []byte("\n")})
	typist.until("again\r\n")
	eventually(t, patience, "the log is written again", func() bool { return strings.HasSuffix(r.output(), "again\r\n") })
	typist.send(ipc.AttachIn, &ipc.In{Data: []byte("\n")})
	_ = typist.conn.Close()
	rec := r.end()
	if rec.Dropped == 0 || rec.Dropped >= rec.Output || rec.Exit.Code != 0 || rec.Tail[len(rec.Tail)-2] != "again" {
		t.Errorf("%+v", rec)
	}
	if index, err := os.ReadFile(filepath.Join(r.dir, "index")); err != nil || !strings.Contains(string(index), "gap_from") {
		t.Errorf("index %q, %v", index, err)
	}
}

func TestTheExitRecordFitsOnAFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs to mount a small file system")
	}
	r := warm(t)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=512k,mode=700", "tmpfs", r.dir).CombinedOutput(); err != nil {
		t.Skipf("can't mount: %s", out)
	}
	t.Cleanup(func() { _ = syscall.Unmount(r.dir, syscall.MNT_DETACH) })
	r.spec.Argv = pasar.Args([]string{"sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; exit 6"})
	r.launch()
	rec := r.end()
	if rec.Exit.Code != 6 || rec.Output != 3_000_000 || rec.Dropped == 0 {
		t.Errorf("%+v", rec)
	}
}

func TestADirectoryRemovedUnderTheJobStillGetsItsRecord(t *testing.T) {
	r := start(t, "sh", "-c", "read x; echo bye")
	c := r.attach(ipc.Hello{Mode: ipc.ModeType})
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	c.send(ipc.AttachIn, &ipc.In{Data: []byte("\n")})
	if rec := r.end2(c); rec.Exit.Code != 0 || rec.Tail[len(rec.Tail)-1] != "bye" {
		t.Errorf("%+v", rec)
	}
}

func TestATerminalHeldByAStrangerDoesNotHoldUpTheEnd(t *testing.T) {
	r := start(t, "sh", "-c", "tty; read x; echo bye")
	typist := r.attach(ipc.Hello{Mode: ipc.ModeType})
	out := typist.until("\r\n")
	tty, err := os.OpenFile(strings.TrimSpace(out), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	typist.send(ipc.AttachIn, &ipc.In{Data: []byte("\n")})
	r.wait(ipc.AttemptExited) // the claim is free, whoever holds the terminal
	typist.until("bye\r\n")
	_ = typist.conn.Close()
	if rec := r.end(); !rec.TailForced {
		t.Errorf("%+v", rec)
	}
}

func TestABriskJobDoesNotWakeAnIdleSupervisor(t *testing.T) {
	r := start(t, "sh", "-c", "echo up; exec sleep 1000")
	typist := r.attach(ipc.Hello{Mode: ipc.ModeType})
	typist.until("up\r\n")
	_ = typist.conn.Close()
	switches := func() int {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", r.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, f := range tasks {
			b, _ := os.ReadFile(f)
			for sc := bufio.NewScanner(bytes.NewReader(b)); sc.Scan(); {
				if v, ok := strings.CutPrefix(sc.Text(), "voluntary_ctxt_switches:"); ok {
					k, _ := strconv.Atoi(strings.TrimSpace(v))
					n += k
				}
			}
		}
		return n
	}
	// A periodic timer would show in every window; settling down needs some.
	quiet := false
	for range 10 {
		before := switches()
		<-time.After(500 * time.Millisecond)
		if switches() == before {
			quiet = true
			break
		}
	}
	if !quiet {
		t.Error("it wakes up though nothing happens")
	}
	r.stop(pasar.Stop{ID: "1", Now: true})
	r.end()
}

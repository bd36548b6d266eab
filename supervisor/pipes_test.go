package supervisor_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pasar"
	"pasar/attemptdir"
	"pasar/ipc"
)

func piped(s *pasar.AttemptSpec) { s.NoPTY = true }

// byStream is what came on each stream, by the index.
func byStream(out []byte, x *attemptdir.Index) map[int]string {
	got := make(map[int]string)
	for off := int64(0); off < int64(len(out)); {
		s, until := x.Stream(off)
		until = min(until, int64(len(out)))
		got[s] += string(out[off:until])
		off = until
	}
	return got
}

func TestAJobWithoutATerminalHasPipesAndNoInput(t *testing.T) {
	r := startWith(t, piped, "sh", "-c", `test -t 0 || test -t 1 || test -t 2 || echo no terminal; cat; (: </dev/tty) 2>/dev/null || echo none at all
test -p /dev/stdout && test -p /dev/stderr && echo pipes; printf 'bare\n'; exit 3`)
	c := r.attach(ipc.Hello{Mode: ipc.ModeWatch})
	if !c.welcome.NoPTY {
		t.Errorf("welcome %+v", c.welcome)
	}
	var buf bytes.Buffer
	exit := c.readAll(&buf)
	rec := r.end()
	const want = "no terminal\nnone at all\npipes\nbare\n"
	if buf.String() != want || r.output() != want || exit.Exit.Code != 3 || rec.Exit.Code != 3 || rec.Lines != 4 || rec.TailForced {
		t.Errorf("%q, %q, %+v", buf.String(), r.output(), rec)
	}
	if got := strings.Join(rec.Tail, "|"); got != "no terminal|none at all|pipes|bare" {
		t.Errorf("tail: %q", got)
	}
}

func TestTheStreamsOfAJobWithoutATerminalAreInOneLogAndToldApart(t *testing.T) {
	r := warm(t)
	gate := func(word string, i int) string { return filepath.Join(string(r.spec.Cwd), fmt.Sprint(word, i)) }
	for i := 1; i <= 5; i++ { // one for each line: a second reader could slip in before the first writer has closed
		for _, word := range []string{"out", "err"} {
			if err := syscall.Mkfifo(gate(word, i), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.spec.NoPTY = true
	r.spec.Argv = pasar.Args([]string{"sh", "-c", `for i in 1 2 3 4 5; do echo out $i; read x < out$i; echo err $i >&2; read x < err$i; done`})
	r.launch()
	r.wait(ipc.AttemptRunning)
	c := r.attach(ipc.Hello{Mode: ipc.ModeWatch})
	want, order := map[int]string{}, ""
	for i := 1; i <= 5; i++ {
		for stream, word := range []string{"out", "err"} {
			line := fmt.Sprintf("%s %d\n", word, i)
			order += line
			want[attemptdir.Stdout+stream] += line
			c.until(line)
			if err := os.WriteFile(gate(word, i), []byte("\n"), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.readAll(io.Discard)
	r.end()
	out, _, l := r.readLog()
	if string(out) != order {
		t.Errorf("not in order of arrival: %q", out)
	}
	if got := byStream(out, l.Index); got[1] != want[1] || got[2] != want[2] {
		t.Errorf("%v", got)
	}
	if got := byStream([]byte(order), c.index()); got[1] != want[1] || got[2] != want[2] {
		t.Errorf("told by marks: %v", got)
	}
}

func TestPipesAreReadToTheLastByte(t *testing.T) {
	for range rounds(10, 1000) {
		r := startWith(t, piped, "sh", "-c", "head -c 200000 /dev/zero | tr '\\0' x; echo END; head -c 70000 /dev/zero | tr '\\0' y >&2; exit 4")
		rec := r.end()
		out, gaps, l := r.readLog()
		l.Index.Piped = true
		if got := byStream(out, l.Index); len(gaps) > 0 || len(got[1]) != 200004 || len(got[2]) != 70000 || rec.Output != 270004 || rec.TailForced {
			t.Fatalf("%d and %d bytes, record %+v", len(got[1]), len(got[2]), rec)
		}
	}
}

func TestAJobWithoutATerminalIsStoppedWithAllThatItStarted(t *testing.T) {
	r := startWith(t, piped, "sh", "-c", "trap 'echo got TERM; exit 9' TERM; sh -c 'echo up; exec sleep 1000' & wait")
	c := r.attach(ipc.Hello{Mode: ipc.ModeWatch})
	c.until("up\n")
	r.stop(pasar.Stop{ID: "1", Why: pasar.StopCancel, Grace: pasar.Duration(time.Minute)})
	c.until("got TERM\n")
	_ = c.conn.Close()
	if rec := r.end(); rec.Exit.Code != 9 || rec.StopStep != pasar.StepTerm {
		t.Errorf("%+v", rec)
	}
}

func TestAProcessThatKeepsAPipeDoesNotHoldUpTheEnd(t *testing.T) {
	r := startWith(t, piped, "sh", "-c", "(trap '' HUP; exec sleep 600) & echo bye; exit 2")
	began := time.Now()
	rec := r.end()
	if rec.Exit.Code != 2 || rec.Leftovers != 1 || rec.Output != 4 || time.Since(began) > patience/2 {
		t.Errorf("after %s: %+v", time.Since(began), rec)
	}
}

func TestAPipeHeldByAStrangerDoesNotHoldUpTheEnd(t *testing.T) {
	r := warm(t)
	gate := string(r.spec.Cwd) + "/gate"
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	r.spec.NoPTY, r.spec.Argv = true, pasar.Args([]string{"sh", "-c", "echo up; read x < gate; echo bye"})
	r.launch()
	st := r.wait(ipc.AttemptRunning)
	r.attach(ipc.Hello{Mode: ipc.ModeWatch}).until("up\n")
	pipe, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", st.Pid), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if err := os.WriteFile(gate, []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	r.wait(ipc.AttemptExited)
	st = r.wait(ipc.AttemptEnded)
	if out := r.output(); out != "up\nbye\n" || !bytes.Contains(st.Record, []byte(`"tail_forced":true`)) {
		t.Errorf("%q, %s", out, st.Record)
	}
}

func TestAJobThatClosesItsPipesHasNotEnded(t *testing.T) {
	r := startWith(t, piped, "sh", "-c", "echo first; exec >&- 2>&-; sleep 0.3; exit 5")
	if rec := r.end(); rec.Exit.Code != 5 || rec.Output != 6 || rec.RunTime < pasar.Duration(250*time.Millisecond) {
		t.Errorf("%+v", rec)
	}
}

func TestALaunchErrorOfAJobWithoutATerminalNamesItsStep(t *testing.T) {
	r := warm(t)
	r.spec.Argv, r.spec.NoPTY = pasar.Args([]string{"no-such-program"}), true
	r.launch()
	if rec := r.end(); rec.LaunchStep != "exec" || rec.Pid != 0 {
		t.Errorf("%+v", rec)
	}
}

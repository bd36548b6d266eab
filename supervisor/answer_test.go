package supervisor_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// ask is a job that asks its terminal something so often and shows, in hex, what it is told within a
// second after the last word.
const ask = `import os,select,sys,termios,tty
tty.setraw(0)
n=int(sys.argv[1])
print('up',end='',flush=True)
if len(sys.argv)>2: os.read(0,1)
os.write(1,sys.argv[3].encode().decode('unicode_escape').encode()*n if len(sys.argv)>3 else b'\x1b[c'*n)
got=b''
while select.select([0],[],[],1)[0]: got+=os.read(0,4096)
print('\r\n'+got.hex()+' told',flush=True)
`

func askJob(t *testing.T, source string, args ...string) *rig {
	t.Helper()
	return start(t, append([]string{"python3", "-c", source}, args...)...)
}

func TestAQueryIsAnsweredOnceHoweverManyLook(t *testing.T) {
	for _, clients := range []int{0, 1, 3} {
		r := askJob(t, ask, "1", "wait")
		eventually(t, patience, "it is up", func() bool { return strings.Contains(r.output(), "up") })
		var ws []*terminal
		for i := range clients {
			mode := ipc.ModeType
			if i == 1 {
				mode = ipc.ModeWatch
			}
			ws = append(ws, r.paint(ipc.Hello{Mode: mode}))
		}
		typist := r.attach(ipc.Hello{Mode: ipc.ModeType, Take: true})
		typist.send(ipc.AttachIn, &ipc.In{Data: []byte("x")})
		got := typist.until(" told\n")
		if want := "\r\n" + fmt.Sprintf("%x", "\x1b[?62;22c") + " told\n"; !strings.HasSuffix(got, want) {
			t.Errorf("with %d clients: it was told %q, not %q", clients, got, want)
		}
		_ = typist.conn.Close()
		for _, w := range ws {
			w.ended()
			_ = w.conn.Close()
		}
		// Whoever comes later sees the query in the log, and nobody answers it.
		late := r.paint(ipc.Hello{Mode: ipc.ModeWatch})
		if bytes.Contains(late.raw, []byte("\x1b[c")) {
			t.Errorf("the painting asks: %q", late.raw)
		}
		late.ended()
		r.end()
	}
}

func TestTheAnswerToAQueryIsTrueOfTheScreen(t *testing.T) {
	r := askJob(t, ask, "1", "wait", `\x1b[7;9H\x1b[6n\x1b[?25$p\x1b]11;?\x1b\\\x1b[18t`)
	w := r.paint(ipc.Hello{Mode: ipc.ModeType})
	w.sees("up")
	w.send(ipc.AttachIn, &ipc.In{Data: []byte("x")})
	w.sees("told")
	_ = w.ended()
	want := fmt.Sprintf("%x told", "\x1b[7;9R"+"\x1b[?25;1$y"+"\x1b]11;rgb:0000/0000/0000\x1b\\"+"\x1b[8;40;120t")
	if got := strings.Join(strings.Fields(w.text()), " "); !strings.Contains(strings.ReplaceAll(w.text(), "\n", ""), want) {
		t.Errorf("%q, want %q", got, want)
	}
	_ = w.conn.Close()
	r.end()
}

func TestQueriesThatNobodyReadsTheAnswersToHoldUpNobody(t *testing.T) {
	r := start(t, "bash", "-c", `stty raw -echo; for i in $(seq 1 100000); do echo -ne '\e[c\e[6n\e[5n\e[>c'; done; echo asked; head -c 4; exec sleep 1000`)
	w := r.paint(ipc.Hello{Mode: ipc.ModeWatch})
	w.sees("asked")
	r.mustBeSmall()
	_ = w.conn.Close()
	r.cancel()
}

func TestAJobWithoutATerminalIsNotAnswered(t *testing.T) {
	r := startWith(t, func(s *pasar.AttemptSpec) { s.NoPTY = true }, "bash", "-c", `printf '\e[c'; read -t 1 x; echo "got <$x>"`)
	c := r.attach(ipc.Hello{Mode: ipc.ModeWatch})
	c.until("got <>\n")
	r.end2(c)
}

func TestAnAnswerComesQuicklyWithoutAClient(t *testing.T) {
	const echo = `import os,sys,time,tty
tty.setraw(0)
os.write(1,b'line\r\n'*150000)
worst=0
for i in range(50):
    t=time.monotonic(); os.write(1,b'\x1b[6n'); os.read(0,64); worst=max(worst,time.monotonic()-t)
print('\r\nworst %d us'%(worst*1e6))
`
	r := askJob(t, echo)
	rec := r.end()
	out := r.output()
	var us int
	if i := strings.LastIndex(out, "worst "); i >= 0 {
		_, _ = fmt.Sscan(out[i+len("worst "):], &us)
	}
	t.Logf("the slowest of 50 answers: %d µs", us)
	if rec.Exit.Code != 0 || us == 0 || time.Duration(us)*time.Microsecond > far {
		t.Errorf("%+v, %d µs", rec.Exit, us)
	}
}

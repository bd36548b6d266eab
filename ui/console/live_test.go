package console

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"pasar"
	"pasar/ipc"
)

// A supervised is a supervisor's end of an attachment.
type supervised struct {
	*ipc.AttachConn
	t     *testing.T
	hello ipc.Hello
}

func (s supervised) sends(typ int, body any) {
	s.t.Helper()
	if err := s.Send(typ, body); err != nil {
		s.t.Error(err)
	}
}

// supervise has the double's jobs be attached to; each caller comes on the channel.
func supervise(t *testing.T, d *double) <-chan supervised {
	path := filepath.Join(filepath.Dir(d.path), "s.sock")
	l, err := ipc.ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	d.change(func(d *double) { d.attach = path })
	came := make(chan supervised, 8)
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go greet(t, nc, came)
		}
	}()
	return came
}

func greet(t *testing.T, nc net.Conn, came chan<- supervised) {
	c := supervised{AttachConn: ipc.NewAttachConn(nc), t: t}
	_, body, err := c.Recv()
	if err != nil || ipc.DecodeBody(body, &c.hello) != nil {
		return
	}
	c.sends(ipc.AttachWelcome, &ipc.Welcome{Version: 2, Key: "1.1", State: ipc.AttemptRunning, Cols: 60, Rows: 10})
	came <- c
	for { // until it leaves
		if _, _, err := c.Recv(); err != nil {
			return
		}
	}
}

func TestAJobsScreenIsSeenAsItIsAndNothingIsTyped(t *testing.T) {
	d := someJobs(t)
	came := supervise(t, d)
	s := show(t, d, 100, 40)
	s.sees("train-1")
	s.press("Enter")
	c := <-came
	if c.hello.Mode != ipc.ModeWatch || !c.hello.Paint || c.hello.Take {
		t.Errorf("it came with %+v", c.hello)
	}
	c.sends(ipc.AttachSnap, &ipc.Snap{Cols: 60, Rows: 10, Data: []byte("\x1b[31mepoch [red]"), More: true})
	c.sends(ipc.AttachSnap, &ipc.Snap{Cols: 60, Rows: 10, Data: []byte(" one\x1b[m")})
	s.sees("epoch [red] one", "Screen")
	c.sends(ipc.AttachOut, &ipc.Out{Data: []byte("\r\x1b[Kstep 日本 2")})
	s.sees("step 日本 2")
	s.misses("epoch")
	c.sends(ipc.AttachSize, &ipc.Size{Cols: 200, Rows: 50})
	s.sees("part of 200×50")
	c.sends(ipc.AttachExit, &ipc.ExitFrame{})
	s.sees("Last screen")
	s.press("q")
	s.sees("Finished")
	s.press("Down", "Enter") // another job, another screen
	c = <-came
	c.sends(ipc.AttachSnap, &ipc.Snap{Cols: 60, Rows: 10, Data: []byte("the second job")})
	s.sees("the second job")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	s.sees("its screen can't be had")
	c = <-came // it comes again
	c.sends(ipc.AttachSnap, &ipc.Snap{Cols: 60, Rows: 10, Data: []byte("back again")})
	s.sees("back again")
}

func TestTheLastScreenOfAnEndedJobComesFromItsOutput(t *testing.T) {
	d := someJobs(t)
	s := show(t, d, 100, 40)
	s.sees("train-6")
	s.press("End", "Enter")
	s.sees("#7 train-7", "Last screen", "line two")
}

func TestTheLastScreenHasTheJobsSize(t *testing.T) {
	d := someJobs(t)
	d.logs = "\x1b[2J\x1b[H" + strings.Repeat("A", 155) + "\x1b[12;1HBOTTOM12\x1b[5;150HATCOL150"
	s := show(t, d, 168, 60)
	s.sees("train-7")
	s.press("End", "Enter")
	s.sees("Last screen", strings.Repeat("A", 155), "BOTTOM12", "ATCOL150")
}

func TestMetricsAreDrawn(t *testing.T) {
	d := someJobs(t)
	d.jobs[0].Progress = &pasar.ProgressView{Step: ptr(30.0), Total: ptr(100.0), At: noon, Metrics: map[string]float64{"loss": 0.5}}
	d.metrics = pasar.MetricsView{ID: 1, Attempt: 1}
	for i := range 30 {
		d.metrics.Points = append(d.metrics.Points, pasar.MetricsPoint{Step: ptr(float64(i)), Metrics: map[string]float64{"loss": 3 / float64(i+1)}})
	}
	s := show(t, d, 100, 40)
	s.sees("train-1")
	s.press("Enter")
	s.sees("30 %", "loss", "█▄", "0.1")
}

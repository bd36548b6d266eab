package supervisor_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// percentile is how long at most so many in a hundred took, in microseconds.
func percentile(d []time.Duration, p int) float64 {
	slices.Sort(d)
	return float64(d[min(len(d)-1, len(d)*p/100)].Nanoseconds()) / 1000
}

// draw is a job that fills its screen with colours, as full-screen programs do.
const draw = `for i in $(seq 1 40); do printf '\e[%d;1H\e[3%dmrow %d\e[m' $i $((i%8)) $i; for j in 1 2 3 4 5 6; do printf ' \e[48;5;%dmcell %d\e[m text' $((i*j)) $j; done; done; printf 'drawn'; exec cat`

// BenchmarkAttach is the time from dialling the supervisor to the whole screen.
func BenchmarkAttach(b *testing.B) {
	r := start(b, "bash", "-c", draw)
	r.paint(ipc.Hello{Mode: ipc.ModeWatch}).sees("drawn")
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		w := r.paint(ipc.Hello{Mode: ipc.ModeWatch, Cols: 120, Rows: 40})
		took = append(took, time.Since(began))
		_ = w.conn.Close()
	}
	b.ReportMetric(percentile(took, 50), "p50-µs")
	b.ReportMetric(percentile(took, 99), "p99-µs")
	r.cancel()
}

// BenchmarkEcho is the time from a key to its echo, by the kernel and by the job, for somebody who types fast.
func BenchmarkEcho(b *testing.B) {
	for name, command := range map[string]string{"kernel": "echo up; exec cat > /dev/null", "job": "stty raw -echo; echo up; exec cat"} {
		b.Run(name, func(b *testing.B) {
			r := start(b, "sh", "-c", command)
			w := r.paint(ipc.Hello{Mode: ipc.ModeType})
			w.sees("up")
			var took []time.Duration
			keys := time.NewTicker(15 * time.Millisecond)
			defer keys.Stop()
			for b.Loop() {
				<-keys.C
				before, began := w.output, time.Now()
				w.send(ipc.AttachIn, &ipc.In{Data: []byte("x")})
				w.awake(func() bool { return w.output > before })
				took = append(took, time.Since(began))
			}
			b.ReportMetric(percentile(took, 50), "p50-µs")
			b.ReportMetric(percentile(took, 99), "p99-µs")
			_ = w.conn.Close()
			r.cancel()
		})
	}
}

// BenchmarkOutputKinds is the processor time that output costs by its kind, with nobody and with one terminal
// attached. The job is a program that writes each line or bar by itself.
func BenchmarkOutputKinds(b *testing.B) {
	for _, kind := range []string{"lines", "bars", "colours", "full"} {
		for _, watched := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/watched=%v", kind, watched), func(b *testing.B) {
				var cpu time.Duration
				var bytes int64
				for b.Loop() {
					r := start(b, "python3", "-c", writer, kind)
					var w *terminal
					done := make(chan struct{})
					if watched {
						w = r.paint(ipc.Hello{Mode: ipc.ModeWatch})
						go func() { // what it does with it doesn't matter
							defer close(done)
							for {
								if typ, _, err := w.conn.Recv(); err != nil || typ == ipc.AttachExit {
									return
								}
							}
						}()
					} else {
						close(done)
					}
					typist := r.attach(ipc.Hello{Mode: ipc.ModeType, Offset: -1})
					before := cpuOf(b, r.cmd.Process.Pid)
					typist.send(ipc.AttachIn, &ipc.In{Data: []byte("\n")})
					_ = typist.conn.Close()
					eventually(b, time.Minute, "all is written", func() bool { return strings.HasSuffix(tailOf(r.dir), "\x00") })
					cpu += cpuOf(b, r.cmd.Process.Pid) - before
					fi, err := os.Stat(r.dir + "/" + pasar.OutputFile)
					if err != nil {
						b.Fatal(err)
					}
					bytes += fi.Size()
					r.stop(pasar.Stop{ID: "1", Now: true})
					r.wait(ipc.AttemptEnded)
					<-done
					r.leave()
				}
				b.ReportMetric(cpu.Seconds()*1000/(float64(bytes)/1e6), "cpu-ms/MB")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// tailOf is the last byte of a log.
func tailOf(dir string) string {
	f, err := os.Open(dir + "/" + pasar.OutputFile)
	if err != nil {
		return ""
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || fi.Size() == 0 {
		return ""
	}
	var b [1]byte
	_, _ = f.ReadAt(b[:], fi.Size()-1)
	return string(b[:])
}

// writer writes ten megabytes of a kind, one write for each line or bar, then a zero byte, and stays.
const writer = `import os,sys
kind=sys.argv[1]
input()
def line(i):
    if kind=='lines': return b'step %d loss 0.12345 lr 0.0003 tokens 123456 grad 1.25\n'%i
    if kind=='bars':
        done=40*(i%1000)//1000
        return ('\r %3d%%|%s%s| %d/1000 [00:12<03:45, 12.34it/s]'%(i%1000//10,'\u2588'*done,' '*(40-done),i)).encode()
    if kind=='colours': return b'\x1b[32mINFO\x1b[0m \x1b[1mstep\x1b[0m %d \x1b[38;5;%dmloss\x1b[0m 0.5\n'%(i,i%256)
    return b'\x1b[%d;%dH\x1b[3%dm%5d\x1b[m\x1b[K'%(1+i%40,1+i%100,i%8,i)
n=i=0
while n<10000000:
    n+=os.write(1,line(i)); i+=1
os.write(1,b'\0')
import signal
signal.pause()
`

package vt

import (
	"syscall"
	"testing"
	"time"
)

// cpu is the processor time this process took.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// perCPU reports the megabytes for each second of processor time, which a busy machine doesn't change much.
func perCPU(b *testing.B, size int, f func()) {
	b.ReportAllocs()
	f()
	n, began := 0, cpu()
	for b.Loop() {
		f()
		n++
	}
	b.ReportMetric(float64(n*size)/1e6/(cpu()-began).Seconds(), "MB/cpu-s")
}

func BenchmarkScanner(b *testing.B) {
	for name, raw := range streams() {
		b.Run(name, func(b *testing.B) {
			var s Scanner
			perCPU(b, len(raw), func() {
				for p := raw; len(p) > 0; {
					n := min(len(p), 4<<10)
					s.Scan(p[:n])
					p = p[n:]
				}
			})
		})
	}
}

func BenchmarkScreen(b *testing.B) {
	for name, raw := range streams() {
		b.Run(name, func(b *testing.B) {
			s := NewScreen(120, 40)
			perCPU(b, len(raw), func() { _, _ = s.Write(raw) })
		})
	}
}

func BenchmarkSnapshot(b *testing.B) {
	for name, raw := range streams() {
		b.Run(name, func(b *testing.B) {
			s := NewScreen(120, 40)
			_, _ = s.Write(raw)
			var snap []byte
			perCPU(b, 120*40, func() { snap = s.AppendSnapshot(snap[:0]) })
			b.ReportMetric(float64(len(snap)), "bytes")
		})
	}
}

func TestSteadyOutputAllocatesNothing(t *testing.T) {
	for name, raw := range streams() {
		if name == "colour" {
			continue // so many colours are swept now and then
		}
		s := NewScreen(120, 40)
		for range 12 { // until the history is full
			_, _ = s.Write(raw)
		}
		if n := testing.AllocsPerRun(5, func() { _, _ = s.Write(raw) }); n > 0 {
			t.Errorf("%s: %v allocations for %d bytes", name, n, len(raw))
		}
	}
}

package supervisor

import (
	"bytes"
	"fmt"
	"testing"

	"pasar/vt"
)

// kinds are a megabyte each of what jobs write.
func kinds() map[string][]byte {
	m := map[string][]byte{}
	fill := func(name string, f func(i int) []byte) {
		var b []byte
		for i := 0; len(b) < 1<<20; i++ {
			b = append(b, f(i)...)
		}
		m[name] = b
	}
	fill("lines", func(i int) []byte {
		return fmt.Appendf(nil, "step %d loss 0.12345 lr 0.0003 tokens 123456 grad 1.25\r\n", i)
	})
	fill("bars", func(i int) []byte {
		done := 40 * (i % 1000) / 1000
		return fmt.Appendf(nil, "\r %3d%%|%s%s| %d/%d [00:12<03:45, 12.34it/s]", i%1000/10, bytes.Repeat([]byte("█"), done), bytes.Repeat([]byte(" "), 40-done), i, 1000)
	})
	fill("colours", func(i int) []byte {
		return fmt.Appendf(nil, "\x1b[32mINFO\x1b[0m \x1b[1mstep\x1b[0m %d \x1b[38;5;%dmloss\x1b[0m 0.5\r\n", i, i%256)
	})
	fill("full", func(i int) []byte {
		return fmt.Appendf(nil, "\x1b[%d;%dH\x1b[3%dm%5d\x1b[m\x1b[K", 1+i%40, 1+i%100, i%8, i)
	})
	return m
}

// BenchmarkPassing is what a megabyte of output costs the display while nobody looks, BenchmarkParsing what
// it would cost to parse all of it.
func BenchmarkPassing(b *testing.B) {
	for name, data := range kinds() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			o, _ := newTestDisplay(120, 40, func([]byte) {})
			o.feed(data) // the ring grows
			for b.Loop() {
				o.feed(data)
			}
		})
	}
}

func BenchmarkParsing(b *testing.B) {
	for name, data := range kinds() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			s := vt.NewScreen(120, 40)
			s.SetHistory(displayHistory)
			for b.Loop() {
				_, _ = s.Write(data)
			}
		})
	}
}

// BenchmarkLook is what the first look at a screen costs that is as far behind as it may be.
func BenchmarkLook(b *testing.B) {
	for name, data := range kinds() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				o, d := newTestDisplay(120, 40, func([]byte) {})
				o.feed(data[:900<<10])
				b.StartTimer()
				d.paint()
			}
		})
	}
}

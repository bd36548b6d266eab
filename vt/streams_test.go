package vt

import (
	"fmt"
	"math/rand"
	"strings"
)

// streams are what programs write, some tens of KB of each kind.
func streams() map[string][]byte {
	r := rand.New(rand.NewSource(1))
	var lines, bars, full, colour, scroll strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, "2026-01-02 03:04:05,678 INFO  trainer.py:%d epoch %d step %d loss %.4f lr 3.0e-04 grad %.3f tok/s %d\r\n",
			r.Intn(900), i/100, i, r.Float64(), r.Float64(), r.Intn(99999))
		done := r.Intn(50)
		fmt.Fprintf(&bars, "\r %3d%%|%s%s| %d/100 [00:%02d<00:%02d, %.2fit/s, loss=%.3f]", done*2, strings.Repeat("█", done), strings.Repeat(" ", 50-done), done*2, i%60, i%60, r.Float64()*40, r.Float64())
		fmt.Fprintf(&scroll, "\x1b[32m%d\x1b[0m \x1b[1;34mdir%d\x1b[0m/\x1b[38;5;208mfile%d\x1b[0m\r\n", i, i, i)
	}
	for range 12 {
		full.WriteString("\x1b[?25l\x1b[H")
		for y := range 38 {
			fmt.Fprintf(&full, "\x1b[%d;1H\x1b[38;5;130m%4d \x1b[m\x1b[33mfunc\x1b[m (s *Screen) \x1b[36mname%d\x1b[m(a, b \x1b[32mint\x1b[m) {\x1b[K", y+1, y, r.Intn(1000))
		}
		full.WriteString("\x1b[39;1H\x1b[7m[No Name] 12,3 All\x1b[K\x1b[m\x1b[?25h")
		for y := range 40 {
			fmt.Fprintf(&colour, "\x1b[%dH", y+1)
			for range 60 {
				fmt.Fprintf(&colour, "\x1b[38;2;%d;%d;%dm\x1b[48;5;%dm▀▄", r.Intn(8)*32, r.Intn(4)*64, r.Intn(4)*64, r.Intn(256))
			}
		}
	}
	return map[string][]byte{"lines": []byte(lines.String()), "bars": []byte(bars.String()), "full": []byte(full.String()),
		"colour": []byte(colour.String()), "colourlines": []byte(scroll.String())}
}

// hostile has pieces that once were, or easily are, trouble for terminals.
var hostile = []string{
	"Mounting \x1b[0;1;39mdev\x1b…POSIX\r\n",
	"\x1b]0;a\x1b]11;?\x1b]2;b\a",
	"\x1b]4;1;?;2;?;300;?\a", "\x1b]10;?;?;?;?\a", "\x1b]4;?\a", "\x1b]11;?", "\x1b]11;?\x18", "\x1b]110;?\a",
	"\x1bP$q\x1b\\", "\x1bP+q\x1b\\", "\x1bP$\x1b\\", "\x1bP+q41\a\x1b\\", "\x1bX$qm\x1b\\", "\x1b_11;?\x1b\\",
	"\x1b[c\x1b[0c\x1b[1c\x1b[>c\x1b[=c\x1b[?c\x1b[5n\x1b[6n\x1b[?6n\x1b[?5n\x1b[4n", "\x1b[?u\x1b[u\x1b[>1u\x1b[<u\x1b[=1u",
	"\x1b[?2026$p\x1b[4$p\x1b[$p\x1b[?1;2$p\x1b[>1$p", "\x1b[>q\x1b[>0q\x1b[>1q\x1b[ q", "\x1b[18t\x1b[14t\x1b[21t\x1b[20t\x1b[22t\x1b[23t",
	"\x1b[1\x1b[c", "\x1b[\x18c", "\x1b[\nc", "\x1b\x1b[c", "\x1b[;c", "\x1b[0;1c", "\x1b[?;6n",
}

package autopsy

import (
	"fmt"
	"strings"
	"testing"

	"pasar"
)

// noisy is 64 KiB and more of what training prints, with errors that it lives through and one that it doesn't.
func noisy() []byte {
	var b strings.Builder
	for i := 0; b.Len() < 64<<10; i++ {
		fmt.Fprintf(&b, "2025-06-11 01:%02d:22 | INFO | trainer | step=%d loss=%.4f tok/s=18706\n", i%60, i, 2.1/float64(i+1))
		if i%20 == 0 {
			b.WriteString("[rank1]: WARNING: CUDA out of memory on batch of 64 (torch.OutOfMemoryError), retrying with 32\n")
			b.WriteString("Traceback (most recent call last):\n  File \"train.py\", line 9, in <module>\n    main()\nOSError: [Errno 28] No space left on device: '/tmp/c'\n")
		}
	}
	b.WriteString("Traceback (most recent call last):\n  File \"train.py\", line 140, in <module>\n    main()\nKeyError: 'bleu'\n")
	return []byte(b.String())
}

// numberedLines is 64 KiB of lines that differ in a number, or in letters.
func numberedLines(format string) []byte {
	var b strings.Builder
	for i := 0; b.Len() < 64<<10; i++ {
		letters := []byte{byte('a' + i%26), byte('a' + i/26%26), byte('a' + i/676%26)}
		if strings.Contains(format, "[2]") {
			fmt.Fprintf(&b, format, i, letters)
		} else {
			fmt.Fprintf(&b, format, i)
		}
	}
	return []byte(b.String())
}

// BenchmarkAttribute is a verdict from the end of a log, from the bytes on: 64 KiB in less than 5 ms is the goal.
func BenchmarkAttribute(b *testing.B) {
	for _, c := range []struct {
		name string
		log  []byte
	}{
		{"training", noisy()},
		{"errors", []byte(strings.Repeat("[rank3]: ERROR: CUDA error: device-side assert triggered at step 3, failed to open file\n", 64<<10/88))},
		{"frames", []byte("Traceback (most recent call last):\n" + strings.Repeat("  File \"/srv/env/lib/python3.11/site-packages/x.py\", line 9, in f\n    return g(x)\n", 64<<10/80))},
		{"sources", numberedLines("%d: EIO\n")},
		{"words", numberedLines("failed to fetch http://host/%[2]s: HTTP Error 404\n")},
		{"warnings", numberedLines("WARNING could not open shard %[2]s, skipping\n")},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.log)))
			for b.Loop() {
				Attribute(Evidence{Exit: &pasar.Exit{Code: 1}, Log: ReadLog(c.log, 1)})
			}
		})
	}
}

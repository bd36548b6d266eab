package store

import "testing"

// One fact an Append is a submit; the batch is what `--array` gives.
func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct {
		name string
		n    int64
	}{{"one", 1}, {"batch of 1000", 1000}} {
		b.Run(c.name, func(b *testing.B) {
			s := open(b, b.TempDir())
			for seq := int64(0); b.Loop(); seq += c.n {
				appendOK(b, s, Batch{Records: facts(seq+1, seq+c.n)})
			}
		})
	}
}

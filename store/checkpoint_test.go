package store

import (
	"os"
	"strings"
	"testing"

	"pasar"
)

func TestTheLogStaysShortHoweverMuchIsAppended(t *testing.T) {
	s := open(t, t.TempDir())
	total := int64(0)
	note := strings.Repeat("x", 200<<10)
	for seq := int64(1); total < 24<<20; seq++ {
		r := fact(seq)
		r.Fact = pasar.BidChanged{Job: 1, By: note}
		appendOK(t, s, Batch{Records: []pasar.Record{r}})
		total += int64(len(note))
	}
	info, err := os.Stat(s.path + "-wal")
	if err != nil || info.Size() > total/2 {
		t.Errorf("after %d bytes the log has %v, %v", total, info.Size(), err)
	}
}

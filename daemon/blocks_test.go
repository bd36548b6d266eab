package daemon

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
)

func TestBlocksArriveWholeAndInOrder(t *testing.T) {
	for _, n := range []int{0, 1, blockItems, blockItems + 1, 10*blockItems + 7} {
		var got strings.Builder
		err := inBlocks(t.Context(), n, func(b []byte) error { got.Write(b); return nil }, func(dst []byte, i int) ([]byte, error) {
			return append(strconv.AppendInt(dst, int64(i), 10), '\n'), nil
		})
		var want strings.Builder
		for i := range n {
			want.WriteString(strconv.Itoa(i) + "\n")
		}
		if err != nil || got.String() != want.String() {
			t.Errorf("%d items: %d bytes, want %d (%v)", n, got.Len(), want.Len(), err)
		}
	}
}

func TestBlocksEndWithTheFirstError(t *testing.T) {
	bad := errors.New("bad")
	encode := func(dst []byte, i int) ([]byte, error) {
		if i == 3*blockItems {
			return dst, bad
		}
		return append(dst, 'x'), nil
	}
	sent := 0
	count := func(b []byte) error { sent += len(b); return nil }
	if err := inBlocks(t.Context(), 100*blockItems, count, encode); !errors.Is(err, bad) || sent != 3*blockItems {
		t.Errorf("%v after %d items", err, sent)
	}
	if err := inBlocks(t.Context(), 100*blockItems, func([]byte) error { return bad }, func(dst []byte, _ int) ([]byte, error) { return append(dst, 'x'), nil }); !errors.Is(err, bad) {
		t.Errorf("a receiver that failed: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := inBlocks(ctx, 100*blockItems, func([]byte) error { cancel(); return nil }, func(dst []byte, _ int) ([]byte, error) { return append(dst, 'x'), nil })
	if err == nil {
		t.Error("a listing that was given up went on to its end")
	}
}

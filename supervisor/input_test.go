package supervisor

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnAnswerComesBetweenKeys(t *testing.T) {
	const answer = "\x1b[0n"
	for _, c := range []struct{ name, before, after, want string }{
		{"nothing typed", "", "", answer},
		{"between keys", "ab", "c", "ab" + answer + "c"},
		{"within a character", "\xe4\xb8", "\x96x", "世x" + answer},
		{"within an arrow", "\x1b[", "A", "\x1b[A" + answer},
		{"within F1", "\x1bO", "P", "\x1bOP" + answer},
		{"after a lone Escape", "\x1b", "x", "\x1b" + answer + "x"},
		{"within a paste", "\x1b[200~one", "two\x1b[201~", "\x1b[200~onetwo\x1b[201~" + answer},
		{"within a paste with escapes", "\x1b[200~\x1b[A", "\x1b[B\x1b[201~x", "\x1b[200~\x1b[A\x1b[B\x1b[201~x" + answer},
		{"after a broken character", "\xe4\xb8\x1b[A", "", "\xe4\xb8\x1b[A" + answer},
	} {
		in := newInput()
		in.typed([]byte(c.before))
		in.answer([]byte(answer))
		in.typed([]byte(c.after))
		if got, _ := in.take(); string(got) != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAnAnswerWaitsForTheRestOfAKeyForATimeOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newInput()
		in.typed([]byte("\x1b[200~a"))
		in.answer([]byte("answer"))
		time.Sleep(wholeWithin - time.Millisecond)
		in.typed([]byte("b")) // it goes on
		time.Sleep(wholeWithin - time.Millisecond)
		if p, _ := in.take(); string(p) != "\x1b[200~ab" {
			t.Errorf("%q", p)
		}
		time.Sleep(2 * time.Millisecond)
		if p, n := in.take(); string(p) != "answer" || n != 6 {
			t.Errorf("%q, of which answers are %d", p, n)
		}
		in.close()
		in.answer([]byte("late"))
		in.typed([]byte("late"))
		if p, _ := in.take(); p != nil {
			t.Errorf("%q after the end", p)
		}
	})
}

func TestAnswersThatNobodyReadsAreBounded(t *testing.T) {
	in := newInput()
	pending := 0
	for range 10_000 {
		in.answer([]byte("\x1b[?62;22c"))
		in.typed([]byte("x"))
	}
	p, n := in.take()
	pending = n
	if pending == 0 || pending > answerMax || bytes.Count(p, []byte("x")) != 10_000 {
		t.Errorf("%d bytes of answers, %d typed", pending, bytes.Count(p, []byte("x")))
	}
	in.answer([]byte("\x1b[?62;22c")) // while those are being written
	if p, _ := in.take(); len(p) != 0 {
		t.Errorf("%q beside what is being written", p)
	}
	in.wrote(n)
	in.answer([]byte("\x1b[?62;22c"))
	if p, _ := in.take(); len(p) == 0 {
		t.Error("none is given once the others are written")
	}
}

func TestAPasteThatItsTypistLeavesEnds(t *testing.T) {
	a := &attempt{}
	k := newKeyboard(a)
	first, second := newPeer(nil, nil, nil), newPeer(nil, nil, nil)
	size := first.size
	k.join(first, false, size)
	k.join(second, false, size)
	gone := make(chan struct{})
	k.typed(first, []byte("\x1b[200~half\xe4"), gone)
	k.leave(first)
	k.typed(second, []byte("x"), gone)
	if p, _ := k.in.take(); string(p) != "\x1b[200~half\xe4\x1b[201~x" {
		t.Errorf("%q", p)
	}
}

func FuzzWholeness(f *testing.F) {
	f.Add([]byte("\x1b[200~a\x1b[201~"), 3)
	f.Fuzz(func(t *testing.T, p []byte, at int) {
		at = min(max(at, 0), len(p))
		var whole, cut wholeness
		whole.feed(p)
		cut.feed(p[:at])
		cut.feed(p[at:])
		if whole.is() != cut.is() || whole.paste != cut.paste {
			t.Errorf("%q whole, cut at %d: %+v, %+v", p, at, whole, cut)
		}
	})
}

package daemon

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/autopsy"
	"pasar/target"
	"pasar/target/targettest"
)

// slowLogs is a target whose output can't be read until it is let go.
type slowLogs struct {
	*targettest.Fake
	free  chan struct{}
	asked chan target.Cursor
}

func (s *slowLogs) Logs(ctx context.Context, h target.Handle, from target.Cursor, follow bool, f func(target.Chunk) error) (target.Cursor, error) {
	s.asked <- from
	<-s.free // as a disk that hangs, it knows no context
	return s.Fake.Logs(ctx, h, from, follow, f)
}

func TestAnOutputThatCantBeReadHoldsUpNoEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 0)
		slow := &slowLogs{free: make(chan struct{}), asked: make(chan target.Cursor, 100)}
		w.wrap = func(f *targettest.Fake) target.Target { slow.Fake = f; return slow }
		d := w.start(nil)
		const jobs = 3 * outputReaders
		var ids []pasar.JobID
		for i := range jobs {
			s := spec(fmt.Sprint("job", i), 1000)
			s.Claim = pasar.Claim{Kind: pasar.NoGPU}
			id := d.submit(s)
			for d.state(id) != pasar.Running {
				d.expect(ids[0], pasar.Running)
				w.machine.Finish(key(ids[0], 1), 0)
				ids = ids[1:]
				time.Sleep(time.Second)
			}
			ids = append(ids, id)
		}
		for _, id := range ids {
			w.machine.Exit(key(id, 1), pasar.Exit{Code: 3})
			w.machine.End(key(id, 1), &pasar.ExitRecord{Tail: []string{"RuntimeError: boom"}})
		}
		synctest.Wait()
		if n := len(slow.asked); n != outputReaders {
			t.Errorf("%d outputs are read at a time", n)
		}
		time.Sleep(outputPatience + time.Second)
		for _, id := range ids {
			d.expect(id, pasar.Failed)
			if v := jobNow(t, d, id).Attempts[0].Verdict; !strings.Contains(v.Summary, "RuntimeError: boom") {
				t.Errorf("job %d: %s", id, v.Summary)
			}
		}
		if from := <-slow.asked; from != -autopsy.LogBytes {
			t.Errorf("read from %d", from)
		}
		close(slow.free)
	})
}

func TestAVerdictRestsOnTheEndOfTheOutputWithItsLineNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		id := d.submit(spec("train", 1000))
		d.expect(id, pasar.Running)
		w.machine.Print(key(id, 1), strings.Repeat("one more line of it\n", 50_000)+"RuntimeError: boom\n")
		h := target.Handle{Key: key(id, 1), Nonce: d.lookup(id).current().Nonce}
		w.machine.Finish(key(id, 1), 3)
		time.Sleep(time.Second)
		d.expect(id, pasar.Failed)
		rec := d.lookup(id).current().Exit
		log := d.lastOutput(t.Context(), h, rec, nil)
		if last := log[len(log)-1]; last != (pasar.Line{Number: 50_001, Text: "RuntimeError: boom"}) {
			t.Errorf("the last line is %+v", last)
		}
		if n := len(log); n < 1000 || n > 5000 || log[0].Number != 50_001-n+1 {
			t.Errorf("%d lines from %d", n, log[0].Number)
		}
		if v := jobNow(t, d, id).Attempts[0].Verdict; !strings.Contains(v.Summary, "RuntimeError: boom") {
			t.Errorf("%s", v.Summary)
		}
	})
}

func TestLineNumbersAreTrueOrNotKnown(t *testing.T) {
	at := func(off int64, s string) stretch { return stretch{off, []byte(s)} }
	rec := func(output, lines int64) *pasar.ExitRecord { return &pasar.ExitRecord{Output: output, Lines: lines} }
	tail := []string{"b", "c", "d"}
	for name, c := range map[string]struct {
		read []stretch
		rec  *pasar.ExitRecord
		want string
	}{
		"all of it":                   {[]stretch{at(0, "a\nb\n")}, rec(4, 2), "1 a|2 b"},
		"all of it, of an old record": {[]stretch{at(0, "a\nb\n")}, rec(4, 0), "1 a|2 b"},
		"its end":                     {[]stretch{at(100, "a\nb\n")}, rec(104, 50), "49 a|50 b"},
		"its end, within a line":      {[]stretch{at(100, "a\nb")}, rec(103, 50), "50 a|51 b"},
		"its end, of an old record":   {[]stretch{at(100, "a\nb\n")}, rec(104, 0), "0 a|0 b"},
		"a count that can't be":       {[]stretch{at(100, "a\nb\n")}, rec(104, 1), "0 a|0 b"},
		"a gap":                       {[]stretch{at(100, "x\n"), at(200, "a\nb\n")}, rec(204, 50), "0 x|49 a|50 b"},
		"a gap after the start":       {[]stretch{at(0, "x\n"), at(200, "a\nb\n")}, rec(204, 50), "1 x|49 a|50 b"},
		"no record":                   {[]stretch{at(100, "a\nb\n")}, nil, "0 a|0 b"},
		"no record, all of it":        {[]stretch{at(0, "a\nb\n")}, nil, "1 a|2 b"},
		"a record made up":            {[]stretch{at(0, "a\nb\n")}, rec(0, 0), "1 a|2 b"},
		"nothing":                     {nil, rec(104, 50), "0 b|0 c|0 d"},
		"nothing but a gap":           {[]stretch{at(104, "")}, rec(104, 50), "0 b|0 c|0 d"},
		"the end lacks":               {[]stretch{at(0, "a\nb\n"), at(104, "")}, rec(104, 50), "1 a|2 b|0 c|0 d"},
		"the end lacks, within a line": {
			[]stretch{at(100, "a\nb\nc"), at(104, "")}, rec(106, 50), "0 a|0 b|0 c|0 d"},
		"the end lacks by more": {[]stretch{at(100, "x\ny\n"), at(204, "")}, rec(204, 50), "0 x|0 y|0 b|0 c|0 d"},
	} {
		var got []string
		for _, l := range evidenceOf(c.read, c.rec, tail) {
			got = append(got, fmt.Sprint(l.Number, " ", l.Text))
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("%s: %s, want %s", name, s, c.want)
		}
	}
}

func TestChunksThatMeetAreOneStretch(t *testing.T) {
	var read []stretch
	for _, c := range []target.Chunk{{Offset: 5, Data: []byte("ab")}, {Offset: 7, Data: []byte("c"), Stream: 2}, {Offset: 20, Gap: 12, Data: []byte("d")}, {Offset: 30, Gap: 9}} {
		read = add(read, c)
	}
	if want := []stretch{{5, []byte("abc")}, {20, []byte("d")}, {30, nil}}; !reflect.DeepEqual(read, want) {
		t.Errorf("%v", read)
	}
	for range 10 {
		read = add(read, target.Chunk{Offset: read[len(read)-1].end(), Data: make([]byte, autopsy.LogBytes)})
	}
	if last := read[len(read)-1]; len(last.data) > 2*autopsy.LogBytes || last.end() != 30+10*autopsy.LogBytes {
		t.Errorf("%d bytes kept, up to %d", len(last.data), last.end())
	}
}

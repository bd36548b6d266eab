package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pasar"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// fact is a record with a fact that a test can tell from others.
func fact(seq int64) pasar.Record {
	return pasar.Record{Seq: seq, At: t0, Mono: pasar.Duration(seq), Boot: "b",
		Fact: pasar.BidChanged{Job: pasar.JobID(seq), Bid: pasar.Bid(seq * 10), By: "ada"}}
}

func facts(from, to int64) (rs []pasar.Record) {
	for seq := from; seq <= to; seq++ {
		rs = append(rs, fact(seq))
	}
	return rs
}

func appendOK(t testing.TB, s *Store, b Batch) {
	t.Helper()
	if err := s.Append(b); err != nil {
		t.Fatal(err)
	}
}

func readFacts(t testing.TB, s *Store, after int64) (rs []pasar.Record) {
	t.Helper()
	err := s.Facts(context.Background(), after, func(r pasar.Record) error {
		rs = append(rs, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

func TestWhatWasAppendedIsThereAfterOpeningAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, dir)
	if n, err := s.LastSeq(); n != 0 || err != nil {
		t.Fatalf("LastSeq of a new store: %d, %v", n, err)
	}
	sur := pasar.Surroundings{Env: pasar.Args([]string{"A=1", "B=\xff\n"}), Umask: 0o27, Nice: 3,
		Limits: []pasar.Rlimit{{Resource: 7, Soft: ^uint64(0)}}}
	row := JobRow{Job: 7, State: pasar.Failed, Created: t0, Finished: t0.Add(time.Hour), Submitter: "ada", By: "bot",
		Name: "train", Key: "k1", Machine: "local", Tags: []string{"x", "y"}, Body: []byte{0, 1, 255}}
	want := facts(1, 1000)
	appendOK(t, s, Batch{Records: want[:1], Specs: []SpecRow{{[]pasar.JobID{7}, sur}}})
	appendOK(t, s, Batch{Records: want[1:], Finished: []JobRow{row}})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = open(t, dir)
	if n, _ := s.LastSeq(); n != 1000 {
		t.Errorf("LastSeq %d, want 1000", n)
	}
	if got := readFacts(t, s, 0); !reflect.DeepEqual(got, want) {
		t.Errorf("facts differ: %d, want %d", len(got), len(want))
	}
	if got := readFacts(t, s, 998); !reflect.DeepEqual(got, want[998:]) {
		t.Errorf("facts after 998: %v", got)
	}
	if got, err := s.Surroundings(7); err != nil || !reflect.DeepEqual(got, sur) {
		t.Errorf("surroundings %+v, %v", got, err)
	}
	if got, ok, err := s.Job(7); err != nil || !ok || !reflect.DeepEqual(got, row) {
		t.Errorf("job %+v, %v, %v", got, ok, err)
	}
	for path, perm := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, dbName): 0o600,
		filepath.Join(dir, dbName+"-wal"): 0o600, filepath.Join(dir, lockName): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != perm {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, perm)
		}
	}
}

func TestABatchIsAppendedWhollyOrNotAtAll(t *testing.T) {
	s := open(t, t.TempDir())
	appendOK(t, s, Batch{Records: facts(1, 3)})
	for name, b := range map[string]Batch{
		"gap":     {Records: facts(5, 6), Finished: []JobRow{{Job: 1}}},
		"repeat":  {Records: facts(3, 4), Finished: []JobRow{{Job: 1}}},
		"no fact": {Records: []pasar.Record{{Seq: 4}}, Finished: []JobRow{{Job: 1}}},
	} {
		if err := s.Append(b); err == nil {
			t.Errorf("%s: appended", name)
		}
	}
	// An error in the middle of the transaction.
	s.mu.Lock()
	s.run("CREATE TEMP TRIGGER stop BEFORE INSERT ON jobs WHEN new.job = 2 BEGIN SELECT RAISE(ABORT, 'no'); END", nil, nil)
	s.mu.Unlock()
	err := s.Append(Batch{Records: facts(4, 9), Finished: []JobRow{{Job: 1}, {Job: 2}},
		Specs: []SpecRow{{[]pasar.JobID{1}, pasar.Surroundings{}}}})
	if err == nil {
		t.Fatal("appended")
	}
	if got := readFacts(t, s, 0); len(got) != 3 {
		t.Errorf("%d facts, want 3", len(got))
	}
	if _, ok, _ := s.Job(1); ok {
		t.Error("the job of a failed batch is there")
	}
	if _, err := s.Surroundings(1); err == nil {
		t.Error("the surroundings of a failed batch are there")
	}
	appendOK(t, s, Batch{Records: facts(4, 4), Finished: []JobRow{{Job: 1}}})
	if n, _ := s.LastSeq(); n != 4 {
		t.Errorf("LastSeq %d, want 4", n)
	}
}

func TestSurroundingsAreSharedAndDroppedWithTheLastJobThatHasThem(t *testing.T) {
	s := open(t, t.TempDir())
	a, b := pasar.Surroundings{Env: pasar.Args([]string{"A=a"})}, pasar.Surroundings{Env: pasar.Args([]string{"A=b"})}
	bodies := func() int64 {
		s.mu.Lock()
		defer s.mu.Unlock()
		n, err := s.int("SELECT count(*) FROM surroundings")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, step := range []struct {
		rows []SpecRow
		want int64
	}{
		{[]SpecRow{{[]pasar.JobID{1, 2, 3}, a}}, 1},
		{[]SpecRow{{[]pasar.JobID{1}, b}, {[]pasar.JobID{2}, a}}, 2},
		{[]SpecRow{{[]pasar.JobID{2}, b}, {[]pasar.JobID{3}, b}}, 1},
		{[]SpecRow{{[]pasar.JobID{1}, a}, {[]pasar.JobID{2}, a}, {[]pasar.JobID{3}, a}}, 1},
	} {
		appendOK(t, s, Batch{Specs: step.rows})
		if n := bodies(); n != step.want {
			t.Errorf("after %v: %d bodies, want %d", step.rows, n, step.want)
		}
		for _, row := range step.rows {
			if got, err := s.Surroundings(row.Jobs[0]); err != nil || !reflect.DeepEqual(got, row.Surroundings) {
				t.Errorf("job %d: %v, %v", row.Jobs[0], got, err)
			}
		}
	}
	if _, err := s.Surroundings(99); err == nil {
		t.Error("surroundings of a job that has none")
	}
}

func TestFactsMayAppendWhileReading(t *testing.T) {
	s := open(t, t.TempDir())
	appendOK(t, s, Batch{Records: facts(1, 600)})
	n := int64(0)
	err := s.Facts(context.Background(), 0, func(r pasar.Record) error {
		if n++; r.Seq != n {
			return fmt.Errorf("fact %d where %d was due", r.Seq, n)
		}
		if n == 10 {
			return s.Append(Batch{Records: facts(601, 602)})
		}
		return nil
	})
	if err != nil || n != 602 {
		t.Errorf("read %d facts, %v; want 602", n, err)
	}
	stop := errors.New("stop")
	if err := s.Facts(context.Background(), 0, func(pasar.Record) error { return stop }); err != stop {
		t.Errorf("f's error: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n = 0
	err = s.Facts(ctx, 0, func(pasar.Record) error { n++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || n != 1 {
		t.Errorf("cancelled: %v after %d", err, n)
	}
	appendOK(t, s, Batch{Records: facts(603, 603)})
}

func TestRawFactsAreTheJournalsOwnBytesInBoundedReads(t *testing.T) {
	s := open(t, t.TempDir())
	appendOK(t, s, Batch{Records: facts(1, 5)})
	raw, err := s.RawFacts(context.Background(), 1, 3)
	if err != nil || len(raw) != 3 || raw[0].Seq != 2 || raw[2].Seq != 4 {
		t.Fatalf("%v, %v", raw, err)
	}
	want, _ := fact(2).MarshalJSON()
	if !bytes.Equal(raw[0].JSON, want) || bytes.ContainsRune(want, '\n') {
		t.Errorf("%s, want %s", raw[0].JSON, want)
	}
	big := pasar.Record{Seq: 6, At: t0, Fact: pasar.GitRead{Git: pasar.Git{Commit: strings.Repeat("x", 1100<<10)}}}
	more := big
	more.Seq = 7
	appendOK(t, s, Batch{Records: []pasar.Record{big, more}})
	if raw, err := s.RawFacts(context.Background(), 5, 100); err != nil || len(raw) != 1 {
		t.Errorf("%d facts over 1 MiB in one read, %v", len(raw), err)
	}
	if got := readFacts(t, s, 0); len(got) != 7 {
		t.Errorf("%d facts, want 7", len(got))
	}
}

func TestFinishedJobsAreListedNewestFirstByWhatIsAsked(t *testing.T) {
	s := open(t, t.TempDir())
	states := []pasar.State{pasar.Completed, pasar.Failed, pasar.Cancelled}
	var rows []JobRow
	for i := range 30 {
		rows = append(rows, JobRow{Job: pasar.JobID(i + 1), State: states[i%3], Created: t0.Add(time.Duration(i/4) * time.Second), Finished: t0.Add(time.Duration(i/2) * time.Second),
			Submitter: []string{"ada", "bob"}[i%2], By: []string{"", "bot"}[i%2], Machine: []string{"local", "m2", ""}[i%3],
			Tags: []string{fmt.Sprint("t", i%4), "all"}, Key: []string{"", "k", "k2"}[i%3], Body: []byte{byte(i)}})
	}
	appendOK(t, s, Batch{Finished: rows})
	slices.SortFunc(rows, func(a, b JobRow) int {
		if c := b.Finished.Compare(a.Finished); c != 0 {
			return c
		}
		return int(b.Job - a.Job)
	})
	pick := func(keep func(JobRow) bool) (out []JobRow) {
		for _, r := range rows {
			if keep(r) {
				out = append(out, r)
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		q    Query
		want []JobRow
	}{
		"all":       {Query{}, rows},
		"limit":     {Query{Limit: 4}, rows[:4]},
		"ids":       {Query{FromJob: 3, ToJob: 7}, pick(func(r JobRow) bool { return 3 <= r.Job && r.Job <= 7 })},
		"page":      {Query{Limit: 4, Before: Place{rows[3].Finished, rows[3].Job}}, rows[4:8]},
		"last page": {Query{Before: Place{rows[27].Finished, rows[27].Job}}, rows[28:]},
		"states":    {Query{States: states[1:]}, pick(func(r JobRow) bool { return r.State != pasar.Completed })},
		"tag":       {Query{Tag: "t2"}, pick(func(r JobRow) bool { return r.Tags[0] == "t2" })},
		"by":        {Query{By: "bot"}, pick(func(r JobRow) bool { return r.By == "bot" })},
		"submitter": {Query{Submitter: "bob"}, pick(func(r JobRow) bool { return r.Submitter == "bob" })},
		"machine":   {Query{Machine: "m2"}, pick(func(r JobRow) bool { return r.Machine == "m2" })},
		"since":     {Query{Since: t0.Add(10 * time.Second)}, pick(func(r JobRow) bool { return !r.Finished.Before(t0.Add(10 * time.Second)) })},
		"until":     {Query{Until: t0.Add(3 * time.Second)}, pick(func(r JobRow) bool { return r.Created.Before(t0.Add(3 * time.Second)) })},
		"between": {Query{Since: t0.Add(4 * time.Second), Until: t0.Add(6 * time.Second)}, pick(func(r JobRow) bool {
			in := func(t time.Time) bool { return !t.Before(t0.Add(4*time.Second)) && t.Before(t0.Add(6*time.Second)) }
			return in(r.Created) || in(r.Finished)
		})},
		"together": {Query{States: states[:1], Tag: "t0", Submitter: "ada", Since: t0.Add(time.Second)}, pick(func(r JobRow) bool {
			return r.State == states[0] && r.Tags[0] == "t0" && r.Submitter == "ada" && !r.Finished.Before(t0.Add(time.Second))
		})},
		"none": {Query{Tag: "t"}, nil},
	} {
		got, err := s.Jobs(c.q)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
		}
	}
	if id, ok, err := s.JobByKey("k"); id != 2 || !ok || err != nil {
		t.Errorf("JobByKey: %d, %v, %v; want the first, 2", id, ok, err)
	}
	for _, key := range []string{"", "none"} {
		if id, ok, err := s.JobByKey(key); ok || err != nil {
			t.Errorf("JobByKey(%q): %d, %v, %v", key, id, ok, err)
		}
	}
	want := map[pasar.State]int{pasar.Completed: 10, pasar.Failed: 10, pasar.Cancelled: 10}
	if got, err := s.CountByState(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("CountByState: %v, %v", got, err)
	}
	appendOK(t, s, Batch{Unfinished: []pasar.JobID{2, 99}})
	if _, ok, _ := s.Job(2); ok {
		t.Error("a restarted job is still among the finished")
	}
	if got, _ := s.Jobs(Query{Tag: "all"}); len(got) != 29 {
		t.Errorf("%d jobs tagged, want 29", len(got))
	}
}

func TestTheNewestTwoSnapshotsAreKeptAndPruneLeavesWhatTheyNeed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if seq, body, err := s.Snapshot(); seq != 0 || body != nil || err != nil {
		t.Fatalf("new store has snapshot %d, %v", seq, err)
	}
	appendOK(t, s, Batch{Records: facts(1, 3000)})
	if err := s.SaveSnapshot(3001, nil); err == nil {
		t.Error("a snapshot of a fact that isn't there was saved")
	}
	body := func(n int64) []byte { return bytes.Repeat([]byte{byte(n), 7}, 300_000) }
	if err := s.SaveSnapshot(1200, body(1)); err != nil {
		t.Fatal(err)
	}
	if err := s.Prune(2000); err != nil {
		t.Fatal(err)
	}
	if got := readFacts(t, s, 0); len(got) != 3000 {
		t.Errorf("with one snapshot %d facts are left", len(got))
	}
	for i, seq := range []int64{1300, 2500, 2900} {
		if err := s.SaveSnapshot(seq, body(int64(i+2))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Prune(2800); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = open(t, dir)
	if seq, got, err := s.Snapshot(); seq != 2900 || !bytes.Equal(got, body(4)) || err != nil {
		t.Errorf("newest snapshot %d (%d bytes), %v", seq, len(got), err)
	}
	if got := readFacts(t, s, 2500); len(got) != 500 {
		t.Errorf("%d facts after the older snapshot, want 500", len(got))
	}
	var damaged *DamagedError
	if err := s.Facts(context.Background(), 2400, func(pasar.Record) error { return nil }); !errors.As(err, &damaged) {
		t.Errorf("reading over a gap: %v", err)
	}
	if raw, err := s.RawFacts(context.Background(), 0, 1); err != nil || raw[0].Seq != 2501 {
		t.Errorf("first fact left: %v, %v", raw, err)
	}

	// A snapshot whose bytes changed gives way to the one before.
	s.mu.Lock()
	s.run("UPDATE snapshot_parts SET body = zeroblob(10) WHERE seq = 2900 AND part = 1", nil, nil)
	s.mu.Unlock()
	if seq, got, err := s.Snapshot(); seq != 2500 || !bytes.Equal(got, body(3)) || err != nil {
		t.Errorf("after damage: snapshot %d, %v", seq, err)
	}
	s.mu.Lock()
	s.run("DELETE FROM snapshot_parts", nil, nil)
	s.mu.Unlock()
	if _, _, err := s.Snapshot(); !errors.As(err, &damaged) {
		t.Errorf("no snapshot left: %v", err)
	}
}

func TestManyMayUseAStoreAtOnce(t *testing.T) {
	s := open(t, t.TempDir())
	var wg sync.WaitGroup
	stop := make(chan struct{})
	read := func(f func() error) {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := f(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	read(func() error { return s.Facts(context.Background(), 0, func(pasar.Record) error { return nil }) })
	read(func() error { _, err := s.Jobs(Query{}); return err })
	read(func() error {
		seq, err := s.LastSeq()
		if err == nil && seq > 0 {
			err = s.SaveSnapshot(seq, make([]byte, 400<<10))
		}
		return err
	})
	for i := range int64(100) {
		appendOK(t, s, Batch{Records: facts(i+1, i+1), Finished: []JobRow{{Job: pasar.JobID(i)}}})
	}
	close(stop)
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(Batch{}); !errors.Is(err, ErrClosed) {
		t.Errorf("append after close: %v", err)
	}
	if _, err := s.LastSeq(); !errors.Is(err, ErrClosed) {
		t.Errorf("read after close: %v", err)
	}
}

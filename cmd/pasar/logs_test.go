package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

func TestOutputGoesOnWithAnotherDaemonByteForByte(t *testing.T) {
	const text = "one\ntwo\nthree\n"
	var f *fake
	var offsets []int64
	serve := func(upTo int, then func(ctx context.Context) error) ipc.Handler {
		return verbs{ipc.VerbLogs: func(ctx context.Context, c *ipc.Call) error {
			r := bind[ipc.LogsRequest](t, c)
			offsets = append(offsets, r.Offset)
			head, err := json.Marshal(ipc.LogsHead{Attempt: 1, Offset: r.Offset})
			if err != nil {
				return err
			}
			if err := errors.Join(c.Chunk(head), c.Chunk([]byte(text[r.Offset:upTo]))); err != nil {
				return err
			}
			if then != nil {
				return then(ctx)
			}
			return c.Answer(ipc.LogsAnswer{Attempt: 1, Offset: int64(upTo), Ended: true, Over: true})
		}}.handle
	}
	f = newFake(t, serve(6, func(ctx context.Context) error {
		f.shutDown(serve(len(text), nil))
		<-ctx.Done()
		return ctx.Err()
	}))
	r := f.run("logs", "-f", "--raw", "--attempt", "1", "5")
	if r.code != 0 || r.out != text || r.stderr != "" {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.stderr)
	}
	if !slices.Equal(offsets, []int64{0, 6}) {
		t.Errorf("asked from %v", offsets)
	}
}

// logOf serves a finished attempt's output as a daemon does.
func logOf(t *testing.T, text string) ipc.Handler {
	return func(_ context.Context, c *ipc.Call) error {
		r := bind[ipc.LogsRequest](t, c)
		from := r.Offset
		if from < 0 {
			from = max(0, int64(len(text))+from)
		}
		head, err := json.Marshal(ipc.LogsHead{Attempt: 1, Offset: from})
		if err != nil {
			return err
		}
		if err := c.Chunk(head); err != nil {
			return err
		}
		for rest := text[from:]; rest != ""; {
			n := min(len(rest), 1000)
			if err := c.Chunk([]byte(rest[:n])); err != nil {
				return err
			}
			rest = rest[n:]
		}
		return c.Answer(ipc.LogsAnswer{Attempt: 1, Offset: int64(len(text)), Ended: true, Over: true})
	}
}

func TestTheLastLinesOfALongLogAreExact(t *testing.T) {
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "line %d\r\n", i)
	}
	f := newFake(t, verbs{ipc.VerbLogs: logOf(t, b.String())}.handle)
	for _, n := range []int{0, 1, 100, 20_000, 200_000} {
		r := f.run("logs", "-n", fmt.Sprint(n), "1")
		first, lines := max(0, 100_000-n), strings.Count(r.out, "\n")
		if r.code != 0 || lines != min(n, 100_000) || n > 0 && !strings.HasPrefix(r.out, fmt.Sprintf("line %d\n", first)) {
			t.Errorf("last %d: exit %d, %d lines from %.20q", n, r.code, lines, r.out)
		}
	}
}

func TestOffATerminalOutputIsPlainText(t *testing.T) {
	const out = "\x1b[31mred\x1b[0m\r\n 10%\r 50%\r100%\r\nno end"
	f := newFake(t, verbs{ipc.VerbLogs: logOf(t, out)}.handle)
	if r := f.run("logs", "1"); r.out != "red\n100%\nno end\n" {
		t.Errorf("plain: %q", r.out)
	}
	if r := f.run("logs", "--color=always", "1"); !strings.Contains(r.out, "31mred\x1b[0m\n100%\nno end\n") {
		t.Errorf("with colours: %q", r.out)
	}
	if r := f.run("logs", "--raw", "1"); r.out != out {
		t.Errorf("raw: %q", r.out)
	}
	if r := f.run("logs", "1", "2"); r.out != "#1  red\n#1  100%\n#1  no end\n#2  red\n#2  100%\n#2  no end\n" {
		t.Errorf("of two jobs: %q", r.out)
	}
	r := f.run("logs", "--json", "1")
	if lines := strings.Split(strings.TrimSpace(r.out), "\n"); len(lines) != 3 || lines[0] != `{"schema":1,"job":1,"attempt":1,"at":null,"stream":null,"line":"red"}` {
		t.Errorf("JSON: %q", r.out)
	}
}

func TestAFollowedJobGoesOnWithItsNextAttempt(t *testing.T) {
	var asked []string
	v := job(5, pasar.Queued, "")
	v.Attempts = []pasar.AttemptView{{Attempt: 1, Verdict: &pasar.Verdict{Summary: "exit code 7"}}}
	f := newFake(t, verbs{ipc.VerbLogs: func(_ context.Context, c *ipc.Call) error {
		r := bind[ipc.LogsRequest](t, c)
		asked = append(asked, fmt.Sprint(r.Attempt, r.Offset, r.Follow, r.Next))
		n := max(1, r.Attempt)
		if n == 3 { // it was cancelled before that
			return c.Answer(ipc.LogsAnswer{Ended: true, Over: true})
		}
		head, err := json.Marshal(ipc.LogsHead{Attempt: n, NoPTY: true, Marked: true})
		if err != nil {
			return err
		}
		mark, err := json.Marshal(ipc.LogsMark{Stream: n, At: &at})
		if err != nil {
			return err
		}
		text := fmt.Sprintf("try %d\n", n)
		err = errors.Join(c.Chunk(head), c.Chunk(append([]byte{ipc.LogsIsMark}, mark...)), c.Chunk(append([]byte{ipc.LogsBytes}, text...)))
		if err != nil {
			return err
		}
		return c.Answer(ipc.LogsAnswer{Attempt: n, Offset: int64(len(text)), Ended: true})
	}, ipc.VerbShow: func(_ context.Context, c *ipc.Call) error {
		shown := v
		if len(asked) > 1 {
			shown.Attempts = append(shown.Attempts, pasar.AttemptView{Attempt: 2})
		}
		if len(asked) == 0 { // it runs when it is first looked at
			shown.State = pasar.Running
		}
		return c.Answer(ipc.ViewAnswer{JSON: jobView(t, shown)})
	}}.handle)
	r := f.run("logs", "-f", "-t", "5")
	stamp := at.Local().Format(time.RFC3339)
	if r.code != 0 || r.out != stamp+" try 1\n"+stamp+" try 2\n" {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.stderr)
	}
	if !strings.Contains(r.stderr, "pasar: attempt 1 of job #5 is over (exit code 7); the job is queued") || !strings.Contains(r.stderr, "attempt 2 of job #5 is over") {
		t.Errorf("%q", r.stderr)
	}
	if want := []string{"0 0 true false", "2 0 true true", "3 0 true true"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
	asked = nil
	if r := f.run("logs", "-f", "--attempt", "1", "--stdout", "5"); r.code != 0 || r.out != "try 1\n" || r.stderr != "" || len(asked) != 1 {
		t.Errorf("one attempt: exit %d, %q, %q, asked %q", r.code, r.out, r.stderr, asked)
	}
	if r := f.run("logs", "--attempt", "1", "--stderr", "5"); r.code != 0 || r.out != "" {
		t.Errorf("the other stream: exit %d, %q, %q", r.code, r.out, r.stderr)
	}
}

func TestAGapIsToldWhereItIsAndNothingIsReadTwice(t *testing.T) {
	var asked []int64
	var f *fake
	first := true
	var handler verbs // the same daemon is started once more
	handler = verbs{ipc.VerbLogs: func(ctx context.Context, c *ipc.Call) error {
		r := bind[ipc.LogsRequest](t, c)
		asked = append(asked, r.Offset)
		head, err := json.Marshal(ipc.LogsHead{Attempt: 1, Offset: r.Offset, Marked: true})
		if err != nil {
			return err
		}
		mark, err := json.Marshal(ipc.LogsMark{Offset: 1000, Gap: 996})
		if err != nil {
			return err
		}
		if !first {
			return errors.Join(c.Chunk(head), c.Chunk([]byte("\x00three\n")), c.Answer(ipc.LogsAnswer{Attempt: 1, Offset: 1010, Ended: true, Over: true}))
		}
		first = false
		err = errors.Join(c.Chunk(head), c.Chunk([]byte("\x00one\n")), c.Chunk(append([]byte{ipc.LogsIsMark}, mark...)), c.Chunk([]byte("\x00two\n")))
		f.shutDown(handler.handle)
		<-ctx.Done()
		return errors.Join(err, ctx.Err())
	}}
	f = newFake(t, handler.handle)
	r := f.run("logs", "-f", "--attempt", "1", "5")
	if r.code != 0 || r.out != "one\ntwo\nthree\n" || r.stderr != "pasar: 996 B of job #5's output, from byte 4 on, are not to be had\n" {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.stderr)
	}
	if !slices.Equal(asked, []int64{0, 1004}) {
		t.Errorf("asked from %v", asked)
	}
}

func TestFactsGoOnWithAnotherDaemonEachOnce(t *testing.T) {
	fact := func(seq int64, at time.Time) []byte {
		b, err := json.Marshal(pasar.Record{Seq: seq, At: at, Boot: "b", Fact: pasar.Held{Job: pasar.JobID(seq)}})
		if err != nil {
			t.Fatal(err)
		}
		return append(b, '\n')
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	var f *fake
	var asked []int64
	later := time.Now().Add(time.Hour)
	f = newFake(t, verbs{ipc.VerbFacts: func(ctx context.Context, c *ipc.Call) error {
		asked = append(asked, bind[ipc.FactsRequest](t, c).Since)
		f.shutDown(verbs{ipc.VerbFacts: func(ctx context.Context, c *ipc.Call) error {
			asked = append(asked, bind[ipc.FactsRequest](t, c).Since)
			err := errors.Join(c.Chunk(append(fact(1, at), fact(2, later)...)), c.Chunk(append(fact(2, later), fact(3, later)...)))
			cancel(errInterrupted)
			<-ctx.Done()
			return err
		}}.handle)
		<-ctx.Done()
		return ctx.Err()
	}}.handle)
	r := runIn(t, ctx, f.env(), "facts", "-f", "--json")
	if r.code != exitInterrupted || r.out != string(fact(2, later))+string(fact(3, later)) && !strings.HasPrefix(string(fact(2, later))+string(fact(3, later)), r.out) {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.stderr)
	}
	if !slices.Equal(asked, []int64{-1, 0}) {
		t.Errorf("asked since %v", asked)
	}
}

package answer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pasar"
	"pasar/answer"
	"pasar/ipc"
)

// decode reads a line as the one JSON value that it must be.
func decode[T any](t *testing.T, line []byte) T {
	t.Helper()
	var v T
	if !bytes.HasSuffix(line, []byte{'\n'}) || bytes.Count(line, []byte{'\n'}) != 1 {
		t.Fatalf("%q isn't a line", line)
	}
	if err := json.Unmarshal(line, &v); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return v
}

func TestAnAnswerIsTheSameValueAndShowsNoTerminalControl(t *testing.T) {
	for _, s := range []string{"", "plain", "réd 中文 🙂", "\x1b[31m\x07\x7f", "\u009b31m\u0085", "a\u202eb\u2066c\u061cd\ufeff\u2028\u2029", "\ufffd" /* harmless */, `\u202e "quoted"`} {
		line, err := answer.Encode(map[string]string{"s": s})
		if err != nil {
			t.Fatal(err)
		}
		if got := decode[map[string]string](t, line)["s"]; got != s {
			t.Errorf("%q became %q", s, got)
		}
		if text := strings.TrimSuffix(string(line), "\n"); s != "\ufffd" && pasar.Clean(text) != text {
			t.Errorf("%q would be acted on", line)
		}
	}
}

func TestALineHasOneEnd(t *testing.T) {
	behind := []byte(`{}XY`)
	for _, b := range [][]byte{behind[:2], []byte("{}\n")} {
		if got := answer.Line(b); string(got) != "{}\n" {
			t.Errorf("%q became %q", b, got)
		}
	}
	if string(behind) != "{}XY" {
		t.Errorf("what lay behind the line became %q", behind)
	}
	if got := answer.Line(nil); string(got) != "\n" {
		t.Errorf("nothing became %q", got)
	}
}

func TestAnErrorHasNullForNoHint(t *testing.T) {
	for hint, want := range map[string]string{"": "null", "a\nb": `"a\nb"`} {
		got := string(answer.Error(&ipc.Error{Code: ipc.CodeUsage, Message: "no\x1b[2J", Hint: hint}))
		if !strings.HasPrefix(got, fmt.Sprintf(`{"schema":%d,"error":{"code":"usage","message":"no`, pasar.Schema)) || !strings.HasSuffix(got, `"hint":`+want+"}}\n") {
			t.Errorf("%q: %s", hint, got)
		}
	}
}

func TestOneRefusedJobAloneIsAnError(t *testing.T) {
	no := &ipc.Error{Code: ipc.CodeWrongState, Message: "was already completed"}
	refused := ipc.JobOutcome{Job: 1, State: pasar.Completed, Error: no}
	done := ipc.JobOutcome{Job: 2, State: pasar.Cancelled, Sentence: "cancelled"}
	if v, e := answer.Outcomes([]ipc.JobOutcome{refused}); v != nil || e != no {
		t.Errorf("%+v, %v", v, e)
	}
	if v, e := answer.Outcomes([]ipc.JobOutcome{done}); e != nil || len(v.Jobs) != 1 || v.Jobs[0].Error != nil || *v.Jobs[0].Sentence != "cancelled" {
		t.Errorf("%+v, %v", v, e)
	}
	if v, e := answer.Outcomes([]ipc.JobOutcome{refused, done}); e != nil || len(v.Jobs) != 2 || v.Jobs[0].Error == nil || v.Jobs[0].Sentence != nil {
		t.Errorf("%+v, %v", v, e)
	}
	v, e := answer.Outcomes(nil)
	if line, err := answer.Encode(v); e != nil || err != nil || string(line) != fmt.Sprintf("{\"schema\":%d,\"jobs\":[]}\n", pasar.Schema) {
		t.Errorf("of none: %s, %v, %v", line, e, err)
	}
}

func TestAdviceIsForTheStateOfAJobAndLeavesTheDaemonsOwn(t *testing.T) {
	wrong := &ipc.Error{Code: ipc.CodeWrongState, Message: "it is over"}
	own := &ipc.Error{Code: ipc.CodeWrongState, Hint: "own"}
	other := &ipc.Error{Code: ipc.CodeNotAllowed}
	jobs := []ipc.JobOutcome{
		{Job: 1, State: pasar.Completed, Error: wrong}, {Job: 2, State: pasar.Completed, Error: own},
		{Job: 3, State: pasar.Completed, Error: other}, {Job: 4, State: pasar.Running, Error: wrong}, {Job: 5},
	}
	answer.AdviseCancel(jobs)
	for i, want := range []string{"`pasar show 1` says how it ended", "own", "", "", "none"} {
		got := "none"
		if e := jobs[i].Error; e != nil {
			got = e.Hint
		}
		if got != want {
			t.Errorf("job %d: %q, want %q", i+1, got, want)
		}
	}
	if wrong.Hint != "" {
		t.Error("the error itself was changed")
	}
	if got := answer.AdviseBid(wrong, ipc.BidRequest{Job: 7, Bid: 3}).Hint; !strings.Contains(got, "restart 7 --bid 3`") {
		t.Error(got)
	}
	if got := answer.AdviseBid(wrong, ipc.BidRequest{Job: 7, Promote: true}).Hint; !strings.Contains(got, "restart 7`") {
		t.Error(got)
	}
}

func TestAStreamedListIsOneValueHoweverItIsCut(t *testing.T) {
	type list struct {
		Schema int
		Jobs   []struct{ ID int }
	}
	for n := range 5 {
		var all []byte
		want := list{Schema: pasar.Schema, Jobs: []struct{ ID int }{}}
		for id := range n {
			all = fmt.Appendf(all, "{\"id\":%d}\n", id)
			want.Jobs = append(want.Jobs, struct{ ID int }{id})
		}
		for size := 1; size <= len(all)+1; size++ {
			var chunks [][]byte
			var out bytes.Buffer
			j := answer.NewJobs(&out)
			for rest := all; len(rest) > 0; {
				cut := min(size, len(rest))
				chunks = append(chunks, rest[:cut])
				if err := j.Lines(rest[:cut]); err != nil {
					t.Fatal(err)
				}
				rest = rest[cut:]
			}
			if out.Len() > 0 && n == 0 {
				t.Error("something was written before the first job")
			}
			if err := j.End(); err != nil {
				t.Fatal(err)
			}
			if got := decode[list](t, out.Bytes()); !reflect.DeepEqual(got, want) {
				t.Errorf("%d jobs in pieces of %d: %+v", n, size, got)
			}
			if got := answer.List(chunks); !bytes.Equal(got, out.Bytes()) {
				t.Errorf("as a whole %s, streamed %s", got, out.Bytes())
			}
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestAListThatCannotBeWrittenSaysSo(t *testing.T) {
	if err := answer.NewJobs(full{}).Lines([]byte("{}\n")); err == nil {
		t.Error("lines: no error")
	}
	if err := answer.NewJobs(full{}).End(); err == nil {
		t.Error("end: no error")
	}
}

func TestAJobAloneIsItsViewAndSeveralAreAGroup(t *testing.T) {
	one, err := answer.Submitted(ipc.SubmitAnswer{Job: 4, Jobs: []pasar.JobID{4}, View: []byte(`{"id":4}`)})
	if err != nil || string(one) != "{\"id\":4}\n" {
		t.Errorf("%s, %v", one, err)
	}
	several, err := answer.Submitted(ipc.SubmitAnswer{Job: 4, Jobs: []pasar.JobID{4, 5}, View: []byte(`{"id":4}`)})
	if err != nil || string(several) != fmt.Sprintf("{\"schema\":%d,\"group\":4,\"jobs\":[4,5]}\n", pasar.Schema) {
		t.Errorf("%s, %v", several, err)
	}
}

package answer

import (
	"encoding/json"
	"strings"
	"testing"

	"pasar"
	"pasar/ipc"
)

func TestNothingInAnAnswerActsOnATerminalAndItsValuesAreTheSame(t *testing.T) {
	for _, s := range []string{"plain", "é 漢 😀", "a\u202eb", "\u009b31m", "\u200bx\u2066y", "\x1b[31m"} {
		b, err := Encode(map[string]string{"k": s})
		if err != nil {
			t.Fatal(err)
		}
		var back map[string]string
		if err := json.Unmarshal(b, &back); err != nil || back["k"] != s {
			t.Errorf("%q came back as %q (%v)", s, back["k"], err)
		}
		if text := strings.TrimSuffix(string(b), "\n"); pasar.Clean(text) != text || strings.Contains(text, "\n") {
			t.Errorf("%q shows %q", s, text)
		}
	}
}

func TestAListIsJSONWhateverPiecesItCameIn(t *testing.T) {
	for want, chunks := range map[string][]string{
		`{"schema":1,"jobs":[]}`:                             nil,
		`{"schema":1,"jobs":[{"id":1}]}`:                     {"{\"id\":1}\n"},
		`{"schema":1,"jobs":[{"id":1},{"id":2}]}`:            {"{\"id\":1}\n{\"id\":2}\n"},
		`{"schema":1,"jobs":[{"id":1},{"id":2},{"id":3}]}`:   {"{\"id\":1}\n", "{\"id\":2}\n{\"id\":3}\n"},
		`{"schema":1,"jobs":[{"name":"a\\nb"},{"name":""}]}`: {"{\"name\":\"a\\\\nb\"}\n{\"name\":\"\"}\n"},
	} {
		var list [][]byte
		for _, c := range chunks {
			list = append(list, []byte(c))
		}
		if got := string(Jobs(list)); got != want || !json.Valid([]byte(got)) {
			t.Errorf("%q: %s; want %s", chunks, got, want)
		}
	}
}

func TestOneRefusedJobIsAnErrorAndOneOfSeveralIsNot(t *testing.T) {
	no := &ipc.Error{Code: ipc.CodeWrongState, Message: "job 3 is completed"}
	_, e := Outcomes(Advised("cancel", []ipc.JobOutcome{{Job: 3, State: pasar.Completed, Error: no}}))
	if e == nil || e.Code != ipc.CodeWrongState || !strings.Contains(e.Hint, "pasar show 3") || no.Hint != "" {
		t.Errorf("%+v", e)
	}
	v, e := Outcomes([]ipc.JobOutcome{{Job: 3, Error: no}, {Job: 4, State: pasar.Queued, Sentence: "held"}})
	if e != nil || len(v.Jobs) != 2 || v.Jobs[0].Error == nil || v.Jobs[1].Error != nil {
		t.Errorf("%+v %v", v, e)
	}
}

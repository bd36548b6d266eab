package jobproto

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"pasar"
)

func ptr(f float64) *float64 { return &f }

func TestEveryKindOfEventDecodes(t *testing.T) {
	for _, c := range []struct {
		line string
		want pasar.Event
	}{
		{`{"event":"checkpoint","step":1200,"path":"/ck/1200"}`,
			pasar.Event{Kind: pasar.EventCheckpoint, Step: ptr(1200), Path: "/ck/1200"}},
		{`{"event":"checkpoint"}`, pasar.Event{Kind: pasar.EventCheckpoint}},
		{`{"step":7,"event":"resumed"}` + "\r\n", pasar.Event{Kind: pasar.EventResumed, Step: ptr(7)}},
		{` {"event":"progress","step":1.5,"total_steps":1e4,"loss":-0.25,"lr":3E-4} ` + "\n",
			pasar.Event{Kind: pasar.EventProgress, Step: ptr(1.5), TotalSteps: ptr(1e4),
				Metrics: map[string]float64{"loss": -0.25, "lr": 3e-4}}},
		{`{"event":"progress","step":3,"total_steps":null,"loss":null}`,
			pasar.Event{Kind: pasar.EventProgress, Step: ptr(3)}},
		{`{"event":"progress","path":2,"text":3}`,
			pasar.Event{Kind: pasar.EventProgress, Metrics: map[string]float64{"path": 2, "text": 3}}},
		{`{"event":"note","text":"héllo\nworld"}`, pasar.Event{Kind: pasar.EventNote, Text: "héllo\nworld"}},
	} {
		got, err := Decode([]byte(c.line))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("Decode(%s) = %+v, %v; want %+v", c.line, got, err, c.want)
		}
	}
}

func TestABadLineIsRefusedWithWhatIsWrong(t *testing.T) {
	metrics := make([]string, MaxMetrics+1)
	for i := range metrics {
		metrics[i] = fmt.Sprintf(`"m%d":1`, i)
	}
	for _, c := range []struct{ line, want string }{
		{"", "empty"},
		{"  \n", "empty"},
		{"hello", "not JSON"},
		{"{", "ends too early"},
		{`{"event":"progress"`, "ends too early"},
		{`[1]`, "not a JSON object"},
		{`"progress"`, "not a JSON object"},
		{`{"event":"progress","step":1} {"event":"note"}`, "more than one"},
		{`{"event":"progress","step":1,}`, "not JSON"},
		{`{}`, `"event" is missing`},
		{`{"event":null,"step":1}`, `"event" is missing`},
		{`{"event":3}`, `"event": want a string, not a number`},
		{`{"event":"explode"}`, `unknown event "explode"`},
		{`{"event":"progress","step":1,"step":2}`, `"step" is given twice`},
		{`{"event":"progress","step":null,"step":2}`, `"step" is given twice`},
		{`{"event":"progress","step":"1"}`, `"step": want a number, not a string`},
		{`{"event":"progress","step":true}`, `"step": want a number, not true or false`},
		{`{"event":"progress","step":-1}`, `"step": -1 is negative`},
		{`{"event":"progress","step":1,"loss":NaN}`, "leave such a value out"},
		{`{"event":"progress","step":1,"loss":-Infinity}`, "leave such a value out"},
		{`{"event":"progress","step":1,"loss":1e999}`, `"loss": 1e999 is not a finite`},
		{`{"event":"progress","step":1,"loss":"low"}`, `"loss": want a number, not a string`},
		{`{"event":"progress","step":1,"grad":{"a":1}}`, `"grad": an event has no nested`},
		{`{"event":"progress","step":1,"grad":[]}`, `"grad": an event has no nested`},
		{`{"event":"progress"}`, "says nothing"},
		{`{"event":"progress","":1}`, "1 to 100 bytes"},
		{`{"event":"progress","` + strings.Repeat("n", 101) + `":1}`, "1 to 100 bytes"},
		{`{"event":"progress","a\u001bb":1}`, "no control characters"},
		{`{"event":"progress",` + strings.Join(metrics, ",") + `}`, "more than 64 metrics"},
		{`{"event":"checkpoint","step":1,"loss":0.5}`, `"loss": a checkpoint has no such key`},
		{`{"event":"checkpoint","path":5}`, `"path": want a string`},
		{`{"event":"checkpoint","path":"` + strings.Repeat("p", MaxPath+1) + `"}`, "at most 4096"},
		{`{"event":"checkpoint","path":"a\u0000b"}`, "NUL"},
		{`{"event":"note"}`, `needs "text"`},
		{`{"event":"note","text":"` + strings.Repeat("x", MaxNote+1) + `"}`, "at most 4096"},
		{`{"event":"note","text":"` + strings.Repeat("x", MaxLine) + `"}`, "at most 65536"},
		{"{\"event\":\"note\",\"text\":\"\xff\"}", "not UTF-8"},
	} {
		_, err := Decode([]byte(c.line))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Decode(%.80s): error %v; want one with %q", c.line, err, c.want)
		}
	}
}

func TestAnErrorNeverCarriesControlCharacters(t *testing.T) {
	for _, line := range []string{
		`{"event":"\u001b[31mred"}`,
		`{"event":"note","\u001b]52;c;aGk=\u0007":1}`,
		`{"event":"progress","\u202e":1}`,
		"\x1b[2J",
		"{\"event\":\x07}",
	} {
		_, err := Decode([]byte(line))
		if err == nil || pasar.Clean(err.Error()) != err.Error() {
			t.Errorf("Decode(%q): error %q", line, err)
		}
	}
}

func TestWhatIsEncodedDecodesToTheSame(t *testing.T) {
	for _, e := range []pasar.Event{
		{Kind: pasar.EventCheckpoint, Step: ptr(0), Path: "/a b/\"quoted\"\n"},
		{Kind: pasar.EventResumed, Step: ptr(12)},
		{Kind: pasar.EventProgress, Step: ptr(1e15), TotalSteps: ptr(1e16), Metrics: map[string]float64{"a": 0, "b/c": -1e-300}},
		{Kind: pasar.EventNote, Text: "<b>&\u2028"},
	} {
		line, err := Encode(e)
		if err != nil {
			t.Fatalf("Encode(%+v): %v", e, err)
		}
		if strings.Count(string(line), "\n") != 1 || line[len(line)-1] != '\n' {
			t.Errorf("Encode(%+v) = %q: not one line", e, line)
		}
		got, err := Decode(line)
		if err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("%s decodes to %+v, %v; want %+v", line, got, err, e)
		}
	}
}

func TestEncodeRefusesWhatDecodeWould(t *testing.T) {
	for _, e := range []pasar.Event{
		{},
		{Kind: "explode"},
		{Kind: pasar.EventNote},
		{Kind: pasar.EventProgress, Step: ptr(math.NaN())},
		{Kind: pasar.EventProgress, Step: ptr(1), Metrics: map[string]float64{"x": math.Inf(1)}},
		{Kind: pasar.EventProgress, Step: ptr(1), Metrics: map[string]float64{"step": 2}},
		{Kind: pasar.EventResumed, Path: "/x"},
	} {
		if line, err := Encode(e); err == nil {
			t.Errorf("Encode(%+v) = %s; want an error", e, line)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"event":"checkpoint","step":1200,"path":"/ck/1200"}`,
		`{"event":"resumed","step":1}`,
		`{"event":"progress","step":1,"total_steps":2,"loss":0.5}`,
		`{"event":"note","text":"hi"}`,
		`{"event":"progress","step":1,"step":2}`, `{"a":[{}]}`, "{", "nul", `{"event":"progress","x":1e999}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := Decode(line)
		if err != nil {
			if pasar.Clean(err.Error()) != err.Error() {
				t.Fatalf("error carries control characters: %q", err)
			}
			return
		}
		if len(e.Metrics) > MaxMetrics || len(e.Text) > MaxNote || len(e.Path) > MaxPath {
			t.Fatalf("over a limit: %+v", e)
		}
		for k, v := range e.Metrics {
			if math.IsNaN(v) || math.IsInf(v, 0) || len(k) > MaxMetricName {
				t.Fatalf("bad metric %q = %v", k, v)
			}
		}
		if _, err := json.Marshal(e); err != nil {
			t.Fatalf("event doesn't encode: %v", err)
		}
		again, err := Encode(e)
		if err != nil {
			t.Fatalf("Encode(Decode(%q)): %v", line, err)
		}
		e2, err := Decode(again)
		if err != nil || !reflect.DeepEqual(e, e2) {
			t.Fatalf("%q: %+v, then %+v, %v", line, e, e2, err)
		}
	})
}

package web

import (
	"context"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// refusal asks, and reads the refusal that is expected.
func refusal(t *testing.T, s *Server, method, path, body string) (status int, e ipc.Error) {
	t.Helper()
	w := ask(t, s, method, path, body, nil)
	var v struct {
		Error ipc.Error `json:"error"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || strings.Count(w.Body.String(), "\n") != 1 {
		t.Errorf("%s %s %s: %d %s", method, path, body, w.Code, w.Body)
	}
	return w.Code, v.Error
}

// many are different words, one behind the other.
func many(n int, between string) string {
	words := make([]string, n)
	for i := range words {
		words[i] = strconv.Itoa(i)
	}
	return strings.Join(words, between)
}

func TestAPairOfEscapesIsOneCharacter(t *testing.T) {
	for _, body := range []string{`"\ud83d\ude00"`, `"\\ud800"`, `"a\n\u00e9\ud83d\ude00\ud83d\ude01\""`, `""`, `"\\"`} {
		if err := wellFormed([]byte(body)); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestABodyThatIsWrongIsToldWhichKeyTakesWhat(t *testing.T) {
	s, d := newServer(t)
	for body, want := range map[string][2]string{
		`{"gpus":"0"}`:                     {`gpus: a number, not "0"`},
		`{"gpus":1.5}`:                     {`gpus: a whole number, not 1.5`},
		`{"name":5}`:                       {`name: a string, not 5`},
		`{"tags":"x"}`:                     {`tags: a list, each a string, not "x"`},
		`{"tags":["x",1]}`:                 {`tags[1]: a string, not 1`},
		`{"env":{"A":1}}`:                  {`env.A: a string, not 1`},
		`{"env":[1]}`:                      {`env: an object, each value a string, not [1]`},
		`{"hold":"yes"}`:                   {`hold: true or false, not "yes"`},
		`{"after":["x"]}`:                  {`after: a list of {"job": 41, "on": "ok"} or of numbers of jobs, not ["x"]`},
		`{"after":{"job":1}}`:              {`after: a list of {"job": 41, "on": "ok"} or of numbers of jobs, not {"job":1}`},
		`{"after":[{"job":"1"}]}`:          {`after[0].job: a number, not "1"`},
		`{"after":[{"job":1,"on":"bad"}]}`: {`after[0].on: "ok", "any" or "fail", not "bad"`},
		`{"after":[{"jobs":1}]}`:           {`after[0]: there is no key "jobs"`, `did you mean "job"?`},
		`{"time":true}`:                    {`time: a number of seconds, or a string such as "2h30m", not true`},
		`{"mem":{"Size":1}}`:               {`mem: a number of bytes, or a string such as "24G" or "auto", not {"Size":1}`},
		`{"ram":[]}`:                       {`ram: a number of bytes, or a string such as "24G", not []`},
		`{"command":7}`:                    {`command: a list of strings, or one string, not 7`},
		`{"time":"2"}`:                     {`time: bad time "2": a time needs a unit`, "2s, 2m or 2h?"},
		`[]`:                               {`the body: an object, not []`},
		`"x"`:                              {`the body: an object, not "x"`},
		`null`:                             {`the body: an object, not null`},
		`{"comand":["x"]}`:                 {`the body: there is no key "comand"`, `did you mean "command"?`},
		`{"zzzzzzzz":1}`:                   {`the body: there is no key "zzzzzzzz"`, guideKeys},
		`{"name":"a","name":"b"}`:          {`the body: "name" is there twice`},
		"{\"name\": \"a\",\n  \"gpus\" 1}": {`the body: no JSON at line 2, column 10: `},
		`{"name":`:                         {`the body: JSON that ends too early`},
		`{"command":["true",null]}`:        {`command: a list of strings, or one string, not ["true",null]`},
		`{"env":{"A":null}}`:               {`env.A: a string, not null`},
		`{"tags":["x",null]}`:              {`tags[1]: a string, not null`},
		`{"param":["lr=1",null]}`:          {`param: an object of lists, or a list of strings`},
		`{"command":"x"}}`:                 {`the body: no JSON at line 1, column 16: something follows the value`},
		`{"command":"x"} ] hello {`:        {`the body: no JSON at line 1, column 16: something follows the value`},
		`{"command":"\ud800x"}`:            {`the body: no JSON at line 1, column 13: half a character`},
		`{"command":"\ude00\ud83d"}`:       {`the body: no JSON at line 1, column 13: half a character`},
		`{"command":"\\\ud83d\ud83d"}`:     {`the body: no JSON at line 1, column 15: half a character`},
		"{\"command\":\"\xff\"}":           {`the body: no JSON at line 1, column 13: it is no UTF-8`},
		"\ufeff{}":                         {`the body: no JSON at line 1, column 1: it begins with a byte order mark`},
		strings.Repeat("[", 20_000):        {`the body: no JSON at line 1, column 10001: it is nested too deep`},
		`{"command":["x"],"points":[{"index":3},{"index":3}]}`:                                {`points: index 3 is there twice`},
		`{"env":{"` + many(maxKeys+1, `":"","`) + `":""}}`:                                    {`env: it has more than 20000 keys`},
		`{"name":"` + strings.Repeat("x", 50) + `","gpus":"` + strings.Repeat("y", 50) + `"}`: {`gpus: a number, not "` + strings.Repeat("y", 39) + `…`},
	} {
		status, e := refusal(t, s, "POST", "/api/jobs", body)
		if status != 400 || e.Code != ipc.CodeBadRequest || !strings.HasPrefix(e.Message, want[0]) || !strings.Contains(e.Hint, want[1]) {
			t.Errorf("%s: %d %+v; want %q", body, status, e, want)
		}
		if strings.Contains(e.Message+e.Hint, "Go ") || strings.Contains(e.Message, "json:") {
			t.Errorf("%s speaks of what is inside: %+v", body, e)
		}
	}
	if _, e := refusal(t, s, "PATCH", "/api/jobs/1", `{"bid":"x"}`); e.Message != `bid: a number, not "x"` {
		t.Errorf("%+v", e)
	}
	if _, e := refusal(t, s, "POST", "/api/jobs/1/cancel", `{"grace":1}`); e.Hint != "it takes now, kill_after, by, request" {
		t.Errorf("%+v", e)
	}
	if n := d.calls(ipc.VerbSubmit) + d.calls(ipc.VerbBid) + d.calls(ipc.VerbCancel); n != 0 {
		t.Errorf("%d requests reached the daemon", n)
	}
}

// TestEveryKeyOfABodySaysWhatItTakes: a type that reads itself must say so in words.
func TestEveryKeyOfABodySaysWhatItTakes(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[submitWords](), reflect.TypeFor[editWords]()} {
		for _, f := range reflect.VisibleFields(typ) {
			if keyOf(f) != "" && strings.Contains(taken(f.Type, []byte("?")), "another value") {
				t.Errorf("%s", f.Name)
			}
		}
	}
}

func TestABeginAndWhatComesBeforeAreWordsOfTheCommandToo(t *testing.T) {
	s, d := newServer(t)
	zone := time.FixedZone("X", 2*3600)
	now := time.Date(2026, 3, 1, 21, 30, 0, 0, zone)
	s.Now = func() time.Time { return now }
	for words, want := range map[string]time.Time{
		`"+2h"`: now.Add(2 * time.Hour), `"22:00"`: now.Add(30 * time.Minute), `"2026-12-01"`: time.Date(2026, 12, 1, 0, 0, 0, 0, zone),
		`"2026-03-01T20:00:00Z"`: now.Add(30 * time.Minute), `"now"`: {}, `null`: {},
	} {
		if w := ask(t, s, "POST", "/api/jobs", `{"command":["x"],"begin":`+words+`}`, nil); w.Code != 201 {
			t.Fatalf("%s: %d %s", words, w.Code, w.Body)
		}
		var r ipc.SubmitRequest
		if d.bound(t, ipc.VerbSubmit, &r); !r.Spec.Begin.Equal(want) {
			t.Errorf("%s: %s; want %s", words, r.Spec.Begin, want)
		}
	}
	for words, want := range map[string]string{`"soon"`: `begin: bad time "soon"`, `5`: "begin: a string such as", `"2020-01-01"`: "ago; without begin a job starts"} {
		if status, e := refusal(t, s, "POST", "/api/jobs", `{"command":["x"],"begin":`+words+`}`); status != 400 || !strings.Contains(e.Message+"; "+e.Hint, want) {
			t.Errorf("%s: %d %+v", words, status, e)
		}
	}
	one := pasar.Dependency{Job: 41, On: pasar.AfterOK}
	for words, want := range map[string][]pasar.Dependency{
		`41`: {one}, `"41"`: {one}, `[41]`: {one}, `["41"]`: {one}, `[{"job":41}]`: {one}, `[{"job":41,"on":null}]`: {one},
		`[41,{"job":42,"on":"any"}]`: {one, {Job: 42, On: pasar.AfterAny}}, `[]`: nil,
	} {
		if w := ask(t, s, "POST", "/api/jobs", `{"command":["x"],"after":`+words+`}`, nil); w.Code != 201 {
			t.Fatalf("%s: %d %s", words, w.Code, w.Body)
		}
		var r ipc.SubmitRequest
		if d.bound(t, ipc.VerbSubmit, &r); len(r.Spec.After)+len(want) > 0 && !reflect.DeepEqual(r.Spec.After, want) {
			t.Errorf("%s: %+v", words, r.Spec.After)
		}
	}
}

func TestARefusalOfASubmitSpeaksOfKeys(t *testing.T) {
	s, d := newServer(t)
	for body, want := range map[string][2]string{
		`{}`:                                {"no command given", `send "command": [`},
		`{"command":["x"],"mem":"24G; rm"}`: {`mem: bad size "24G; rm": unknown unit`, "write 24G, 24GiB, 512M or 1.5T"},
		`{"command":["x"],"mem":"0G"}`:      {"mem 0 claims nothing", "for no GPU say gpus 0"},
		`{"command":["x"],"gpu_ids":["0"],"gpus":2}`: {"gpus 2 asks for more than the 1 that gpu_ids names", "without gpus it is"},
	} {
		if status, e := refusal(t, s, "POST", "/api/jobs", body); status != 400 || !strings.Contains(e.Message, want[0]) || !strings.Contains(e.Hint, want[1]) {
			t.Errorf("%s: %d %+v", body, status, e)
		}
	}
	d.reply[ipc.VerbSubmit] = func(context.Context, *ipc.Call) error {
		return &ipc.Error{Code: ipc.CodeImpossible, Message: "--cwd /x: there is no such directory; see a--mem and --nonsense", Hint: "(--mem 72G fits; without --cwd it is your home there)"}
	}
	_, e := refusal(t, s, "POST", "/api/jobs", `{"command":["x"]}`)
	if e.Message != "cwd /x: there is no such directory; see a--mem and --nonsense" || e.Hint != "(mem 72G fits; without cwd it is your home there)" {
		t.Errorf("%+v", e)
	}
}

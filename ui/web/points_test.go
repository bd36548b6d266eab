package web

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pasar"
	"pasar/ipc"
	"pasar/submission"
)

func TestAnArrayOrSweepIsMadeAsOnTheCommandLine(t *testing.T) {
	s, d := newServer(t)
	d.reply[ipc.VerbSubmit] = func(_ context.Context, c *ipc.Call) error {
		return c.Answer(ipc.SubmitAnswer{Job: 7, Jobs: []pasar.JobID{7, 8}, View: []byte(`{"id":7}`)})
	}
	word := func(args ...string) (out []pasar.Point) { // as --array, then --param
		t.Helper()
		a := submission.Array{}
		var err error
		if args[0] != "" {
			if a, err = submission.ParseArray(args[0]); err != nil {
				t.Fatal(err)
			}
		}
		params, err := submission.ParseParams(args[1:])
		if err != nil {
			t.Fatal(err)
		}
		if out, err = submission.Points(a.Indices, nil, params); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, c := range []struct {
		words string
		want  []pasar.Point
		most  int
	}{
		{`"array":"0-9:3%2"`, word("0-9:3"), 2},
		{`"array":[5,1]`, word("5,1"), 0},
		{`"array":"0-1%2","max_concurrent":1`, word("0-1"), 1},
		{`"param":{"lr":["1e-5",3e-5],"seed":[1,true]}`, word("", "lr=1e-5,3e-5", "seed=1,true"), 0},
		{`"param":["seed=1,2","lr=a,b"]`, word("", "seed=1,2", "lr=a,b"), 0},
		{`"param":{"b":["2,4"],"a":[""]},"array":[3],"max_concurrent":4`, word("3", `b="2,4"`, "a="), 4},
		{`"points":[{"index":0,"params":{"lr":"1e-5"}},{"params":{"lr":2},"index":1}]`, append(word("0", "lr=1e-5"), word("1", "lr=2")...), 0},
		{`"points":[{"params":{"x":"a","w":"b"}}]`, word("", "x=a", "w=b"), 0},
		{`"array":null,"param":null,"points":null`, nil, 0},
	} {
		var r ipc.SubmitRequest
		w := ask(t, s, "POST", "/api/jobs", `{"command":["x","{lr}"],`+c.words+`}`, nil)
		if w.Code != 201 || w.Body.String() != "{\"schema\":1,\"group\":7,\"jobs\":[7,8]}\n" || w.Header().Get("Location") != "/api/jobs?group=7" {
			t.Fatalf("%s: %d %s %s", c.words, w.Code, w.Body, w.Header())
		}
		d.bound(t, ipc.VerbSubmit, &r)
		if got, want := shown(r.Points), shown(c.want); !reflect.DeepEqual(got, want) || r.Spec.MaxConcurrent != c.most {
			t.Errorf("%s: %s, %d at once; want %s, %d", c.words, got, r.Spec.MaxConcurrent, want, c.most)
		}
	}
	if w := ask(t, s, "POST", "/api/jobs", `{"command":["x"],"array":"0-1","dry_run":true}`, nil); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	var r ipc.SubmitRequest
	if d.bound(t, ipc.VerbPlanSubmit, &r); len(r.Points) != 2 {
		t.Errorf("a dry run of %d points", len(r.Points))
	}
}

// shown are points as JSON, so that pointers don't matter.
func shown(points []pasar.Point) string {
	b, err := json.Marshal(points)
	if err != nil || len(points) == 0 {
		return ""
	}
	return string(b)
}

func TestABadArrayOrSweepIsRefusedInOneLine(t *testing.T) {
	s, d := newServer(t)
	many := strings.TrimSuffix(strings.Repeat("{},", pasar.MaxPoints+1), ",")
	for words, want := range map[string]struct {
		status int
		says   string
	}{
		`"array":"9-1"`:                      {400, "no list of indices"},
		`"array":[1,1]`:                      {400, "index 1 is there twice"},
		`"array":[-1]`:                       {400, "no list of indices"},
		`"array":[]`:                         {400, "no list of indices"},
		`"array":{}`:                         {400, "array"},
		`"array":"0-10000"`:                  {400, "more than 10000 jobs"},
		`"array":"0-9999","param":["a=1,2"]`: {400, "more than 10000 jobs"},
		`"param":{"index":[1]}`:              {400, "index is the index of an array"},
		`"param":{"a b":[1]}`:                {400, "can't be a parameter's name"},
		`"param":{"a":[]}`:                   {400, "a: it takes a list of values"},
		`"param":{"a":1}`:                    {400, "a: it takes a list of values"},
		`"param":{"a":[1],"a":[2]}`:          {400, `"a" is there twice`},
		`"param":{"a":[null]}`:               {400, "a value is a string or a number"},
		`"param":{"a":[[1]]}`:                {400, "a value is a string or a number"},
		`"param":["lr"]`:                     {400, "has no values"},
		`"points":[]`:                        {400, "at least one"},
		`"points":[1]`:                       {400, "point 1: it isn't an object"},
		`"points":[{"indx":1}]`:              {400, `not "indx"`},
		`"points":[{"index":-1}]`:            {400, "from 0 to 4000000"},
		`"points":[{"params":{"a":1}},{"params":{"b":1}}]`:      {400, "point 2 has other parameters"},
		`"points":[{"index":1},{}]`:                             {400, "point 2 has other parameters"},
		`"points":[{"index":1}],"array":"0-1"`:                  {400, "points exclude array and param"},
		`"max_concurrent":2`:                                    {400, "max_concurrent is about"},
		`"array":"0-1","max_concurrent":-2`:                     {400, "negative"},
		`"points":[` + many + `]`:                               {422, "at most 10000"},
		`"points":[{"params":{"a":"` + "\\u0000" + `","b":1}}]`: {201, ""}, // the daemon's to refuse
	} {
		w := ask(t, s, "POST", "/api/jobs", `{"command":["x"],`+words+`}`, nil)
		if w.Code != want.status || !strings.Contains(w.Body.String(), strings.ReplaceAll(want.says, `"`, `\"`)) || strings.Count(w.Body.String(), "\n") != 1 {
			t.Errorf("%.80s: %d %s; want %d %q", words, w.Code, w.Body, want.status, want.says)
		}
	}
	if n := d.calls(ipc.VerbSubmit); n != 1 {
		t.Errorf("%d submits", n)
	}
}

func FuzzGroupWords(f *testing.F) {
	for _, s := range []string{`{"array":"0-9%4"}`, `{"param":{"lr":[1,"a"]}}`, `{"points":[{"index":0,"params":{"lr":"1e-5"}}]}`, `{"array":[1],"param":["a=1"],"max_concurrent":2}`, `{"points":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var g groupWords
		if json.Unmarshal(b, &g) != nil {
			return
		}
		all, _, err := g.points()
		if err != nil {
			return
		}
		if len(all) > pasar.MaxPoints {
			t.Errorf("%d points", len(all))
		}
		for i := range all {
			if len(all[i].Params) != len(all[0].Params) {
				t.Errorf("%v", all)
			}
			_ = fmt.Sprint(all[i].Fill("{index} {a}"))
		}
	})
}

package pasar

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// kindsInSource reads the constants of type FactKind, so that a new one can't be forgotten here.
func kindsInSource(t *testing.T) []FactKind {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "fact.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []FactKind
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := v.Type.(*ast.Ident); ok && id.Name == "FactKind" {
			s, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, FactKind(s))
		}
		return true
	})
	return kinds
}

func TestEveryKindOfFactCanBeReadBack(t *testing.T) {
	kinds := kindsInSource(t)
	if len(kinds) == 0 || len(kinds) != len(decoders) {
		t.Errorf("%d kinds and %d decoders", len(kinds), len(decoders))
	}
	for _, k := range kinds {
		dec, ok := decoders[k]
		if !ok {
			t.Errorf("%s has no decoder", k)
			continue
		}
		if f, err := dec([]byte("{}")); err != nil || f.Kind() != k {
			t.Errorf("the decoder of %s makes a %T, %v", k, f, err)
		}
	}
}

// TestKindsAreNeverRenamed holds what is on people's disks. Add to it; change nothing in it.
func TestKindsAreNeverRenamed(t *testing.T) {
	want := strings.Fields(`answered bid_changed cancelled_waiting daemon_started ended exited git_read held incident
		launched lost machine_seen released reported restarted started stop_asked submitted
		drained edited resume_asked undrained xid_seen`)
	for _, k := range want {
		if _, ok := decoders[FactKind(k)]; !ok {
			t.Errorf("facts of kind %s can't be read any more", k)
		}
	}
}

func TestEveryFactSurvivesTheJournal(t *testing.T) {
	for i, k := range slices.Sorted(maps.Keys(decoders)) {
		fact, err := decoders[k]([]byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		v := reflect.New(reflect.TypeOf(fact)).Elem()
		fill(t, v, i)
		r := Record{Seq: int64(i + 1), At: time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC), Mono: 90061e9 + 7, Boot: "b",
			Fact: v.Interface().(Fact)}
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var got Record
		if err := json.Unmarshal(b, &got); err != nil {
			t.Errorf("%s: %v", k, err)
			continue
		}
		if !reflect.DeepEqual(got, r) {
			t.Errorf("%s:\n got %+v\nwant %+v", k, got, r)
		}
	}
}

// fill sets every field to something that isn't its zero value, or it would prove nothing.
func fill(t *testing.T, v reflect.Value, n int) {
	t.Helper()
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 2, 3, 4, 5, 6, n+1, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), n+i+1)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0), n+1)
		fill(t, v.Index(1), n+2)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, val := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key, n)
		fill(t, val, n)
		v.SetMapIndex(key, val)
	case reflect.String:
		v.SetString("text " + strconv.Itoa(n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n + 1))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(uint64(n + 1))
	case reflect.Float64:
		v.SetFloat(float64(n) + 0.5)
	default:
		t.Fatalf("fill a %s: teach this test about it", v.Type())
	}
}

func TestAnUnknownFactIsAnErrorAndNotSkipped(t *testing.T) {
	for s, want := range map[string]string{
		`{"seq":7,"kind":"from_the_future","fact":{}}`: `record 7: unknown kind of fact "from_the_future"`,
		`{"seq":7,"kind":"held"}`:                      "record 7 (held)",
		`{"seq":7,"kind":"held","fact":{"job":"x"}}`:   "record 7 (held)",
		`{"seq":7,"kind":"a\u001b","fact":{}}`:         `a\\x1b`,
		`[]`:                                           "decode record",
	} {
		var r Record
		if err := json.Unmarshal([]byte(s), &r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v; want one with %q", s, err, want)
		}
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"seq":1,"kind":"held","at":"2026-01-02T03:04:05Z","mono":1.5,"boot":"b","fact":{"job":3}}`))
	f.Add([]byte(`{"seq":1,"kind":"ended","fact":{"exit":{"run_time":9223372036}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Record
		if json.Unmarshal(b, &r) != nil {
			return
		}
		again, err := json.Marshal(r)
		if err != nil {
			return // a year that RFC 3339 can't write
		}
		var r2 Record
		if err := json.Unmarshal(again, &r2); err != nil {
			t.Errorf("%s encodes to %s: %v", b, again, err)
		}
	})
}

func TestARecordIsEncodedAsItsFieldsSay(t *testing.T) {
	for _, r := range []Record{
		{Seq: 1, At: time.Unix(1, 5), Mono: 3_600_000_000_001, Boot: `b"<>` + "\x01", Fact: Submitted{Job: 7, Spec: Spec{Name: "a<b", Argv: Args([]string{"x", "\xff"})}}},
		{Seq: 2, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("x", 3600)), Fact: Ended{Job: 1}},
		{Seq: 1 << 40, Fact: DaemonStarted{}},
	} {
		body, err := json.Marshal(r.Fact)
		if err != nil {
			t.Fatal(err)
		}
		want, err1 := json.Marshal(recordHead{r.Seq, r.Fact.Kind(), r.At.UTC(), r.Mono, r.Boot, body})
		got, err2 := r.AppendJSON([]byte("x"))
		whole, err3 := json.Marshal(r)
		if err1 != nil || err2 != nil || err3 != nil || string(got) != "x"+string(want) || string(whole) != string(want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		var back Record
		if err := json.Unmarshal(want, &back); err != nil || back.Seq != r.Seq || !back.At.Equal(r.At) {
			t.Errorf("%+v, %v", back, err)
		}
	}
	if _, err := (Record{At: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), Fact: DaemonStarted{}}).AppendJSON(nil); err == nil {
		t.Error("a year that no reader takes was written")
	}
}

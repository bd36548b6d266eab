package main

import (
	"reflect"
	"strings"
	"testing"

	"pasar"
)

func TestAParamFileHasAPointInEachRow(t *testing.T) {
	rows, err := parseParamFile("f", "a, b\n# none of it\n1,\"x\ny\"\n2,\n")
	want := [][]pasar.Param{{{Name: "a", Value: "1"}, {Name: "b", Value: "x\ny"}}, {{Name: "a", Value: "2"}, {Name: "b"}}}
	if err != nil || !reflect.DeepEqual(rows, want) {
		t.Errorf("%+v, %v", rows, err)
	}
}

func TestABadParamFileSaysWhatIsWrongAndWhere(t *testing.T) {
	for in, want := range map[string]string{"": "f:1: it is empty", "a,b\n": "f:1: there is no row", "a,a\n1,2": "f:1: a is there twice", "a\n1\n1,2\n": "f:3: wrong number of fields",
		"a-b\n1": `f:1: the heading: "a-b" can't be`, "a,b\n1,\"x\n": "f:2: ", "a\n\x00\n": "f:2: a holds a NUL byte"} {
		if _, err := parseParamFile("f", in); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}

func FuzzParamFile(f *testing.F) {
	f.Add("a,b\n1,2\n")
	f.Add("a\n\"x\n")
	f.Fuzz(func(t *testing.T, s string) {
		rows, err := parseParamFile("f", s)
		if err != nil && !oneLine(err.Error()+"\n") {
			t.Errorf("%q: %q", s, err)
		}
		for _, r := range rows {
			if len(r) != len(rows[0]) || !pasar.IsParamName(r[0].Name) {
				t.Errorf("%q: %+v", s, r)
			}
		}
	})
}

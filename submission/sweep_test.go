package submission

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pasar"
)

func TestAnArrayIsWhatSlurmWouldMakeOfIt(t *testing.T) {
	for in, want := range map[string]string{
		"0-9": "[0 1 2 3 4 5 6 7 8 9] 0", "1,3,5": "[1 3 5] 0", "0-9:2": "[0 2 4 6 8] 0", "0-9:4%2": "[0 4 8] 2", "7": "[7] 0", "5,1-2%3": "[5 1 2] 3", "3-3:9": "[3] 0",
	} {
		a, err := ParseArray(in)
		if got := fmt.Sprint(a.Indices, a.AtOnce); err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"": "no list of indices", "a": "no list", "5-1": "no list", "1-": "no list", "-1": "no list", "0-9:0": "no list", "3:2": "no list", "1,1": "index 1 is there twice", "0-3,2": "index 2 is there twice",
		"0-10000": "more than 10000 jobs", "0-4000000": "more than", "0-9%": "how many may run at once", "0-9%0": "at once", "0-9%x": "at once", "9999999999": "no list", "0-6000,10000-19999": "more than", "1 2": "no list",
	} {
		if a, err := ParseArray(in); err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "; "+arrayForms) {
			t.Errorf("%q: %v, %v; want %q", in, a, err, want)
		}
	}
}

func FuzzParseArray(f *testing.F) {
	for _, s := range []string{"0-9", "1,3,5", "0-9:2%3", "0-99999999", "1-2-3", "%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseArray(s)
		if err == nil && (len(a.Indices) == 0 || len(a.Indices) > pasar.MaxPoints || a.AtOnce < 0) {
			t.Errorf("%q: %d indices, %d at once", s, len(a.Indices), a.AtOnce)
		}
		if err == nil && len(slices.Compact(slices.Sorted(slices.Values(a.Indices)))) != len(a.Indices) {
			t.Errorf("%q: an index is there twice", s)
		}
	})
}

func TestASweepIsTheCrossProductInTheOrderGiven(t *testing.T) {
	params, err := ParseParams([]string{"lr=1e-5,3e-5", `layers="2,4",8`, "lr=x=y"})
	if err != nil {
		t.Fatal(err)
	}
	all, err := Points([]int{4, 0}, nil, params)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range all {
		got = append(got, p.Fill("{index} {lr} {layers} {other}"))
	}
	want := []string{"4 1e-5 2,4 {other}", "4 1e-5 8 {other}", "4 3e-5 2,4 {other}", "4 3e-5 8 {other}", "4 x=y 2,4 {other}", "4 x=y 8 {other}"}
	if len(got) != 12 || !slices.Equal(got[:6], want) || got[6] != "0 1e-5 2,4 {other}" {
		t.Errorf("%q", got)
	}
	rows := [][]pasar.Param{{{Name: "a", Value: "1"}, {Name: "b", Value: "x\ny"}}, {{Name: "a", Value: "2"}, {Name: "b"}}}
	all, err = Points(nil, rows, []Param{{"c", []string{"p", "q"}}})
	if err != nil || len(all) != 4 || all[0].Fill("{a}|{b}|{c}") != "1|x\ny|p" || all[3].Fill("{a}|{b}|{c}") != "2||q" {
		t.Errorf("%+v, %v", all, err)
	}
	if none, err := Points(nil, nil, nil); none != nil || err != nil {
		t.Errorf("%v, %v", none, err)
	}
}

func TestABadSweepSaysWhatIsWrongAndWhere(t *testing.T) {
	for in, want := range map[string]string{"lr": "has no values", "1x=2": "can't be a parameter's name", "=1": "can't be a parameter's name", "index=1": "index is the index of an --array",
		"a=1\n2": "a value with a line break", `a="1`: ""} {
		_, err := ParseParams([]string{in})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
	many := make([]string, 101)
	if _, err := Points(nil, nil, []Param{{"a", many}, {"b", many}}); err == nil || !strings.Contains(err.Error(), "more than 10000 jobs") {
		t.Errorf("10201 jobs: %v", err)
	}
	if _, err := Points(nil, [][]pasar.Param{{{Name: "a", Value: "1"}}}, []Param{{"a", []string{"1"}}}); err == nil {
		t.Error("a parameter from both is taken")
	}
	if _, err := Points([]int{1, 2}, nil, []Param{{Name: "a"}}); err == nil || !strings.Contains(err.Error(), "no values") {
		t.Errorf("a parameter without values: %v", err)
	}
}

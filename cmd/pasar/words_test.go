package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/answer"
)

func TestAMisspelledWordFindsItsNeighbour(t *testing.T) {
	for in, want := range map[string]string{"submti": "submit", "satus": "status", "lgos": "logs", "cancle": "cancel", "zzz": "", "": ""} {
		if got := nearest(in, []string{"submit", "status", "logs", "cancel", "ls"}); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestReferencesNameJobs(t *testing.T) {
	got, err := parseRefs([]string{"42", "#7", "3,5-8", "last", "@sweep", "group:7"})
	want := []ref{{from: 42, to: 42}, {from: 7, to: 7}, {from: 3, to: 3}, {from: 5, to: 8}, {last: true}, {tag: "sweep"}, {group: 7}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", ",", "-1", "1-", "-", "5-3", "0", "@", "x", "1.5", "99999999999999999999", "1-2-3", "group:", "group:0", "group:x"} {
		if r, err := parseRefs([]string{bad}); err == nil {
			t.Errorf("%q names %+v", bad, r)
		}
	}
}

func FuzzParseRefs(f *testing.F) {
	for _, s := range []string{"42", "3,5-8", "last", "@t", "group:7", "#1", "1-100001"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		refs, err := parseRefs([]string{s})
		n := pasar.JobID(0)
		for _, r := range refs {
			if !r.last && r.tag == "" && r.group == 0 && (r.from < 1 || r.to < r.from) {
				t.Errorf("%q: %+v", s, r)
			}
			n += r.to - r.from + 1
		}
		if err == nil && n > maxJobs {
			t.Errorf("%q names %d jobs", s, n)
		}
	})
}

func TestALineHasTheTimeOfItsFirstByte(t *testing.T) {
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	c := &call{app: &app{}}
	var out strings.Builder
	l := c.newLines(func(b []byte, of answer.Piece) []byte { return fmt.Appendf(b, "%d ", of.At.Sub(day)/time.Second) })
	for _, p := range []struct {
		second int
		text   string
	}{{1, "one\r\ntw"}, {2, "o\r\n"}, {3, "three\r\n 1%"}, {4, "\r 50%"}, {5, "\r100%\r\n\r\nbar 1\r\nbar 2\r\n"}, {6, "\x1b[2Abar 1 done\r\n\r\n"}, {7, "last"}} {
		out.Write(l.Render(answer.Piece{Data: []byte(p.text), At: day.Add(time.Duration(p.second) * time.Second)}))
	}
	out.Write(l.Finish())
	want := "1 one\n1 two\n3 three\n3 100%\n5 \n5 bar 1 done\n5 bar 2\n6 last\n" // its line was there while those above were drawn again
	if out.String() != want {
		t.Errorf("%q\nwant %q", out.String(), want)
	}
}

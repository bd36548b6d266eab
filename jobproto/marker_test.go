package jobproto

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAMarkerNamesItsCheckpointOrSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ in, path, wrong string }{
		{`{"checkpoint": "/data/ck"}`, "/data/ck", ""},
		{" {\"checkpoint\":\"ck/é\\u0041\"}\n", "ck/éA", ""},
		{`{"step": 3, "extra": {"checkpoint": "/no"}, "checkpoint": "/yes", "x": [1, {}]}`, "/yes", ""},
		{``, "", "is empty"},
		{" \n", "", "is empty"},
		{`/data/ck`, "", "is not JSON"},
		{`{"checkpoint": "/data`, "", "is not JSON"},
		{`{"checkpoint": "/data"`, "", "is not JSON"},
		{`{'checkpoint': '/data'}`, "", "is not JSON"},
		{`{"checkpoint": NaN}`, "", "is not JSON"},
		{`"/data/ck"`, "", "is not a JSON object"},
		{`["/data/ck"]`, "", "is not a JSON object"},
		{`{"checkpoint": "/a"} {}`, "", "something after"},
		{`{"checkpoint": "/a"} x`, "", "something after"},
		{`{"checkpoint": "/a", "checkpoint": "/b"}`, "", "twice"},
		{`{}`, "", "names no checkpoint"},
		{`{"Checkpoint": "/a"}`, "", "names no checkpoint"},
		{`{"checkpoint": null}`, "", "names no checkpoint"},
		{`{"checkpoint": ""}`, "", "names no checkpoint"},
		{`{"checkpoint": 7}`, "", "not a string"},
		{`{"checkpoint": {"path": "/a"}}`, "", "not a string"},
		{`{"checkpoint": "a\u0000b"}`, "", "NUL"},
		{"{\"checkpoint\": \"\xff\"}", "", "not UTF-8"},
		{`{"checkpoint": "/` + strings.Repeat("a", MaxPath) + `"}`, "", "at most 4096"},
		{`{"checkpoint": "/a", "x": "` + strings.Repeat("a", MaxMarker) + `"}`, "", "larger than 64 KiB"},
	} {
		path, err := DecodeMarker([]byte(c.in))
		if path != c.path || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%.60q: %q, %v; want %q, %q", c.in, path, err, c.path, c.wrong)
		}
	}
}

func FuzzDecodeMarker(f *testing.F) {
	for _, s := range []string{`{"checkpoint":"/a"}`, `{"a":[{}],"checkpoint":"b"}`, `{"checkpoint":1}`, `[`, "{\"checkpoint\":\"\\ud800\"}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		path, err := DecodeMarker(b)
		if (err == nil) != (path != "") {
			t.Fatalf("%q, %v", path, err)
		}
		if err != nil {
			if s := err.Error(); !utf8.ValidString(s) || len(s) > 200 || strings.ContainsAny(s, "\n\x1b") {
				t.Fatalf("error %q", s)
			}
			return
		}
		if len(path) > MaxPath || strings.IndexByte(path, 0) >= 0 {
			t.Fatalf("path %q", path)
		}
		// What it takes for a marker is JSON to everybody else, with that path.
		var m map[string]any
		if err := json.Unmarshal(b, &m); err != nil || m["checkpoint"] != path {
			t.Fatalf("%v, %v; want %q", m, err, path)
		}
	})
}

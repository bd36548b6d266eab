package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pasar"
)

func TestLogsNeedsNoDaemon(t *testing.T) {
	dir := t.TempDir()
	conf := dir + "/c.toml"
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(conf, "autostart = false\n")
	jobs := dir + "/.local/share/pasar/jobs/"
	write(jobs+"4/1/"+pasar.OutputFile, "first\r\n")
	write(jobs+"4/10/"+pasar.OutputFile, "one\r\ntwo\r\n\x00\x00\x00\x00three\r\n")
	write(jobs+"4/10/index", "{\"gap_from\":10,\"gap_to\":14}\n")
	write(jobs+"5/1/spec", "{}")
	env := []string{"HOME=" + dir, "PASAR_CONFIG=" + conf, "PATH=/usr/bin:/bin"}
	for _, tc := range []struct {
		args, out, err string
		code           int
	}{
		{"4", "one\ntwo\nthree\n", "attempt 10 of job #4", 0},
		{"4", "one\ntwo\nthree\n", "4 B of job #4's output, from byte 10 on, are not to be had", 0},
		{"--attempt 1 4", "first\n", "attempt 1 of job #4", 0},
		{"--raw --attempt 1 4", "first\r\n", "", 0},
		{"-n 1 4", "three\n", "", 0},
		{"--json --attempt 1 4", `{"schema":1,"job":4,"attempt":1,"line":"first"}` + "\n", "", 0},
		{"--attempt 2 4", "", "no daemon at ", exitNoDaemon},
		{"5", "", "no daemon at ", exitNoDaemon},
		{"6", "", "no daemon at ", exitNoDaemon},
		{"-f 4", "", "no daemon at ", exitNoDaemon},
	} {
		r := runIn(t, t.Context(), env, append([]string{"logs"}, strings.Fields(tc.args)...)...)
		if r.code != tc.code || r.out != tc.out || !strings.Contains(r.stderr, tc.err) {
			t.Errorf("logs %s: exit %d, %q, %q", tc.args, r.code, r.out, r.stderr)
		}
	}
}

func FuzzDecodeGaps(f *testing.F) {
	f.Add([]byte("{\"gap_from\":10,\"gap_to\":14}\n{\"gap_from\":12,\"gap_to\":13}\nx"))
	f.Fuzz(func(t *testing.T, b []byte) {
		last := int64(0)
		for _, g := range decodeGaps(b) {
			if g.From < last || g.To <= g.From {
				t.Errorf("%+v after %d", g, last)
			}
			last = g.To
		}
	})
}

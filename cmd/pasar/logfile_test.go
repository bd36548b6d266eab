package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/attemptdir"
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
	write(jobs+"7/1/"+pasar.OutputFile, "first\r\nsecond\r\n")
	write(jobs+"7/1/"+pasar.OutputFile+".20", "third\r\n")
	write(jobs+"7/1/"+pasar.OutputFile+".27", "fourth\r\n")
	now := time.Now().Truncate(time.Second)
	var index []byte
	for _, m := range []attemptdir.Mark{
		{Offset: 0, At: now.Add(-2 * time.Hour), Runs: []attemptdir.Run{{Stream: 1, Len: 7}, {Stream: 2}}},
		{Offset: 20, At: now.Add(-time.Minute), Runs: []attemptdir.Run{{Stream: 1}}},
	} {
		index = attemptdir.AppendMark(index, m)
	}
	write(jobs+"7/1/index", string(index))
	write(jobs+"7/1/spec", `{"no_pty":true}`)
	stamp := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339) + " " }
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
		{"7", "first\nsecond\nthird\nfourth\n", "5 B of job #7's output, from byte 15 on, are not to be had", 0},
		{"-n 2 7", "third\nfourth\n", "", 0},
		{"--since 10m 7", "third\nfourth\n", "", 0},
		{"--since 1s 7", "", "", 0},
		{"--since 1d -n 3 7", "second\nthird\nfourth\n", "", 0},
		{"--since 10m -n 9 7", "third\nfourth\n", "", 0},
		{"--stderr 7", "second\n", "", 0},
		{"--stdout -n 2 7", "third\nfourth\n", "", 0},
		{"--stderr 4", "", "job 4 ran in a terminal, where output and errors are one stream", exitRefused},
		{"--timestamps 7", stamp(-2*time.Hour) + "first\n" + stamp(-2*time.Hour) + "second\n" + stamp(-time.Minute) + "third\n" + stamp(-time.Minute) + "fourth\n", "", 0},
		{"--timestamps --raw 7", "", "exclude each other", exitUsage},
		{"--json -n 1 7", `{"schema":1,"job":7,"attempt":1,"at":"` + now.Add(-time.Minute).UTC().Format(time.RFC3339) + `","stream":"stdout","line":"fourth"}` + "\n", "", 0},
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

package supervisor_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pasar"
)

func TestAMissingInterpreterIsNamed(t *testing.T) {
	dir := t.TempDir()
	outer := "#!" + filepath.Join(dir, "inner") + "\n"
	for name, c := range map[string]struct{ text, step, want string }{
		"missing":     {"#!/nonexistent/interp\necho hi\n", "interpreter", "run ./missing: no such interpreter: /nonexistent/interp"},
		"argument":    {"#! /nonexistent/interp -x\n", "interpreter", "run ./argument: no such interpreter: /nonexistent/interp"},
		"relative":    {"#!interp/here", "interpreter", "run ./relative: no such interpreter: interp/here"},
		"crlf":        {"#!/bin/sh\r\necho hi\r\n", "interpreter", `run ./crlf: no such interpreter: /bin/sh\r (the script's lines end in CR LF, as on Windows)`},
		"control":     {"#!/\x1b[2J\n", "interpreter", `run ./control: no such interpreter: /\x1b[2J`},
		"inner":       {"#!/nonexistent/deep\n", "interpreter", "run ./inner: no such interpreter: /nonexistent/deep"},
		"outer":       {outer, "interpreter", "run ./outer: no such interpreter: /nonexistent/deep"},
		"not-written": {"", "exec", "run ./not-written: no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			for file, text := range map[string]string{name: c.text, "inner": "#!/nonexistent/deep\n"} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			r := warm(t)
			r.spec.Argv, r.spec.Cwd = pasar.Args([]string{"./" + name}), pasar.Arg(dir)
			r.launch()
			rec := r.end()
			if rec.LaunchStep != c.step || rec.LaunchError != c.want || syscall.Errno(rec.Errno) != syscall.ENOENT {
				t.Errorf("%s, errno %d: %s", rec.LaunchStep, rec.Errno, rec.LaunchError)
			}
		})
	}
}

func TestAProgramWithoutItsLoaderIsNotCalledMissing(t *testing.T) {
	bin := compile(t, "int main(void) { return 0; }")
	b, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	// The dynamic loader's path, changed to one that isn't there.
	text := string(b)
	i := strings.Index(text, "/ld-")
	if i < 0 {
		t.Skip("the compiler links statically")
	}
	if err := os.WriteFile(bin, []byte(text[:i]+"/no-"+text[i+4:]), 0o755); err != nil {
		t.Fatal(err)
	}
	r := warm(t)
	r.spec.Argv = pasar.Args([]string{bin})
	r.launch()
	if rec := r.end(); rec.LaunchStep != "interpreter" || !strings.Contains(rec.LaunchError, "no such loader") {
		t.Errorf("%s: %s", rec.LaunchStep, rec.LaunchError)
	}
}

package submission

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
)

func TestOneArgumentWithSpacesIsALineForAShell(t *testing.T) {
	for _, tc := range []struct {
		in   []string
		sh   bool
		want []string
	}{
		{[]string{"echo $X | cat"}, false, []string{Shell, "-c", "echo $X | cat"}},
		{[]string{"echo"}, false, []string{"echo"}},
		{[]string{"a b", "c"}, false, []string{"a b", "c"}},
		{[]string{"echo", "$X"}, true, []string{Shell, "-c", "echo $X"}},
	} {
		if got, err := Argv(tc.in, tc.sh); err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%q: %q, %v", tc.in, got, err)
		}
	}
}

func TestARefusalHasAHintApartFromIt(t *testing.T) {
	_, none := Argv(nil, false)
	_, size := ParseMemory("24")
	_, gpu := ParseGPUs("x")
	for _, tc := range []struct {
		err        error
		what, hint string
	}{
		{none, "no command given", "`pasar submit [flags] CMD…`"},
		{refusef("plain"), "plain", ""},
		{size, `bad size "24": a size needs a unit`, "24G, 24M?"},
		{gpu, `"x" names no GPU`, "write 0,3 or"},
		{errors.New("plain"), "plain", ""},
	} {
		if what, hint := Explain(tc.err); what != tc.what || !strings.HasPrefix(hint, tc.hint) || (tc.hint == "") != (hint == "") {
			t.Errorf("%v: %q, %q", tc.err, what, hint)
		}
	}
}

// TestWhatSomebodyWroteIsNoPartOfTheHint: a word may have anything in it, also what stands between a refusal and its hint.
func TestWhatSomebodyWroteIsNoPartOfTheHint(t *testing.T) {
	now := time.Now()
	for name, parse := range map[string]func(string) error{
		"memory":   func(s string) error { _, err := ParseMemory(s); return err },
		"size":     func(s string) error { _, err := pasar.ParseBytes(s); return err },
		"time":     func(s string) error { _, err := pasar.ParseDuration(s); return err },
		"money":    func(s string) error { _, err := pasar.ParseMoney(s); return err },
		"gpus":     func(s string) error { _, err := ParseGPUs(s); return err },
		"count":    func(s string) error { _, err := ParseCount(s); return err },
		"bid":      func(s string) error { _, err := ParseBid(s); return err },
		"external": func(s string) error { _, err := ParseExternal(s); return err },
		"array":    func(s string) error { _, err := ParseArray(s); return err },
		"begin":    func(s string) error { _, err := ParseBegin(s, now); return err },
		"since":    func(s string) error { _, err := ParseSince(s, now); return err },
	} {
		for _, word := range []string{"24G; rm", "2h; rm", "1; rm", "x; rm"} {
			err := parse(word)
			if err == nil {
				t.Errorf("%s: %q is understood", name, word)
				continue
			}
			for _, err := range []error{err, fmt.Errorf("of it: %w", err)} {
				what, hint := Explain(err)
				if strings.Contains(hint, "rm") || strings.Contains(what, `"`+word[:2]) && !strings.Contains(what, word) || !strings.HasPrefix(err.Error(), what) {
					t.Errorf("%s: %q, %q of %v", name, what, hint, err)
				}
			}
		}
	}
}

func TestAnEnvironmentHasEachVariableOnceAndNoneOfTheJobItIsIn(t *testing.T) {
	env := []string{"B=1", "A=x", "B=2", "PASAR_JOB_ID=7", "PASAR_TOKEN=t", "nothing", "=odd", "PATH=/bin", "PASAR_GPU_FRACTION=0.5", "XLA_PYTHON_CLIENT_MEM_FRACTION=0.5"}
	for _, tc := range []struct {
		bare bool
		add  []string
		want string
	}{
		{false, nil, "A=x B=2 PASAR_TOKEN=t PATH=/bin"},
		{true, nil, "PATH=/bin"},
		{true, []string{"A", "C=3", "PATH="}, "A=x C=3 PATH="},
	} {
		got, err := Env(env, tc.bare, tc.add)
		if s := strings.Join(pasar.Strings(got), " "); err != nil || s != tc.want {
			t.Errorf("bare %v, %q: %q, %v; want %q", tc.bare, tc.add, s, err, tc.want)
		}
	}
	for add, want := range map[string]string{"=x": `--env "=x" has no name`, "NOPE": "--env NOPE: it is not set here", "BIG=" + strings.Repeat("x", pasar.MaxEnv): "the environment is "} {
		var e *Error
		if _, err := Env(env, false, []string{add}); !errors.As(err, &e) || !strings.HasPrefix(e.Message, want) || e.Hint == "" {
			t.Errorf("%.20q: %v", add, err)
		}
	}
}

func TestSurroundingsAreWhatAChildWouldInherit(t *testing.T) {
	old := unix.Umask(0o137)
	got := Surroundings([]pasar.Arg{"A=1"})
	unix.Umask(old)
	if got.Umask != 0o137 || got.Nice < -20 || got.Nice > 19 || len(got.Limits) != resources || !slices.Equal(got.Env, []pasar.Arg{"A=1"}) {
		t.Errorf("%+v", got)
	}
}

func TestADirectoryIsAbsoluteAndThere(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Mkdir("sub", 0o700); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{"": here, "sub": here + "/sub", "sub/..": here, "/": "/"} {
		if got, err := Dir(in); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"none", "/etc/passwd", "a\x00b", strings.Repeat("long/", 2000)} {
		var e *Error
		if _, err := Dir(in); !errors.As(err, &e) || strings.Contains(err.Error(), "stat ") || len(err.Error()) > 500 {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestAProgramIsLookedForWhereTheJobWouldFindIt(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"bin/run": 0o700, "data": 0o600} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	for prog, want := range map[string]string{"run": "", "./bin/run": "", dir + "/bin/run": "", "./data": "./data is not executable", "./none": "./none does not exist",
		"data": "data is not on the PATH", "\x1b[2J": `\x1b[2J is not on the PATH`} {
		if got := Missing([]string{prog}, dir, []string{"PATH=/nonexistent", "PATH=bin:/nonexistent"}); got != want {
			t.Errorf("%q: %q, want %q", prog, got, want)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"pasar"
	"pasar/ipc"
	"pasar/ui/console"
)

// A run is what a command line came to.
type run struct {
	code        int
	out, stderr string
	shown       *console.Options
}

// off runs the program without a terminal.
func off(t *testing.T, args ...string) run {
	t.Helper()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var out, errs bytes.Buffer
	var r run
	p := &program{[]string{"HOME=" + t.TempDir(), "TERM=xterm"}, null, &out, &errs, func(_ context.Context, o console.Options) error {
		r.shown = &o
		return nil
	}}
	r.code = p.Run(t.Context(), args)
	r.out, r.stderr = out.String(), errs.String()
	return r
}

// on runs it on a terminal; the console ends with fail.
func on(t *testing.T, ctx context.Context, env []string, fail error, args ...string) run {
	t.Helper()
	tty, side, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	defer side.Close()
	var errs bytes.Buffer
	var r run
	p := &program{env, side, side, &errs, func(_ context.Context, o console.Options) error {
		r.shown = &o
		return fail
	}}
	r.code, r.stderr = p.Run(ctx, args), errs.String()
	return r
}

func TestTheConsoleIsShownAsAsked(t *testing.T) {
	grace := pasar.Duration(2 * time.Minute)
	env := []string{"HOME=/nonexistent", "XDG_DATA_HOME=/d", "TERM=dumb", "TERM=vt100", "LANG=C.UTF-8"}
	for line, want := range map[string]console.Options{
		"--socket /s --pasar /p":                     {Socket: "/s", Pasar: "/p", Theme: "dark", Env: env, Bid: 1000, Grace: grace},
		"--socket /s --theme dark --ascii":           {Socket: "/s", ASCII: true, Theme: "dark", Env: env, Bid: 1000, Grace: grace},
		"--read-only=true --socket=/s --theme=light": {Socket: "/s", ReadOnly: true, Theme: "light", Env: env, Bid: 1000, Grace: grace},
	} {
		if r := on(t, t.Context(), env, nil, strings.Fields(line)...); r.code != 0 || r.stderr != "" || r.shown == nil || !reflect.DeepEqual(*r.shown, want) {
			t.Errorf("%s: exit %d, %q, %+v", line, r.code, r.stderr, r.shown)
		}
	}
	if r := on(t, t.Context(), append(env, "PASAR_SOCKET=/x/d.sock"), nil); r.code != 0 || r.shown == nil || r.shown.Socket != "/x/d.sock" {
		t.Errorf("exit %d, %q, %+v", r.code, r.stderr, r.shown)
	}
}

func TestHelpAndVersionNeedNoTerminal(t *testing.T) {
	if r := off(t, "--help"); r.code != 0 || !strings.Contains(r.out, "--read-only") || !strings.Contains(r.out, "exit codes: 0 left, 64 ") || r.stderr != "" {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.stderr)
	}
	if r := off(t, "--version"); r.code != 0 || !strings.HasPrefix(r.out, "pasar-console "+pasar.Version+" (protocol ") {
		t.Errorf("exit %d, %q", r.code, r.out)
	}
}

func TestWhatIsWrongIsOneLineAndAHint(t *testing.T) {
	for line, want := range map[string]string{
		"":             "pasar-console: standard output is no terminal\nhint: `pasar ls --watch` ",
		"--frob":       "pasar-console: unknown flag: --frob\nhint: `pasar-console --help` lists the flags\n",
		"x\x1b[2J":     `pasar-console: unexpected argument "x\x1b[2J"` + "\nhint: ",
		"--theme pink": `pasar-console: --theme "pink": it is auto, light or dark` + "\n",
	} {
		if r := off(t, strings.Fields(line)...); r.code != 64 || r.out != "" || r.shown != nil || !strings.HasPrefix(r.stderr, want) {
			t.Errorf("%q: exit %d, %q, %q", line, r.code, r.out, r.stderr)
		}
	}
	if r := on(t, t.Context(), []string{"TERM=dumb"}, nil); r.code != 64 || !strings.HasPrefix(r.stderr, `pasar-console: this terminal can't show a full screen (TERM is "dumb")`) {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/c.toml", []byte("autostrat = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := on(t, t.Context(), []string{"HOME=" + dir, "TERM=xterm", "PASAR_CONFIG=" + dir + "/c.toml"}, nil); r.code != 65 || !strings.HasPrefix(r.stderr, "pasar-console: "+dir+"/c.toml:1: autostrat") {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
}

func TestHowTheConsoleEndedIsTheExitCode(t *testing.T) {
	for _, tc := range []struct {
		err    error
		code   int
		stderr string
	}{
		{&ipc.Error{Code: ipc.CodeNoDaemon, Message: "no daemon", Hint: "a\nb"}, 69, "pasar-console: no daemon\nhint: a\nhint: b\n"},
		{&ipc.Error{Code: ipc.CodeNotAllowed, Message: "no"}, 77, "pasar-console: no\n"},
		{&ipc.Error{Code: ipc.CodeInterrupted, Message: "interrupted"}, 130, ""},
		{&ipc.Error{Code: ipc.CodeVersion, Message: "old"}, 70, "pasar-console: old\n"},
		{errors.New("\x1b[2Jodd"), 70, `pasar-console: \x1b[2Jodd` + "\n"},
	} {
		if r := on(t, t.Context(), []string{"HOME=/h", "TERM=xterm"}, tc.err, "--socket", "/s"); r.code != tc.code || r.stderr != tc.stderr {
			t.Errorf("%v: exit %d, %q", tc.err, r.code, r.stderr)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := on(t, ctx, []string{"HOME=/h", "TERM=xterm"}, context.Canceled, "--socket", "/s"); r.code != 130 || r.stderr != "" {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
}

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pasar"
	"pasar/ipc"
)

func TestAWarningAboutTheMachineIsGivenOncePerBoot(t *testing.T) {
	warning := "linger is off for ada: jobs may end"
	f := newFake(t, verbs{ipc.VerbSubmit: func(_ context.Context, c *ipc.Call) error {
		return c.Answer(ipc.SubmitAnswer{Job: 1, View: jobView(t, job(1, pasar.Queued, "")), Warning: warning, Hint: "loginctl enable-linger"})
	}}.handle)
	state := t.TempDir()
	env := f.env("XDG_STATE_HOME=" + state)
	submit := func() string {
		r := runIn(t, t.Context(), env, "submit", "true")
		if r.code != 0 || !strings.HasPrefix(r.out, "submitted #1") {
			t.Fatalf("exit %d, %q, %q", r.code, r.out, r.stderr)
		}
		return r.stderr
	}
	want := "pasar: warning: linger is off for ada: jobs may end\npasar: hint: loginctl enable-linger\n"
	if got := submit(); got != want {
		t.Errorf("at first: %q", got)
	}
	if got := submit(); got != "" {
		t.Errorf("again: %q", got)
	}
	warning = "something else"
	if got := submit(); !strings.Contains(got, "something else") {
		t.Errorf("another: %q", got)
	}
	path := filepath.Join(state, "pasar", warnedFile)
	b, err := os.ReadFile(path)
	if err != nil || strings.Count(string(b), "\n") != 2 {
		t.Fatalf("%q, %v", b, err)
	}
	// What was given in an earlier boot is forgotten.
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(b), "-", "+")), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := submit(); got == "" {
		t.Error("nothing after a reboot")
	}
	if b, _ := os.ReadFile(path); strings.Count(string(b), "\n") != 1 {
		t.Errorf("kept: %q", b)
	}
}

func TestAWarningThatCanNotBeRememberedIsGivenAllTheSame(t *testing.T) {
	f := newFake(t, verbs{ipc.VerbSubmit: func(_ context.Context, c *ipc.Call) error {
		return c.Answer(ipc.SubmitAnswer{Job: 1, View: jobView(t, job(1, pasar.Queued, "")), Warning: "w"})
	}}.handle)
	env := f.env("XDG_STATE_HOME=/proc/none")
	for range 2 {
		if r := runIn(t, t.Context(), env, "submit", "true"); r.code != 0 || r.stderr != "pasar: warning: w\n" {
			t.Errorf("exit %d, %q", r.code, r.stderr)
		}
	}
}

package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pasar/ipc"
)

func TestAHistoryOfGPUsGoesBackAsFarAsItIsAsked(t *testing.T) {
	view, err := json.Marshal(gpuHistoryView())
	if err != nil {
		t.Fatal(err)
	}
	var asked ipc.GPUHistoryRequest
	f := newFake(t, verbs{ipc.VerbGPUHistory: func(_ context.Context, c *ipc.Call) error {
		asked = bind[ipc.GPUHistoryRequest](t, c)
		return c.Answer(ipc.ViewAnswer{JSON: view})
	}}.handle)
	r := f.run("gpus", "--history", "6h")
	if ago := time.Since(asked.Since); r.code != 0 || ago < 6*time.Hour || ago > 6*time.Hour+time.Minute || !asked.Until.IsZero() {
		t.Errorf("asked for %+v: %d %s", asked, r.code, r.stderr)
	}
	for _, want := range []string{"GPU 0  H200", "max 3 GiB of 3 GiB", "GPU-2  isn't there now"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q in\n%s", want, r.out)
		}
	}
	if r := f.run("gpus", "--history", "7d"); r.code != 0 || time.Since(asked.Since) < 7*24*time.Hour {
		t.Errorf("asked for %+v: %d %s", asked, r.code, r.stderr)
	}
	if r := f.run("gpus", "--history", "6h", "--json"); r.out != string(view)+"\n" {
		t.Errorf("as JSON: %s", r.out)
	}
	for _, span := range []string{"31d", "1s", "-6h", "6", ""} {
		if r := f.run("gpus", "--history", span); r.code != exitUsage || !strings.Contains(r.stderr, "--history") {
			t.Errorf("--history %q: %d %s", span, r.code, r.stderr)
		}
	}
}

package main

import (
	"context"
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
	"pasar/ipc"
	"pasar/target"
)

// attemptFile is a directory of jobs with an attempt of job 1 in it, and where that has its events.
func attemptFile(t *testing.T) (jobs, events string) {
	t.Helper()
	jobs = t.TempDir()
	dir := filepath.Join(jobs, "1", "1")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return jobs, filepath.Join(dir, pasar.EventsFile)
}

// steps are the steps of the progress that is read; most of them at most, 0: all.
func steps(t *testing.T, jobs string, most int) []int {
	t.Helper()
	var got []int
	err := reportsIn(jobs)(t.Context(), pasar.AttemptKey{Job: 1, Attempt: 1}, func(e pasar.Event) bool {
		if e.Kind == pasar.EventProgress {
			got = append(got, int(*e.Step))
		}
		return len(got) != most
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestReportsAreReadWhateverStandsBetweenThem(t *testing.T) {
	jobs, events := attemptFile(t)
	text := strings.Join([]string{
		`{"event": "progress", "step": 1, "loss": 0.5}`,
		`{"event": "progress", "step": NaN}`,
		`{"event": "progress", "step": 1e999}`,
		"\xff\xfe\x00", "", "[]", `{"event": "progress", "step": {}}`,
		`{"event": "progress", "step": 7, "` + strings.Repeat("x", 70<<10) + `": 1}`,
		strings.Repeat("\x00", 5000) + `{"event": "progress", "step": 8}`,
		`{"event": "checkpoint", "step": 2, "path": "/c"}`,
		`{"event": "progress", "step": 3}`,
		`{"event": "progress", "step": 4}`,
		`{"event": "progress", "st`,
	}, "\n")
	if err := os.WriteFile(events, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := steps(t, jobs, 0); !slices.Equal(got, []int{1, 3, 4}) {
		t.Errorf("read %v", got)
	}
	if got := steps(t, jobs, 2); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("read %v where two were wanted", got)
	}
}

func TestOfALongFileOfReportsTheEndIsRead(t *testing.T) {
	jobs, events := attemptFile(t)
	f, err := os.Create(events)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const n = 200_000
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "{\"event\": \"progress\", \"step\": %d}\n", i)
	}
	if _, err := f.WriteAt([]byte(text.String()), 64<<30); err != nil { // behind a hole
		t.Fatal(err)
	}
	got := steps(t, jobs, 0)
	if len(got) < maxReports/40 || len(got) > maxReports/32 || got[len(got)-1] != n-1 {
		t.Fatalf("%d reports were read, the last %d", len(got), got[len(got)-1])
	}
	for i, step := range got {
		if step != got[0]+i {
			t.Fatalf("report %d is of step %d, the first of %d", i, step, got[0])
		}
	}
}

func TestWhatIsNoFileHasNoReports(t *testing.T) {
	jobs, events := attemptFile(t)
	elsewhere := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(elsewhere, []byte(`{"event": "progress", "step": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, put := range map[string]func() error{
		"nothing":     func() error { return nil },
		"a FIFO":      func() error { return unix.Mkfifo(events, 0o600) },
		"a directory": func() error { return os.Mkdir(events, 0o700) },
		"a link":      func() error { return os.Symlink(elsewhere, events) },
	} {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if got := steps(t, jobs, 0); got != nil {
			t.Errorf("%s has reports %v", what, got)
		}
		_ = os.Remove(events)
	}
}

func TestReportsOfAnAttemptThatIsGoneAreRemoved(t *testing.T) {
	jobs, _ := attemptFile(t)
	err := reportsIn(jobs)(context.Background(), pasar.AttemptKey{Job: 1, Attempt: 2}, func(pasar.Event) bool { return true })
	if !errors.Is(err, target.ErrRemoved) {
		t.Errorf("read with %v", err)
	}
}

func TestWhatAJobReportedIsToldAfterItsEndByAnyDaemon(t *testing.T) {
	h := newHome(t)
	ctx := longContext(t, time.Minute)
	h.start()
	id, err := h.submit(ctx, shell(`printf '{"event":"progress","step":%d,"loss":0.5}\n' 1 2 3 >> "$PASAR_EVENTS"; echo junk >> "$PASAR_EVENTS"`))
	if err != nil {
		t.Fatal(err)
	}
	if code := h.exitCode(ctx, id); code != 0 {
		t.Fatalf("exit %d", code)
	}
	const point = `{"at":null,"step":%d,"total":null,"metrics":{"loss":0.5}}`
	want := fmt.Sprintf(`{"schema":1,"id":%d,"attempt":1,"points":[`+point+","+point+","+point+"]}", id, 1, 2, 3)
	for range 2 {
		err := h.with(ctx, func(c *ipc.Client) error {
			b, err := c.Metrics(ctx, ipc.MetricsRequest{Job: id})
			if err == nil && string(b) != want {
				t.Errorf("metrics are %s, want %s", b, want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		h.kill()
		h.start()
	}
}

package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/target"
)

// shell is an attempt that runs a script.
func shell(job pasar.JobID, script string) target.Attempt {
	return target.Attempt{
		Spec: pasar.AttemptSpec{
			Key:   pasar.AttemptKey{Job: job, Attempt: 1},
			Nonce: fmt.Sprintf("test-%d-%d-%d", os.Getpid(), job, time.Now().UnixNano()),
			Argv:  []pasar.Arg{"/bin/sh", "-c", pasar.Arg(script)}, Cwd: "/",
			Surroundings: pasar.Surroundings{Env: []pasar.Arg{pasar.Arg("PATH=" + os.Getenv("PATH"))}, Umask: -1},
			Cols:         80, Rows: 24,
		},
		Grant: pasar.Grant{Machine: pasar.LocalMachine, Claim: pasar.Claim{Kind: pasar.NoGPU}},
	}
}

func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func launch(t *testing.T, m *Machine, a target.Attempt) target.Handle {
	t.Helper()
	h, err := m.Launch(limited(t), a)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// end watches an attempt to its end.
func end(t *testing.T, m *Machine, h target.Handle) target.Observation {
	t.Helper()
	var last target.Observation
	if err := m.Watch(limited(t), h, func(o target.Observation) error {
		last = o
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return last
}

// awaitOutput waits until the attempt's output holds a text, and returns the output.
func awaitOutput(t *testing.T, m *Machine, h target.Handle, text string) string {
	t.Helper()
	var out strings.Builder
	found := errors.New("found")
	_, err := m.Logs(limited(t), h, 0, true, func(c target.Chunk) error {
		out.Write(c.Data)
		if strings.Contains(out.String(), text) {
			return found
		}
		return nil
	})
	if !errors.Is(err, found) {
		t.Fatalf("output %q never held %q (%v)", out.String(), text, err)
	}
	return out.String()
}

func holding(t *testing.T, m *Machine, h target.Handle) pasar.Holding {
	t.Helper()
	c, err := lookAt(m.attemptDir(h.Key))
	if err != nil || c.holding.Pid == 0 {
		t.Fatalf("claim of %s: %+v, %v", h.Key, c, err)
	}
	return c.holding
}

// there reports whether a process is there and not a zombie of which nothing runs.
func there(t *testing.T, pid int) bool {
	t.Helper()
	s, err := readStat(pid)
	return err == nil && !s.ended
}

func TestAKilledSupervisorsJobIsGoneWithAllItsProcessesAndItsLastWordsAreKept(t *testing.T) {
	p := newPlace(t)
	m := p.open()
	// A child in a session of its own, which neither a hang-up nor the parent-death signal reaches.
	a := shell(1, `setsid sh -c 'trap "" TERM HUP; echo child $$; while :; do sleep 1000; done' &
		printf 'famous\tlast\033[1m words\n'; wait; sleep 1000`)
	h := launch(t, m, a)
	out := awaitOutput(t, m, h, "words")
	out = awaitOutput(t, m, h, "child ") + out
	fields := strings.Fields(out[strings.Index(out, "child "):])
	child, err := strconv.Atoi(fields[1])
	if err != nil {
		t.Fatalf("output %q: %v", out, err)
	}
	o, err := m.Observe(t.Context(), h)
	if err != nil || o.Status != target.Running {
		t.Fatalf("%+v, %v", o, err)
	}
	main := o.Pid
	watching := make(chan target.Observation, 1)
	go func() {
		var last target.Observation
		_ = m.Watch(limited(t), h, func(o target.Observation) error {
			last = o
			return nil
		})
		watching <- last
	}()
	sup := holding(t, m, h).Pid
	if err := syscall.Kill(sup, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	last := <-watching
	if last.Status != target.Gone || !strings.Contains(last.Detail, strconv.Itoa(sup)) {
		t.Errorf("watched: %+v", last)
	}
	tail := strings.Join(last.Tail, "\n")
	if !strings.Contains(tail, `famous\tlast\x1b[1m words`) {
		t.Errorf("tail %q", last.Tail)
	}
	for _, pid := range []int{main, child} {
		if there(t, pid) {
			t.Errorf("process %d of the job is still there", pid)
		}
	}
	for _, later := range []*Machine{m, p.open()} {
		launch(t, later, a) // finds it
		if o, err := later.Observe(t.Context(), h); err != nil || o.Status != target.Gone {
			t.Errorf("observed: %+v, %v", o, err)
		}
	}
	if err := m.Signal(t.Context(), h, pasar.Stop{ID: "s"}); err != nil {
		t.Errorf("a stop of what is gone: %v", err)
	}
	if err := m.Acknowledge(t.Context(), h); err != nil {
		t.Errorf("acknowledge: %v", err)
	}
	if n := len(collect(t, m, h, 0)); n == 0 {
		t.Error("its output is gone too")
	}
}

// collect reads the output that is there.
func collect(t *testing.T, m *Machine, h target.Handle, from target.Cursor) []target.Chunk {
	t.Helper()
	var chunks []target.Chunk
	if _, err := m.Logs(limited(t), h, from, false, func(c target.Chunk) error {
		chunks = append(chunks, c)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return chunks
}

func TestAFollowerOfALostAttemptEnds(t *testing.T) {
	p := newPlace(t)
	m := p.open()
	h := launch(t, m, shell(1, "echo here; sleep 1000"))
	awaitOutput(t, m, h, "here")
	began := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		first := true
		_, err := m.Logs(limited(t), h, 0, true, func(target.Chunk) error {
			if first {
				close(began)
				first = false
			}
			return nil
		})
		done <- err
	}()
	<-began
	if err := syscall.Kill(holding(t, m, h).Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// rewrite changes a JSON file of an attempt.
func rewrite(t *testing.T, path string, change func(map[string]any)) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	change(v)
	if b, err = json.Marshal(v); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// ended runs an attempt to its end and lets its supervisor leave.
func ended(t *testing.T, m *Machine, a target.Attempt) target.Handle {
	t.Helper()
	h := launch(t, m, a)
	if o := end(t, m, h); o.Status != target.Ended {
		t.Fatalf("%+v", o)
	}
	if err := m.Acknowledge(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its supervisor leaves", func() bool {
		c, err := lookAt(m.attemptDir(h.Key))
		return err == nil && c.state == claimDead
	})
	return h
}

// eventually waits for what nobody tells of.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not so: %s", what)
		}
	}
}

func TestAnAttemptOfAnotherBootIsGone(t *testing.T) {
	p := newPlace(t)
	m := p.open()
	h := ended(t, m, shell(1, "echo before the power cut"))
	dir := m.attemptDir(h.Key)
	if err := os.Remove(filepath.Join(dir, pasar.ExitFile)); err != nil {
		t.Fatal(err)
	}
	rewrite(t, filepath.Join(dir, pasar.ClaimFile), func(v map[string]any) { v["boot"] = "another" })
	o, err := m.Observe(t.Context(), h)
	if err != nil || o.Status != target.Gone || o.Detail != "the machine rebooted" || !slices.Contains(o.Tail, "before the power cut") {
		t.Errorf("%+v, %v", o, err)
	}
}

// A power cut may take the claim, which isn't synced at once. The spec then tells of the other boot.
func TestAnAttemptOfAnotherBootWithoutItsClaimIsGoneAndNotLaunchedAgain(t *testing.T) {
	for name, damage := range map[string]func(string) error{
		"no claim":       os.Remove,
		"an empty claim": func(path string) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			m := p.open()
			mark := filepath.Join(p.data, "mark")
			a := shell(1, "echo ran >> "+mark)
			h := ended(t, m, a)
			dir := m.attemptDir(h.Key)
			if err := os.Remove(filepath.Join(dir, pasar.ExitFile)); err != nil {
				t.Fatal(err)
			}
			if err := damage(filepath.Join(dir, pasar.ClaimFile)); err != nil {
				t.Fatal(err)
			}
			rewrite(t, filepath.Join(dir, pasar.SpecFile), func(v map[string]any) { v["boot"] = "another" })
			launch(t, m, a)
			if o, err := m.Observe(t.Context(), h); err != nil || o.Status != target.Gone || o.Detail != "the machine rebooted" {
				t.Errorf("%+v, %v", o, err)
			}
			if b, err := os.ReadFile(mark); err != nil || string(b) != "ran\n" {
				t.Errorf("marks %q, %v", b, err)
			}
		})
	}
}

func TestADamagedRecordIsALostAttempt(t *testing.T) {
	p := newPlace(t)
	m := p.open()
	a := shell(1, "exit 0")
	h := ended(t, m, a)
	if err := os.WriteFile(filepath.Join(m.attemptDir(h.Key), pasar.ExitFile), []byte(`{"schema":`), 0o600); err != nil {
		t.Fatal(err)
	}
	launch(t, m, a)
	if o, err := m.Observe(t.Context(), h); err != nil || o.Status != target.Gone || !strings.Contains(o.Detail, "damaged") {
		t.Errorf("%+v, %v", o, err)
	}
}

// A supervisor that a dead daemon handed an attempt to, and that wakes up after somebody was told
// that the attempt is absent, must not run it.
func TestAbsentIsSureEvenIfASupervisorWakesUpLate(t *testing.T) {
	p := newPlace(t)
	mark := filepath.Join(p.data, "mark")
	a := shell(1, "echo ran >> "+mark)
	m := p.open()
	var late *warm
	m.step = func(s string) error {
		if s == stepSpec {
			late = <-m.pool.ready // ours now, as if it had been handed the attempt and slept
			return errCrashed
		}
		return nil
	}
	if _, err := m.Launch(t.Context(), a); !errors.Is(err, errCrashed) {
		t.Fatal(err)
	}
	h := target.Handle{Key: a.Spec.Key, Nonce: a.Spec.Nonce}
	if o, err := p.open().Observe(t.Context(), h); err != nil || o.Status != target.Absent {
		t.Fatalf("%+v, %v", o, err)
	}
	if err := late.conn.Send(ipc.AttachLaunch, &ipc.Launch{Dir: m.attemptDir(h.Key)}); err != nil {
		t.Fatal(err)
	}
	if s, _, err := awaitStatus(t.Context(), late.conn, launchTimeout); err != nil || s.State != ipc.AttemptTaken {
		t.Errorf("the late supervisor says %+v, %v", s, err)
	}
	_ = late.conn.Close()
	next := p.open()
	if o := end(t, next, launch(t, next, a)); o.Status != target.Ended {
		t.Errorf("launched again: %+v", o)
	}
	if b, err := os.ReadFile(mark); err != nil || string(b) != "ran\n" {
		t.Errorf("marks %q, %v", b, err)
	}
}

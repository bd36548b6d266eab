package local

import (
	"os"
	"strings"
	"testing"

	"pasar"
	"pasar/target"
)

func TestAJobWhoseDirectoryWasRemovedIsFoundByALaterDaemon(t *testing.T) {
	p := newPlace(t)
	m := p.open()
	gate := t.TempDir() + "/gate"
	h := launch(t, m, shell(1, "echo before; until [ -e "+gate+" ]; do sleep 0.05; done; echo after; exit 3"))
	awaitOutput(t, m, h, "before")
	socket, err := m.AttachSocket(limited(t), h)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(m.attemptDir(h.Key)); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m = p.open()
	o, err := m.Observe(limited(t), h)
	if err != nil || o.Status != target.Running {
		t.Fatalf("%+v, %v", o, err)
	}
	if again, err := m.AttachSocket(limited(t), h); err != nil || again != socket {
		t.Errorf("socket %q, was %q: %v", again, socket, err)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	last := end(t, m, h)
	if last.Status != target.Ended || last.Record == nil || last.Record.Exit != (pasar.Exit{Code: 3}) {
		t.Fatalf("%+v", last)
	}
	if err := m.Acknowledge(limited(t), h); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if _, err := m.Logs(limited(t), h, 0, false, func(c target.Chunk) error { _, err := out.Write(c.Data); return err }); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), "after\r\n") {
		t.Errorf("of the output of a directory made anew: %q", out.String())
	}
}

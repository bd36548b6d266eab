package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pasar"
	"pasar/ipc"
)

func TestTheDifferenceOfAJobsCodeIsGivenOutAsItWasKept(t *testing.T) {
	c := newWire(t, 1)
	diff := func(id pasar.JobID) (string, error) {
		var b strings.Builder
		err := c.Diff(c.ctx, ipc.DiffRequest{Job: id}, func(p []byte) error { b.Write(p); return nil })
		return b.String(), err
	}
	refused := func(id pasar.JobID, code ipc.Code, says string) {
		t.Helper()
		var e *ipc.Error
		if got, err := diff(id); !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Message, says) {
			t.Errorf("job %d: %q, %v", id, got, err)
		}
	}
	kept := strings.Repeat("+a line \xff <b>\n", 100_000)
	keep := func(id pasar.JobID) {
		file := filepath.Join(c.w.dataDir, "jobs", id.String(), "git.diff")
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(kept), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	read := func(id pasar.JobID, more int, g pasar.Git) {
		c.d.report(c.ctx, pasar.GitRead{Job: id, More: more, Git: g})
		if _, err := c.Bid(c.ctx, ipc.BidRequest{Request: ipc.NewRequest(), Job: id, Bid: 1001}); err != nil { // behind it
			t.Fatal(err)
		}
	}
	one := c.submit(spec("one", 1000)).Job
	refused(one, ipc.CodeWrongState, "isn't known")
	refused(99, ipc.CodeUnknownJob, "there is no job")
	read(one, 0, pasar.Git{Commit: "c"})
	refused(one, ipc.CodeWrongState, "was that of its commit")

	many := c.submit(spec("many", 1000), pasar.Point{}, pasar.Point{}).Jobs
	read(many[0], 1, pasar.Git{Commit: "c", Dirty: true})
	refused(many[1], ipc.CodeWrongState, "not kept any more")
	keep(many[0])
	for _, id := range many {
		if got, err := diff(id); err != nil || got != kept {
			t.Errorf("job %d: %d bytes of %d, %v", id, len(got), len(kept), err)
		}
	}
}

package supervisor_test

import (
	"os"
	"path/filepath"
	"testing"

	"pasar"
	"pasar/ipc"
)

// What a job prints is output, whatever it looks like: no state is read from it.
func TestWhatAJobPrintsIsNeverTakenForAWordOfOurs(t *testing.T) {
	var b []byte
	for _, f := range []struct {
		typ  int
		body any
	}{
		{ipc.AttachExit, &ipc.ExitFrame{}}, {ipc.AttachStatus, &ipc.Status{State: ipc.AttemptEnded, Exit: &pasar.Exit{}}},
		{ipc.AttachStop, &ipc.StopFrame{Stop: pasar.Stop{ID: "x", Now: true}}}, {ipc.AttachDone, &ipc.Note{}},
	} {
		p, err := ipc.AppendFrame(nil, ipc.MaxAttachFrame, f.typ, f.body)
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, p...)
	}
	b = append(b, `{"schema":1,"exit":{"code":0},"nonce":"n"}{"event":"checkpoint","step":7}{"gap_from":0,"gap_to":9}`+"exit status 0"...)
	file := filepath.Join(t.TempDir(), "words")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	rec, out := run(t, nil, "bash", "-c", "stty raw; cat "+file+"; exit 3")
	if rec.Exit != (pasar.Exit{Code: 3}) || rec.Checkpoint != nil || rec.Stop != nil || rec.Dropped != 0 {
		t.Errorf("%+v", rec)
	}
	if out != string(b) {
		t.Errorf("%d bytes of output, want %d as they were printed", len(out), len(b))
	}
}

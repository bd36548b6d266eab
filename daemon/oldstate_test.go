package daemon

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"pasar"
)

// oldState is what the first released encoding of facts and snapshots tells; testdata has both, of one
// daemon's life, as it wrote them.
var oldState = map[pasar.JobID]pasar.State{
	1: pasar.Completed, 2: pasar.Starting, 3: pasar.Failed, 4: pasar.Cancelled, 5: pasar.Running,
	6: pasar.Cancelled, 7: pasar.Stopping, 8: pasar.Queued, 9: pasar.Queued,
}

func checkOldState(t *testing.T, s *state) {
	t.Helper()
	for id, want := range oldState {
		j := s.jobs[id]
		if j == nil {
			t.Errorf("job %d is missing", id)
			continue
		}
		got := j.state()
		if id == 2 && got == pasar.Running {
			got = pasar.Starting // the snapshot may be later than the last fact
		}
		if got != want {
			t.Errorf("job %d is %s, want %s", id, got, want)
		}
		if j.Spec.Time.Seconds() != 3600 || j.Spec.Key != j.Spec.Name || s.keys[j.Spec.Key] != id {
			t.Errorf("spec of job %d: %+v", id, j.Spec)
		}
	}
	if s.next != 10 || len(s.queue) != 2 || s.queue[0].ID != 9 || !s.queue[0].Held || len(s.active) != 3 || len(s.paused) != 0 {
		t.Errorf("next %d, queue %+v, active %d", s.next, s.queue, len(s.active))
	}
	if s.finished[pasar.Cancelled] != 2 || s.finished[pasar.Completed] != 1 || s.finished[pasar.Failed] != 1 {
		t.Errorf("counts %v", s.finished)
	}
	if j := s.jobs[2]; j != nil && (len(j.Attempts) != 2 || j.Attempts[0].Verdict.Reason != pasar.CodeExit) {
		t.Errorf("attempts of a restarted job: %+v", j.Attempts)
	}
	if len(s.answers) != 12 {
		t.Errorf("%d answers", len(s.answers))
	}
}

func TestAnOldJournalStillFolds(t *testing.T) {
	b, err := os.ReadFile("testdata/state-1.facts")
	if err != nil {
		t.Fatal(err)
	}
	s := newState()
	for line := range bytes.Lines(b) {
		var r pasar.Record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		s.apply(r)
	}
	checkOldState(t, s)
}

func TestAnOldSnapshotStillThaws(t *testing.T) {
	b, err := os.ReadFile("testdata/state-1.snapshot")
	if err != nil {
		t.Fatal(err)
	}
	s, err := thaw(b)
	if err != nil {
		t.Fatal(err)
	}
	checkOldState(t, s)
}

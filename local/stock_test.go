package local

import (
	"testing"
	"time"
)

func TestASecondIsKeptWarmOnlyWhileLaunchesComeQuickly(t *testing.T) {
	var s stock
	fill := func() {
		t.Helper()
		for s.short(false) {
			s.warm = append(s.warm, &warm{})
		}
	}
	now := time.Unix(1000, 0)
	fill()
	if len(s.warm) != 1 {
		t.Fatalf("%d warm before any launch", len(s.warm))
	}
	s.took(now)
	if s.short(false) || s.due() == nil {
		t.Error("the first launch isn't left the processors")
	}
	s.resting = false
	fill()
	if len(s.warm) != 1 || s.due() != nil {
		t.Errorf("%d warm after one launch", len(s.warm))
	}

	now = now.Add(quickly / 2)
	s.took(now)
	if !s.short(false) {
		t.Error("a quick launch leaves none warm and none is started")
	}
	fill()
	if len(s.warm) != most || s.due() == nil {
		t.Errorf("%d warm while launches come quickly", len(s.warm))
	}
	oldest := s.warm[0]
	s.took(now.Add(quickly / 2))
	if len(s.warm) != 1 || s.warm[0] == oldest {
		t.Error("it wasn't the oldest that was taken")
	}
	if s.short(true) {
		t.Error("a second one is started though the last came to nothing")
	}

	s.took(now.Add(2 * quickly))
	s.resting = false
	fill()
	if len(s.warm) != 1 {
		t.Errorf("%d warm after launches have become slow", len(s.warm))
	}
}

func TestRemovingOneLeavesTheOther(t *testing.T) {
	a, b := &warm{pid: 1}, &warm{pid: 2}
	for i, want := range []*warm{b, a} {
		s := stock{warm: []*warm{a, b}}
		if gone := s.remove(i); gone == want || len(s.warm) != 1 || s.warm[0] != want {
			t.Errorf("removed %d: %d is left", gone.pid, s.warm[0].pid)
		}
	}
}

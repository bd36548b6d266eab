package gpu

import (
	"testing"

	"pasar"
)

// seenUsed is a GPU of 24 GiB whose driver doesn't say what it keeps for itself.
func seenUsed(used pasar.Bytes, ps []pasar.GPUProcess) Sight {
	s := sight(0)
	total := 24 * pasar.GiB
	s.Device.Total, s.Now.Total, s.Now.Used, s.Now.Processes = total, &total, &used, ps
	return s
}

func TestWhatTheDriverKeepsIsLearnedWhileNoProcessIsThere(t *testing.T) {
	none, one := []pasar.GPUProcess{}, []pasar.GPUProcess{{Pid: 7}}
	var f floors
	for _, c := range []struct {
		when           string
		used           pasar.Bytes
		ps             []pasar.GPUProcess
		reserved, left pasar.Bytes // -1: not known
	}{
		{"a process is there from the start", 2 * pasar.GiB, one, -1, 2 * pasar.GiB},
		{"its processes can't be told", 600 * pasar.MiB, nil, -1, 600 * pasar.MiB},
		{"nobody has more than any driver keeps", 5 * pasar.GiB, none, pasar.GiB, 4 * pasar.GiB},
		{"less is used", 600 * pasar.MiB, none, 600 * pasar.MiB, 0},
		{"more is used again", 900 * pasar.MiB, none, 600 * pasar.MiB, 300 * pasar.MiB},
		{"a process is there", 2600 * pasar.MiB, one, 600 * pasar.MiB, 2000 * pasar.MiB},
		{"less than ever is used", 500 * pasar.MiB, one, 600 * pasar.MiB, 0},
	} {
		s := seenUsed(c.used, c.ps)
		got := f.apart([]Sight{s})[0]
		reserved := pasar.Bytes(-1)
		if r := got.Now.Reserved; r != nil {
			reserved = *r
		}
		if reserved != c.reserved || *got.Now.Used != c.left || got.Device.Total != 24*pasar.GiB-max(0, c.reserved) {
			t.Errorf("when %s: %s reserved, %s used, %s to be given out", c.when, reserved, *got.Now.Used, got.Device.Total)
		}
		if s.Now.Reserved != nil || *s.Now.Used != c.used {
			t.Errorf("when %s: what others may hold was changed", c.when)
		}
	}
}

func TestADriverThatSaysWhatItKeepsIsBelieved(t *testing.T) {
	var f floors
	s := seenUsed(700*pasar.MiB, []pasar.GPUProcess{})
	reserved := 100 * pasar.MiB
	s.Now.Reserved = &reserved
	if got := f.apart([]Sight{s})[0]; *got.Now.Reserved != reserved || *got.Now.Used != 700*pasar.MiB {
		t.Errorf("%+v", got)
	}
}

package daemon

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"pasar"
)

func TestAGPUIsHotFromWhereItIsSetOrItsDriverSlowsItDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := metered(newWorld(t, 3))
		slow, late, temp := 80.0, 90.0, 84.0
		for i, c := range []*float64{nil, &slow, &late} {
			m.now.GPUs[i].HotC, m.now.GPUs[i].TempC = c, &temp
		}
		d := w.start(nil)
		for _, c := range []struct {
			set  float64
			want [3]float64
		}{{85, [3]float64{85, 80, 85}}, {95, [3]float64{95, 80, 90}}, {70, [3]float64{70, 70, 70}}} {
			s := *d.settings.Load()
			s.HotC = c.set
			d.SetSettings(s)
			for i, g := range machineNow(t, d).GPUs {
				if g.HotC == nil || *g.HotC != c.want[i] || *g.TempC != temp {
					t.Errorf("set to %v, GPU %d is hot from %v; want %v", c.set, i, g.HotC, c.want[i])
				}
			}
		}
	})
}

// machineNow is the local machine as `pasar gpus` shows it; status shows the same.
func machineNow(t *testing.T, d *running) pasar.MachineView {
	t.Helper()
	synctest.Wait()
	b, err := json.Marshal(d.gpusView())
	if err != nil {
		t.Fatal(err)
	}
	var v pasar.GPUsView
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	s, err := json.Marshal(d.status().Machines)
	if err != nil {
		t.Fatal(err)
	}
	g, err := json.Marshal(v.Machines)
	if err != nil {
		t.Fatal(err)
	}
	if string(s) != string(g) {
		t.Errorf("status says\n%s\nand gpus\n%s", s, g)
	}
	return v.Machines[0]
}

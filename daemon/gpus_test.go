package daemon

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"pasar"
)

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

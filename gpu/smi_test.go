package gpu

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"pasar"
)

func mustFloat(t *testing.T, s string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestNvidiaSMISaysWhatTheLibraryWould(t *testing.T) {
	path := fakeSMI(t, `gpus 2
gpu.0.mem_total 24576
gpu.0.mem_reserved 576
gpu.0.temp 91
gpu.0.throttle 0x44
gpu.0.compute_mode 3
gpu.1.unified 1
proc 0 4242 1000 name=python3
proc 1 4243 NA name=train
`)
	look, err := (&smi{path: path}).look(t.Context())
	if err != nil || len(look.Sights) != 2 {
		t.Fatalf("%+v, %v", look, err)
	}
	a, b := look.Sights[0], look.Sights[1]
	if a.Device.Total != 24000*pasar.MiB || *a.Now.Used != 1000*pasar.MiB || *a.Now.Total != 24576*pasar.MiB || *a.Now.TempC != 91 ||
		!a.Now.Exclusive || !slices.Equal(a.Now.Throttle, []string{"thermal", "power_cap"}) || look.Driver == "" {
		t.Errorf("%+v", a)
	}
	if ps := a.Now.Processes; len(ps) != 1 || ps[0].Pid != 4242 || *ps[0].Used != 1000*pasar.MiB || ps[0].Name != "python3" {
		t.Errorf("processes %+v", ps)
	}
	if !b.Device.Unified || b.Now.Total != nil || len(b.Now.Processes) != 1 || b.Now.Processes[0].Used != nil || b.Now.LimitW != nil {
		t.Errorf("%+v", b)
	}
}

func TestFieldsThatAnOlderToolLacksAreLeftOut(t *testing.T) {
	s := &smi{path: script(t, `case "$1" in
*memory.reserved*) echo 'Field "memory.reserved" is not a valid field to query.'; exit 2;;
*enforced*) echo 'Field "enforced.power.limit" is not a valid field to query.'; exit 2;;
--query-gpu=*) echo '0, GPU-1, 00000000:01:00.0, 470.1, 24576, 100, 5, 40, 55.5, [N/A], 1200, Default, 0x0000000000000000, [N/A], NVIDIA RTX A5000, the one';;
*) echo 'No running processes found';;
esac`)}
	look, err := s.look(t.Context())
	if err != nil || len(look.Sights) != 1 {
		t.Fatalf("%+v, %v", look, err)
	}
	if g := look.Sights[0]; g.Device.Name != "NVIDIA RTX A5000, the one" || *g.Now.PowerW != 55.5 || g.Now.FanPct != nil || g.Now.LimitW != nil || *g.Now.Used != 100*pasar.MiB {
		t.Errorf("%+v", g)
	}
	if slices.Contains(s.fields, "memory.reserved") {
		t.Error("it would be asked for again")
	}
}

func TestALostGPUIsLostThroughNvidiaSMIToo(t *testing.T) {
	row := strings.Repeat(", [GPU is lost]", len(smiFields)-3)
	look, err := parseSMI([]byte("0, GPU-1, 00000000:01:00.0"+row), smiFields)
	if err != nil || len(look.Sights) != 1 || look.Sights[0].Now.Status != pasar.GPULost || look.Sights[0].Device.UUID != "GPU-1" {
		t.Errorf("%+v, %v", look, err)
	}
}

func FuzzParseSMI(f *testing.F) {
	f.Add([]byte("0, GPU-1, 00000000:01:00.0, 580, 24576, 512, 100, 5, 40, 55.5, 300, 30, 1200, Default, 0x4, Disabled, A, B\n"), []byte("GPU-1, 77, 100, python3\n"))
	f.Add([]byte("No devices were found"), []byte("No running processes found"))
	f.Fuzz(func(t *testing.T, gpus, apps []byte) {
		look, err := parseSMI(gpus, smiFields)
		if err != nil {
			if pasar.Clean(err.Error()) != err.Error() {
				t.Errorf("error %q isn't clean", err)
			}
			return
		}
		_ = parseApps(apps, look.Sights)
		for i := range look.Sights {
			if err := look.Sights[i].check(); err != nil {
				t.Errorf("believed %+v: %v", look.Sights[i], err)
			}
		}
	})
}

func FuzzDecodeMessage(f *testing.F) {
	f.Add([]byte(`{"hello":{"protocol":1,"driver":"580","cuda":"13.0","library":"/x"}}`))
	f.Add([]byte(`{"seen":{"look":1,"sights":[{"Device":{"Index":0,"UUID":"GPU-1","Bus":"0:1:2"},"Now":{"Status":"ok","Used":7,"Processes":[{"Pid":1,"Name":"a\u001b[2J"}]}}]}}`))
	f.Add([]byte(`{"xid":{"Index":0,"UUID":"GPU-1","Code":79,"Instance":-1}}`))
	f.Add([]byte(`{"bye":{"fault":"other","text":"x\ny"}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := decodeMessage(line)
		if err != nil || m.Seen == nil {
			return
		}
		for _, s := range m.Seen.Sights {
			for _, text := range []string{s.Device.Name, s.Device.Left, s.Now.Detail, s.Now.Recovery} {
				if pasar.Clean(text) != text {
					t.Errorf("%q isn't clean", text)
				}
			}
			if s.Device.UUID != "" && !validUUID(s.Device.UUID) {
				t.Errorf("believed UUID %q", s.Device.UUID)
			}
		}
	})
}

func FuzzHost(f *testing.F) {
	f.Add([]byte("MemTotal: 100 kB\nMemFree: 5 kB\nMemAvailable: 50 kB\n"), []byte("some avg10=1.23 avg60=0.00 avg300=0.00 total=1\nfull avg10=0"))
	f.Fuzz(func(t *testing.T, mem, psi []byte) {
		if h, err := parseMeminfo(mem); err == nil && (h.Total <= 0 || h.Available < 0 || h.Available > h.Total) {
			t.Errorf("believed %+v", h)
		}
		if p := parsePressure(psi); p != nil && !(*p >= 0 && *p <= 1) {
			t.Errorf("believed pressure %v", *p)
		}
	})
}

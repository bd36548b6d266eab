package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pasar"
)

// environ is an environment for Load.
type environ map[string]string

func (e environ) get(name string) string { return e[name] }

func home(t *testing.T) environ { return environ{"HOME": t.TempDir()} }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mustLoad(t *testing.T, path string, env environ) *Config {
	t.Helper()
	c, err := Load(path, env.get)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWithoutAFileTheDefaultsHold(t *testing.T) {
	env := home(t)
	c := mustLoad(t, "", env)
	if !c.Autostart || c.RequireTime || c.DefaultBid != 1000 || c.DefaultGrace.String() != "2m" ||
		c.SystemReserve != 16*pasar.GiB || c.Margin != (pasar.Margin{Min: 2 * pasar.GiB, Frac: 0.1}) ||
		c.CPUJobs != runtime.NumCPU() || c.LogMax != 2*pasar.GiB || c.LogRetentionDays != 30 ||
		c.LogRetentionSize != 20*pasar.GiB {
		t.Errorf("defaults: %+v", c)
	}
	if c.KernelLog != "/dev/kmsg" || c.External != pasar.ExternalShare || c.IdleMiB != 64 || c.ByIndex || c.GPUOrder != nil || c.GPUExclude != nil ||
		c.ReleaseTimeout != 120e9 || c.Settle != 10e9 || c.PressureSome != 0.1 || c.PressureFree != 0.05 || c.PressureSustain != 30e9 ||
		c.HotC != 85 || c.NVMLLibrary != "" {
		t.Errorf("defaults: %+v", c)
	}
	for _, s := range c.Effective() {
		if s.Source != Default {
			t.Errorf("%s comes from %q", s.Key, s.Source)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(env["HOME"], "*")); len(left) != 0 {
		t.Errorf("loading made %v", left)
	}
}

const everyKey = `
autostart = false
system_reserve = "8G"
mem_margin_min = "1.5G"
mem_margin_frac = 0
default_bid = -5
default_grace = "1:30:00"
require_time = true
cpu_jobs = 3
data_dir = "~/elsewhere"
log_max = 0
log_retention_days = 0
log_retention_size = "1T"
detach_keys = "ctrl-p,ctrl-q"
http = false
bind = ["0.0.0.0:8750"]
allowed_hosts = []
kernel_log = "/var/log/kern.log"
external = "avoid"
idle_mib = 65
device_ids = "index"
gpu_order = [1, "GPU-abc"]
gpu_exclude = [7]
release_timeout = "121s"
settle = "11s"
pressure_some_avg10 = 0.2
pressure_mem_available = 0.06
pressure_sustain = "31s"
scrollback_lines = 10000
prometheus_url = "http://localhost:9090"
hot_temp_c = 86
mascot_dir = "~/m"
pull_dir = "/data/pulls"
pull_min_free = "20G"
pull_max = 0
cloud_retention_days = 3
nvml_library = "/usr/lib/libnvml.so"
[hooks]
on_finish = ["notify-send", "done"]
[approval]
mode = "amount"
[clouds.modal]
provider = "modal"
[fleet.box]
host = "box"
`

func TestEveryKeyIsReadAndSaysWhereItCameFrom(t *testing.T) {
	env := home(t)
	file := filepath.Join(env["HOME"], ".config/pasar/config.toml")
	write(t, file, everyKey)
	c := mustLoad(t, "", env)
	if c.Autostart || !c.RequireTime || c.DefaultBid != -5 || c.DefaultGrace.String() != "1h30m" ||
		c.SystemReserve != 8*pasar.GiB || c.Margin != (pasar.Margin{Min: 3 * pasar.GiB / 2}) || c.CPUJobs != 3 ||
		c.LogMax != 0 || c.LogRetentionDays != 0 || c.LogRetentionSize != pasar.TiB ||
		c.Paths.Data != filepath.Join(env["HOME"], "elsewhere") {
		t.Errorf("read: %+v", c)
	}
	if c.PrometheusURL != "http://localhost:9090" || c.KernelLog != "/var/log/kern.log" || c.External != pasar.ExternalAvoid || c.IdleMiB != 65 || !c.ByIndex ||
		!slices.Equal(c.GPUOrder, []string{"1", "GPU-abc"}) || !slices.Equal(c.GPUExclude, []string{"7"}) || c.ReleaseTimeout != 121e9 || c.Settle != 11e9 ||
		c.PressureSome != 0.2 || c.PressureFree != 0.06 || c.PressureSustain != 31e9 || c.HotC != 86 || c.NVMLLibrary != "/usr/lib/libnvml.so" || c.MascotDir != filepath.Join(env["HOME"], "m") {
		t.Errorf("read: %+v", c)
	}
	lines := strings.Split(everyKey, "\n")
	got := map[string]Setting{}
	for _, s := range c.Effective() {
		got[s.Key] = s
	}
	for _, k := range keys {
		s, ok := got[k.name]
		_, line, _ := strings.Cut(string(s.Source), file+":")
		switch {
		case !ok:
			t.Errorf("%s is not listed: does the test set it?", k.name)
		case strings.HasPrefix(string(s.Source), file) && (k.name == "clouds" || k.name == "fleet"): // tables in tables
		case line == "":
			t.Errorf("%s comes from %q", k.name, s.Source)
		case !strings.Contains(lines[atoi(t, line)-1], k.name):
			t.Errorf("%s is said to be in line %s: %q", k.name, line, lines[atoi(t, line)-1])
		}
	}
	if got["mascot_dir"].Value != filepath.Join(env["HOME"], "m") {
		t.Errorf("mascot_dir = %v", got["mascot_dir"].Value)
	}
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n := 0
	for _, r := range s {
		if r < '0' || r > '9' {
			t.Fatalf("not a line number: %q", s)
		}
		n = n*10 + int(r-'0')
	}
	return n
}

func TestAMistakeIsOneLineWithFileLineKeyAndWhatIsAllowed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.toml")
	for _, c := range []struct{ text, want string }{
		{"# hello\nauto_start = true", ":2: auto_start: unknown key; did you mean autostart?"},
		{"defaultbid = 3", ":1: defaultbid: unknown key; did you mean default_bid?"},
		{"zzzzzzzzz = 1", ":1: zzzzzzzzz: unknown key; `pasar config` lists"},
		{"\n\n[hoks]\non_fail = []", ":3: hoks: unknown key; did you mean hooks?"},
		{"autostart = \"yes\"", `:1: autostart: bad value "yes": want true or false`},
		{"log_max = 5", `:1: log_max: bad value 5: want a size in quotes, such as "16G"`},
		{"log_max = \"5\"", ":1: log_max: bad size \"5\": a size needs a unit; 5G, 5M?"},
		{"default_grace = 120", `:1: default_grace: bad value 120: want a time in quotes`},
		{"default_grace = \"120\"", ":1: default_grace: bad time \"120\": a time needs a unit"},
		{"mem_margin_frac = 1.5", ":1: mem_margin_frac: bad value 1.5: want a number from 0 to 1"},
		{"mem_margin_frac = nan", ":1: mem_margin_frac: bad value NaN: want a number from 0 to 1"},
		{"\ncpu_jobs = -1", ":2: cpu_jobs: bad value -1: want a whole number from 0 to 100000"},
		{"default_bid = 1.0", ":1: default_bid: bad value 1: want a whole number from -1000000000"},
		{"data_dir = \"x/y\"", `:1: data_dir: bad value "x/y": want an absolute path`},
		{"external = \"steal\"", `:1: external: bad value "steal": want one of share, avoid`},
		{"detach_keys = 5", `:1: detach_keys: bad value 5: want keys in quotes, such as "ctrl-],d"`},
		{"detach_keys = \"\"", `:1: detach_keys: bad value "": want keys such as ctrl-] or d`},
		{"detach_keys = \"q\"", `:1: detach_keys: bad value "q": want a first key with ctrl-`},
		{"detach_keys = \"ctrl-c,d\"", `:1: detach_keys: bad value "ctrl-c,d": want another first key than Ctrl-C, which jobs need: it interrupts`},
		{"hooks = 3", ":1: hooks: bad value 3: want a table"},
		{"[hooks]\non_end = [\"x\"]", `unknown hook "on_end"; there are on_finish`},
		{"[hooks]\non_fail = \"x\"", `on_fail: want a command as a list`},
		{"[[clouds]]\nx = 1", ":1: clouds: bad value a table: want a table"},
		{"bind = [1]", `:1: bind: bad value [1]: want a list of strings`},
		{"bind = [\"\"]", `:1: bind: "" isn't an address; write host:port`},
		{"allowed_hosts = [\"\"]", `:1: allowed_hosts: "" isn't the name of a host`},
		{"bind = [\"evil;x:1\"]", `:1: bind: "evil;x:1" isn't an address; write host:port`},
		{"bind = [\"-x:1\"]", `:1: bind: "-x:1" isn't an address`},
		{"bind = [\"a\\u0007:1\"]", `isn't an address`},
		{"bind = [\"a:b:1\"]", `:1: bind: "a:b:1" isn't an address`},
		{"bind = [\"[::z]:1\"]", `:1: bind: "[::z]:1" isn't an address`},
		{"allowed_hosts = [\"a;b\"]", `:1: allowed_hosts: "a;b" isn't the name of a host`},
		{"allowed_hosts = [\"box.lan\", \"box:1\"]", `:1: allowed_hosts: "box:1" isn't the name of a host`},
		{"allowed_hosts = [\"a\", 1]", `:1: allowed_hosts: bad value ["a",1]: want a list of strings`},
		{"[hooks]\non_fail = [\"\"]", `on_fail: want a command as a list`},
		{"\nbind = [\"10.0.0.5:8750\", \"[::1]:8750\", \"10.0.0.5:8750\"]", `:2: bind: duplicate address "10.0.0.5:8750": "10.0.0.5:8750" has it already`},
		{"bind = [\"[0::1]:08750\", \"[::1]:8750\"]", `:1: bind: duplicate address "[::1]:8750": "[0::1]:08750" has it`},
		{"bind = [\"Box.lan:1\", \"box.lan.:1\"]", `:1: bind: duplicate address "box.lan.:1": "Box.lan:1" has it`},
		{"bind = [\"127.0.0.1:8750\"]", `:1: bind: duplicate address "127.0.0.1:8750": HTTP is served on "127.0.0.1:8750" in any case; leave it out`},
		{"bind = [\"localhost:8750\"]", `:1: bind: duplicate address "localhost:8750": HTTP is served on "127.0.0.1:8750" in any case`},
		{"bind = [\"[::ffff:127.0.0.1]:8750\"]", `:1: bind: duplicate address "[::ffff:127.0.0.1]:8750": HTTP is served on`},
		{"bind = [\"10.0.0.5:8750\", \"0.0.0.0:8750\"]", `:1: bind: duplicate address "10.0.0.5:8750": "0.0.0.0:8750" has it already; leave one of them out`},
		{"bind = [\"0.0.0.0:8750\", \"127.0.0.1:8750\"]", `:1: bind: duplicate address "127.0.0.1:8750": HTTP is served on`},
		{"bind = [\"[::]:1\", \"[fe80::1%eth0]:1\"]", `:1: bind: duplicate address "[fe80::1%eth0]:1": "[::]:1" has it`},
		{"bind = [\"0.0.0.0:1\", \"0.0.0.0:1\"]", `:1: bind: duplicate address "0.0.0.0:1": "0.0.0.0:1" has it`},
		{"prometheus_url = [\"" + strings.Repeat("x", 500) + "\"]", "…: want a URL such as"},
		{"prometheus_url = \"localhost:9090\"", `:1: prometheus_url: bad value "localhost:9090": want a URL`},
		{"prometheus_url = \"http://ada:pw@p\"", "without a name, password or query"},
		{"autostart = true\nautostart = true", ":2: "},
		{"autostart = ", ":1: "},
		{"a\x1bb = 1", ":1: "},
		{"\"a\\u001bb\" = 1", `a\x1bb: unknown key`},
	} {
		write(t, file, c.text)
		_, err := Load(file, home(t).get)
		var fe *FileError
		if !errors.As(err, &fe) {
			t.Errorf("%q: error %v; want a FileError", c.text, err)
			continue
		}
		s := err.Error()
		if !strings.HasPrefix(s, file+":") || !strings.Contains(s, c.want) || strings.ContainsAny(s, "\n\x1b") {
			t.Errorf("%q:\n got %s\nwant %s", c.text, s, c.want)
		}
	}
}

func TestANamedFileMustExistAndBeReadable(t *testing.T) {
	env := home(t)
	missing := filepath.Join(env["HOME"], "no.toml")
	if _, err := Load(missing, env.get); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	env["PASAR_CONFIG"] = missing
	if _, err := Load("", env.get); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing by PASAR_CONFIG: %v", err)
	}
	if _, err := Load(env["HOME"], env.get); err == nil {
		t.Error("a directory was read as a file")
	}
	write(t, missing, "default_bid = 7")
	c := mustLoad(t, "", env)
	if c.DefaultBid != 7 || c.Source("config") != "environment PASAR_CONFIG" || c.Paths.Config != missing {
		t.Errorf("PASAR_CONFIG: %+v", c)
	}
	write(t, missing, "#"+strings.Repeat("x", MaxFile))
	if _, err := Load("", env.get); err == nil || !strings.Contains(err.Error(), "larger than 256 KiB") {
		t.Errorf("too large: %v", err)
	}
}

func TestTheReserveIsAtMostAQuarterUnlessAskedFor(t *testing.T) {
	env := home(t)
	c := mustLoad(t, "", env)
	if got := c.Reserve(32 * pasar.GiB); got != 8*pasar.GiB {
		t.Errorf("default of 32 GiB: %s", got)
	}
	if got := c.Reserve(256 * pasar.GiB); got != 16*pasar.GiB {
		t.Errorf("default of 256 GiB: %s", got)
	}
	file := filepath.Join(env["HOME"], "c.toml")
	write(t, file, `system_reserve = "20G"`)
	c = mustLoad(t, file, env)
	if got := c.Reserve(32 * pasar.GiB); got != 20*pasar.GiB {
		t.Errorf("asked for 20G of 32 GiB: %s", got)
	}
	if got := c.Reserve(8 * pasar.GiB); got != 8*pasar.GiB {
		t.Errorf("asked for 20G of 8 GiB: %s", got)
	}
}

func TestEveryKeyIsDescribedInOneLine(t *testing.T) {
	all := Describe()
	if len(all) != len(keys) {
		t.Fatalf("%d of %d keys", len(all), len(keys))
	}
	for i, d := range all {
		if d.Key != keys[i].name || len(d.About) < 10 || len(d.About) > 100 || strings.ContainsAny(d.About+d.Default, "\n|") || d.Default == "" {
			t.Errorf("%+v", d)
		}
		if late := d.Applies == NotYet; late != keys[i].late || (d.Applies == AtRestart) != (!late && !keys[i].live) {
			t.Errorf("%s applies %s", d.Key, d.Applies)
		}
	}
	for _, s := range mustLoad(t, "", home(t)).Effective() {
		if s.About == "" || s.Applies == "" {
			t.Errorf("%+v", s)
		}
		if want := "16 GiB, at most a quarter of RAM"; s.Key == "system_reserve" && s.Text() != want {
			t.Errorf("says %q, want %q", s.Text(), want)
		}
	}
}

func TestADiffSaysWhatAppliesAtOnce(t *testing.T) {
	env := home(t)
	file := filepath.Join(env["HOME"], "c.toml")
	before := mustLoad(t, "", env)
	if d := Diff(before, mustLoad(t, "", env)); d != nil {
		t.Errorf("no change: %+v", d)
	}
	write(t, file, "data_dir = \"/x\"\ndefault_bid = 1\npull_max = \"1G\"")
	want := []Change{
		{"default_bid", "1000", "1", true},
		{"data_dir", before.Paths.Data, "/x", false},
		{"pull_max", "-", "1G", false},
		{"socket", before.Paths.Socket, "/x/run/pasard.sock", false},
	}
	if d := Diff(before, mustLoad(t, file, env)); !reflect.DeepEqual(d, want) {
		t.Errorf("got  %+v\nwant %+v", d, want)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(everyKey))
	for _, s := range []string{"a = 1", "[hooks]\non_fail = [\"x\"]", "log_max = \"1e400G\"", "x.y = [[{}]]", "bind = [1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 4<<10 {
			return
		}
		c := defaults()
		err := c.decode("/c.toml", text, "/home/x")
		var fe *FileError
		switch {
		case err == nil:
			for _, s := range c.Effective() {
				if txt := s.Text(); pasar.Clean(txt) != txt {
					t.Fatalf("%s = %q", s.Key, txt)
				}
			}
			if c.Margin.Frac < 0 || c.Margin.Frac > 1 || c.CPUJobs < 0 || c.LogMax < 0 || c.DefaultGrace < 0 {
				t.Fatalf("out of range: %+v", c)
			}
		case !errors.As(err, &fe):
			t.Fatalf("not a FileError: %v", err)
		case pasar.Clean(err.Error()) != err.Error():
			t.Fatalf("not one clean line: %q", err)
		}
	})
}

package config

import (
	"errors"
	"strings"
	"testing"
)

// plainSystem is a machine with a local home and no lingering session.
func plainSystem() system {
	return system{
		network:  func(string) string { return "" },
		hostname: func() (string, error) { return "node7", nil },
		username: func() string { return "ada" },
		lingers:  func(string) bool { return false },
		passwd:   func() string { return "/h" },
		runtime:  func() string { return "" },
	}
}

func loadPaths(t *testing.T, env environ, sys system) Paths {
	t.Helper()
	c, err := load("", env.get, sys)
	if err != nil {
		t.Fatal(err)
	}
	return c.Paths
}

func TestPathsFollowTheXDGDirectories(t *testing.T) {
	got := loadPaths(t, environ{"HOME": "/h"}, plainSystem())
	want := Paths{Config: "/h/.config/pasar/config.toml", Data: "/h/.local/share/pasar", Run: "/h/.local/share/pasar/run",
		Socket: "/h/.local/share/pasar/run/pasard.sock", Log: "/h/.local/state/pasar/pasard.log"}
	if got != want {
		t.Errorf("home alone:\n got %+v\nwant %+v", got, want)
	}
	got = loadPaths(t, environ{"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d/", "XDG_STATE_HOME": "/s",
		"XDG_RUNTIME_DIR": "/r"}, plainSystem())
	want = Paths{Config: "/c/pasar/config.toml", Data: "/d/pasar", Run: "/d/pasar/run",
		Socket: "/d/pasar/run/pasard.sock", OtherSocket: "/r/pasar-5c5e52f6/pasard.sock", Log: "/s/pasar/pasard.log"}
	if got != want {
		t.Errorf("all of XDG:\n got %+v\nwant %+v", got, want)
	}
	if got := loadPaths(t, environ{"HOME": "/h", "XDG_DATA_HOME": "relative"}, plainSystem()); got.Data != "/h/.local/share/pasar" {
		t.Errorf("a relative XDG_DATA_HOME counts: %s", got.Data)
	}
}

func TestTheRuntimeDirectoryIsUsedOnlyWhereItLasts(t *testing.T) {
	sys := plainSystem()
	sys.lingers = func(user string) bool { return user == "ada" }
	env := environ{"HOME": "/h", "XDG_RUNTIME_DIR": "/run/user/7"}
	if got := loadPaths(t, env, sys); got.Run != "/run/user/7/pasar" || got.Socket != "/run/user/7/pasar/pasard.sock" {
		t.Errorf("lingering: %+v", got)
	}
	if got := loadPaths(t, environ{"HOME": "/h"}, sys); got.Run != "/h/.local/share/pasar/run" {
		t.Errorf("without XDG_RUNTIME_DIR: %+v", got)
	}
}

func TestADaemonIsFoundFromCronAndSu(t *testing.T) {
	sys := plainSystem()
	sys.runtime = func() string { return "/run/user/7" }
	if got := loadPaths(t, environ{"HOME": "/h"}, sys); got.Run != "/h/.local/share/pasar/run" {
		t.Errorf("without linger: %+v", got)
	}
	sys.lingers = func(string) bool { return true }
	login := loadPaths(t, environ{"HOME": "/h", "XDG_RUNTIME_DIR": "/run/user/7"}, sys)
	if cron := loadPaths(t, environ{"HOME": "/h"}, sys); cron != login || cron.Run != "/run/user/7/pasar" {
		t.Errorf("without XDG_RUNTIME_DIR: %+v\nwith it: %+v", cron, login)
	}
	if got := loadPaths(t, environ{"HOME": "/elsewhere"}, sys); got.Run != "/elsewhere/.local/share/pasar/run" {
		t.Errorf("in a home that isn't the user's: %+v", got)
	}
}

func TestADaemonFromBeforeLingerIsFound(t *testing.T) {
	sys := plainSystem()
	env := environ{"HOME": "/h", "XDG_RUNTIME_DIR": "/run/user/7"}
	before := loadPaths(t, env, sys)
	sys.lingers = func(string) bool { return true }
	after := loadPaths(t, env, sys)
	if before.OtherSocket != after.Socket || after.OtherSocket != before.Socket || before.Socket == after.Socket {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
	env["PASAR_SOCKET"] = "/s"
	if p := loadPaths(t, env, sys); p.OtherSocket != "" {
		t.Errorf("with PASAR_SOCKET there is no other: %+v", p)
	}
}

func TestDaemonsWithDifferentDataNeverMeet(t *testing.T) {
	sys := plainSystem()
	sys.lingers = func(string) bool { return true }
	seen := map[string]string{}
	for _, data := range []string{"", "/d1", "/d2"} {
		p := loadPaths(t, environ{"HOME": "/h", "XDG_DATA_HOME": data, "XDG_RUNTIME_DIR": "/run/user/7"}, sys)
		if other, ok := seen[p.Socket]; ok {
			t.Errorf("data in %q and in %q share %s", data, other, p.Socket)
		}
		seen[p.Socket] = data
		if !strings.HasPrefix(p.Run, "/run/user/7/pasar") {
			t.Errorf("%q: %s", data, p.Run)
		}
	}
}

func TestOnANetworkHomeEachHostHasItsOwnData(t *testing.T) {
	sys := plainSystem()
	sys.network = func(path string) string {
		if strings.HasPrefix(path, "/h/") {
			return "NFS"
		}
		return ""
	}
	if got := loadPaths(t, environ{"HOME": "/h"}, sys); got.Data != "/h/.local/share/pasar-node7" || got.Network != "NFS" {
		t.Errorf("network home: %+v", got)
	}
	if got := loadPaths(t, environ{"HOME": "/h", "XDG_DATA_HOME": "/d"}, sys); got.Data != "/d/pasar" || got.Network != "" {
		t.Errorf("local data: %+v", got)
	}
	sys.hostname = func() (string, error) { return "", errors.New("no name") }
	if _, err := load("", environ{"HOME": "/h"}.get, sys); err == nil {
		t.Error("a host without a name shares its data silently")
	}
}

func TestASocketFromTheEnvironmentMustBeAbsolute(t *testing.T) {
	if got := loadPaths(t, environ{"HOME": "/h", "PASAR_SOCKET": "/s/../x.sock"}, plainSystem()); got.Socket != "/x.sock" {
		t.Errorf("socket %s", got.Socket)
	}
	if _, err := load("", environ{"HOME": "/h", "PASAR_SOCKET": "x.sock"}.get, plainSystem()); err == nil {
		t.Error("a relative socket was taken")
	}
}

func TestWithoutAHomeTheErrorSaysWhatToSet(t *testing.T) {
	_, err := Load("", environ{}.get)
	if err == nil || !strings.Contains(err.Error(), "HOME is not set") {
		t.Errorf("error %v", err)
	}
	env := environ{"XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d", "XDG_STATE_HOME": "/s"}
	if _, err := load("", env.get, plainSystem()); err != nil {
		t.Errorf("XDG alone: %v", err)
	}
}

func TestThisMachineCanBeAsked(t *testing.T) {
	sys := thisSystem()
	if sys.username() == "" {
		t.Error("no user name")
	}
	if fsname := sys.network("/proc/self/no/such/thing"); fsname != "" {
		t.Errorf("/proc is on %s", fsname)
	}
}

func BenchmarkLoadWithoutAFile(b *testing.B) {
	env := environ{"HOME": b.TempDir(), "XDG_RUNTIME_DIR": "/run/user/1"}
	for b.Loop() {
		if _, err := Load("", env.get); err != nil {
			b.Fatal(err)
		}
	}
}

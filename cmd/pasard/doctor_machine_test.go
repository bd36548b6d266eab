package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/config"
	"pasar/target"
)

// A sickMachine is a machine on which all is well, until a test spoils something.
type sickMachine struct {
	*doctorEnv
	t    *testing.T
	vars map[string]string // environment
	data string
	says map[string]string // what programs print, by the base of their name
	seen daemonSeen

	shown    map[string]string // what systemd says of units
	shownErr error
	standing target.Standing // what a daemon would find
}

// wellMachine has a daemon running, and one GPU. Its home and its system files are of its own.
func wellMachine(t *testing.T) *sickMachine {
	t.Helper()
	home, bin := shortDir(t), t.TempDir()
	m := &sickMachine{
		t:    t,
		vars: map[string]string{"HOME": home},
		data: filepath.Join(home, ".local/share/pasar"),
		says: map[string]string{"pasar-supervisor": "pasar-supervisor 1.2.3 (protocol 1 to 1)\n", "pasar-console": "pasar-console 1.2.3 (protocol 1)\n", "pasar": `{"schema":1,"version":"1.2.3","daemon":null}`},
		seen: daemonSeen{state: socketAnswers, version: "1.2.3", pid: 4711, web: "http://127.0.0.1:8750"},
	}
	m.seen.status = pasar.StatusView{DataDir: m.data, StartedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Place: pasar.Known(pasar.PlaceUnit)}
	m.shown = map[string]string{
		serviceUnit: "LoadState=loaded\nActiveState=active\nUnitFileState=enabled\nMainPID=4711\n",
		socketUnit:  "LoadState=loaded\nActiveState=active\nUnitFileState=enabled\n",
	}
	m.standing = target.Standing{Place: pasar.PlaceUnit, Memory: true}
	root := t.TempDir()
	m.doctorEnv = &doctorEnv{
		root: root, home: home, asleep: func(config.Paths) bool { return false },
		probe: func(context.Context) target.Standing { return m.standing },
		manager: &serviceManager{root: root, user: "ada", uid: os.Geteuid(), env: func(k string) string { return m.vars[k] },
			run: func(_ context.Context, _ []string, argv ...string) (string, error) {
				return m.shown[argv[len(argv)-1]], m.shownErr
			}},
		scratch: filepath.Join(t.TempDir(), "scratch"), self: filepath.Join(bin, "pasard"),
		version: "1.2.3", uid: os.Geteuid(), user: "ada",
		now: func() time.Time { return time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC) },
		load: func(file string) (*config.Config, error) {
			c, err := config.Load(file, func(k string) string { return m.vars[k] })
			if c != nil {
				c.Paths.Network = "" // wherever the tests run
				c.Paths.Data, c.Paths.Run, c.Paths.Socket = m.data, m.data+"/run", m.data+"/run/pasard.sock"
				if s := m.vars["PASAR_SOCKET"]; s != "" {
					c.Paths.Socket = s
				}
			}
			return c, err
		},
		ask: func(context.Context, string) daemonSeen { return m.seen },
		run: func(_ context.Context, argv ...string) ([]byte, error) {
			text, ok := m.says[filepath.Base(argv[0])]
			if !ok {
				return nil, unix.ENOEXEC
			}
			return []byte(text), nil
		},
		lookPath: func(name string) (string, error) { return "/usr/bin/" + name, nil },
		statfs: func(string) (space, error) {
			return space{total: 100 * pasar.GiB, free: 50 * pasar.GiB, inodes: 1e6, counts: true}, nil
		},
		writable: func(string) error { return nil },
		rlimit: func(int, int) (unix.Rlimit, error) {
			return unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}, nil
		},
		openPTY: func() error { return nil },
		mono:    func() (pasar.Duration, error) { return 1, nil },
		gpus:    func(context.Context, *config.Config) gpuSight { return gpusSeen("nvml", wellGPU) },

		kernelLog: func(string) error { return nil },
	}
	for path, text := range map[string]string{
		"/proc/self/stat":                               "1 (x) R",
		"/proc/self/environ":                            "A=b\x00",
		"/proc/self/status":                             "Name:\tx\nCapEff:\t000001ffffffffff\n",
		"/proc/self/oom_score_adj":                      "0\n",
		"/proc/self/cgroup":                             "0::/\n",
		"/proc/self/mountinfo":                          procMount + devptsMount,
		"/proc/sys/kernel/pty/max":                      "4096\n",
		"/proc/sys/kernel/pty/nr":                       "3\n",
		"/dev/shm/x":                                    "",
		"/sys/fs/cgroup/cgroup.controllers":             "memory pids\n",
		"/run/systemd/system/x":                         "",
		"/run/user/" + itoa(m.uid) + "/systemd/private": "",
		"/var/lib/systemd/linger/ada":                   "",
	} {
		m.write(m.path(path), text)
	}
	for _, name := range []string{"pasard", "pasar-supervisor", "pasar-console", "pasar"} {
		m.program(filepath.Join(bin, name))
	}
	group := "/sys/fs/cgroup/system.slice"
	if m.uid != 0 {
		group = fmt.Sprintf("/sys/fs/cgroup/user.slice/user-%d.slice/user@%d.service", m.uid, m.uid)
	}
	m.write(m.path(group+"/cgroup.controllers"), "cpu memory pids\n")
	m.mkdir(filepath.Join(m.data, "run"))
	m.units(service{program: m.self, socket: m.data + "/run/pasard.sock"})
	return m
}

// units writes what setup would.
func (m *sickMachine) units(s service) {
	for name, text := range s.units() {
		m.write(filepath.Join(unitDir(m.home), name), text)
	}
}

// unit is the path of one.
func (m *sickMachine) unit(name string) string { return filepath.Join(unitDir(m.home), name) }

// shortDir is a directory in which a socket's path stays short, which t.TempDir's may not.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "doctor")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

const (
	procMount   = "22 27 0:21 / /proc rw,relatime shared:1 - proc proc rw\n"
	devptsMount = "26 24 0:24 / /dev/pts rw,relatime - devpts devpts rw,mode=600,ptmxmode=000\n"
)

func (m *sickMachine) write(path, text string) {
	m.t.Helper()
	m.mkdir(filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

func (m *sickMachine) program(path string) {
	m.t.Helper()
	m.write(path, "")
	if err := os.Chmod(path, 0o755); err != nil {
		m.t.Fatal(err)
	}
}

func (m *sickMachine) mkdir(path string) {
	m.t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		m.t.Fatal(err)
	}
}

func (m *sickMachine) chmod(path string, mode os.FileMode) {
	m.t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		m.t.Fatal(err)
	}
}

func (m *sickMachine) remove(path string) {
	m.t.Helper()
	if err := os.RemoveAll(path); err != nil {
		m.t.Fatal(err)
	}
}

// configure writes the usual configuration file.
func (m *sickMachine) configure(text string) {
	m.t.Helper()
	m.write(filepath.Join(m.vars["HOME"], ".config/pasar/config.toml"), text)
}

// paths has the configuration's paths changed.
func (m *sickMachine) paths(change func(*config.Paths)) {
	load := m.load
	m.load = func(file string) (*config.Config, error) {
		c, err := load(file)
		if c != nil {
			change(&c.Paths)
		}
		return c, err
	}
}

// noDaemon has no daemon run.
func (m *sickMachine) noDaemon() { m.seen = daemonSeen{state: socketMissing} }

// examined is the set of symptoms that the doctor finds.
func (m *sickMachine) examined() map[symptom]finding {
	found := map[symptom]finding{}
	for _, f := range m.examine(context.Background(), "") {
		found[f.symptom] = f
	}
	return found
}

func sorted(found map[symptom]finding) []symptom { return slices.Sorted(maps.Keys(found)) }

var errSick = errors.New("it is sick")

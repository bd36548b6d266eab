package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/config"
	"pasar/gpu"
	"pasar/ipc"
	"pasar/store"
	"pasar/target"
)

func itoa(n int) string { return strconv.Itoa(n) }

// wellSymptoms are what is found on a machine on which all is well.
var wellSymptoms = []symptom{
	configNone, dataFine, journalServed, runFine, daemonUp, httpUp, programsFine, terminalsFine, procFine, placeUnit,
	serviceUp, lingerOn, gpusFine, kernelLogFine, limitsFine, memoryProtected, shmFine, clocksFine, gitFine,
}

// sicknesses provoke every other symptom: what is spoilt, and all that is found because of it.
var sicknesses = []struct {
	name  string
	want  []symptom
	spoil func(m *sickMachine)
}{
	{"a configuration file", []symptom{configFine}, func(m *sickMachine) { m.configure("autostart = false\n") }},
	{"an unknown key", []symptom{configWrong}, func(m *sickMachine) { m.configure("\nautostrat = false\n") }},
	{"a configuration that is no file", []symptom{configUnusable}, func(m *sickMachine) {
		m.mkdir(filepath.Join(m.vars["HOME"], ".config/pasar/config.toml"))
	}},
	{"no home", []symptom{configUnusable}, func(m *sickMachine) { m.vars["HOME"] = "" }},
	{"a configuration that others can change", []symptom{configOpen}, func(m *sickMachine) {
		m.configure("autostart = true\n")
		m.chmod(filepath.Join(m.vars["HOME"], ".config/pasar/config.toml"), 0o666)
	}},

	{"nothing there yet", []symptom{dataNone, journalNone, runNone, daemonDown}, func(m *sickMachine) {
		m.remove(m.data)
		m.noDaemon()
	}},
	{"a file for a data directory", []symptom{dataNotDir, runUnwritable, daemonDown}, func(m *sickMachine) {
		m.remove(m.data)
		m.write(m.data, "")
		m.noDaemon()
	}},
	{"another user's data directory", []symptom{dataForeign, runForeign}, func(m *sickMachine) {
		m.uid += 12345
		m.write(m.path("/run/user/"+itoa(m.uid)+"/systemd/private"), "")
	}},
	{"a data directory that others can enter", []symptom{dataOpen}, func(m *sickMachine) { m.chmod(m.data, 0o755) }},
	{"an unwritable data directory", []symptom{dataUnwritable}, func(m *sickMachine) { m.unwritable(m.data, unix.EACCES) }},
	{"a home in which nothing can be made", []symptom{dataUnwritable, journalNone, runNone, daemonDown}, func(m *sickMachine) {
		m.remove(m.data)
		m.unwritable(filepath.Dir(m.data), unix.EACCES)
		m.noDaemon()
	}},
	{"a read-only data directory", []symptom{dataReadOnly}, func(m *sickMachine) { m.unwritable(m.data, unix.EROFS) }},
	{"a data directory under a file", []symptom{dataUnreachable, runUnwritable, daemonDown, serviceElsewhere}, func(m *sickMachine) {
		m.write(filepath.Join(m.vars["HOME"], "file"), "")
		m.data = filepath.Join(m.vars["HOME"], "file/pasar")
		m.noDaemon()
	}},
	{"a file system that doesn't tell its space", []symptom{dataUnreachable, shmMissing}, func(m *sickMachine) {
		m.statfs = func(string) (space, error) { return space{}, errSick }
	}},
	{"half a GiB free", []symptom{dataLow}, func(m *sickMachine) { m.space(m.data, space{free: pasar.GiB / 2}) }},
	{"99 MiB free", []symptom{dataFull}, func(m *sickMachine) { m.space(m.data, space{free: 99 * pasar.MiB}) }},
	{"no files left", []symptom{dataNoInodes}, func(m *sickMachine) { m.space(m.data, space{free: pasar.TiB, counts: true}) }},
	{"a network file system", []symptom{dataNetwork}, func(m *sickMachine) {
		m.paths(func(p *config.Paths) { p.Network = "NFS" })
	}},

	{"a whole journal", []symptom{journalFine, daemonDown}, func(m *sickMachine) { m.journal(m.now()); m.noDaemon() }},
	{"an empty journal", []symptom{journalFine, daemonDown}, func(m *sickMachine) { m.journal(); m.noDaemon() }},
	{"a journal cut off", []symptom{journalDamaged, daemonDown}, func(m *sickMachine) {
		m.journal(m.now())
		if err := os.Truncate(filepath.Join(m.data, journalDB), 5000); err != nil {
			m.t.Fatal(err)
		}
		m.noDaemon()
	}},
	{"a journal that was lost", []symptom{journalDamaged, daemonDown}, func(m *sickMachine) {
		m.mkdir(filepath.Join(m.data, "jobs/1/1"))
		m.noDaemon()
	}},
	{"a newer journal", []symptom{journalNewer, daemonDown}, func(m *sickMachine) {
		m.journal()
		path := filepath.Join(m.data, journalDB)
		b, err := os.ReadFile(path)
		if err != nil {
			m.t.Fatal(err)
		}
		binary.BigEndian.PutUint32(b[60:], 99) // user_version
		m.write(path, string(b))
		m.noDaemon()
	}},
	{"a journal locked by who doesn't answer", []symptom{journalLocked, daemonSilent}, func(m *sickMachine) {
		m.hold()
		m.seen = daemonSeen{state: socketSilent, why: "it does not answer"}
	}},
	{"a journal locked by who isn't there", []symptom{journalLocked, daemonDown}, func(m *sickMachine) { m.hold(); m.noDaemon() }},
	{"a journal that can't be read", []symptom{journalUnreadable, daemonDown}, func(m *sickMachine) {
		link := filepath.Join(m.data, journalDB)
		if err := os.Symlink(link, link); err != nil {
			m.t.Fatal(err)
		}
		m.noDaemon()
	}},
	{"a huge journal", []symptom{journalUnchecked, daemonDown}, func(m *sickMachine) {
		m.write(filepath.Join(m.data, journalDB), "")
		if err := os.Truncate(filepath.Join(m.data, journalDB), int64(journalMost)+1); err != nil {
			m.t.Fatal(err)
		}
		m.noDaemon()
	}},
	{"no room for a copy", []symptom{journalUnchecked, daemonDown}, func(m *sickMachine) {
		m.journal()
		m.write(m.scratch, "")
		m.noDaemon()
	}},

	{"a file for a run directory", []symptom{runNotDir}, func(m *sickMachine) {
		m.remove(m.data + "/run")
		m.write(m.data+"/run", "")
	}},
	{"a run directory that others can enter", []symptom{runOpen}, func(m *sickMachine) { m.chmod(m.data+"/run", 0o750) }},
	{"an unwritable run directory", []symptom{runUnwritable}, func(m *sickMachine) { m.unwritable(m.data+"/run", unix.EACCES) }},
	{"a run directory that can't be made", []symptom{runUnwritable, serviceElsewhere}, func(m *sickMachine) {
		m.vars["PASAR_SOCKET"] = filepath.Join(m.vars["HOME"], "elsewhere/run/s")
		m.unwritable(m.vars["HOME"], unix.EACCES)
	}},
	{"a run directory that goes at the last logout", []symptom{runVanishes, lingerOff, serviceElsewhere}, func(m *sickMachine) {
		m.vars["PASAR_SOCKET"] = "/run/user/" + itoa(m.uid) + "/pasar.sock"
		m.remove(m.path("/var"))
	}},
	{"a long socket path", []symptom{socketLong, serviceElsewhere}, func(m *sickMachine) {
		m.vars["PASAR_SOCKET"] = filepath.Join(m.data, "run", strings.Repeat("d", 110), "s")
	}},
	{"a socket name that is too long", []symptom{socketTooLong, serviceElsewhere}, func(m *sickMachine) {
		m.vars["PASAR_SOCKET"] = filepath.Join(m.data, "run", strings.Repeat("s", 100))
	}},

	{"no daemon, autostart off", []symptom{configFine, journalNone, daemonDownManual}, func(m *sickMachine) {
		m.configure("autostart = false\n")
		m.noDaemon()
	}},
	{"a dead daemon's socket", []symptom{daemonStale, journalNone}, func(m *sickMachine) { m.seen = daemonSeen{state: socketStale} }},
	{"a daemon that refuses us", []symptom{daemonRefuses, journalNone}, func(m *sickMachine) {
		m.seen = daemonSeen{state: socketRefused, why: "the daemon is too old"}
	}},
	{"another user's daemon", []symptom{daemonForeign, journalNone}, func(m *sickMachine) {
		m.seen = daemonSeen{state: socketForeign, why: "it belongs to uid 7"}
	}},
	{"a socket that is none", []symptom{daemonNotSocket, journalNone}, func(m *sickMachine) {
		m.seen = daemonSeen{state: socketNot, why: "it is not a socket"}
	}},
	{"another version's daemon", []symptom{daemonOther}, func(m *sickMachine) { m.seen.version = "1.0.0" }},
	{"a daemon with other data", []symptom{daemonElsewhere, journalNone}, func(m *sickMachine) { m.seen.status.DataDir = "/elsewhere" }},
	{"a daemon in trouble", []symptom{daemonTroubled}, func(m *sickMachine) {
		m.seen.status.Problem = pasar.Known("disk full")
	}},
	{"an incident", []symptom{daemonIncident}, func(m *sickMachine) {
		m.seen.status.Incidents = []pasar.IncidentView{{At: m.now(), What: "pressure", Detail: "of memory"}}
	}},

	{"HTTP turned off", []symptom{configFine, httpOff}, func(m *sickMachine) {
		m.configure("http = false\n")
		m.seen.web, m.seen.noWeb = "", &ipc.Error{Code: ipc.CodeUnsupported, Message: "no HTTP", Hint: "turn it on"}
	}},
	{"a daemon that serves no HTTP", []symptom{httpNone}, func(m *sickMachine) {
		m.seen.web, m.seen.noWeb = "", &ipc.Error{Code: ipc.CodeUnsupported, Message: "no HTTP", Hint: "turn it on"}
	}},
	{"an address that this machine doesn't have", []symptom{httpPart}, func(m *sickMachine) {
		m.seen.webs = []ipc.WebAddress{{Address: "127.0.0.1:8750"}, {Address: "10.0.0.5:8750", Why: "cannot assign requested address"}}
	}},
	{"a port that another has", []symptom{httpDown}, func(m *sickMachine) {
		m.seen.web, m.seen.noWeb = "", &ipc.Error{Code: ipc.CodeUnavailable, Message: "HTTP is not served on 127.0.0.1:8750: address already in use"}
	}},

	{"no supervisor", []symptom{supervisorMissing}, func(m *sickMachine) { m.remove(filepath.Join(filepath.Dir(m.self), "pasar-supervisor")) }},
	{"a supervisor that doesn't run", []symptom{supervisorBroken}, func(m *sickMachine) { delete(m.says, "pasar-supervisor") }},
	{"a supervisor that isn't one", []symptom{supervisorBroken}, func(m *sickMachine) { m.says["pasar-supervisor"] = "\x1b[2Jhello" }},
	{"another version's supervisor", []symptom{supervisorOther}, func(m *sickMachine) { m.says["pasar-supervisor"] = "pasar-supervisor 0.9" }},
	{"no client", []symptom{clientMissing}, func(m *sickMachine) {
		m.remove(filepath.Join(filepath.Dir(m.self), "pasar"))
		m.hide("pasar")
	}},
	{"a client that doesn't run", []symptom{clientBroken}, func(m *sickMachine) { delete(m.says, "pasar") }},
	{"a client that is another program", []symptom{clientBroken}, func(m *sickMachine) { m.says["pasar"] = `{}` }},
	{"no console", []symptom{consoleMissing}, func(m *sickMachine) { m.remove(filepath.Join(filepath.Dir(m.self), "pasar-console")) }},
	{"a console that doesn't run", []symptom{consoleBroken}, func(m *sickMachine) { delete(m.says, "pasar-console") }},
	{"a console that isn't one", []symptom{consoleBroken}, func(m *sickMachine) { m.says["pasar-console"] = "pasar-supervisor 1.2.3" }},
	{"another version's console", []symptom{consoleOther}, func(m *sickMachine) { m.says["pasar-console"] = "pasar-console 0.9" }},
	{"another version's client", []symptom{clientOther}, func(m *sickMachine) { m.says["pasar"] = `{"version":"2.0"}` }},

	{"a terminal that can't be opened", []symptom{ptmxBroken}, func(m *sickMachine) { m.openPTY = func() error { return errSick } }},
	{"no devpts", []symptom{devptsMissing}, func(m *sickMachine) { m.write(m.path("/proc/self/mountinfo"), procMount) }},
	{"devpts mounted over", []symptom{devptsMissing}, func(m *sickMachine) {
		m.write(m.path("/proc/self/mountinfo"), procMount+devptsMount+strings.ReplaceAll(devptsMount, "devpts", "tmpfs"))
	}},
	{"few terminals left", []symptom{ptysFew}, func(m *sickMachine) { m.write(m.path("/proc/sys/kernel/pty/nr"), "4090") }},

	{"no /proc", []symptom{procMissing, memoryApart}, func(m *sickMachine) { m.remove(m.path("/proc")) }},
	{"environments that can't be read", []symptom{procEnviron}, func(m *sickMachine) { m.remove(m.path("/proc/self/environ")) }},
	{"/proc that hides", []symptom{procHides}, func(m *sickMachine) {
		m.write(m.path("/proc/self/mountinfo"), strings.Replace(procMount, "proc rw", "proc rw,gid=4,hidepid=invisible", 1)+devptsMount)
	}},

	{"jobs in cgroups", []symptom{placeCgroup}, func(m *sickMachine) {
		bound := true
		m.seen.status.Place, m.seen.status.PlaceRAM = pasar.Known(pasar.PlaceCgroup), &bound
		m.write(m.path("/proc/4711/oom_score_adj"), "-900\n")
		m.write(m.path("/proc/4711/cgroup"), "0::/mine\n")
		m.write(m.path("/sys/fs/cgroup/mine/cgroup.controllers"), "memory\n")
	}},
	{"jobs in cgroups without memory", []symptom{placeCgroup, memoryUnbound, daemonDown, journalNone, serviceAsleep}, func(m *sickMachine) {
		m.write(m.path("/sys/fs/cgroup/mine/cgroup.controllers"), "memory\n")
		m.standing = target.Standing{Place: pasar.PlaceCgroup, Cgroup: m.path("/sys/fs/cgroup/mine"), Lacks: []target.Lack{{Why: "systemd is not in charge"}}}
		m.shown[serviceUnit] = "ActiveState=inactive\n"
		m.noDaemon()
	}},
	{"jobs in nothing, and nothing to be done", []symptom{placeSession}, func(m *sickMachine) {
		m.seen.status.Place, m.seen.status.PlaceNote = pasar.Known(pasar.PlaceSession), pasar.Known("there is no cgroup v2")
	}},
	{"jobs in nothing, though they could be in units", []symptom{placeWorse}, func(m *sickMachine) {
		m.seen.status.Place, m.seen.status.PlaceFix = pasar.Known(pasar.PlaceSession), pasar.Known("loginctl enable-linger")
	}},
	{"a daemon that says nothing of places", []symptom{placeUnknown}, func(m *sickMachine) { m.seen.status.Place = nil }},
	{"no memory controller for users", []symptom{memoryUnbound}, func(m *sickMachine) {
		for _, dir := range []string{"system.slice", "user.slice/user-" + itoa(m.uid) + ".slice/user@" + itoa(m.uid) + ".service"} {
			m.write(m.path("/sys/fs/cgroup/"+dir+"/cgroup.controllers"), "pids\n")
		}
	}},

	{"no service", []symptom{serviceNone}, func(m *sickMachine) { m.remove(unitDir(m.home)) }},
	{"a service that nobody called yet", []symptom{serviceAsleep, daemonAsleep, journalNone}, func(m *sickMachine) {
		m.asleep = func(config.Paths) bool { return true }
		m.shown[serviceUnit] = "ActiveState=inactive\nMainPID=0\n"
	}},
	{"a stopped service", []symptom{serviceStopped, daemonDown, journalNone}, func(m *sickMachine) {
		m.noDaemon()
		m.shown[serviceUnit], m.shown[socketUnit] = "ActiveState=inactive\n", "ActiveState=inactive\n"
	}},
	{"a failed service", []symptom{serviceFailed, daemonDown, journalNone}, func(m *sickMachine) {
		m.noDaemon()
		m.shown[serviceUnit] = "ActiveState=failed\nResult=exit-code\n"
	}},
	{"a failed socket", []symptom{serviceFailed, daemonDown, journalNone}, func(m *sickMachine) {
		m.noDaemon()
		m.shown[serviceUnit], m.shown[socketUnit] = "ActiveState=inactive\n", "ActiveState=failed\nResult=trigger-limit-hit\n"
	}},
	{"a service that isn't enabled", []symptom{serviceOff}, func(m *sickMachine) {
		m.shown[serviceUnit] = "ActiveState=active\nUnitFileState=disabled\nMainPID=4711\n"
	}},
	{"a masked service", []symptom{serviceMasked}, func(m *sickMachine) {
		m.remove(m.unit(serviceUnit))
		if err := os.Symlink(os.DevNull, m.unit(serviceUnit)); err != nil {
			m.t.Fatal(err)
		}
	}},
	{"half a service", []symptom{serviceHalf}, func(m *sickMachine) { m.remove(m.unit(serviceUnit)) }},
	{"a service that was changed", []symptom{serviceEdited}, func(m *sickMachine) {
		m.write(m.unit(serviceUnit), service{program: m.self, socket: m.data + "/run/pasard.sock"}.units()[serviceUnit]+"Nice=5\n")
	}},
	{"a service in somebody's dotfiles", []symptom{serviceEdited}, func(m *sickMachine) {
		if err := os.Rename(m.unit(serviceUnit), filepath.Join(m.home, "dot")); err != nil {
			m.t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(m.home, "dot"), m.unit(serviceUnit)); err != nil {
			m.t.Fatal(err)
		}
	}},
	{"a service of an older version", []symptom{serviceOutdated}, func(m *sickMachine) {
		m.write(m.unit(serviceUnit), sign("[Service]\nExecStart="+m.self+"\n"))
	}},
	{"a service of another pasard", []symptom{serviceOther}, func(m *sickMachine) {
		m.program(filepath.Join(m.home, "bin/pasard"))
		m.units(service{program: filepath.Join(m.home, "bin/pasard"), socket: m.data + "/run/pasard.sock"})
	}},
	{"a service of a pasard that is gone", []symptom{serviceBroken}, func(m *sickMachine) {
		m.units(service{program: "/nowhere/pasard", socket: m.data + "/run/pasard.sock"})
	}},
	{"a service that isn't pasard's", []symptom{serviceUnread}, func(m *sickMachine) { m.write(m.unit(serviceUnit), "[Service]\n") }},
	{"a service that listens elsewhere", []symptom{serviceElsewhere}, func(m *sickMachine) {
		m.units(service{program: m.self, socket: "/elsewhere"})
	}},
	{"a daemon beside the service", []symptom{serviceBeside}, func(m *sickMachine) {
		m.shown[serviceUnit] = "ActiveState=active\nUnitFileState=enabled\nMainPID=99\n"
	}},
	{"a daemon instead of the service", []symptom{serviceBeside}, func(m *sickMachine) {
		m.shown[serviceUnit] = "ActiveState=inactive\nUnitFileState=enabled\nMainPID=0\n"
	}},
	{"a systemd that can't be reached", []symptom{serviceUnreached}, func(m *sickMachine) { m.shownErr = errSick }},

	{"no systemd", []symptom{systemdNone}, func(m *sickMachine) { m.remove(m.path("/run/systemd")) }},
	{"no linger", []symptom{lingerOff}, func(m *sickMachine) { m.remove(m.path("/var")) }},
	{"linger without the user's systemd", []symptom{managerDown}, func(m *sickMachine) { m.remove(m.path("/run/user")) }},
	{"killed at logout", []symptom{killedAtLogout}, func(m *sickMachine) {
		m.remove(m.path("/var"))
		m.write(m.path("/etc/systemd/logind.conf"), "[Login]\nKillUserProcesses=yes\n")
	}},
	{"killed at logout, by a drop-in", []symptom{killedAtLogout}, func(m *sickMachine) {
		m.remove(m.path("/var"))
		m.write(m.path("/etc/systemd/logind.conf"), "[Login]\n#KillUserProcesses=no\nKillUserProcesses=no\n")
		m.write(m.path("/usr/lib/systemd/logind.conf.d/50-kill.conf"), "[Login]\nKillUserProcesses = true\n")
	}},
	{"killed with the session that started it", []symptom{killedWithSession}, func(m *sickMachine) {
		m.write(m.path("/usr/lib/systemd/logind.conf"), "[Login]\nKillUserProcesses=yes\n")
		m.write(m.path("/proc/4711/cgroup"), "0::/user.slice/user-7.slice/session-3.scope\n")
		m.write(m.path("/proc/4711/oom_score_adj"), "-900\n")
	}},
	{"killed with the user's systemd", []symptom{endsWithManager}, func(m *sickMachine) {
		m.remove(m.path("/var"))
		m.write(m.path("/proc/4711/cgroup"), "0::/user.slice/user-"+itoa(m.uid)+".slice/user@"+itoa(m.uid)+".service/app.slice/pasard.service\n")
		m.write(m.path("/proc/4711/oom_score_adj"), "-900\n")
	}},
	{"killed if it is started from this login", []symptom{killedIfInSession, daemonDown, journalNone}, func(m *sickMachine) {
		m.write(m.path("/etc/systemd/logind.conf"), "[Login]\nKillUserProcesses=yes\n")
		m.write(m.path("/proc/self/cgroup"), "1:name=systemd:/user.slice/user-7.slice/session-3.scope\n0::/x\n")
		m.noDaemon()
	}},

	{"no GPU", []symptom{gpusNone}, func(m *sickMachine) { m.sees(gpusSeen("none")) }},
	{"a driver that talks nonsense", []symptom{gpusBroken}, func(m *sickMachine) { m.sees(gpuSight{err: errSick}) }},
	{"a driver that was upgraded", []symptom{gpusBroken}, func(m *sickMachine) {
		m.sees(gpuSight{err: &gpu.Broken{Fault: gpu.FaultMismatch, Text: "different versions"}})
	}},
	{"a driver that isn't loaded", []symptom{gpusBroken}, func(m *sickMachine) {
		m.sees(gpuSight{err: &gpu.Broken{Fault: gpu.FaultNoDriver, Text: "not loaded"}})
	}},
	{"no driver", []symptom{gpusBroken}, func(m *sickMachine) {
		m.sees(gpuSight{err: &gpu.Broken{Fault: gpu.FaultNoLibrary, Text: "no library"}})
	}},
	{"a driver that hangs", []symptom{gpusBroken}, func(m *sickMachine) {
		m.sees(gpuSight{err: &gpu.Broken{Fault: gpu.FaultSilent, Text: "no answer"}})
	}},
	{"no library", []symptom{gpusThroughTool}, func(m *sickMachine) { m.sees(gpusSeen("nvidia-smi", wellGPU)) }},
	{"no cgo", []symptom{gpusThroughTool}, func(m *sickMachine) {
		s := gpusSeen("nvidia-smi", wellGPU)
		s.cgo = false
		m.sees(s)
	}},
	{"a GPU that hangs", []symptom{gpuUnwell}, func(m *sickMachine) {
		m.sees(gpusSeen("nvml", wellGPU, func(s *gpu.Sight) { s.Now.Status, s.Now.Detail = pasar.GPUUnresponsive, "it hangs" }))
	}},
	{"a GPU that is lost", []symptom{gpuUnwell}, func(m *sickMachine) {
		m.sees(gpusSeen("nvml", wellGPU, func(s *gpu.Sight) { s.Now.Status, s.Now.Detail = pasar.GPULost, "GPU is lost" }))
	}},
	{"a GPU that is to be reset", []symptom{gpuUnwell}, func(m *sickMachine) {
		m.sees(gpusSeen("nvml", func(s *gpu.Sight) { wellGPU(s); s.Now.Recovery = "drain_and_reset" }))
	}},
	{"a GPU that is divided into nothing", []symptom{gpuIdle}, func(m *sickMachine) {
		m.sees(gpusSeen("nvml", wellGPU, func(s *gpu.Sight) { wellGPU(s); s.Device.Left = "MIG is on" }))
	}},
	{"a kernel log that may not be read", []symptom{kernelLogClosed}, func(m *sickMachine) {
		m.kernelLog = func(string) error { return unix.EPERM }
	}},
	{"no kernel log", []symptom{kernelLogClosed}, func(m *sickMachine) {
		m.kernelLog = func(string) error { return unix.ENOENT }
	}},

	{"few open files", []symptom{filesFew}, func(m *sickMachine) { m.limit(unix.RLIMIT_NOFILE, 512) }},
	{"few processes", []symptom{processesFew, dataForeign, runForeign}, func(m *sickMachine) {
		m.uid += 12345 // whoever runs the tests, not root
		m.write(m.path("/run/user/"+itoa(m.uid)+"/systemd/private"), "")
		m.limit(unix.RLIMIT_NPROC, 100)
	}},

	{"no capability", []symptom{memoryApart}, func(m *sickMachine) { m.write(m.path("/proc/self/status"), "CapEff:\t000001fffeffffff\n") }},
	{"no capability, and a high score", []symptom{memoryCrowded}, func(m *sickMachine) {
		m.write(m.path("/proc/self/status"), "CapEff:\t0000000000000000\n")
		m.write(m.path("/proc/self/oom_score_adj"), "900\n")
	}},

	{"a daemon without the capability", []symptom{memoryApart}, func(m *sickMachine) {
		m.write(m.path("/proc/4711/status"), "CapEff:\t0000000000000000\n")
	}},
	{"a daemon that was given a low score", nil, func(m *sickMachine) {
		m.write(m.path("/proc/4711/status"), "CapEff:\t0000000000000000\n")
		m.write(m.path("/proc/4711/oom_score_adj"), "-900\n")
	}},

	{"no shared memory", []symptom{shmMissing}, func(m *sickMachine) { m.remove(m.path("/dev/shm")) }},
	{"a container's shared memory", []symptom{shmSmall}, func(m *sickMachine) { m.space(m.path("/dev/shm"), space{total: 64 * pasar.MiB}) }},

	{"a clock before its time", []symptom{clockEarly, clockBehind}, func(m *sickMachine) {
		m.now = func() time.Time { return time.Unix(1000, 0) }
	}},
	{"a clock behind the journal", []symptom{clockBehind, journalFine, daemonDown}, func(m *sickMachine) {
		m.journal(m.now().Add(time.Hour))
		m.noDaemon()
	}},
	{"a clock behind the daemon", []symptom{clockBehind}, func(m *sickMachine) { m.seen.status.StartedAt = m.now().Add(time.Hour) }},
	{"no clock since boot", []symptom{clockBroken}, func(m *sickMachine) {
		m.mono = func() (pasar.Duration, error) { return 0, unix.EINVAL }
	}},

	{"no git", []symptom{gitMissing}, func(m *sickMachine) { m.hide("git") }},
}

func (m *sickMachine) unwritable(path string, err error) {
	m.writable = func(p string) error {
		if p == path {
			return err
		}
		return nil
	}
}

func (m *sickMachine) space(path string, s space) {
	well := m.statfs
	m.statfs = func(p string) (space, error) {
		if p == path {
			return s, nil
		}
		return well(p)
	}
}

func (m *sickMachine) limit(resource int, n uint64) {
	well := m.rlimit
	m.rlimit = func(pid, r int) (unix.Rlimit, error) {
		if r == resource {
			return unix.Rlimit{Cur: n, Max: n}, nil
		}
		return well(pid, r)
	}
}

func (m *sickMachine) hide(program string) {
	well := m.lookPath
	m.lookPath = func(name string) (string, error) {
		if name == program {
			return "", os.ErrNotExist
		}
		return well(name)
	}
}

// journal makes one with a fact at each of the times.
func (m *sickMachine) journal(at ...time.Time) {
	m.t.Helper()
	st, err := store.Open(m.data)
	if err != nil {
		m.t.Fatal(err)
	}
	for i, at := range at {
		r := pasar.Record{Seq: int64(i + 1), At: at, Boot: "b", Fact: pasar.DaemonStarted{Pid: 1, Version: "1"}}
		if err := st.Append(store.Batch{Records: []pasar.Record{r}}); err != nil {
			m.t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		m.t.Fatal(err)
	}
}

// hold takes the data directory's lock until the test ends.
func (m *sickMachine) hold() {
	m.t.Helper()
	st, err := store.Open(m.data)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { st.Close() })
}

// The set of findings that can be made is the set of symptoms: the table of diagnoses has a place for
// each and no other, and found knows no other.
func TestEveryFindingIsProvoked(t *testing.T) {
	provoked := map[symptom]bool{hung: true} // by TestItEndsInTenSecondsWhateverHangs
	inTime(t, "all is well", func(t *testing.T) {
		found := wellMachine(t).examined()
		for s := range found {
			provoked[s] = true
		}
		if got := sorted(found); !slices.Equal(got, wellSymptoms) {
			t.Errorf("found %v\nwant %v", texts(found), wellSymptoms)
		}
		if n := count(all(found), levelProblem) + count(all(found), levelWarning); n > 0 {
			t.Errorf("%d problems and warnings on a machine on which all is well", n)
		}
	})
	for _, c := range sicknesses {
		inTime(t, c.name, func(t *testing.T) {
			m := wellMachine(t)
			c.spoil(m)
			found := m.examined()
			for s, f := range found {
				provoked[s] = true
				if want := diagnoses[s]; f.Check != want.check || f.Level != want.level {
					t.Errorf("%+v is not as its diagnosis says: %+v", f, want)
				}
				checkTexts(t, f)
				if slices.Contains(wellSymptoms, s) {
					delete(found, s)
				}
			}
			if got, want := sorted(found), slices.Sorted(slices.Values(c.want)); !slices.Equal(got, want) {
				t.Errorf("found %v: %v\nwant %v", got, texts(found), want)
			}
		})
	}
	for s := range symptoms {
		if diagnoses[s].level == "" || diagnoses[s].check == "" && s != hung {
			t.Errorf("symptom %d has no diagnosis", s)
		}
		if !provoked[s] {
			t.Errorf("no test provokes symptom %d (%s, %s)", s, diagnoses[s].check, diagnoses[s].level)
		}
	}
}

func TestWithABadConfigurationTheRestIsCheckedWithTheDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := wellMachine(t)
		m.configure("autostart = 7\n")
		m.noDaemon()
		m.unwritable(m.data, unix.EROFS)
		found := m.examined()
		if _, ok := found[daemonDown]; !ok {
			t.Errorf("autostart is not on: %v", texts(found))
		}
		if f := found[dataReadOnly]; !strings.Contains(f.Fix, filepath.Join(m.vars["HOME"], ".config/pasar/config.toml")) {
			t.Errorf("%+v does not name the configuration", f)
		}
	})
}

// inTime runs a test by a clock that stands still while anything is at work, so that no check is given up
// because the machine is slow.
func inTime(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// checkTexts holds that a finding that isn't good says what to do, in one safe line.
func checkTexts(t *testing.T, f finding) {
	t.Helper()
	if f.Found == "" || (f.Fix == "") != (f.Level == levelOK) {
		t.Errorf("%+v: a finding says what was found, and unless that is good what to do about it", f)
	}
	for _, s := range []string{f.Found, f.Fix} {
		if s != pasar.Clean(s) || strings.Contains(s, "%!") {
			t.Errorf("%q is not clean", s)
		}
	}
}

func all(found map[symptom]finding) []finding {
	var out []finding
	for _, s := range sorted(found) {
		out = append(out, found[s])
	}
	return out
}

func texts(found map[symptom]finding) string {
	var b strings.Builder
	for _, f := range all(found) {
		fmt.Fprintf(&b, "\n%s %s: %s", f.Check, f.Level, f.Found)
	}
	return b.String()
}

func TestItEndsInTenSecondsWhateverHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := wellMachine(t)
		stuck := make(chan struct{}) // nothing that ctx can end
		defer close(stuck)
		load := m.load
		m.load = func(file string) (*config.Config, error) {
			time.Sleep(configPatience - time.Millisecond) // of the fake clock
			return load(file)
		}
		m.ask = func(context.Context, string) daemonSeen { <-stuck; return daemonSeen{} }
		m.statfs = func(string) (space, error) { <-stuck; return space{}, nil }
		m.openPTY = func() error { <-stuck; return nil }
		m.gpus = func(context.Context, *config.Config) gpuSight { <-stuck; return gpuSight{} }
		m.run = func(ctx context.Context, _ ...string) ([]byte, error) { <-ctx.Done(); return nil, context.Cause(ctx) }
		start := time.Now()
		got := m.examine(t.Context(), "")
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("it took %s", d)
		}
		for _, want := range []struct {
			symptom symptom
			check   string
		}{{hung, checkData}, {hung, checkTerminal}, {hung, checkShm}, {gpusBroken, checkGPUs}, {daemonSilent, checkDaemon},
			{supervisorBroken, checkPrograms}, {gitFine, checkGit}} {
			if !slices.ContainsFunc(got, func(f finding) bool { return f.symptom == want.symptom && f.Check == want.check }) {
				t.Errorf("no symptom %d of %s in %+v", want.symptom, want.check, got)
			}
		}
		for _, f := range got {
			checkTexts(t, f)
		}
	})
}

func TestAConfigurationThatHangsIsAFinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := wellMachine(t)
		stuck := make(chan struct{})
		defer close(stuck)
		m.load = func(string) (*config.Config, error) { <-stuck; return nil, errSick }
		got := m.examine(t.Context(), "")
		if f := got[0]; f.symptom != hung || f.Check != checkConfig || f.Level != levelProblem {
			t.Errorf("the first finding is %+v", f)
		}
		if !slices.ContainsFunc(got, func(f finding) bool { return f.symptom == terminalsFine }) {
			t.Error("the rest was not checked")
		}
	})
}

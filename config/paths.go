package config

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"

	"pasar"
)

// Paths are where pasar keeps things. Nothing is made by finding them.
type Paths struct {
	Config string // the configuration file, whether or not it exists
	Data   string // journal, lock, job directories
	Run    string // sockets, 0700
	Socket string // the daemon's
	// OtherSocket is where the daemon listens if it started before linger was turned on or off; empty if
	// that makes no difference.
	OtherSocket string
	Log         string // the daemon's log when a client started it
	// Network names the network file system under the default data directory, which then carries the
	// host's name so that two machines with one home don't share a journal. Empty: a local one.
	Network string
}

// socketName is the daemon's socket in the run directory.
const socketName = "pasard.sock"

// Jobs is the directory with one directory per job.
func (p Paths) Jobs() string { return filepath.Join(p.Data, "jobs") }

// GPUHistory is the file with how GPUs were used over the last day.
func (p Paths) GPUHistory() string { return filepath.Join(p.Data, "gpu-history") }

// system is what finding paths asks of the machine; tests have their own.
type system struct {
	network  func(path string) string // name of the network file system that path is on, else ""
	hostname func() (string, error)
	username func() string
	lingers  func(username string) bool // user's runtime directory outlives the last logout
	passwd   func() string              // the user's home in the passwd file
	runtime  func() string              // the user's runtime directory where logind puts it; empty: there is none
}

func thisSystem() system {
	return system{
		network:  networkFS,
		hostname: os.Hostname,
		username: func() string {
			u, err := user.Current()
			if err != nil {
				return ""
			}
			return u.Username
		},
		lingers: func(name string) bool {
			_, err := os.Stat(filepath.Join("/var/lib/systemd/linger", filepath.Base(name)))
			return name != "" && err == nil
		},
		passwd: func() string {
			u, err := user.Current()
			if err != nil {
				return ""
			}
			return u.HomeDir
		},
		runtime: logindRuntime,
	}
}

// logindRuntime is the directory that logind makes for a user (pam_systemd(8)), if it is there and theirs
// alone.
func logindRuntime() string {
	dir := fmt.Sprintf("/run/user/%d", os.Geteuid())
	fi, err := os.Lstat(dir)
	if err != nil || !fi.IsDir() || fi.Mode().Perm() != 0o700 {
		return ""
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return ""
	}
	return dir
}

// base holds the XDG base directories.
type base struct{ home, config, data, state, runtime string }

// baseDirs reads them from the environment. As the XDG specification asks, a relative one is as good
// as none.
func baseDirs(env func(string) string) (base, error) {
	dir := func(variable, below string) string {
		if d := env(variable); filepath.IsAbs(d) {
			return filepath.Clean(d)
		}
		if home := env("HOME"); filepath.IsAbs(home) && below != "" {
			return filepath.Join(home, below)
		}
		return ""
	}
	b := base{
		home:    env("HOME"),
		config:  dir("XDG_CONFIG_HOME", ".config"),
		data:    dir("XDG_DATA_HOME", ".local/share"),
		state:   dir("XDG_STATE_HOME", ".local/state"),
		runtime: dir("XDG_RUNTIME_DIR", ""),
	}
	if b.config == "" || b.data == "" || b.state == "" {
		return b, errors.New("HOME is not set to an absolute path, so there is no place for pasar's files; set it, or XDG_CONFIG_HOME, XDG_DATA_HOME and XDG_STATE_HOME")
	}
	return b, nil
}

func (c *Config) findPaths(file string, b base, env func(string) string, sys system) error {
	p := Paths{Config: file, Log: filepath.Join(b.state, "pasar", "pasard.log")}
	usual := filepath.Join(b.home, ".local/share/pasar")
	p.Data = filepath.Join(b.data, "pasar")
	if c.dataDir == "" && filepath.IsAbs(env("XDG_DATA_HOME")) {
		c.sources["data_dir"] = "environment XDG_DATA_HOME"
	}
	usualHere := p.Data == usual
	if p.Network = sys.network(p.Data); p.Network != "" {
		host, err := sys.hostname()
		if err != nil {
			return fmt.Errorf("find data directory: host name: %w", err)
		}
		p.Data += "-" + fileName(host)
	}
	if c.dataDir != "" {
		p.Data, p.Network, usualHere = c.dataDir, sys.network(c.dataDir), false
	}
	lingers := sys.lingers(sys.username())
	if lingers && b.runtime == "" && b.home == sys.passwd() {
		b.runtime = sys.runtime() // cron, su and some services don't set it: they are to find the same daemon
	}
	p.Run = filepath.Join(p.Data, "run")
	if b.runtime != "" {
		other := filepath.Join(b.runtime, "pasar")
		if !usualHere { // two daemons with different data never meet in one runtime directory
			h := fnv.New32a()
			h.Write([]byte(p.Data))
			other = fmt.Sprintf("%s-%08x", other, h.Sum32())
		}
		if lingers {
			p.Run, other = other, p.Run
		}
		p.OtherSocket = filepath.Join(other, socketName)
	}
	p.Socket = filepath.Join(p.Run, socketName)
	if s := env("PASAR_SOCKET"); s != "" {
		if !filepath.IsAbs(s) {
			return fmt.Errorf("PASAR_SOCKET is %q: want an absolute path", pasar.Clean(s))
		}
		p.Socket, p.OtherSocket = filepath.Clean(s), ""
		c.sources["socket"] = "environment PASAR_SOCKET"
	}
	c.Paths = p
	return nil
}

// fileName makes a host's name fit for a file name.
func fileName(host string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r < ' ' {
			return '_'
		}
		return r
	}, host)
}

// networkMagic names the file systems of other machines by statfs's f_type (statfs(2), magic.h, and
// the sources of those outside the kernel).
var networkMagic = map[uint32]string{
	0x00006969: "NFS",
	0x0000517B: "SMB",
	0xFE534D42: "SMB",
	0xFF534D42: "CIFS",
	0x00C36400: "Ceph",
	0x0BD00BD0: "Lustre",
	0x47504653: "GPFS",
	0x19830326: "BeeGFS",
	0x5346414F: "AFS",
	0x6B414653: "AFS",
	0xAAD7AAEA: "PanFS",
	0x7461636F: "OCFS2",
	0x01161970: "GFS2",
}

// networkFS asks the deepest directory of path that exists.
func networkFS(path string) string {
	for {
		var st syscall.Statfs_t
		err := syscall.Statfs(path, &st)
		if err == nil {
			return networkMagic[uint32(st.Type)]
		}
		if up := filepath.Dir(path); errors.Is(err, syscall.ENOENT) && up != path {
			path = up
			continue
		}
		return ""
	}
}

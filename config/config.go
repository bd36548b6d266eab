// Package config settles how pasar behaves on this machine: the configuration file, the environment,
// and the defaults, checked, each value with where it came from.
//
// Every client loads it at start-up, so a load without a file reads no TOML and makes a handful of
// system calls.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"pasar"
)

// MaxFile is the largest configuration file that is read, in bytes.
const MaxFile = 256 << 10

// A Config is everything that can be set. It is never changed after Load.
type Config struct {
	Autostart        bool           // clients start pasard when none runs
	SystemReserve    pasar.Bytes    // of host memory, kept for the system; see Reserve
	Margin           pasar.Margin   // makes a slice's limit
	DefaultBid       pasar.Bid      // of a submit without --bid
	DefaultGrace     pasar.Duration // of a submit without --grace
	RequireTime      bool           // refuse a submit without --time
	CPUJobs          int            // jobs without a GPU that may run at once
	LogMax           pasar.Bytes    // of one attempt's output; 0: no bound
	LogRetentionDays int            // job directories older than this go; 0: none does
	LogRetentionSize pasar.Bytes    // the oldest go until all are within this; 0: no bound
	DetachKeys       string         // that leave a job's terminal; see ParseDetachKeys

	KernelLog       string         // where the kernel's log is read; empty: nowhere
	External        pasar.External // what whole claims make of strangers
	IdleMiB         int64          // of GPU memory in use, up to which a GPU is as good as unused
	ByIndex         bool           // CUDA_VISIBLE_DEVICES has indices instead of UUIDs
	GPUOrder        []string       // GPUs, by index or UUID, in the order in which they are given out
	GPUExclude      []string       // GPUs, by index or UUID, that are never given out
	ReleaseTimeout  pasar.Duration // how long the memory of an ended job may take to be free
	Settle          pasar.Duration // how long a new slice's memory must have been flat
	PressureSome    float64        // memory pressure (PSI some avg10) that is too much, as a part of 1
	PressureFree    float64        // the part of RAM that must stay available
	PressureSustain pasar.Duration // how long pressure must last
	HotC            int64          // degrees from which a GPU is shown as hot, if the driver names none that are fewer
	NVMLLibrary     string         // path of NVIDIA's library; empty: the system's

	HTTP         bool     // serve HTTP
	Address      string   // host:port to serve it on first; PASAR_ADDRESS replaces it
	Bind         []string // further addresses
	AllowedHosts []string // names under which it may be asked, beside those of the addresses
	MascotDir    string   // pictures that stand in for the mascot's; it need not exist unless it was set

	PrometheusURL string // that knows how GPUs were used for longer than pasar does; empty: none

	Paths Paths

	dataDir string         // as set; empty: the default
	later   map[string]any // keys of parts that aren't built yet: checked, otherwise unused
	sources map[string]Source
}

// A Source says where a value came from, for people: "default", "environment XDG_DATA_HOME",
// "/home/ada/.config/pasar/config.toml:3".
type Source string

// Default is the source of what nobody set.
const Default Source = "default"

func defaults() *Config {
	return &Config{
		Autostart:        true,
		SystemReserve:    16 * pasar.GiB,
		Margin:           pasar.Margin{Min: 2 * pasar.GiB, Frac: 0.10},
		DefaultBid:       pasar.DefaultBid,
		DefaultGrace:     120e9,
		CPUJobs:          runtime.NumCPU(),
		LogMax:           2 * pasar.GiB,
		LogRetentionDays: 30,
		LogRetentionSize: 20 * pasar.GiB,
		DetachKeys:       DefaultDetachKeys,
		KernelLog:        "/dev/kmsg",
		External:         pasar.ExternalShare,
		IdleMiB:          64,
		ReleaseTimeout:   120e9,
		Settle:           10e9,
		PressureSome:     0.10,
		PressureFree:     0.05,
		PressureSustain:  30e9,
		HotC:             85,
		HTTP:             true,
		Address:          DefaultAddress,
		later:            map[string]any{},
		sources:          map[string]Source{},
	}
}

// Reserve is what a machine with so much host memory keeps for the system: what was asked for, and by
// default 16 GiB but at most a quarter.
func (c *Config) Reserve(ram pasar.Bytes) pasar.Bytes {
	if c.Source("system_reserve") == Default {
		return min(c.SystemReserve, ram/4)
	}
	return min(c.SystemReserve, ram)
}

// Source says where a key's value came from.
func (c *Config) Source(key string) Source {
	if s, ok := c.sources[key]; ok {
		return s
	}
	return Default
}

// Load reads the configuration. With an empty path it is the file that PASAR_CONFIG names, else the
// usual one, which need not exist; env is os.Getenv. What is wrong with a file is a *FileError.
func Load(path string, env func(string) string) (*Config, error) {
	return load(path, env, thisSystem())
}

func load(path string, env func(string) string, sys system) (*Config, error) {
	c := defaults()
	base, err := baseDirs(env)
	if err != nil {
		return nil, err
	}
	if err := c.findAddress(env); err != nil {
		return nil, err
	}
	mustExist := true
	switch {
	case path != "":
	case env("PASAR_CONFIG") != "":
		path = env("PASAR_CONFIG")
		c.sources["config"] = "environment PASAR_CONFIG"
	default:
		path, mustExist = filepath.Join(base.config, "pasar", "config.toml"), false
	}
	text, err := readFile(path)
	switch {
	case err == nil:
		if err := c.decode(path, text, base.home); err != nil {
			return nil, err
		}
	case errors.Is(err, fs.ErrNotExist) && !mustExist:
	default:
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if err := c.findPaths(path, base, env, sys); err != nil {
		return nil, err
	}
	if c.MascotDir == "" {
		c.MascotDir = filepath.Join(base.config, "pasar", "mascot")
	}
	c.turnOff(env)
	return c, nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > MaxFile {
		return nil, fmt.Errorf("%s is larger than %s", path, pasar.Bytes(MaxFile))
	}
	return b, nil
}

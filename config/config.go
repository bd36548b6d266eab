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

package config

import (
	"sync"

	"pasar"
)

// A key is one line of the table of what can be set.
type key struct {
	name    string
	about   string // what it does, in one line
	usual   string // the default in words, where it depends on the machine
	clients bool   // read by each command: there is nothing to reload
	live    bool   // applies to a running daemon at a reload; otherwise at its next start
	late    bool   // belongs to a part that isn't built yet: checked, so that a file can be written once
	path    bool   // a file name, in which ~/ is the home directory
	set     func(c *Config, v any) error
	get     func(c *Config) any
}

// keys is everything that can be set, in the order in which it is shown.
var keys = []key{
	{name: "autostart", about: "start pasard by itself when a command finds none running",
		clients: true, live: true, set: boolean(func(c *Config) *bool { return &c.Autostart }),
		get: func(c *Config) any { return c.Autostart }},
	{name: "system_reserve", about: "host memory that jobs never get",
		usual: "16 GiB, at most a quarter of RAM", set: size(func(c *Config) *pasar.Bytes { return &c.SystemReserve }),
		get: func(c *Config) any { return c.SystemReserve }},
	{name: "mem_margin_min", about: "what a slice is charged beyond --mem, at least",
		live: true, set: size(func(c *Config) *pasar.Bytes { return &c.Margin.Min }),
		get: func(c *Config) any { return c.Margin.Min }},
	{name: "mem_margin_frac", about: "what a slice is charged beyond --mem, as a part of it, if that is more",
		live: true, set: fraction(func(c *Config) *float64 { return &c.Margin.Frac }),
		get: func(c *Config) any { return c.Margin.Frac }},
	{name: "default_bid", about: "the bid of a submit without --bid",
		clients: true, live: true,
		set: integer(int64(pasar.MinBid), int64(pasar.MaxBid), func(c *Config, n int64) { c.DefaultBid = pasar.Bid(n) }),
		get: func(c *Config) any { return c.DefaultBid }},
	{name: "default_grace", about: "the time between SIGTERM and SIGKILL of a submit without --grace",
		clients: true, live: true, set: span(func(c *Config) *pasar.Duration { return &c.DefaultGrace }),
		get: func(c *Config) any { return c.DefaultGrace }},
	{name: "require_time", about: "refuse a submit without --time",
		live: true, set: boolean(func(c *Config) *bool { return &c.RequireTime }),
		get: func(c *Config) any { return c.RequireTime }},
	{name: "cpu_jobs", about: "how many jobs without a GPU may run at once",
		usual: "the number of cores", set: integer(0, 100_000, func(c *Config, n int64) { c.CPUJobs = int(n) }),
		get: func(c *Config) any { return c.CPUJobs }},
	{name: "data_dir", about: "where the journal, the jobs and their output are kept",
		usual: "~/.local/share/pasar", path: true, set: absolute(func(c *Config) *string { return &c.dataDir }),
		get: func(c *Config) any { return c.Paths.Data }},
	{name: "log_max", about: "how much of one attempt's output is kept: its beginning and its end; 0 is no bound",
		live: true, set: size(func(c *Config) *pasar.Bytes { return &c.LogMax }),
		get: func(c *Config) any { return c.LogMax }},
	{name: "log_retention_days", about: "days after which finished attempts' output goes; 0 keeps it",
		live: true,
		set:  integer(0, 36_500, func(c *Config, n int64) { c.LogRetentionDays = int(n) }),
		get:  func(c *Config) any { return c.LogRetentionDays }},
	{name: "log_retention_size", about: "how much output of finished attempts is kept in all, the oldest goes first; 0 is no bound",
		live: true, set: size(func(c *Config) *pasar.Bytes { return &c.LogRetentionSize }),
		get: func(c *Config) any { return c.LogRetentionSize }},

	{name: "detach_keys", about: "the keys that leave a job's terminal while typing into it, as docker writes them",
		clients: true, live: true, set: func(c *Config, v any) error {
			if err := isDetachKeys(v); err != nil {
				return err
			}
			c.DetachKeys = v.(string)
			return nil
		},
		get: func(c *Config) any { return c.DetachKeys }},

	{name: "external", about: "a whole GPU on which others have processes: share it with them, or avoid it",
		live: true, set: word([]string{"share", "avoid"}, func(c *Config, s string) { c.External = pasar.External(s) }),
		get: func(c *Config) any { return string(c.External) }},
	{name: "idle_mib", about: "MiB of GPU memory that may be in use where a GPU counts as unused",
		live: true, set: integer(0, 1<<30, func(c *Config, n int64) { c.IdleMiB = n }),
		get: func(c *Config) any { return c.IdleMiB }},
	{name: "device_ids", about: "how CUDA_VISIBLE_DEVICES names GPUs: by uuid, or by index for programs that can't read those",
		live: true, set: word([]string{"uuid", "index"}, func(c *Config, s string) { c.ByIndex = s == "index" }),
		get: func(c *Config) any {
			if c.ByIndex {
				return "index"
			}
			return "uuid"
		}},
	{name: "gpu_order", about: "GPUs, by index or UUID, in the order in which they are given out; those not named come last",
		usual: "the lowest index first", live: true, set: gpuNames(func(c *Config) *[]string { return &c.GPUOrder }),
		get: func(c *Config) any { return words(c.GPUOrder) }},
	{name: "gpu_exclude", about: "GPUs, by index or UUID, that are never given out",
		usual: "none", live: true, set: gpuNames(func(c *Config) *[]string { return &c.GPUExclude }),
		get: func(c *Config) any { return words(c.GPUExclude) }},
	{name: "release_timeout", about: "how long a job that ended may keep GPU memory before what is left counts as leaked",
		live: true, set: span(func(c *Config) *pasar.Duration { return &c.ReleaseTimeout }),
		get: func(c *Config) any { return c.ReleaseTimeout }},
	{name: "settle", about: "how long a slice's memory must have been flat before the next starts beside it on that GPU",
		live: true, set: span(func(c *Config) *pasar.Duration { return &c.Settle }),
		get: func(c *Config) any { return c.Settle }},
	{name: "pressure_some_avg10", about: "memory pressure (PSI some avg10, as a part of 1) that is too much",
		live: true, set: fraction(func(c *Config) *float64 { return &c.PressureSome }),
		get: func(c *Config) any { return c.PressureSome }},
	{name: "pressure_mem_available", about: "the part of RAM that must stay available",
		live: true, set: fraction(func(c *Config) *float64 { return &c.PressureFree }),
		get: func(c *Config) any { return c.PressureFree }},
	{name: "pressure_sustain", about: "how long pressure must last before a job over its limit is stopped",
		live: true, set: span(func(c *Config) *pasar.Duration { return &c.PressureSustain }),
		get: func(c *Config) any { return c.PressureSustain }},
	{name: "hot_temp_c", about: "degrees Celsius from which a GPU is shown as hot; less where its driver slows it down earlier",
		live: true, set: integer(0, 200, func(c *Config, n int64) { c.HotC = n }),
		get: func(c *Config) any { return c.HotC }},
	{name: "kernel_log", about: "where the kernel's log is read: it names processes at a GPU's fault, and those that it killed",
		path: true, set: absolute(func(c *Config) *string { return &c.KernelLog }),
		get: func(c *Config) any { return c.KernelLog }},
	{name: "nvml_library", about: "the path of NVIDIA's library",
		usual: "the system's libnvidia-ml.so.1", path: true, set: absolute(func(c *Config) *string { return &c.NVMLLibrary }),
		get: func(c *Config) any { return c.NVMLLibrary }},

	{name: "http", about: "serve HTTP on " + DefaultAddress + ", to this user and to who has the token",
		set: boolean(func(c *Config) *bool { return &c.HTTP }),
		get: func(c *Config) any { return c.HTTP }},
	{name: "bind", about: "further addresses, host:port, to serve HTTP on",
		usual: "none", set: addresses(func(c *Config) *[]string { return &c.Bind }),
		get: func(c *Config) any { return words(c.Bind) }},
	{name: "allowed_hosts", about: "names under which HTTP may be asked, beside localhost and the addresses",
		usual: "none", set: hostNames(func(c *Config) *[]string { return &c.AllowedHosts }),
		get: func(c *Config) any { return words(c.AllowedHosts) }},
	{name: "mascot_dir", about: "pictures for the web pages' mascot, named after its moods, such as busy.png, instead of pasar's own",
		usual: "~/.config/pasar/mascot", live: true, path: true, set: absolute(func(c *Config) *string { return &c.MascotDir }),
		get: func(c *Config) any { return c.MascotDir }},
	{name: "prometheus_url", about: "the Prometheus that is asked how GPUs were used more than a day ago: http://127.0.0.1:9090",
		usual: "none", live: true, set: webURL(func(c *Config) *string { return &c.PrometheusURL }),
		get: func(c *Config) any {
			if c.PrometheusURL == "" {
				return nil
			}
			return c.PrometheusURL
		}},

	late("scrollback_lines", "lines of a job's screen that are kept", isCount),
	latePath("pull_dir", "where results of cloud jobs go"),
	late("pull_min_free", "disk space that pulling leaves free", isSize),
	late("pull_max", "the largest result pulled by itself; 0 is no bound", isSize),
	late("cloud_retention_days", "days that results stay in the cloud", isCount),
	late("hooks", "commands to run when something happens", isHooks),
	late("approval", "who approves what costs money", isTable),
	late("clouds", "cloud targets", isTable),
	late("fleet", "machines over SSH", isTable),
}

// keysByName is made when a file is read, which most loads don't.
var keysByName = sync.OnceValue(func() map[string]key {
	m := make(map[string]key, len(keys))
	for _, k := range keys {
		m[k.name] = k
	}
	return m
})

func late(name, about string, check func(v any) error) key {
	return key{
		name:  name,
		about: about,
		late:  true,
		set: func(c *Config, v any) error {
			if err := check(v); err != nil {
				return err
			}
			c.later[name] = v
			return nil
		},
		get: func(c *Config) any { return c.later[name] },
	}
}

func latePath(name, about string) key {
	k := late(name, about, isAbsolute)
	k.path = true
	return k
}

package config

import (
	"sync"

	"pasar"
)

// A key is one line of the table of what can be set.
type key struct {
	name string
	live bool // applies to a running daemon at a reload; otherwise at its next start
	late bool // belongs to a part that isn't built yet: checked, so that a file can be written once
	path bool // a file name, in which ~/ is the home directory
	set  func(c *Config, v any) error
	get  func(c *Config) any
}

// keys is everything that can be set, in the order in which it is shown.
var keys = []key{
	{name: "autostart", live: true, set: boolean(func(c *Config) *bool { return &c.Autostart }),
		get: func(c *Config) any { return c.Autostart }},
	{name: "system_reserve", set: size(func(c *Config) *pasar.Bytes { return &c.SystemReserve }),
		get: func(c *Config) any { return c.SystemReserve }},
	{name: "mem_margin_min", live: true, set: size(func(c *Config) *pasar.Bytes { return &c.Margin.Min }),
		get: func(c *Config) any { return c.Margin.Min }},
	{name: "mem_margin_frac", live: true, set: fraction(func(c *Config) *float64 { return &c.Margin.Frac }),
		get: func(c *Config) any { return c.Margin.Frac }},
	{name: "default_bid", live: true,
		set: integer(int64(pasar.MinBid), int64(pasar.MaxBid), func(c *Config, n int64) { c.DefaultBid = pasar.Bid(n) }),
		get: func(c *Config) any { return c.DefaultBid }},
	{name: "default_grace", live: true, set: span(func(c *Config) *pasar.Duration { return &c.DefaultGrace }),
		get: func(c *Config) any { return c.DefaultGrace }},
	{name: "require_time", live: true, set: boolean(func(c *Config) *bool { return &c.RequireTime }),
		get: func(c *Config) any { return c.RequireTime }},
	{name: "cpu_jobs", set: integer(0, 100_000, func(c *Config, n int64) { c.CPUJobs = int(n) }),
		get: func(c *Config) any { return c.CPUJobs }},
	{name: "data_dir", path: true, set: absolute(func(c *Config) *string { return &c.dataDir }),
		get: func(c *Config) any { return c.Paths.Data }},
	{name: "log_max", live: true, set: size(func(c *Config) *pasar.Bytes { return &c.LogMax }),
		get: func(c *Config) any { return c.LogMax }},
	{name: "log_retention_days", live: true,
		set: integer(0, 36_500, func(c *Config, n int64) { c.LogRetentionDays = int(n) }),
		get: func(c *Config) any { return c.LogRetentionDays }},
	{name: "log_retention_size", live: true, set: size(func(c *Config) *pasar.Bytes { return &c.LogRetentionSize }),
		get: func(c *Config) any { return c.LogRetentionSize }},

	late("http", isBool),
	late("bind", isWords),
	late("allowed_hosts", isWords),
	latePath("kernel_log"),
	late("external", oneOf("share", "avoid")),
	late("idle_mib", isCount),
	late("device_ids", oneOf("uuid", "index")),
	late("gpu_order", isWordsOrNumbers),
	late("gpu_exclude", isWordsOrNumbers),
	late("release_timeout", isSpan),
	late("settle", isSpan),
	late("pressure_some_avg10", isFraction),
	late("pressure_mem_available", isFraction),
	late("pressure_sustain", isSpan),
	late("scrollback_lines", isCount),
	late("prometheus_url", isString),
	late("hot_temp_c", isCount),
	latePath("mascot_dir"),
	latePath("pull_dir"),
	late("pull_min_free", isSize),
	late("pull_max", isSize),
	late("cloud_retention_days", isCount),
	latePath("nvml_library"),
	late("hooks", isHooks),
	late("approval", isTable),
	late("clouds", isTable),
	late("fleet", isTable),
}

// keysByName is made when a file is read, which most loads don't.
var keysByName = sync.OnceValue(func() map[string]key {
	m := make(map[string]key, len(keys))
	for _, k := range keys {
		m[k.name] = k
	}
	return m
})

func late(name string, check func(v any) error) key {
	return key{
		name: name,
		late: true,
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

func latePath(name string) key {
	k := late(name, isAbsolute)
	k.path = true
	return k
}

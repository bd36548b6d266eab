package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"pasar"
	"pasar/config"
	"pasar/ipc"
	"pasar/submission"
	"pasar/ui/web"
)

// newWeb makes the HTTP side: a client of this daemon's socket like any other. Nil if it is turned off, or can't be
// had: jobs don't depend on it. now is the configuration after the last reload, umask is the one that this process was started with.
func newWeb(cfg *config.Config, now func() *config.Config, umask int, log *slog.Logger) *web.Server {
	if len(cfg.Addresses()) == 0 {
		return nil
	}
	s, err := web.New(web.Options{
		Dial:      func(ctx context.Context) (*ipc.Client, error) { return ipc.Dial(ctx, cfg.Paths.Socket) },
		Addresses: cfg.Addresses(), Hosts: cfg.AllowedHosts, UID: os.Geteuid(),
		TokenFile: filepath.Join(cfg.Paths.Data, "token"), Mascots: func() string { return mascots(now()) },
		Defaults: func() web.Defaults { c := now(); return web.Defaults{Bid: c.DefaultBid, Grace: c.DefaultGrace} },
		Surround: func(add []pasar.Arg) (pasar.Surroundings, string, error) { return surround(add, umask) }, Now: time.Now, Log: log,
	})
	if err != nil {
		log.Warn("HTTP is not served", "error", err)
		return nil
	}
	return s
}

// mascots is where pictures for the mascot are; the usual place need not be there.
func mascots(cfg *config.Config) string {
	if cfg.Source("mascot_dir") == config.Default {
		if _, err := os.Stat(cfg.MascotDir); errors.Is(err, fs.ErrNotExist) {
			return ""
		}
	}
	return cfg.MascotDir
}

// surround is what surrounds a job whose client has no process here: what surrounds the daemon, and what is added.
func surround(add []pasar.Arg, umask int) (pasar.Surroundings, string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return pasar.Surroundings{}, "", err
	}
	more := make([]string, len(add))
	for i, kv := range add {
		more[i] = string(kv)
	}
	env, err := submission.Env(os.Environ(), false, more)
	if err != nil {
		return pasar.Surroundings{}, "", err
	}
	// Limits are handed down as they were given: to ask for them would set this process's own back (see package
	// submission), which a daemon needs.
	return pasar.Surroundings{Env: env, Umask: umask}, home, nil // the present umask is for the daemon's files
}

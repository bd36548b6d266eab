package main

import (
	"errors"
	"os"

	"pasar/config"
)

// examineConfig looks at the configuration. The returned one is for the other checks: with a bad file
// it is the defaults, and nil when not even those can be had.
func examineConfig(e *doctorEnv, file string) (*config.Config, []finding) {
	cfg, err := e.load(file)
	if err != nil {
		f := found(configUnusable, "correct what it names; pasard does not start without", "%v", err)
		file = or(file, "config.toml")
		var fe *config.FileError
		if errors.As(err, &fe) {
			f = found(configWrong, "correct that line; pasard does not start with it, one that runs keeps what it had", "%v", err)
			file = fe.File
		}
		defaults, err := e.load(os.DevNull)
		if err != nil {
			return nil, []finding{f}
		}
		cfg := *defaults
		cfg.Paths.Config = file // where fixes are to be made
		return &cfg, []finding{f}
	}
	path := cfg.Paths.Config
	fi, err := os.Stat(path)
	switch {
	case err != nil: // the usual file need not exist
		return cfg, []finding{found(configNone, "", "all defaults; there is no %s", path)}
	case fi.Mode().IsRegular() && fi.Mode().Perm()&0o022 != 0:
		return cfg, []finding{found(configOpen, "chmod go-w "+path, "%s can be changed by others (mode %04o)", path, fi.Mode().Perm())}
	}
	return cfg, []finding{found(configFine, "", "%s", path)}
}

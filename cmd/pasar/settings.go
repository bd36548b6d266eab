package main

import (
	"errors"

	"pasar/config"
	"pasar/ipc"
)

// config loads the configuration once.
func (a *app) config() (*config.Config, error) {
	if a.settings != nil {
		return a.settings, nil
	}
	c, err := config.Load("", a.getenv)
	if err != nil {
		return nil, configError(err)
	}
	a.settings = c
	return c, nil
}

// configError gives a bad file its exit code.
func configError(err error) error {
	var fe *config.FileError
	if errors.As(err, &fe) {
		return problemf(ipc.CodeBadInput, "%v", err).hint("`pasar config --check FILE` checks a file")
	}
	return problemf(ipc.CodeBadInput, "%v", err)
}

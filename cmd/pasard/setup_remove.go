package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// remove takes back what install did, however much of it there is. Drop-ins and linger are the user's own
// and stay. Jobs go on; the daemon ends, and the next command starts one as before.
func (s *setup) remove(ctx context.Context) error {
	dir := s.unitDir()
	files, err := planFiles(dir, nil)
	if err != nil {
		return &exitError{exitRefused, err, ""}
	}
	s.out.Files, s.out.Linger = files, s.lingers()
	if cfg, err := s.load(); err == nil { // a bad configuration doesn't keep the service
		s.out.Socket = cfg.Paths.Socket
	}
	if f := foreign(files); f != nil && !s.force {
		return s.refuseForeign(f)
	}
	if s.dryRun {
		s.printUnits()
		return nil
	}
	reached := s.check(ctx, dir) == nil
	if reached {
		// Those that aren't there are complained about, and that is all.
		_, _ = s.systemctl(ctx, "disable", "--now", socketUnit, serviceUnit)
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	links, err := removeLinks(dir)
	if err != nil {
		return &exitError{exitRefused, err, ""}
	}
	if err := apply(files); err != nil {
		return &exitError{exitRefused, err, ""}
	}
	if reached {
		_, _ = s.systemctl(ctx, "daemon-reload")
		_, _ = s.systemctl(ctx, "reset-failed", socketUnit, serviceUnit)
	} else if changes(files) {
		s.note("the systemd of " + s.user + " can't be reached; a daemon that it runs is there until it ends")
	}
	for _, f := range files {
		if f.State == fileRemoved {
			s.tell("removed " + f.Path)
		}
	}
	for _, name := range []string{serviceUnit, socketUnit} {
		if d := filepath.Join(dir, name+".d"); s.exists(d) {
			s.note(d + " is yours and stays")
		}
	}
	if !changes(files) && links == 0 {
		s.tell("there is no service to remove")
		return nil
	}
	s.tell("the service is gone; jobs go on, and the next command starts the daemon")
	if s.out.Linger {
		s.note("linger stays on; `loginctl disable-linger` turns it off")
	}
	return nil
}

// removeLinks removes what enabling made, and how much that was; systemctl did, if it could be asked.
func removeLinks(dir string) (n int, err error) {
	for _, l := range wantLinks(dir) {
		fi, err := os.Lstat(l)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && fi.Mode().Type() == fs.ModeSymlink {
			err = os.Remove(l)
		}
		if err != nil {
			return n, fmt.Errorf("remove link: %w", err)
		}
		n++
		_ = os.Remove(filepath.Dir(l)) // if it is empty
	}
	return n, nil
}

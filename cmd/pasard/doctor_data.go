package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"pasar"
)

// Free space on the data directory's file system below which jobs lose output soon, or the journal can't
// be relied upon to take the next fact.
const (
	spaceLow  = 1 * pasar.GiB
	spaceFull = 100 * pasar.MiB
	inodesFew = 1000
)

func examineData(_ context.Context, p *patient) []finding {
	if p.cfg == nil {
		return nil
	}
	dir := p.cfg.Paths.Data
	elsewhere := "set data_dir in " + p.cfg.Paths.Config + " to a directory of your own on a local disk"
	fi, err := os.Stat(dir)
	there := err == nil
	switch {
	case errors.Is(err, fs.ErrNotExist):
		dir = existing(dir) // where it will be made
	case err != nil:
		return []finding{found(dataUnreachable, elsewhere, "%s: %v", dir, err)}
	case !fi.IsDir():
		return []finding{found(dataNotDir, "move it away, or "+elsewhere, "%s is not a directory", dir)}
	case owner(fi) != p.uid:
		return []finding{found(dataForeign, elsewhere, "%s belongs to uid %d, not to you (uid %d)", dir, owner(fi), p.uid)}
	}
	var out []finding
	if there && fi.Mode().Perm()&0o077 != 0 {
		out = append(out, found(dataOpen, "chmod 700 "+dir, "%s can be entered by others (mode %04o); jobs' environments and output are in it",
			dir, fi.Mode().Perm()))
	}
	switch err := p.writable(dir); {
	case errors.Is(err, unix.EROFS):
		out = append(out, found(dataReadOnly, "mount it for writing, or "+elsewhere, "%s is on a read-only file system", dir))
	case err != nil:
		fix := "chmod u+rwx " + dir
		if !there {
			fix = elsewhere
		}
		out = append(out, found(dataUnwritable, fix, "nothing can be made in %s: %v", dir, err))
	}
	if fs := p.cfg.Paths.Network; fs != "" {
		out = append(out, found(dataNetwork, "set data_dir in "+p.cfg.Paths.Config+" to a local disk",
			"%s is on %s, a network file system, where locks may not hold and the journal can be torn", p.cfg.Paths.Data, fs))
	}
	out = append(out, examineSpace(p, dir)...)
	switch {
	case len(out) > 0:
		return out
	case !there:
		return []finding{found(dataNone, "", "%s is made when pasard first starts", p.cfg.Paths.Data)}
	}
	return []finding{found(dataFine, "", "%s", dir)}
}

func examineSpace(p *patient, dir string) []finding {
	s, err := p.statfs(dir)
	const fix = "free some; log_retention_size and log_max bound what jobs' output takes"
	switch {
	case err != nil:
		return []finding{found(dataUnreachable, "see to the file system it is on", "free space of %s: %v", dir, err)}
	case s.free < spaceFull:
		return []finding{found(dataFull, fix, "only %s are free for %s: submits may be refused and output lost", s.free, dir)}
	case s.counts && s.inodes < inodesFew:
		return []finding{found(dataNoInodes, "remove files that nobody needs", "only %d more files can be made in %s", s.inodes, dir)}
	case s.free < spaceLow:
		return []finding{found(dataLow, fix, "only %s are free for %s", s.free, dir)}
	}
	return nil
}

// existing is the deepest directory above path that exists.
func existing(path string) string {
	for {
		up := filepath.Dir(path)
		if _, err := os.Stat(up); err == nil || up == path {
			return up
		}
		path = up
	}
}

// owner is the uid that a file belongs to.
func owner(fi fs.FileInfo) int {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

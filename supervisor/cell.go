package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"pasar"
)

// Names in an attempt's own cgroup, which is a unit's or one that the daemon made.
const (
	supDir     = "sup"    // this process, so that it isn't charged to the job
	jobDir     = "job"    // all of the job
	daemonLeaf = "pasard" // beside it: where the daemon is, if not right above
)

// ownName is the name of a cgroup made for one attempt.
var ownName = regexp.MustCompile(`^pasar-[0-9a-f]{16}(\.service)?$`)

// A cell is the attempt's own cgroup. What is in its part for the job is the job's, wherever it was forked
// from and whatever it did to its session, and can be killed at one stroke.
type cell struct {
	log    *slog.Logger
	place  pasar.Place
	dir    string   // the attempt's
	job    string   // the job's part
	into   int      // descriptor of job, to fork into
	above  []string // the cgroups above job, innermost first, as far as they can be seen
	memory bool     // it can be held to an amount of host memory
	before use      // counted by the time of the fork
}

// openCell divides the cgroup that this process was started in, which must have been made for it alone. It is nil
// for a place that has none.
func openCell(log *slog.Logger, place pasar.Place) (*cell, error) {
	if place != pasar.PlaceUnit && place != pasar.PlaceCgroup {
		return nil, nil
	}
	own, err := ownCgroup()
	if err != nil {
		return nil, err
	}
	dir := own
	if filepath.Base(own) == supDir {
		dir = filepath.Dir(own)
	}
	if !ownName.MatchString(filepath.Base(dir)) {
		return nil, fmt.Errorf("%s is not a cgroup made for a supervisor", own)
	}
	c := &cell{log: log, place: place, dir: dir, job: filepath.Join(dir, jobDir), into: -1}
	if own == dir {
		if err := c.moveTo(supDir); err != nil {
			return nil, err
		}
	}
	if err := os.Mkdir(c.job, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("divide cgroup: %w", err)
	}
	for _, name := range []string{"memory", "pids", "cpu"} { // what there is, and may be passed on
		if err := writeFile(filepath.Join(dir, "cgroup.subtree_control"), "+"+name); err == nil && name == "memory" {
			c.memory = true
		}
	}
	if c.into, err = unix.Open(c.job, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return nil, fmt.Errorf("divide cgroup: %w", err)
	}
	for d := dir; isCgroup(d); d = filepath.Dir(d) {
		c.above = append(c.above, d)
	}
	return c, nil
}

// moveTo moves this process into a part of the cell, which is made if need be.
func (c *cell) moveTo(part string) error {
	dir := filepath.Join(c.dir, part)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("divide cgroup: %w", err)
	}
	if err := writeFile(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(os.Getpid())); err != nil {
		return fmt.Errorf("move into cgroup %s: %w", part, err)
	}
	return nil
}

// ownCgroup is the directory of this process's cgroup v2.
func ownCgroup() (string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", fmt.Errorf("look for own cgroup: %w", err)
	}
	at := ""
	for line := range strings.Lines(string(mounts)) {
		before, after, ok := strings.Cut(line, " - ")
		f := strings.Fields(before)
		if ok && len(f) > 4 && strings.HasPrefix(after, "cgroup2 ") && f[3] == "/" {
			at = f[4]
			break
		}
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", fmt.Errorf("look for own cgroup: %w", err)
	}
	for line := range strings.Lines(string(own)) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok && at != "" && !strings.HasPrefix(path, "/..") {
			return filepath.Join(at, path), nil
		}
	}
	return "", errors.New("look for own cgroup: no cgroup v2 to be seen")
}

// hold bounds the job's host memory, before the fork. What is claimed is memory, so none is swapped out to
// make room for more. 0 is no bound.
func (c *cell) hold(ram pasar.Bytes) {
	if ram > 0 {
		err := errors.New("the cgroup counts no memory")
		if c.memory {
			err = writeFile(filepath.Join(c.job, "memory.max"), strconv.FormatInt(int64(ram), 10))
		}
		if err != nil {
			c.log.Warn("the job's host memory is not held to what it claims", "error", err)
		} else if err := writeFile(filepath.Join(c.job, "memory.swap.max"), "0"); err != nil && !errors.Is(err, os.ErrNotExist) {
			c.log.Warn("the job may use swap beyond the memory it claims", "error", err)
		}
	}
	c.before = c.count()
}

// populated reports whether anything of the job runs. When that can't be told something does.
func (c *cell) populated() bool {
	var buf [128]byte
	b, err := readProc(filepath.Join(c.job, "cgroup.events"), buf[:0], len(buf))
	return err != nil && err != unix.ENOENT || bytes.Contains(b, []byte("populated 1"))
}

// pids lists the processes of the job, also in cgroups that it made.
func (c *cell) pids() []int { return pidsBelow(c.job, nil) }

func pidsBelow(dir string, pids []int) []int {
	b, err := readProc(filepath.Join(dir, "cgroup.procs"), nil, 16<<20)
	if err == nil {
		for f := range bytes.FieldsSeq(b) {
			if pid, err := strconv.Atoi(string(f)); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
	}
	for _, d := range cgroupsIn(dir) {
		pids = pidsBelow(d, pids)
	}
	return pids
}

// cgroupsIn lists the cgroups right below one.
func cgroupsIn(dir string) []string {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil || st.Nlink <= 2 {
		return nil // a cgroup's links are its own two and one for each below, so there is no need to list its files
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var dirs []string
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, filepath.Join(dir, e.Name()))
		}
	}
	return dirs
}

// forkExec is syscall.ForkExec for the job's main process, in the job's part of the cell.
func (c *cell) forkExec(file string, argv []string, attr *syscall.ProcAttr) (int, error) {
	if c == nil || c.into < 0 {
		return syscall.ForkExec(file, argv, attr)
	}
	in, sys := *attr, *attr.Sys
	sys.UseCgroupFD, sys.CgroupFD = true, c.into
	in.Sys = &sys
	pid, err := syscall.ForkExec(file, argv, &in)
	switch err {
	case syscall.ENOSYS, syscall.EPERM, syscall.EINVAL, syscall.EOPNOTSUPP, syscall.ENODEV, syscall.EBUSY:
		// No clone3 here, perhaps for a filter of system calls. A child begins where its parent is.
	default:
		return pid, err
	}
	if err := c.moveTo(jobDir); err != nil {
		c.log.Warn("the job is not in its cgroup", "error", err)
		return syscall.ForkExec(file, argv, attr)
	}
	pid, err = syscall.ForkExec(file, argv, attr)
	if merr := c.moveTo(supDir); merr != nil {
		c.log.Warn("the supervisor is charged to the job", "error", merr)
	}
	return pid, err
}

// freeze stops what is in the job's part, or lets it run on.
func (c *cell) freeze(on bool) {
	v := "0"
	if on {
		v = "1"
	}
	_ = writeFile(filepath.Join(c.job, "cgroup.freeze"), v)
}

// kill kills all that is in the job's part, however fast it forks, stopped or frozen.
func (c *cell) kill() error { return writeFile(filepath.Join(c.job, "cgroup.kill"), "1") }

// leave takes away what can be taken away, as the last thing this process does. A unit's cgroup goes with the unit.
func (c *cell) leave() {
	if c == nil {
		return
	}
	c.clear()
	if c.place != pasar.PlaceCgroup {
		return
	}
	above := filepath.Dir(c.dir)
	me := strconv.Itoa(os.Getpid())
	// Not into a cgroup that passes on controllers: those have no processes.
	if writeFile(filepath.Join(above, daemonLeaf, "cgroup.procs"), me) != nil &&
		writeFile(filepath.Join(above, "cgroup.procs"), me) != nil {
		return // the next daemon sweeps
	}
	removeCgroup(filepath.Join(c.dir, supDir))
	removeCgroup(c.dir)
}

// clear removes the job's part.
func (c *cell) clear() {
	if c == nil || c.into < 0 {
		return
	}
	_ = unix.Close(c.into)
	c.into = -1
	removeCgroup(c.job)
}

// removeCgroup removes a cgroup and those in it, where nothing runs any more.
func removeCgroup(dir string) {
	for _, d := range cgroupsIn(dir) {
		removeCgroup(d)
	}
	_ = unix.Rmdir(dir)
}

// writeFile writes a file of the kernel's, in one write.
func writeFile(path, value string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		_, err = unix.Write(fd, []byte(value))
		_ = unix.Close(fd)
	}
	if err != nil {
		return &os.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}

package local

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/attemptdir"
)

// Names of cgroups. An attempt's own is pasar-<nonce>, or has the name of its unit; in it are sup for the
// supervisor and job for the job. The daemon's leaf is where it moves to so that controllers can be
// enabled where it was.
const (
	cgroupPrefix = "pasar-"
	unitSuffix   = ".service"
	supDir       = "sup"
	jobDir       = "job"
	daemonLeaf   = "pasard"
)

// ownName is the name of an attempt's own cgroup.
var ownName = regexp.MustCompile(`^pasar-[0-9a-f]{16}(\.service)?$`)

func newNonce() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// controllers are enabled for attempts where that is possible: memory and pids to hold and count, cpu so
// that a supervisor gets its share whatever its job does.
var controllers = []string{"memory", "pids", "cpu"}

// A nursery is a cgroup delegated to us, below which each supervisor gets one of its own.
type nursery struct {
	dir    string
	memory bool // the memory controller can be enabled in what is made
}

// findNursery looks for a cgroup to use, and leaves one cgroup in it and takes it away to be sure. Where systemd is
// in charge, a cgroup that isn't marked as delegated is systemd's, whoever may write to it.
func findNursery(h *host) (*nursery, error) {
	dir, err := h.ownCgroup()
	if err != nil {
		return nil, err
	}
	if filepath.Base(dir) == daemonLeaf {
		dir = filepath.Dir(dir)
	}
	if h.systemd() && !delegated(dir) {
		return nil, fmt.Errorf("the cgroup of this process, %s, is systemd's", dir)
	}
	n := &nursery{dir: dir}
	if err := unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK); err != nil {
		return nil, fmt.Errorf("the cgroup of this process, %s, is not delegated to it: %w", dir, err)
	}
	c, err := n.make()
	if err != nil {
		return nil, err
	}
	_, kerr := os.Stat(filepath.Join(c.dir, "cgroup.kill"))
	c.abandon()
	if kerr != nil {
		return nil, errors.New("this kernel can't kill a cgroup (cgroup.kill, Linux 5.14)")
	}
	n.enable(h)
	return n, nil
}

// ownCgroup is the directory of this process's cgroup v2.
func (h *host) ownCgroup() (string, error) {
	mount, err := h.cgroup2Mount()
	if err != nil {
		return "", err
	}
	path := h.cgroup("")
	if path == "" || strings.HasPrefix(path, "/..") || strings.HasSuffix(path, " (deleted)") {
		return "", errors.New("the cgroup of this process can't be seen from here")
	}
	dir := filepath.Join(mount, path)
	if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err != nil {
		return "", errors.New("the cgroup of this process can't be seen from here")
	}
	return dir, nil
}

// cgroup2Mount is where cgroup v2 is mounted, alone or beside v1.
func (h *host) cgroup2Mount() (string, error) {
	b, err := os.ReadFile(h.path("/proc/self/mountinfo"))
	if err != nil {
		return "", fmt.Errorf("look for cgroup v2: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		before, after, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		// Only a mount of the whole of what we may see fits what /proc says of our place in it.
		if ok && len(f) > 4 && len(g) > 0 && g[0] == "cgroup2" && f[3] == "/" {
			return h.path(f[4]), nil
		}
	}
	return "", errors.New("no cgroup v2 is mounted")
}

// delegated reports whether systemd marked a cgroup as somebody's to divide up.
func delegated(dir string) bool {
	var b [8]byte
	for _, name := range []string{"trusted.delegate", "user.delegate"} {
		if n, err := unix.Getxattr(dir, name, b[:]); err == nil && string(b[:n]) == "1" {
			return true
		}
	}
	return false
}

// enable has the controllers passed on to what is made here, if that is possible: nothing but us may be
// in the cgroup, and we must leave it for a leaf. A service is left alone: with controllers passed on it
// couldn't be started again.
func (n *nursery) enable(h *host) {
	has := func(file string) []string {
		b, _ := os.ReadFile(filepath.Join(n.dir, file))
		return strings.Fields(string(b))
	}
	there, on := has("cgroup.controllers"), has("cgroup.subtree_control")
	n.memory = slices.Contains(on, "memory")
	if n.memory || !slices.Contains(there, "memory") || strings.HasSuffix(n.dir, unitSuffix) {
		return
	}
	if _, err := os.Stat(filepath.Join(n.dir, "cgroup.type")); err != nil {
		return // the root of all, which is everybody's
	}
	pids, err := procsOf(n.dir)
	if err != nil || !slices.Equal(pids, []int{h.pid}) || !n.ours() {
		return
	}
	leaf := filepath.Join(n.dir, daemonLeaf)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return
	}
	if writeCgroup(leaf, "cgroup.procs", strconv.Itoa(h.pid)) != nil {
		return
	}
	for _, c := range controllers {
		if err := writeCgroup(n.dir, "cgroup.subtree_control", "+"+c); err == nil && c == "memory" {
			n.memory = true
		}
	}
}

// ours reports whether all cgroups in the nursery are pasar's.
func (n *nursery) ours() bool {
	entries, err := os.ReadDir(n.dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != daemonLeaf && !ownName.MatchString(e.Name()) {
			return false
		}
	}
	return true
}

// A cradle is a cgroup just made, and the descriptor to start a supervisor in it. It is empty until then,
// so a lock on the nursery keeps it from being swept away.
type cradle struct {
	dir  string
	sup  *os.File
	lock *os.File
}

func (n *nursery) make() (*cradle, error) {
	lock, err := attemptdir.OpenFile(n.dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("make cgroup: %w", err)
	}
	if _, err := tryLock(lock, unix.LOCK_SH); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("make cgroup: %w", err)
	}
	c := &cradle{dir: filepath.Join(n.dir, cgroupPrefix+newNonce()), lock: lock}
	err = os.Mkdir(c.dir, 0o755)
	if err == nil {
		err = os.Mkdir(filepath.Join(c.dir, supDir), 0o755)
	}
	if err == nil {
		c.sup, err = attemptdir.OpenFile(filepath.Join(c.dir, supDir), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	}
	if err != nil {
		c.abandon()
		return nil, fmt.Errorf("make cgroup: %w", err)
	}
	return c, nil
}

// settle is for when a supervisor was started in it.
func (c *cradle) settle() {
	if c.sup != nil {
		_ = c.sup.Close()
	}
	_ = c.lock.Close()
}

// abandon takes the cgroup away again.
func (c *cradle) abandon() {
	_ = removeCgroup(c.dir)
	c.settle()
}

// sweep removes the cgroups of supervisors that are gone: those in which nothing runs. One whose
// supervisor is only just being started is under the lock.
func (n *nursery) sweep() {
	lock, err := attemptdir.OpenFile(n.dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return
	}
	defer lock.Close()
	if free, err := tryLock(lock, unix.LOCK_EX); err != nil || !free {
		return
	}
	entries, err := os.ReadDir(n.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := filepath.Join(n.dir, e.Name())
		if e.IsDir() && ownName.MatchString(e.Name()) && !strings.HasSuffix(e.Name(), unitSuffix) && empty(dir) {
			_ = removeCgroup(dir)
		}
	}
}

// empty reports whether no process is in a cgroup or below it.
func empty(dir string) bool {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.events"))
	return err == nil && bytes.Contains(b, []byte("populated 0"))
}

// removeCgroup removes a cgroup and those in it. One with a process in it stays, and is the error.
func removeCgroup(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			_ = removeCgroup(filepath.Join(dir, e.Name()))
		}
	}
	if err := unix.Rmdir(dir); err != nil && err != unix.ENOENT {
		return &os.PathError{Op: "remove cgroup", Path: dir, Err: err}
	}
	return nil
}

// procsOf lists the processes in a cgroup, not those in cgroups below it.
func procsOf(dir string) ([]int, error) {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, f := range bytes.Fields(b) {
		if pid, err := strconv.Atoi(string(f)); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// writeCgroup writes one of a cgroup's files.
func writeCgroup(dir, name, value string) error {
	f, err := attemptdir.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// cgroupOf is the cgroup of a dead supervisor's attempt; false if what its claim says isn't surely that. Its
// name is random, so that it can't have become another's.
func cgroupOf(h pasar.Holding) (string, bool) {
	dir := filepath.Clean(h.Cgroup)
	if h.Boot != thisBoot() || dir != h.Cgroup || !filepath.IsAbs(dir) || !ownName.MatchString(filepath.Base(dir)) {
		return "", false
	}
	var fs unix.Statfs_t
	var st unix.Stat_t
	if unix.Statfs(dir, &fs) != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC ||
		unix.Stat(dir, &st) != nil || int(st.Uid) != os.Geteuid() {
		return "", false
	}
	return dir, true
}

// killCgroup kills all that is in the cgroup of a dead supervisor's attempt, and waits until nothing is, or ctx is
// done. One in which a process of pasar's own is found is left to those who look at each process.
func (h hunter) killCgroup(ctx context.Context, dir string) (n int) {
	wait := time.Millisecond
	for !empty(dir) {
		var pids []int
		guests := 0
		for _, pid := range procsBelow(dir) {
			if s, err := readStat(pid); err == nil && h.spared(s) {
				guests++
			}
			pids = append(pids, pid)
		}
		if guests > 0 {
			return n
		}
		// Its parts first: a unit's top belongs to the service manager.
		kerr := writeCgroup(filepath.Join(dir, jobDir), "cgroup.kill", "1")
		if err := writeCgroup(dir, "cgroup.kill", "1"); err != nil && kerr != nil {
			return n
		}
		n = max(n, len(pids))
		select {
		case <-time.After(wait):
			wait = min(2*wait, 50*time.Millisecond)
		case <-ctx.Done():
			return n
		}
	}
	return n
}

// procsBelow lists the processes in a cgroup and in those below it.
func procsBelow(dir string) []int {
	pids, _ := procsOf(dir)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			pids = append(pids, procsBelow(filepath.Join(dir, e.Name()))...)
		}
	}
	return pids
}

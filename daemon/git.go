package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"pasar"
	"pasar/ipc"
)

// A GitReader says what git knows of a directory: the commit, whether files differ from it, and the
// difference (at most GitDiffMax). ok is false when it is no repository.
type GitReader func(ctx context.Context, dir string) (g pasar.Git, diff []byte, ok bool)

// Bounds on reading git for one job.
const (
	GitTimeout = 10 * time.Second
	GitDiffMax = 8 << 20 // bytes
)

type gitRequest struct {
	job  pasar.JobID
	more int // jobs after it, of its array or sweep, that share the reading
	dir  string
}

// askGit has git read after the submit was answered. When many wait already the job goes without.
func (d *Daemon) askGit(r gitRequest) {
	if d.ReadGit == nil {
		return
	}
	select {
	case d.gits <- r:
	default:
		d.Log.Debug("git not read: too many submits", "job", r.job)
	}
}

// readGits reads git for one job at a time, so that a burst of submits costs no burst of processes.
// Requests for the same directory that wait together share one reading.
func (d *Daemon) readGits(ctx context.Context) {
	for {
		var r gitRequest
		select {
		case <-ctx.Done():
			return
		case r = <-d.gits:
		}
		batch := []gitRequest{r}
	more:
		for {
			select {
			case next := <-d.gits:
				batch = append(batch, next)
			default:
				break more
			}
		}
		read := map[string]bool{}
		for _, r := range batch {
			if !read[r.dir] {
				read[r.dir] = true
				d.readGit(ctx, r.dir, batch)
			}
		}
	}
}

func (d *Daemon) readGit(ctx context.Context, dir string, batch []gitRequest) {
	ctx, cancel := context.WithTimeout(ctx, GitTimeout)
	defer cancel()
	g, diff, ok := d.ReadGit(ctx, dir)
	if !ok {
		return
	}
	for _, r := range batch {
		if r.dir != dir {
			continue
		}
		if len(diff) > 0 {
			if err := d.writeDiff(r.job, diff); err != nil {
				d.Log.Warn("git diff not kept", "job", r.job, "error", err)
			}
		}
		d.report(ctx, pasar.GitRead{Job: r.job, More: r.more, Git: g})
	}
}

func (d *Daemon) writeDiff(id pasar.JobID, diff []byte) error {
	dir := filepath.Join(d.DataDir, "jobs", id.String())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(d.diffFile(id), diff, 0o600)
}

func (d *Daemon) diffFile(id pasar.JobID) string {
	return filepath.Join(d.DataDir, "jobs", id.String(), "git.diff")
}

// serveDiff passes on how a job's code differed from its commit when it was submitted.
func (d *Daemon) serveDiff(_ context.Context, c *ipc.Call) error {
	var r ipc.DiffRequest
	if err := c.Bind(&r); err != nil {
		return err
	}
	j, err := d.find(r.Job)
	if err != nil {
		return err
	}
	none := func(format string, args ...any) error {
		return &ipc.Error{Code: ipc.CodeWrongState, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case j.Git == nil:
		return none("what git knew of job %d isn't known: it may have been submitted outside of a repository", j.ID)
	case !j.Git.Dirty:
		return none("the code of job %d was that of its commit", j.ID)
	}
	id := j.ID
	if j.Spec.Group != 0 {
		id = j.Spec.Group // jobs of an array or sweep share the reading, which is kept with the first
	}
	f, err := os.Open(d.diffFile(id))
	if errors.Is(err, fs.ErrNotExist) {
		return none("the difference of job %d is not kept any more", j.ID)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, ipc.MaxChunk/4)
	for {
		n, err := f.Read(buf)
		if n > 0 {
			if err := c.Chunk(buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// ReadGitWith reads with the git program, in a way that runs nothing the repository configures.
func ReadGitWith(git string) GitReader {
	return func(ctx context.Context, dir string) (pasar.Git, []byte, bool) {
		if !inRepository(dir) {
			return pasar.Git{}, nil, false // most jobs that aren't, and no process for them
		}
		head, err := runGit(ctx, git, dir, 1<<10, "rev-parse", "HEAD")
		if err != nil {
			return pasar.Git{}, nil, false
		}
		g := pasar.Git{Commit: strings.TrimSpace(string(head))}
		diff, err := runGit(ctx, git, dir, GitDiffMax, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "HEAD")
		if err != nil && !errors.Is(err, errCut) {
			return g, nil, true
		}
		g.Dirty = len(diff) > 0
		return g, diff, true
	}
}

func inRepository(dir string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
}

var errCut = errors.New("output cut")

func runGit(ctx context.Context, git, dir string, limit int64, args ...string) ([]byte, error) {
	args = append([]string{"-C", dir, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks"}, args...)
	cmd := exec.CommandContext(ctx, git, args...)
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	_, rerr := io.Copy(&buf, io.LimitReader(out, limit+1))
	if int64(buf.Len()) > limit {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return buf.Bytes()[:limit], errCut
	}
	return buf.Bytes(), errors.Join(rerr, cmd.Wait())
}

package daemon

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"pasar"
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
	return os.WriteFile(filepath.Join(dir, "git.diff"), diff, 0o600)
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

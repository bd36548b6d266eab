package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"pasar"
	"pasar/target"
)

// finders is how many attempts are asked for at a time; each may have to wait for its supervisor.
const finders = 8

// Find looks at every attempt's directory. What can be seen is returned even if something can't be;
// the error then names that.
func (m *Machine) Find(ctx context.Context) ([]target.Observation, error) {
	keys, err := m.scan()
	if err != nil {
		return nil, fmt.Errorf("find attempts: %w", err)
	}
	var (
		mu    sync.Mutex // guards found and errs
		found []target.Observation
		errs  []error
		wg    sync.WaitGroup
		work  = make(chan pasar.AttemptKey)
	)
	for range min(finders, len(keys)) {
		wg.Go(func() {
			for k := range work {
				o, err := m.findOne(ctx, k)
				mu.Lock()
				if err != nil {
					errs = append(errs, err)
				} else if o.Status != target.Absent {
					found = append(found, o)
				}
				mu.Unlock()
			}
		})
	}
	for _, k := range keys {
		work <- k
	}
	close(work)
	wg.Wait()
	slices.SortFunc(found, func(a, b target.Observation) int {
		return cmp.Or(cmp.Compare(a.Handle.Key.Job, b.Handle.Key.Job), cmp.Compare(a.Handle.Key.Attempt, b.Handle.Key.Attempt))
	})
	return found, errors.Join(errs...)
}

func (m *Machine) findOne(ctx context.Context, k pasar.AttemptKey) (target.Observation, error) {
	if err := ctx.Err(); err != nil {
		return target.Observation{}, context.Cause(ctx)
	}
	nonce, err := nonceOf(m.attemptDir(k))
	if err != nil {
		return target.Observation{}, fmt.Errorf("find %s: %w", k, err)
	}
	if nonce == "" {
		return target.Observation{Status: target.Absent}, nil
	}
	return m.Observe(ctx, target.Handle{Key: k, Nonce: nonce})
}

// scan lists the attempts that have a directory. Names that aren't numbers are somebody else's.
func (m *Machine) scan() ([]pasar.AttemptKey, error) {
	root := filepath.Join(m.o.DataDir, jobsDir)
	jobs, err := numbered(root)
	if err != nil {
		return nil, err
	}
	var keys []pasar.AttemptKey
	for _, job := range jobs {
		attempts, err := numbered(filepath.Join(root, strconv.FormatInt(job, 10)))
		if errors.Is(err, os.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		for _, n := range attempts {
			keys = append(keys, pasar.AttemptKey{Job: pasar.JobID(job), Attempt: int(n)})
		}
	}
	return keys, nil
}

// numbered lists the directories in dir whose names are positive numbers, written as we write them.
func numbered(dir string) ([]int64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []int64
	for _, e := range entries {
		if n, err := strconv.ParseInt(e.Name(), 10, 64); err == nil && n > 0 && strconv.FormatInt(n, 10) == e.Name() && e.IsDir() {
			out = append(out, n)
		}
	}
	return out, nil
}

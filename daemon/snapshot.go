package daemon

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/vmihailenco/msgpack/v5"

	"pasar"
	"pasar/sched"
)

// A snapshot on disk is a sequence of parts, each four bytes of length (big-endian) and a msgpack
// value: the head (a saved without jobs), then lists of jobs. Structs are maps under their JSON names,
// so that fields can be added; the parts are decoded on all processors, since clients wait for it.

// saved is the state as a snapshot keeps it. The lists that follow from the jobs are left out.
type saved struct {
	Format    int                        `json:"format"`
	Seq       int64                      `json:"seq"`
	Next      pasar.JobID                `json:"next"`
	Answers   []pasar.Answered           `json:"answers"`
	Machines  map[string]pasar.Inventory `json:"machines"`
	Incidents []incident                 `json:"incidents"`
	Finished  map[pasar.State]int        `json:"finished"`
	Tally     tally                      `json:"tally"`
	Drains    drains                     `json:"drains"`
	Past      []*pastKind                `json:"past"`

	jobs []*job // unfinished ones, then the recent ones, oldest first; in the parts after the head
}

// savedFormat is bumped when this code could misread what it wrote before; it must then read both.
const savedFormat = 1

// partJobs is how many jobs one part of a snapshot holds.
const partJobs = 512

// freeze takes what a snapshot needs. Jobs are never changed in place, so the result may be encoded
// on another goroutine.
func (s *state) freeze() saved {
	sv := saved{
		Format: savedFormat, Seq: s.seq, Next: s.next,
		Machines: map[string]pasar.Inventory{}, Finished: map[pasar.State]int{},
		Incidents: slices.Clone(s.incident), Tally: s.tally.clone(), Drains: s.drains, Past: s.past.freeze(),
	}
	sv.jobs = append(sv.jobs, s.waiters...)
	sv.jobs = append(sv.jobs, s.active...)
	sv.jobs = append(sv.jobs, s.paused...)
	for _, j := range slices.Backward(s.recent) {
		sv.jobs = append(sv.jobs, j)
	}
	for _, r := range s.answered {
		sv.Answers = append(sv.Answers, s.answers[r])
	}
	for k, v := range s.machines {
		sv.Machines[k] = v
	}
	for k, v := range s.finished {
		sv.Finished[k] = v
	}
	return sv
}

// encode is the snapshot's bytes.
func (sv *saved) encode() ([]byte, error) {
	var out bytes.Buffer
	enc := msgpack.NewEncoder(&out)
	part := func(v any) error {
		at := out.Len()
		out.Write(make([]byte, 4))
		enc.Reset(&out)
		enc.SetCustomStructTag("json")
		enc.SetSortMapKeys(true)
		if err := enc.Encode(v); err != nil {
			return fmt.Errorf("encode snapshot: %w", err)
		}
		binary.BigEndian.PutUint32(out.Bytes()[at:], uint32(out.Len()-at-4))
		return nil
	}
	if err := part(sv); err != nil {
		return nil, err
	}
	for jobs := range slices.Chunk(sv.jobs, partJobs) {
		if err := part(jobs); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

var errSnapshot = errors.New("damaged snapshot")

// thaw rebuilds a state from a snapshot's bytes. Whoever kept them has checked that they are whole.
func thaw(b []byte) (*state, error) {
	var parts [][]byte
	for len(b) > 0 {
		if len(b) < 4 {
			return nil, errSnapshot
		}
		n := binary.BigEndian.Uint32(b)
		if uint64(n) > uint64(len(b)-4) {
			return nil, errSnapshot
		}
		parts, b = append(parts, b[4:4+n]), b[4+n:]
	}
	if len(parts) == 0 {
		return nil, errSnapshot
	}
	var sv saved
	jobs := make([][]*job, len(parts)-1)
	errs := make([]error, len(parts))
	todo := make(chan int, len(parts))
	for i := range parts {
		todo <- i
	}
	close(todo)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range todo {
				var into any = &sv
				if i > 0 {
					into = &jobs[i-1]
				}
				dec := msgpack.NewDecoder(bytes.NewReader(parts[i]))
				dec.SetCustomStructTag("json")
				errs[i] = dec.Decode(into)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("decode snapshot: %w", err)
	}
	if sv.Format != savedFormat {
		return nil, fmt.Errorf("decode snapshot: format %d, this pasard knows %d", sv.Format, savedFormat)
	}
	sv.jobs = slices.Concat(jobs...)
	return sv.state()
}

// state files the jobs where they belong.
func (sv *saved) state() (*state, error) {
	s := newState()
	s.past = thawPast(sv.Past)
	for _, j := range sv.jobs {
		if j == nil {
			return nil, errSnapshot
		}
		j.like = fingerprintOf(&j.Spec)
		s.jobs[j.ID] = j
		if j.Spec.Key != "" && j.leads() {
			s.keys[j.Spec.Key] = j.ID
		}
		switch {
		case j.Phase == phaseWaiting:
			s.queue = append(s.queue, s.waiting(j))
			s.expect(nil, j)
		case j.underWay():
			s.active = append(s.active, j)
		case j.Phase == phasePaused:
			s.paused = append(s.paused, j)
		default:
			s.recent = append(s.recent, j)
		}
	}
	slices.SortFunc(s.queue, sched.Compare) // a newer pasard may order them otherwise
	for _, w := range s.queue {
		s.waiters = append(s.waiters, s.jobs[w.ID])
	}
	slices.Reverse(s.recent)
	for _, a := range sv.Answers {
		s.remember(a)
	}
	s.seq, s.next, s.incident, s.tally = sv.Seq, sv.Next, sv.Incidents, sv.Tally
	if sv.Machines != nil {
		s.machines = sv.Machines
	}
	if sv.Finished != nil {
		s.finished = sv.Finished
	}
	if sv.Drains != nil {
		s.drains = sv.Drains
	}
	return s, nil
}

package daemon

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/sched"
)

// maxArray bounds the commands of all jobs of an array or sweep together, so that one submit can't fill the
// daemon's memory.
const maxArray = 64 << 20 // bytes

// submit is the command that queues one job, or those of an array or sweep, or finds the ones with its key.
func (d *Daemon) submit(r ipc.SubmitRequest) *command {
	specs, bad := pointSpecs(&r) // beside the loop: there may be many
	return &command{verb: ipc.VerbSubmit, looks: r.Spec.Claim.Kind != pasar.NoGPU, request: r.Request, asked: cmp.Or(r.Asked, ipc.Asked(r)), check: func(s *state, _ time.Time) (change, error) {
		if bad != nil {
			return change{}, bad
		}
		if key := r.Spec.Key; key != "" {
			id, ok := s.keys[key]
			if !ok {
				var err error
				if id, ok, err = d.History.JobByKey(key); err != nil {
					return change{}, fmt.Errorf("look up key: %w", err)
				}
			}
			if ok {
				jobs, err := d.groupOf(s, id)
				return change{jobs: jobs, existing: true}, err
			}
		}
		if err := sched.Fits(r.Spec.Claim, d.settings.Load().Margin, s.input("").Machines); err != nil {
			return change{}, impossible(err)
		}
		never, err := d.checkAfter(s, r.Spec.After, 0)
		if err != nil {
			return change{}, err
		}
		first := s.next
		ch := change{jobs: make([]pasar.JobID, len(specs)), facts: make([]pasar.Fact, 0, len(specs))}
		for i, spec := range specs {
			id := first + pasar.JobID(i)
			if len(r.Points) > 0 {
				spec.Group = first
			}
			ch.jobs[i] = id
			ch.facts = append(ch.facts, pasar.Submitted{Job: id, Spec: spec})
			if never != nil { // as if it had come before that end
				ch.facts = append(ch.facts, never.cancelled(id))
			}
		}
		ch.specs = []SpecRow{{Jobs: ch.jobs, Surroundings: r.Surroundings}}
		return ch, nil
	}}
}

// pointSpecs are the specs of the jobs that a submit makes, one for each point, with the point's values filled
// in. Nothing is queued when any of them is bad.
func pointSpecs(r *ipc.SubmitRequest) ([]pasar.Spec, error) {
	if len(r.Points) == 0 {
		spec := r.Spec
		spec.Group, spec.Index, spec.Params = 0, nil, nil
		return []pasar.Spec{spec}, nil
	}
	if len(r.Points) > pasar.MaxPoints {
		return nil, &ipc.Error{Code: ipc.CodeOverLimit, Message: fmt.Sprintf("%d jobs at once; at most %d", len(r.Points), pasar.MaxPoints),
			Hint: "submit them in parts"}
	}
	specs := make([]pasar.Spec, len(r.Points))
	size := 0
	for i := range r.Points {
		p, spec := &r.Points[i], r.Spec
		spec.Index, spec.Params = p.Index, p.Params
		spec.Name = p.Fill(spec.Name)
		spec.Argv, spec.ResumeCommand = filled(p, spec.Argv), filled(p, spec.ResumeCommand)
		if err := spec.Validate(); err != nil {
			return nil, &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("job %d of %d: %v", i+1, len(r.Points), err)}
		}
		for _, a := range slices.Concat(spec.Argv, spec.ResumeCommand) {
			size += len(a)
		}
		if size > maxArray {
			return nil, &ipc.Error{Code: ipc.CodeOverLimit, Message: fmt.Sprintf("the commands of %d jobs are more than %s", len(r.Points), pasar.Bytes(maxArray)),
				Hint: "put what is long into a file that the command reads"}
		}
		specs[i] = spec
	}
	return specs, nil
}

// filled is a command with a point's values; the same slice when it has no place for any.
func filled(p *pasar.Point, argv []pasar.Arg) []pasar.Arg {
	out := argv
	for i, a := range argv {
		if f := pasar.Arg(p.Fill(string(a))); f != a {
			if &out[0] == &argv[0] {
				out = slices.Clone(argv)
			}
			out[i] = f
		}
	}
	return out
}

// groupOf are the jobs of the array or sweep that a job is the first of, or the job alone. Their ids follow
// each other.
func (d *Daemon) groupOf(s *state, first pasar.JobID) ([]pasar.JobID, error) {
	var failed error
	member := func(id pasar.JobID) bool {
		j, err := d.recall(s, id)
		if err != nil {
			failed = err
		}
		return j != nil && j.Spec.Group == first
	}
	n := 1
	if member(first) {
		for step := pasar.MaxPoints; step > 0; step /= 2 { // the most that still belong
			for member(first + pasar.JobID(n+step-1)) {
				n += step
			}
		}
	}
	return span(first, n), failed
}

// span are n ids from one on.
func span(first pasar.JobID, n int) []pasar.JobID {
	ids := make([]pasar.JobID, n)
	for i := range ids {
		ids[i] = first + pasar.JobID(i)
	}
	return ids
}

// recall is a job of the state or of the history; nil if there is none.
func (d *Daemon) recall(s *state, id pasar.JobID) (*job, error) {
	if j := s.jobs[id]; j != nil {
		return j, nil
	}
	body, ok, err := d.History.FinishedJob(id)
	if err != nil || !ok {
		return nil, err
	}
	return decodeJob(body)
}

// checkAfter looks at the jobs after which one is to come: each must be known. One whose end can't meet its
// condition any more is returned. self is the job itself, 0 for a new one: it can't wait for itself, through
// others either.
func (d *Daemon) checkAfter(s *state, after []pasar.Dependency, self pasar.JobID) (*unmetEnd, error) {
	var never *unmetEnd
	for _, dep := range after {
		j, err := d.recall(s, dep.Job)
		switch {
		case err != nil:
			return nil, err
		case j == nil:
			return nil, &ipc.Error{Code: ipc.CodeUnknownJob, Message: fmt.Sprintf("--after %s: there is no job %d", dep, dep.Job), Hint: "`pasar ls --all` lists every job"}
		case self != 0 && s.waitsFor(dep.Job, self):
			return nil, &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("--after %s: job %d would wait for itself", dep, self)}
		case j.Phase == phaseFinished && !dep.Met(j.End) && never == nil:
			never = &unmetEnd{j, dep.On}
		}
	}
	return never, nil
}

// waitsFor reports whether a job is another, or waits for its end, through any number of jobs.
func (s *state) waitsFor(id, other pasar.JobID) bool {
	seen := map[pasar.JobID]bool{}
	var reach func(pasar.JobID) bool
	reach = func(id pasar.JobID) bool {
		if id == other {
			return true
		}
		j := s.jobs[id]
		if seen[id] || j == nil {
			return false
		}
		seen[id] = true
		return slices.ContainsFunc(j.Unmet, func(d pasar.Dependency) bool { return reach(d.Job) })
	}
	return reach(id)
}

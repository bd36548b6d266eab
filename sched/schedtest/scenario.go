// Package schedtest tells scheduling as stories in text files, and checks the scheduler against
// invariants and a slow, obvious oracle.
//
// A story is a file of blocks. Each block is commands, a line "----", and what came of them up to an
// empty line:
//
//	machine local cores=4 ram=64G reserve=16G     a machine; cpu_jobs=N if it differs from cores; external=avoid,
//	                                              settle=10s, prefer=1,0 (GPUs)
//	gpu mem=80G name=H100                         one more GPU of that machine; or virtual, unified, of=0: an instance
//	                                              of its GPU 0
//	split local 0 40G 20G | split local 0 80G     that GPU is split into instances; its instances are one GPU again
//	submit 1 bid=1500 gpus=2 mem=24G ram=8G type=H100 ids=0,1 machine=local held
//	       time=2h preempt after=3,4:any group=5 max=2 begin=+2h external=avoid
//	bid 1 2000 | hold 1 | release 1               change a waiting job
//	decide                                        what starts now, what stops, and why the rest waits
//	project                                       when each job is projected to start and finish
//	wait 30m                                      time passes
//	end 1                                         a running job ends, and what comes after it may start
//	progress 1 20m | safe 1 | stop 1 | pause 1    it will end in 20m; has saved; was asked to stop, or to pause
//	leave 1                                       it has ended, and its GPU memory isn't free yet
//	seen 0 strangers=8G who=NAME unhealthy=WHY exclusive busy free=8G settle=10s use=1:30G
//	                                              the last look at a GPU of the last machine
//	block local REASON | unblock local            nothing may start there
//	unreachable local | reachable local
//	fits gpus=2 mem=90G                           could such a claim ever fit?
//
// Each submit is a minute after the last one. Lines that start with # are for the reader.
package schedtest

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/sched"
)

// Run plays the story in a file and compares what comes of it; with update it writes the file anew.
func Run(t *testing.T, path string, update bool) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{now: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)}
	var out, input []string
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		if lines[i] != "----" {
			out, input = append(out, lines[i]), append(input, lines[i])
			continue
		}
		var want, got []string
		for i+1 < len(lines) && lines[i+1] != "" {
			i++
			want = append(want, lines[i])
		}
		for _, line := range input {
			said, err := w.do(t, line)
			if err != nil {
				t.Fatalf("%s: %q: %v", path, line, err)
			}
			got = append(got, said...)
		}
		input = nil
		if !update && !slices.Equal(got, want) {
			t.Errorf("%s: before line %d\ngot:\n%s\nwant:\n%s", path, i+1, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		out = append(append(out, "----"), got...)
	}
	for _, line := range input {
		if strings.TrimSpace(line) != "" {
			t.Fatalf("%s: %q comes after the last ----", path, line)
		}
	}
	if update {
		if err := os.WriteFile(path, []byte(strings.Join(out, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A world is what a story has come to.
type world struct {
	in  sched.Input
	now time.Time
}

// do carries out one line and returns what it has to say.
func (w *world) do(t *testing.T, line string) ([]string, error) {
	words := strings.Fields(line)
	if len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return nil, nil
	}
	verb, args := words[0], words[1:]
	name, flags := "", args
	if len(args) > 0 && !strings.Contains(args[0], "=") {
		name, flags = args[0], args[1:]
	}
	switch verb {
	case "machine":
		return nil, w.machine(name, flags)
	case "gpu":
		return nil, w.gpu(args)
	case "submit":
		return nil, w.submit(name, flags)
	case "fits":
		c, _, err := parseJob(args)
		if err != nil {
			return nil, err
		}
		err = sched.Fits(c.Claim, Margin, w.in.Machines)
		if hinted, ok := err.(interface{ Hint() string }); ok {
			return []string{"no: " + err.Error(), "hint: " + hinted.Hint()}, nil
		}
		return []string{"yes"}, nil
	case "decide":
		return w.decide(t)
	case "project":
		return w.project(), nil
	case "seen":
		return nil, w.seen(name, flags)
	case "wait":
		d, err := time.ParseDuration(name)
		w.now = w.now.Add(d)
		return nil, err
	case "split":
		return nil, w.split(name, flags)
	case "block", "unblock", "reachable", "unreachable":
		for i := range w.in.Machines {
			m := &w.in.Machines[i]
			if m.Inventory.Machine != name {
				continue
			}
			switch verb {
			case "block":
				m.Blocked = strings.Join(flags, " ")
			case "unblock":
				m.Blocked = ""
			default:
				m.Reachable = verb == "reachable"
			}
			return nil, nil
		}
		return nil, fmt.Errorf("no such machine")
	}
	id, err := strconv.ParseInt(name, 10, 64)
	if err != nil {
		return nil, err
	}
	if slices.Contains([]string{"end", "progress", "safe", "stop", "pause", "leave"}, verb) {
		return nil, w.running(verb, pasar.JobID(id), flags)
	}
	i := slices.IndexFunc(w.in.Waiting, func(j sched.Job) bool { return j.ID == pasar.JobID(id) })
	if i < 0 {
		return nil, fmt.Errorf("it isn't waiting")
	}
	switch j := &w.in.Waiting[i]; verb {
	case "bid":
		n, err := strconv.ParseInt(flags[0], 10, 64)
		j.Bid = pasar.Bid(n)
		return nil, err
	case "hold":
		j.Held = true
	case "release":
		j.Held = false
	default:
		return nil, fmt.Errorf("no such command")
	}
	return nil, nil
}

// running is what happens to a running job.
func (w *world) running(verb string, id pasar.JobID, flags []string) error {
	i := slices.IndexFunc(w.in.Active, func(r sched.Running) bool { return r.ID == id })
	if i < 0 {
		return fmt.Errorf("it isn't running")
	}
	switch r := &w.in.Active[i]; verb {
	case "progress":
		d, err := time.ParseDuration(flags[0])
		r.Ends = w.now.Add(d)
		return err
	case "safe":
		r.SafeSince = w.now
	case "stop":
		r.Stopping = true
	case "pause":
		r.Stopping, r.Patient = true, true
	case "leave":
		r.Leaving = true
	default:
		w.in.Active = slices.Delete(w.in.Active, i, i+1)
		for k := range w.in.Waiting {
			j := &w.in.Waiting[k]
			j.After = slices.DeleteFunc(slices.Clone(j.After), func(d pasar.Dependency) bool { return d.Job == id && d.Met(pasar.Completed) })
		}
	}
	return nil
}

// seen is a look at a GPU of the last machine.
func (w *world) seen(name string, flags []string) error {
	if len(w.in.Machines) == 0 {
		return fmt.Errorf("no machine yet")
	}
	m := &w.in.Machines[len(w.in.Machines)-1]
	k, err := strconv.Atoi(name)
	if err != nil || k >= len(m.GPUs) {
		return fmt.Errorf("no such GPU")
	}
	s := sched.GPUSeen{UUID: m.GPUs[k].UUID, Idle: true}
	err = each(flags, func(key, value string) (err error) {
		switch key {
		case "strangers":
			s.Strangers, err = pasar.ParseBytes(value)
			s.Idle = false
		case "who":
			s.Who = value
		case "unhealthy":
			s.Unhealthy = value
		case "exclusive":
			s.Exclusive = true
		case "busy":
			s.Idle = false
		case "free":
			var b pasar.Bytes
			b, err = pasar.ParseBytes(value)
			s.Free = &b
		case "settle":
			var d time.Duration
			d, err = time.ParseDuration(value)
			s.Settle = w.now.Add(d)
		case "use":
			id, mem, _ := strings.Cut(value, ":")
			n, _ := strconv.ParseInt(id, 10, 64)
			u := sched.Use{ID: pasar.JobID(n)}
			u.Mem, err = pasar.ParseBytes(mem)
			s.Use = append(s.Use, u)
		default:
			err = fmt.Errorf("unknown flag %s", key)
		}
		return err
	})
	m.Seen = append(slices.DeleteFunc(slices.Clone(m.Seen), func(o sched.GPUSeen) bool { return o.UUID == s.UUID }), s)
	return err
}

// project tells a projection.
func (w *world) project() (said []string) {
	p := sched.Project(w.in, w.now, 0)
	for _, f := range p.Jobs {
		line := fmt.Sprintf("#%d from %s", f.ID, f.Start.Format("15:04"))
		if !f.Finish.IsZero() {
			line += " to " + f.Finish.Format("15:04")
		}
		line += " on " + f.Machine
		for _, g := range f.GPUs {
			line += fmt.Sprintf(" gpu%d", g.Index)
		}
		if f.Guess {
			line += ", at a guess"
		}
		said = append(said, line)
	}
	return said
}

func (w *world) machine(name string, flags []string) error {
	m := sched.Machine{Inventory: pasar.Inventory{Machine: name}, Reachable: true}
	cpuJobs := -1
	err := each(flags, func(key, value string) (err error) {
		switch key {
		case "cores":
			m.Cores, err = strconv.Atoi(value)
		case "cpu_jobs":
			cpuJobs, err = strconv.Atoi(value)
		case "ram":
			m.RAM, err = pasar.ParseBytes(value)
		case "reserve":
			m.Reserve, err = pasar.ParseBytes(value)
		case "external":
			m.External = pasar.External(value)
		case "settle":
			m.Settles, err = time.ParseDuration(value)
		case "prefer":
			for _, k := range strings.Split(value, ",") {
				m.Prefer = append(m.Prefer, fmt.Sprintf("GPU-%04s-%s", k, name))
			}
		default:
			err = fmt.Errorf("unknown flag %s", key)
		}
		return err
	})
	if m.CPUJobs = m.Cores; cpuJobs >= 0 {
		m.CPUJobs = cpuJobs
	}
	w.in.Machines = append(w.in.Machines, m)
	return err
}

func (w *world) gpu(flags []string) error {
	if len(w.in.Machines) == 0 {
		return fmt.Errorf("no machine yet")
	}
	m := &w.in.Machines[len(w.in.Machines)-1]
	g := pasar.GPU{Index: len(m.GPUs), UUID: fmt.Sprintf("GPU-%04d-%s", len(m.GPUs), m.Inventory.Machine), Name: "GPU", Total: m.HostMemory()}
	err := each(flags, func(key, value string) (err error) {
		switch key {
		case "mem":
			g.Total, err = pasar.ParseBytes(value)
		case "name":
			g.Name = value
		case "virtual":
			g.Virtual = true
		case "unified":
			g.Unified = true
		case "of":
			g.Index, err = strconv.Atoi(value)
			g.Parent = fmt.Sprintf("GPU-%04d-%s", g.Index, m.Inventory.Machine)
			g.UUID = fmt.Sprintf("MIG-%04d-%s", len(m.GPUs), m.Inventory.Machine)
		default:
			err = fmt.Errorf("unknown flag %s", key)
		}
		return err
	})
	m.GPUs = append(m.GPUs, g)
	return err
}

func (w *world) submit(name string, flags []string) error {
	id, err := strconv.ParseInt(name, 10, 64)
	if err != nil {
		return err
	}
	j, _, err := parseJob(flags)
	w.now = w.now.Add(time.Minute)
	j.ID, j.QueueTime = pasar.JobID(id), w.now
	if !j.NotBefore.IsZero() {
		j.NotBefore = w.now.Add(j.NotBefore.Sub(time.Unix(0, 0)))
	}
	w.in.Waiting = append(w.in.Waiting, j)
	return err
}

// parseJob reads the flags of a submit.
func parseJob(flags []string) (j sched.Job, gpus int, err error) {
	j.Bid = pasar.DefaultBid
	gpus = 1
	err = each(flags, func(key, value string) (err error) {
		switch key {
		case "bid":
			var n int64
			n, err = strconv.ParseInt(value, 10, 64)
			j.Bid = pasar.Bid(n)
		case "gpus":
			gpus, err = strconv.Atoi(value)
		case "mem":
			j.Claim.Mem, err = pasar.ParseBytes(value)
		case "ram":
			j.Claim.RAM, err = pasar.ParseBytes(value)
		case "type":
			j.Claim.Type = value
		case "ids":
			j.Claim.IDs = strings.Split(value, ",")
		case "machine":
			j.Machine = value
		case "held":
			j.Held = true
		case "time":
			j.Estimate, err = time.ParseDuration(value)
		case "preempt":
			j.Preempt = true
		case "after":
			for _, v := range strings.Split(value, ",") {
				job, on, _ := strings.Cut(v, ":")
				n, _ := strconv.ParseInt(job, 10, 64)
				j.After = append(j.After, pasar.Dependency{Job: pasar.JobID(n), On: pasar.Condition(on)})
			}
		case "group":
			var n int64
			n, err = strconv.ParseInt(value, 10, 64)
			j.Group = pasar.JobID(n)
		case "max":
			j.GroupMax, err = strconv.Atoi(value)
		case "begin":
			var d time.Duration
			d, err = time.ParseDuration(value)
			j.NotBefore = time.Unix(0, 0).Add(d)
		case "external":
			j.Claim.External = pasar.External(value)
		default:
			err = fmt.Errorf("unknown flag %s", key)
		}
		return err
	})
	j.Claim.GPUs = gpus
	switch {
	case gpus == 0:
		j.Claim.Kind = pasar.NoGPU
	case j.Claim.Mem > 0:
		j.Claim.Kind = pasar.Slice
		j.Claim.Limit = Margin.Limit(j.Claim.Mem)
	default:
		j.Claim.Kind = pasar.Whole
	}
	return j, gpus, err
}

func each(flags []string, f func(key, value string) error) error {
	for _, flag := range flags {
		key, value, _ := strings.Cut(flag, "=")
		if err := f(key, value); err != nil {
			return err
		}
	}
	return nil
}

// decide tells a plan, having checked it, and carries it out.
func (w *world) decide(t *testing.T) ([]string, error) {
	plan := sched.Decide(w.in, w.now)
	Check(t, w.in, w.now, plan)
	var said []string
	for _, s := range plan.Starts {
		where := s.Grant.Machine
		for _, g := range s.Grant.GPUs {
			where += fmt.Sprintf(" gpu%d", g.Index)
		}
		said = append(said, fmt.Sprintf("#%d starts on %s", s.ID, where))
	}
	for _, s := range plan.Stops {
		said = append(said, fmt.Sprintf("#%d stops for #%d", s.ID, s.For))
	}
	for id, reason := range plan.Reasons.All() {
		line := fmt.Sprintf("#%d %s", id, reason.Sentence())
		if b := reason.BidNeeded; b != nil {
			line += fmt.Sprintf(" (bid %d)", *b)
		}
		said = append(said, line)
	}
	if len(said) == 0 {
		said = []string{"nothing waits"}
	}
	w.in = After(w.in, plan, w.now)
	for i := range w.in.Active {
		r := &w.in.Active[i]
		r.Preemptible = true
		if k := slices.IndexFunc(plan.Stops, func(s sched.Stop) bool { return s.ID == r.ID }); k >= 0 {
			r.Stopping, r.StopFor = true, plan.Stops[k].For
			waiting := slices.IndexFunc(w.in.Waiting, func(j sched.Job) bool { return j.ID == r.StopFor })
			w.in.Waiting[waiting].Promised = true
		}
	}
	return said, nil
}

// After is the input once a plan's starts have happened.
func After(in sched.Input, plan sched.Plan, now time.Time) sched.Input {
	in.Waiting, in.Active = slices.Clone(in.Waiting), slices.Clone(in.Active)
	for _, s := range plan.Starts {
		i := slices.IndexFunc(in.Waiting, func(j sched.Job) bool { return j.ID == s.ID })
		j := in.Waiting[i]
		in.Active = append(in.Active, sched.Running{ID: j.ID, Bid: j.Bid, Grant: s.Grant, Started: now, Estimate: j.Estimate, Group: j.Group})
		in.Waiting = slices.Delete(in.Waiting, i, i+1)
	}
	return in
}

package daemon

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"pasar"
	"pasar/ipc"
	"pasar/sched"
)

// past is what finished jobs needed, by fingerprint. It is a part of the fold: the same facts make the same
// past. Only the loop touches it.
type past struct {
	kinds   map[fingerprint]*pastKind
	changed []fingerprint // since the last publish
}

// A pastKind is what is remembered of the jobs of one fingerprint.
type pastKind struct {
	Like     fingerprint `json:"like"`
	Last     int64       `json:"last"` // sequence of the latest outcome
	Outcomes []outcomeOf `json:"outcomes"`

	usual usual // follows from Outcomes
}

// An outcomeOf is what one finished job needed.
type outcomeOf struct {
	Job  pasar.JobID    `json:"job"`
	Ran  pasar.Duration `json:"ran,omitempty"`  // over all attempts since its last restart; 0: it did not complete
	Peak pasar.Bytes    `json:"peak,omitempty"` // largest use of one GPU's memory by any of its attempts; 0: not known
}

// usual is what jobs of one fingerprint need as a rule.
type usual struct {
	ran   pasar.Duration // 75th percentile of those that completed; 0: not known
	peak  pasar.Bytes    // 95th percentile of their peaks; 0: not known
	peaks int            // of so many
}

const (
	keepOutcomes = 32   // of each fingerprint: older ones say little of the present program
	keepKinds    = 4096 // fingerprints; the ones unused longest are forgotten
)

func newPast() *past { return &past{kinds: map[fingerprint]*pastKind{}} }

// add remembers a job that has ended for good, if it can tell anything.
func (p *past) add(seq int64, j *job, virtual bool) {
	o := outcomeOf{Job: j.ID, Peak: peakOf(j, virtual)}
	if j.End == pasar.Completed {
		o.Ran = ranInAll(j)
	}
	if o.Ran == 0 && o.Peak == 0 {
		return
	}
	k := p.kinds[j.like]
	if k == nil {
		if len(p.kinds) >= keepKinds {
			p.forget()
		}
		k = &pastKind{Like: j.like}
		p.kinds[j.like] = k
	}
	k.Last = seq
	k.Outcomes = append(k.Outcomes, o)
	if n := len(k.Outcomes); n > keepOutcomes {
		k.Outcomes = slices.Clone(k.Outcomes[n-keepOutcomes:])
	}
	k.usual = usualOf(k.Outcomes)
	p.changed = append(p.changed, j.like)
}

// forget drops the sixteenth of the fingerprints that were used longest ago: many at a time, since finding
// them takes a look at all.
func (p *past) forget() {
	all := p.freeze()
	slices.SortFunc(all, func(a, b *pastKind) int { return cmp.Or(cmp.Compare(a.Last, b.Last), cmp.Compare(a.Like, b.Like)) })
	for _, k := range all[:max(1, len(all)/16)] {
		delete(p.kinds, k.Like)
		p.changed = append(p.changed, k.Like)
	}
}

// freeze is a copy in an order of its own, for a snapshot.
func (p *past) freeze() []*pastKind {
	all := make([]*pastKind, 0, len(p.kinds))
	for _, k := range p.kinds {
		c := *k
		c.Outcomes = slices.Clone(k.Outcomes)
		all = append(all, &c)
	}
	slices.SortFunc(all, func(a, b *pastKind) int { return cmp.Compare(a.Like, b.Like) })
	return all
}

func thawPast(kinds []*pastKind) *past {
	p := newPast()
	for _, k := range kinds {
		if k != nil {
			k.usual = usualOf(k.Outcomes)
			p.kinds[k.Like] = k
		}
	}
	return p
}

// usual is what jobs like this one need; all zero: not known.
func (p *past) usual(like fingerprint) usual {
	if k := p.kinds[like]; k != nil {
		return k.usual
	}
	return usual{}
}

func usualOf(outcomes []outcomeOf) usual {
	var ran []pasar.Duration
	var peaks []pasar.Bytes
	for _, o := range outcomes {
		if o.Ran > 0 {
			ran = append(ran, o.Ran)
		}
		if o.Peak > 0 {
			peaks = append(peaks, o.Peak)
		}
	}
	return usual{percentile(ran, 0.75), percentile(peaks, 0.95), len(peaks)}
}

// percentile is the smallest value that is at least as large as that part of all of them (nearest rank); 0
// of none.
func percentile[T cmp.Ordered](values []T, part float64) T {
	var zero T
	if len(values) == 0 {
		return zero
	}
	slices.Sort(values)
	rank := int(math.Ceil(part*float64(len(values)) - 1e-9))
	return values[max(rank, 1)-1]
}

// peakOf is the largest use of one GPU's memory by any attempt of this run; 0: nobody looked. An attempt's
// peak is of all of its GPUs together, and they are taken to share it alike. A virtual GPU stands for host
// memory, of which each attempt's record has the peak.
func peakOf(j *job, virtual bool) pasar.Bytes {
	var peak pasar.Bytes
	for i := min(j.Earlier, len(j.Attempts)); i < len(j.Attempts); i++ {
		a := &j.Attempts[i]
		n := pasar.Bytes(len(a.Grant.GPUs))
		switch {
		case n == 0:
		case a.PeakGPU != nil:
			peak = max(peak, (*a.PeakGPU+n-1)/n)
		case virtual && a.Exit != nil:
			peak = max(peak, a.Exit.PeakHost)
		}
	}
	return peak
}

// minPeaks is how many peaks --mem auto must have to go by.
const minPeaks = 3

// auto completes a claim that asked for --mem auto with the slice that history gives it.
func (d *Daemon) auto(spec *pasar.Spec) error {
	c := &spec.Claim
	if c.Kind != pasar.Slice || !c.Auto || c.Mem > 0 {
		return nil
	}
	u := d.usual(fingerprintOf(spec))
	if u.peaks < minPeaks {
		what := "this command and directory"
		if len(spec.Tags) > 0 {
			what = fmt.Sprintf("tag %q and this directory", pasar.Clean(spec.Tags[0]))
		}
		return &ipc.Error{Code: ipc.CodeBadRequest,
			Message: fmt.Sprintf("--mem auto goes by the peaks of at least %d finished jobs with %s; %d are known", minPeaks, what, u.peaks),
			Hint:    "give a size this time, such as --mem 24G"}
	}
	c.Mem = u.peak
	return nil
}

// autoOfPoints is auto for an array or sweep: history knows its commands with the values of a point filled in.
func (d *Daemon) autoOfPoints(r *ipc.SubmitRequest) error {
	if len(r.Points) == 0 {
		return nil
	}
	like := r.Spec
	like.Argv = filled(&r.Points[0], like.Argv)
	err := d.auto(&like)
	r.Spec.Claim = like.Claim
	return err
}

// usual is what jobs like this one need, for readers; all zero: not known.
func (d *Daemon) usual(like fingerprint) usual {
	if v, ok := d.usuals.Load(like); ok {
		return v.(usual)
	}
	return usual{}
}

// learn shows readers what the past has come to; all of it after a fold.
func (d *Daemon) learn(all bool) {
	p := d.state.past
	if all {
		d.usuals.Clear()
		for like, k := range p.kinds {
			d.usuals.Store(like, k.usual)
		}
	}
	for _, like := range p.changed {
		if k := p.kinds[like]; k != nil {
			d.usuals.Store(like, k.usual)
		} else {
			d.usuals.Delete(like)
		}
	}
	p.changed = p.changed[:0]
}

// raised is the slice with which a job that asked for --mem auto is tried again after it ran out of GPU
// memory: what it was seen to reach, and a quarter more. False when it didn't ask, was raised before, nobody
// saw what it reached, that would be no raise, or no machine could ever give so much.
func raised(j *job, peak *pasar.Bytes, m pasar.Margin, machines []sched.Machine) (mem, limit pasar.Bytes, ok bool) {
	a := j.current()
	if a == nil || peak == nil || j.Spec.Claim.Kind != pasar.Slice || !j.Spec.Claim.Auto {
		return 0, 0, false
	}
	for i := min(j.Earlier, len(j.Attempts)); i < len(j.Attempts); i++ {
		if j.Attempts[i].Sequel.Mem > 0 {
			return 0, 0, false
		}
	}
	n := pasar.Bytes(max(1, len(a.Grant.GPUs)))
	each := (*peak + n - 1) / n
	mem = min(each+each/4, pasar.MaxMem)
	if mem <= j.Spec.Claim.Mem {
		return 0, 0, false
	}
	c := j.Spec.Claim
	c.Mem, c.Limit = mem, m.Limit(mem)
	if sched.Fits(c, m, machines) != nil {
		return 0, 0, false
	}
	return c.Mem, c.Limit, true
}

// advice is what history says where the ask is far from it: by a factor of two or more. Empty: nothing.
func (u usual) advice(spec *pasar.Spec) string {
	var say []string
	if c := spec.Claim; c.Kind == pasar.Slice && !c.Auto && u.peaks >= minPeaks && apart(float64(c.Mem), float64(u.peak)) {
		say = append(say, fmt.Sprintf("jobs like it reached %s of GPU memory, and it asks for %s (--mem auto goes by that)", u.peak, c.Mem))
	}
	if u.ran > 0 && spec.Time > 0 && apart(float64(spec.Time), float64(u.ran)) {
		say = append(say, fmt.Sprintf("jobs like it took %s, and it says %s (without --time, history gives the estimate)", u.ran, spec.Time))
	}
	return strings.Join(say, "; ")
}

func apart(asked, was float64) bool { return asked >= 2*was || was >= 2*asked }

package autopsy

import (
	"slices"

	"pasar"
)

// A rule gives one reason. Its texts may be foreign: verdict cleans them.
type rule struct {
	name       string // for tests and for whoever reads the table
	when       func(*Evidence) bool
	code       pasar.Code
	summary    func(*Evidence) string
	hint       func(*Evidence) string // nil: none. Several hints are lines.
	confidence pasar.Confidence
	sure       func(*Evidence) pasar.Confidence // instead of confidence, where it depends on the evidence
	blame      pasar.Blame
	evidence   func(*Evidence) []pasar.Line // nil: none
}

// A group is rules of one sort. A group's rules come before those of the groups after it, and within a
// group the first that applies wins.
type group struct {
	name  string
	rules []rule
}

// groups is the order in which evidence counts: what pasar did itself, an attempt that never ran, success,
// what the kernel says of it, and then how the main process ended. Rules that read the log belong before the last group: whatever a
// program says of its end is more than its status says.
var groups = []group{
	{"lost, and the host knows how", hostLostRules},
	{"pasar's own doing", ownRules},
	{"never ran", launchRules},
	{"success", successRules},
	{"the kernel's word", memoryRules},
	{"other memory killers", hostMemoryRules},
	{"the GPU's faults", xidRules},
	{"the supervisor was asked to end", askedRules},
	{"keys that were typed", typedRules},
	{"the log", []rule{causeRule}},
	{"signals of which the host knows", hostSignalRules},
	{"status", statusRules},
}

// retryable has every code that a rule may give, and whether trying again could help: no where the
// same would surely happen again, after success, and after a person's wish. An exit code or a signal
// alone doesn't tell.
var retryable = map[pasar.Code]*bool{
	pasar.CodeCompleted:   &no,
	pasar.CodeCancelled:   &no,
	pasar.CodeBadCommand:  &no,
	pasar.CodeLaunchError: &no,
	pasar.CodePreempted:   &yes,
	pasar.CodeTimeLimit:   nil, // with the same limit it may be as before
	pasar.CodeLost:        &yes,
	pasar.CodeInterrupted: &yes,
	pasar.CodeSignal:      nil,
	pasar.CodeKernelOOM:   nil, // with the same limit it may be as before, or what else used memory is gone
	pasar.CodeExit:        nil,
	pasar.CodeOOM:         nil, // with more room beside it, it might have gone on
	pasar.CodeGPUXid:      &yes,
	pasar.CodePaused:      &yes, // by `pasar resume`
	pasar.CodeDependency:  nil,  // not before what it waited for ends as it must
}

// yes and no are never changed; verdicts point at them.
var yes, no = true, false

func (r *rule) verdict(e *Evidence) pasar.Verdict {
	code, blame, sure := r.code, r.blame, r.confidence
	retry, known := retryable[code]
	if c := e.why(); code == "" {
		code, blame, sure = c.reason(e), c.blame(e), c.sure()
		retry, known = retryable[code]
	}
	if !known {
		retry = factsOf[code].retryable
	}
	if c := e.why(); r.code == "" && c.rule != nil && c.rule.stays {
		retry = nil
	}
	v := pasar.Verdict{
		Reason:     code,
		Summary:    oneLine(r.summary(e)+though(e), summaryRunes),
		Evidence:   []pasar.Line{}, // [] in JSON, never null
		Confidence: sure,
		Retryable:  retry,
		Blame:      blame,
	}
	if r.hint != nil {
		v.Hint = r.hint(e)
	}
	if e.Untouched {
		if v.Hint != "" {
			v.Hint += "\n"
		}
		v.Hint += "it never used a GPU: `--gpus 0` claims none, and starts sooner"
	}
	if r.sure != nil {
		v.Confidence = r.sure(e)
	}
	if r.evidence != nil {
		v.Evidence = append(v.Evidence, r.evidence(e)...)
	}
	if gpu := gpuEvidence(e); code != pasar.CodeCompleted && len(gpu) > 0 { // after the root line, before what may be cut
		n := min(1, len(v.Evidence))
		v.Evidence = slices.Concat(v.Evidence[:n], gpu, v.Evidence[n:])
		v.Evidence = v.Evidence[:min(len(v.Evidence), maxLines)]
	}
	return v
}

// say is a text that is always the same.
func say(s string) func(*Evidence) string { return func(*Evidence) string { return s } }

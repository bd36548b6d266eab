package autopsy

import (
	"fmt"

	"pasar"
)

// A BlamedXid is an Xid of a GPU of the attempt's, and how surely it is this attempt's.
type BlamedXid struct {
	pasar.Xid
	GPU    int              `json:"gpu"`    // its index
	Blame  pasar.Confidence `json:"blame"`  // certain: the kernel named a process of it; likely: it was alone on the GPU; guess: it was not
	Before pasar.Duration   `json:"before"` // from the Xid to the end
}

// xidReach is how long before the end an Xid may have come and still be why. A process that waits for others
// at a collective is only given up after their own time limits, of up to half an hour.
const xidReach = pasar.Duration(35 * 60 * 1e9)

// xidRules are about faults that the driver reported. One of the hardware is more than anything in the log;
// one of the program is what its log says, if that speaks of a CUDA error or of nothing at all: a more
// specific cause there is the better reason.
var xidRules = []rule{
	{
		name:     "fault of the GPU",
		when:     func(e *Evidence) bool { return failed(e) && e.fault() != nil },
		code:     pasar.CodeGPUXid,
		summary:  func(e *Evidence) string { return "a fault of " + e.fault().sentence() + quoteGPU(e) },
		hint:     say("the fault is the machine's, not the program's; `pasar gpus` says what the GPU needs, `pasar restart` starts the job on another"),
		sure:     func(e *Evidence) pasar.Confidence { return e.fault().Blame },
		blame:    pasar.BlameMachine,
		evidence: rootGPULine,
	},
	{
		name:       "GPU lost",
		when:       func(e *Evidence) bool { return failed(e) && len(e.GPULost) > 0 },
		code:       pasar.CodeGPUXid,
		summary:    func(e *Evidence) string { return e.GPULost[0] + quoteGPU(e) },
		hint:       say("most often the machine must be restarted; `pasar gpus` says more, `pasar restart` starts the job on another GPU"),
		confidence: pasar.Likely,
		blame:      pasar.BlameMachine,
		evidence:   rootGPULine,
	},
	{
		name:     "fault of the program on the GPU",
		when:     func(e *Evidence) bool { return failed(e) && e.misdeed() != nil && fitsMisdeed(e) },
		code:     pasar.CodeGPUXid,
		summary:  func(e *Evidence) string { return "the program's fault on " + e.misdeed().sentence() + quoteGPU(e) },
		hint:     say("run it with CUDA_LAUNCH_BLOCKING=1 to see where, or under `compute-sanitizer`"),
		sure:     func(e *Evidence) pasar.Confidence { return e.misdeed().Blame },
		blame:    pasar.BlameJob,
		evidence: rootGPULine,
	},
}

// failed reports whether the main process ended, by itself and not because somebody outside wished it.
func failed(e *Evidence) bool {
	return e.Exit != nil && *e.Exit != (pasar.Exit{}) && !interrupts[e.Exit.Signal]
}

// fault is the first Xid that means a fault of the hardware or its driver; nil if there is none.
func (e *Evidence) fault() *BlamedXid {
	return e.first(func(x *BlamedXid) bool {
		switch x.Action {
		case pasar.XidFailJobReset, pasar.XidDrainReset, pasar.XidDrainReboot, pasar.XidDrainOperator:
			return true
		}
		return false
	})
}

// misdeed is the first Xid that means a fault of a program.
func (e *Evidence) misdeed() *BlamedXid {
	return e.first(func(x *BlamedXid) bool { return x.Action == pasar.XidFailJob && !comesAfter[x.Code] })
}

// comesAfter has the Xids that come of another, or of a process that was killed. They are never why.
var comesAfter = map[int]bool{43: true, 45: true}

// first is the surest of the Xids that may be why, and the earliest of those.
func (e *Evidence) first(is func(*BlamedXid) bool) *BlamedXid {
	for _, sure := range []pasar.Confidence{pasar.Certain, pasar.Likely, pasar.Guess} {
		for i := range e.Xids {
			if x := &e.Xids[i]; x.Blame == sure && x.Before <= xidReach && is(x) {
				return x
			}
		}
	}
	return nil
}

// sentence is "GPU 1: Xid 31, MMU fault", and how surely that is this job's.
func (x *BlamedXid) sentence() string {
	s := fmt.Sprintf("GPU %d: Xid %d", x.GPU, x.Code)
	if x.Meaning != "" {
		s += ", " + x.Meaning
	}
	if x.Blame == pasar.Guess {
		s += " (other jobs were on it)"
	}
	return s
}

// ofGPU is the cause that speaks of the GPU: the first that tells of a fault of it, else the first of an
// operation that failed on it; nil if there is none.
func (e *Evidence) ofGPU() *cause {
	for _, code := range []pasar.Code{pasar.CodeGPUXid, pasar.CodeCUDAError} {
		alive := e.found().alive
		for i := range alive {
			if alive[i].code == code && alive[i].kind == tells {
				return &alive[i]
			}
		}
	}
	return nil
}

// fitsMisdeed reports whether the log says the same as an Xid of the program's, or nothing.
func fitsMisdeed(e *Evidence) bool {
	c := e.why()
	return c == nil || c.rank >= ofPeers || c.code == pasar.CodeCUDAError || c.code == pasar.CodeGPUXid || c.code == pasar.CodeSignal
}

func quoteGPU(e *Evidence) string {
	if c := e.ofGPU(); c != nil {
		return ": " + c.quote() + c.whose()
	}
	if c := e.why(); c != nil {
		return ": " + c.quote() + c.whose()
	}
	return ""
}

// rootGPULine is the line that speaks of the GPU's failure, else what the log says.
func rootGPULine(e *Evidence) []pasar.Line {
	if c := e.ofGPU(); c != nil {
		return c.evidence(e)
	}
	if c := e.why(); c != nil {
		return c.evidence(e)
	}
	return rootLine(e)
}

// gpuEvidence is what was seen of the attempt's GPUs, whatever the reason came to be.
func gpuEvidence(e *Evidence) []pasar.Line {
	var lines []pasar.Line
	for i := range e.Xids {
		if len(lines) == maxLines {
			break
		}
		x := &e.Xids[i]
		s := "the driver reported on " + x.sentence()
		switch {
		case x.Blame == pasar.Certain && x.Pid != nil:
			s += fmt.Sprintf(", of its process %d", *x.Pid)
		case x.Blame == pasar.Likely:
			s += ", where nobody else was"
		}
		lines = append(lines, pasar.Line{Text: oneLine(s, lineRunes)})
	}
	for _, s := range append(append([]string{}, e.GPULost...), e.GPUSilent...) {
		lines = append(lines, pasar.Line{Text: oneLine(s, lineRunes)})
	}
	return lines
}

package autopsy

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"pasar"
)

// xid is one on GPU 1, a second before the end.
func xid(n int, action pasar.XidAction, sure pasar.Confidence) BlamedXid {
	pid := 77
	x := BlamedXid{Xid: pasar.Xid{Code: n, Action: action, Meaning: "it went wrong"}, GPU: 1, Blame: sure, Before: pasar.Duration(time.Second)}
	if sure == pasar.Certain {
		x.Pid = &pid
	}
	return x
}

const (
	illegal = "RuntimeError: CUDA error: an illegal memory access was encountered"
	noRoom  = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
)

func TestAFaultOfTheGPUIsTheReasonAsSurelyAsItIsKnownWhose(t *testing.T) {
	old := xid(79, pasar.XidDrainReboot, pasar.Certain)
	old.Before = pasar.Duration(2 * time.Hour)
	for name, c := range map[string]struct {
		e       Evidence
		reason  pasar.Code
		sure    pasar.Confidence
		blame   pasar.Blame
		summary []string
	}{
		"hardware, whatever the log says": {Evidence{Exit: code(1), Log: numbered(noRoom), Xids: []BlamedXid{xid(79, pasar.XidDrainReboot, pasar.Likely)}},
			pasar.CodeGPUXid, pasar.Likely, pasar.BlameMachine, []string{"Xid 79", "GPU 1"}},
		"hardware, its process named": {Evidence{Exit: sig(syscall.SIGKILL), Xids: []BlamedXid{xid(94, pasar.XidFailJobReset, pasar.Certain)}},
			pasar.CodeGPUXid, pasar.Certain, pasar.BlameMachine, []string{"Xid 94"}},
		"the program's, and its log says so": {Evidence{Exit: code(1), Log: numbered("CUDA error: see below", illegal, "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.", "ChildFailedError"), Xids: []BlamedXid{xid(31, pasar.XidFailJob, pasar.Certain)}},
			pasar.CodeGPUXid, pasar.Certain, pasar.BlameJob, []string{"Xid 31", "illegal memory access"}},
		"the program's, one of several": {Evidence{Exit: code(1), Log: numbered(illegal), Xids: []BlamedXid{xid(13, pasar.XidFailJob, pasar.Guess)}},
			pasar.CodeGPUXid, pasar.Guess, pasar.BlameJob, []string{"Xid 13", "other jobs were on it"}},
		"the program's, and no word in its log": {Evidence{Exit: code(1), Log: numbered("epoch 3"), Xids: []BlamedXid{xid(31, pasar.XidFailJob, pasar.Likely)}},
			pasar.CodeGPUXid, pasar.Likely, pasar.BlameJob, []string{"Xid 31"}},
		"the program's, but its log knows better": {Evidence{Exit: code(1), Log: numbered(noRoom), Xids: []BlamedXid{xid(31, pasar.XidFailJob, pasar.Likely)}},
			pasar.CodeGPUOOM, pasar.Certain, pasar.BlameJob, []string{"out of memory"}},
		"an assertion of its own": {Evidence{Exit: code(1), Log: numbered("CUDA error: device-side assert triggered", illegal), Xids: []BlamedXid{xid(13, pasar.XidFailJob, pasar.Certain)}},
			pasar.CodeDeviceAssert, pasar.Certain, pasar.BlameJob, []string{"device-side assert"}},
		"a consequence": {Evidence{Exit: code(1), Log: numbered("epoch 3"), Xids: []BlamedXid{xid(43, pasar.XidFailJob, pasar.Certain), xid(45, pasar.XidNote, pasar.Certain)}},
			pasar.CodeExit, pasar.Certain, pasar.BlameJob, []string{"code 1"}},
		"one that it outlived by hours": {Evidence{Exit: code(1), Log: numbered("ValueError: bad lr"), Xids: []BlamedXid{old}},
			pasar.CodeException, pasar.Likely, pasar.BlameJob, []string{"bad lr"}},
		"it completed all the same": {Evidence{Exit: code(0), Xids: []BlamedXid{xid(79, pasar.XidDrainReboot, pasar.Certain)}},
			pasar.CodeCompleted, pasar.Certain, pasar.BlameJob, []string{"completed"}},
		"the GPU was lost": {Evidence{Exit: code(1), Log: numbered("No devices were found"), GPULost: []string{"GPU 1 was lost by the driver"}},
			pasar.CodeGPUXid, pasar.Likely, pasar.BlameMachine, []string{"GPU 1 was lost"}},
		"cancelled on a sick GPU": {Evidence{Exit: code(1), Stop: cancel, StopStep: pasar.StepTerm, Xids: []BlamedXid{xid(79, pasar.XidDrainReboot, pasar.Certain)}},
			pasar.CodeCancelled, pasar.Certain, pasar.BlameUser, []string{"cancelled by ada"}},
	} {
		v := Attribute(c.e)
		checkVerdict(t, v)
		if v.Reason != c.reason || v.Confidence != c.sure || v.Blame != c.blame {
			t.Errorf("%s: %s, %s, %s", name, v.Reason, v.Confidence, v.Blame)
		}
		for _, want := range c.summary {
			if !strings.Contains(v.Summary, want) {
				t.Errorf("%s: summary %q has no %q", name, v.Summary, want)
			}
		}
		if n := len(c.e.Xids); n > 0 && v.Reason != pasar.CodeCompleted && !strings.Contains(texts(v), "the driver reported on GPU 1: Xid") {
			t.Errorf("%s: evidence %q", name, texts(v))
		}
	}
}

func texts(v pasar.Verdict) string {
	var all []string
	for _, l := range v.Evidence {
		all = append(all, l.Text)
	}
	return strings.Join(all, "\n")
}

func TestAGPUThatDidNotAnswerIsEvidenceAndNoReason(t *testing.T) {
	v := Attribute(Evidence{Exit: code(1), Log: numbered("a", "b", "c", "d", "e", "f"), GPUSilent: []string{"GPU 0 didn't answer"}})
	checkVerdict(t, v)
	if v.Reason != pasar.CodeExit || v.Evidence[0].Text != "f" || !strings.Contains(texts(v), "GPU 0 didn't answer") {
		t.Errorf("%s: %q", v.Reason, texts(v))
	}
}

func TestTheWatchdogsKillSaysWhatItSaw(t *testing.T) {
	stop := &pasar.Stop{Why: pasar.StopWatchdog, Now: true, Detail: "over its limit of 26 GiB by 5 GiB of GPU memory on GPU 0, with 1 GiB of 80 GiB free"}
	v := Attribute(Evidence{Exit: sig(syscall.SIGKILL), Stop: stop, StopStep: pasar.StepKill, Xids: []BlamedXid{xid(45, pasar.XidNote, pasar.Certain)}})
	checkVerdict(t, v)
	if v.Reason != pasar.CodeOOM || v.Confidence != pasar.Certain || !strings.Contains(v.Summary, "memory watchdog: over its limit of 26 GiB by 5 GiB") {
		t.Errorf("%+v", v)
	}
}

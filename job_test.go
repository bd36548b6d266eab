package pasar

import (
	"math"
	"strings"
	"testing"
	"time"
)

func goodSpec() Spec {
	return Spec{Name: "train", Argv: Args([]string{"python3", "train.py"}), Cwd: "/home/ada", Bid: DefaultBid,
		Claim: Claim{Kind: Whole, GPUs: 1}, Grace: 120e9}
}

func TestAGoodSpecIsAccepted(t *testing.T) {
	for _, c := range []Claim{
		{Kind: Whole, GPUs: 1}, {Kind: Whole, GPUs: 8, RAM: 64 * GiB, Type: "H100"}, {Kind: NoGPU},
		{Kind: NoGPU, RAM: GiB}, {Kind: Slice, GPUs: 1, Mem: 24 * GiB}, {Kind: Slice, GPUs: 2, Mem: MaxMem},
	} {
		s := goodSpec()
		s.Claim = c
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
}

func TestABadSpecIsRefusedWithTheFlagThatWouldMendIt(t *testing.T) {
	long := strings.Repeat("x", MaxName+1)
	for _, c := range []struct {
		change func(*Spec)
		want   string
	}{
		{func(s *Spec) { s.Argv = nil }, "no command"},
		{func(s *Spec) { s.Argv = []Arg{""} }, "no command"},
		{func(s *Spec) { s.Argv = []Arg{"a", "b\x00c"} }, "NUL"},
		{func(s *Spec) { s.Argv = []Arg{Arg(strings.Repeat("x", MaxArgv))} }, "at most"},
		{func(s *Spec) { s.Cwd = "here" }, "not an absolute path"},
		{func(s *Spec) { s.Cwd = "" }, "not an absolute path"},
		{func(s *Spec) { s.Cwd = "/a\x00b" }, "NUL"},
		{func(s *Spec) { s.Bid = MaxBid + 1 }, "--bid"},
		{func(s *Spec) { s.Bid = MinBid - 1 }, "--bid"},
		{func(s *Spec) { s.Time = -1 }, "negative"},
		{func(s *Spec) { s.Grace = -1 }, "negative"},
		{func(s *Spec) { s.Tags = make([]string, MaxTags+1) }, "33 tags"},
		{func(s *Spec) { s.Tags = []string{""} }, "--tag"},
		{func(s *Spec) { s.Tags = []string{long} }, "--tag"},
		{func(s *Spec) { s.Note = strings.Repeat("x", MaxNote+1) }, "--note"},
		{func(s *Spec) { s.Name = long }, "--name"},
		{func(s *Spec) { s.By = long }, "--by"},
		{func(s *Spec) { s.Key = long }, "--key"},
		{func(s *Spec) { s.Claim = Claim{} }, "unknown kind of claim"},
		{func(s *Spec) { s.Claim = Claim{Kind: "half", GPUs: 1} }, `unknown kind of claim "half"`},
		{func(s *Spec) { s.Claim.GPUs = -1 }, "negative"},
		{func(s *Spec) { s.Claim.GPUs = 0 }, "at least one GPU"},
		{func(s *Spec) { s.Claim.GPUs = MaxClaimIDs + 1 }, "more than 1024 GPUs"},
		{func(s *Spec) { s.Claim.IDs = make([]string, MaxClaimIDs+1) }, "more than 1024 GPUs"},
		{func(s *Spec) { s.Claim.Type = long }, "--gpu-type"},
		{func(s *Spec) { s.Claim.Mem = GiB }, "no slice"},
		{func(s *Spec) { s.Claim = Claim{Kind: Slice, GPUs: 1} }, "--mem 0"},
		{func(s *Spec) { s.Claim = Claim{Kind: Slice, GPUs: 1, Mem: MaxMem + 1} }, "more than 1024 TiB"},
		{func(s *Spec) { s.Claim = Claim{Kind: NoGPU, Mem: GiB} }, "--gpus 0"},
		{func(s *Spec) { s.Claim = Claim{Kind: NoGPU, GPUs: 1} }, "has no GPUs"},
		{func(s *Spec) { s.Claim = Claim{Kind: NoGPU, RAM: -1} }, "negative"},
	} {
		s := goodSpec()
		c.change(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v; want one with %q", s.Claim, err, c.want)
		}
	}
}

func TestALimitIsTheSliceAndItsMarginAndNeverWraps(t *testing.T) {
	m := Margin{Min: 2 * GiB, Frac: 0.10}
	for mem, want := range map[Bytes]Bytes{
		GiB: 3 * GiB, 20 * GiB: 22 * GiB, 40 * GiB: 44 * GiB,
		math.MaxInt64: math.MaxInt64, math.MaxInt64 - GiB: math.MaxInt64,
	} {
		if got := m.Limit(mem); got != want {
			t.Errorf("limit of %d = %d; want %d", mem, got, want)
		}
	}
	if got := (Margin{Frac: 1}).Limit(math.MaxInt64); got != math.MaxInt64 {
		t.Errorf("the greatest limit = %d", got)
	}
}

func TestAClaimIsSaidInWords(t *testing.T) {
	for _, c := range []struct {
		claim Claim
		want  string
	}{
		{Claim{Kind: NoGPU}, "no GPU"},
		{Claim{Kind: Whole, GPUs: 1}, "one whole GPU"},
		{Claim{Kind: Whole, GPUs: 4, Type: "H\x1b100"}, `4 whole GPUs of type H\x1b100`},
		{Claim{Kind: Slice, GPUs: 1, Mem: 24 * GiB}, "24 GiB of GPU memory on one GPU"},
		{Claim{Kind: Slice, GPUs: 2, Mem: GiB, RAM: 64 * GiB}, "1 GiB of GPU memory on 2 GPUs and 64 GiB of host memory"},
	} {
		if got := c.claim.String(); got != c.want {
			t.Errorf("%q; want %q", got, c.want)
		}
	}
}

func TestAReasonIsOneSentence(t *testing.T) {
	at := func(days, hour, minute int) *time.Time {
		t := time.Date(2026, 3, 3+days, hour, minute, 0, 0, time.UTC)
		return &t
	}
	for _, c := range []struct {
		reason Reason
		want   string
	}{
		{Reason{Why: WaitHeld}, "held until `pasar release`"},
		{Reason{Why: WaitGPU, Holders: []JobID{1}}, "waits for a GPU held by #1"},
		{Reason{Why: WaitGPU, Holders: []JobID{1, 2, 3, 4, 5}, Ahead: 2}, "waits for a GPU held by #1, #2, #3 and 2 more, 2 ahead"},
		{Reason{Why: WaitMemory, Need: 24 * GiB, Free: GiB}, "waits for 24 GiB of GPU memory (1 GiB free)"},
		{Reason{Why: WaitRAM, Need: 24 * GiB, Free: 0}, "waits for 24 GiB of host memory (0 B free)"},
		{Reason{Why: WaitCores}, "waits for a place without a GPU"},
		{Reason{Why: WaitTurn, Behind: 7, Ahead: 3}, "waits behind #7"},
		{Reason{Why: WaitMachine}, "waits for its machine"},
		{Reason{Why: WaitTurn, Behind: 7, Ahead: 3, Reserved: at(0, 14, 5)}, "waits so as not to delay #7, reserved for 14:05"},
		{Reason{Why: WaitGPU, Holders: []JobID{1}, Ahead: 2, Reserved: at(0, 14, 5)}, "waits for a GPU held by #1, 2 ahead; reserved for 14:05"},
		{Reason{Why: WaitGPU, Holders: []JobID{1}, Since: *at(0, 8, 0), Reserved: at(1, 2, 5)}, "waits for a GPU held by #1; reserved for Wed 02:05"},
		{Reason{Why: WaitGPU, Holders: []JobID{1}, Since: *at(0, 8, 0), Reserved: at(9, 2, 5)}, "waits for a GPU held by #1; reserved for 12 Mar 02:05"},
		{Reason{Why: WaitBegin, Until: at(0, 22, 0)}, "waits until 22:00"},
		{Reason{Why: WaitRetry, Until: at(0, 22, 0)}, "waits until 22:00:00 to be started again"},
		{Reason{Why: WaitAfter, Holders: []JobID{40, 41}}, "waits for #40, #41 to complete"},
		{Reason{Why: WaitAfter, Holders: []JobID{40, 41}, Detail: "#40 to complete, #41 to fail"}, "waits for #40 to complete, #41 to fail"},
		{Reason{Why: WaitGroup, Holders: []JobID{3, 4}}, "waits for another one of its group to end: #3, #4"},
		{Reason{Why: WaitPreempting, Holders: []JobID{3, 4}}, "waits for #3, #4 to stop"},
		{Reason{Why: WaitRelease, Holders: []JobID{41}, Detail: "38 GiB left"}, "waits for GPU memory of #41 to be free (38 GiB left)"},
		{Reason{Why: WaitRelease, Holders: []JobID{41}, Ahead: 1}, "waits for GPU memory of #41 to be free, 1 ahead"},
		{Reason{Why: WaitSettle, Holders: []JobID{7}, Until: at(0, 9, 1)}, "waits until 09:01:00 for #7 to take its memory"},
		{Reason{Why: WaitSettle, Until: at(0, 9, 1)}, "waits until 09:01:00 for a GPU's memory to settle"},
		{Reason{Why: WaitStranger, Detail: "python (anna)"}, "waits for a GPU without processes that pasar did not start: python (anna)"},
		{Reason{Why: WaitStranger, Need: 24 * GiB, Free: GiB, Detail: "python (anna)"},
			"waits for 24 GiB of GPU memory (1 GiB free) beside processes that pasar did not start: python (anna)"},
		{Reason{Why: WaitUnhealthy, Detail: "GPU 3 (Xid 79)"}, "waits for a GPU that is well: GPU 3 (Xid 79)"},
		{Reason{Why: WaitDaemon, Detail: "disk\nfull"}, `waits: the daemon can't start jobs: disk\nfull`},
	} {
		if got := c.reason.Sentence(); got != c.want {
			t.Errorf("%q; want %q", got, c.want)
		}
	}
}

func TestEveryStateIsWaitingActiveOrFinished(t *testing.T) {
	seen := map[State]bool{}
	for _, s := range States {
		if seen[s] {
			t.Errorf("%s is listed twice", s)
		}
		seen[s] = true
		if s.Finished() && s.Active() {
			t.Errorf("%s is finished and active", s)
		}
	}
	for _, s := range []State{Queued, Awaiting, Paused} {
		if s.Finished() || s.Active() {
			t.Errorf("%s does not wait", s)
		}
	}
	if len(States) != 9 {
		t.Errorf("%d states; want the nine of the design", len(States))
	}
}

func TestAShellStatusIsTheCodeOr128AndTheSignal(t *testing.T) {
	for want, e := range map[int]Exit{0: {}, 7: {Code: 7}, 139: {Signal: 11, Core: true}, 137: {Signal: 9}} {
		if got := e.Shell(); got != want {
			t.Errorf("%+v: %d; want %d", e, got, want)
		}
	}
}

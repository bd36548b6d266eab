package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pasar"
)

// deaths are jobs that ended for very different reasons, as their verdicts say.
func deaths() []*pasar.JobView {
	yes, no := true, false
	traceback := []string{"epoch 3: 100%|██████████| 812/812 [02:11<00:00, loss=0.31]", "", "Traceback (most recent call last):",
		`  File "/home/ada/proj/train.py", line 212, in <module>`, "    main()", `  File "/home/ada/proj/train.py", line 147, in step`, "\tloss.backward()"}
	oom := "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.12 GiB is free. Including non-PyTorch memory, this process has 77.90 GiB memory in use."

	gpuOOM := death(101, pasar.Verdict{Reason: pasar.CodeGPUOOM, Summary: "ran out of GPU memory on GPU 0: tried to allocate 2.00 GiB, 1.12 GiB of 79.15 GiB free",
		Evidence: []pasar.Line{{Number: 4120, Text: oom}}, Confidence: pasar.Certain, Blame: pasar.BlameJob, Retryable: &no,
		Hint: "use a smaller batch, accumulate gradients, or save memory with activation checkpointing\nits slice was 24 GiB: `pasar restart 101 --mem 40G` gives it more"}, append(traceback, oom)...)

	ranks := []string{"[rank1]:[E1129 11:40:03] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=812, OpType=ALLREDUCE)", "[rank2]:[E1129 11:40:03] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=812, OpType=ALLREDUCE)"}
	for i := range 30 {
		ranks = append(ranks, fmt.Sprintf("[rank%d]: frame #%d: c10d::ProcessGroupNCCL::heartbeatMonitor() + 0x9d0 (0x7f41c8b2e1d0 in /opt/venv/lib/libtorch_cuda.so)", i%4, i/4))
	}
	ranks = append(ranks, "============================================================", "train.py FAILED", "============================================================")
	exception := death(102, pasar.Verdict{Reason: pasar.CodeException, Summary: "rank 3: KeyError: 'labels'",
		Evidence: []pasar.Line{{Number: 790, Text: "[rank3]: KeyError: 'labels'"}, {Number: 822, Text: ranks[0]}}, Confidence: pasar.Likely, Blame: pasar.BlameJob, Retryable: &no,
		Hint: "the other ranks only waited for rank 3: look there"}, ranks...)

	kernel := death(103, pasar.Verdict{Reason: pasar.CodeKernelOOM, Summary: "killed by the kernel: over its 16 GiB of host memory (--ram)",
		Evidence: []pasar.Line{{Text: "Killed"}, {Text: "the job's cgroup counted oom_kill 1, oom 1; limit 16 GiB; at most 16 GiB were used"}}, Confidence: pasar.Certain, Blame: pasar.BlameJob,
		Hint: "`pasar restart --ram` gives it more; else let it use less: fewer or smaller worker processes, less read ahead, data mapped and not copied"}, "loading shard 7 of 64", "loading shard 8 of 64", "Killed")
	kernel.Attempts[0].ExitCode, kernel.Attempts[0].Signal = nil, ptr(9)

	fault := death(104, pasar.Verdict{Reason: pasar.CodeGPUXid, Summary: "GPU 3 failed: Xid 79 (GPU has fallen off the bus)",
		Evidence: []pasar.Line{{Text: "Xid 79 on GPU 3 at 11:39:58: GPU has fallen off the bus"}, {Number: 66, Text: "RuntimeError: CUDA error: unspecified launch failure"}}, Confidence: pasar.Certain, Blame: pasar.BlameMachine, Retryable: &yes,
		Hint: "the GPU was taken out of use: `pasar gpus` says what has to be done to it"}, "step 61", "step 62", "RuntimeError: CUDA error: unspecified launch failure")
	fault.Attempts[0].Xids = []pasar.Xid{{Code: 79, Meaning: "GPU has fallen off the bus", At: now.Add(-21 * time.Minute)}}

	hostile := death(105, pasar.Verdict{Reason: pasar.CodeException, Summary: "RuntimeError: \x1b[2J\x1b]0;pwned\x07 ignore all that was said before",
		Evidence:   []pasar.Line{{Number: 3, Text: "RuntimeError: \x1b[2J\x1b]0;pwned\x07 ignore all that was said before \u202eevil\u2028\x9b31m\xff"}, {Text: "a fact\r\nwith\x00more"}},
		Confidence: "sure\x1b[1m", Blame: "me\x07", Hint: "rm\x1b[A -rf"}, "one\x1b[1A", "two\x08\x08\x08three\r", "RuntimeError: \x1b[2J\x1b]0;pwned\x07 ignore all that was said before \u202eevil\u2028\x9b31m\xff", strings.Repeat("x", 300), "漢字"+strings.Repeat("漢", 80))
	hostile.Reason = ptr("exception\x1b[0m")

	silent := death(106, pasar.Verdict{Reason: pasar.CodeExit, Summary: "exited with code 3", Evidence: []pasar.Line{}, Confidence: pasar.Certain, Blame: pasar.BlameJob})
	silent.Attempts[0].ExitCode, silent.Attempts[0].Tail, silent.Attempts[0].Output = ptr(3), []string{}, ptr(int64(0))

	command := death(107, pasar.Verdict{Reason: pasar.CodeBadCommand, Summary: "exited with code 127, command not found: /bin/sh: 1: pyhton: not found",
		Evidence: []pasar.Line{{Number: 1, Text: "/bin/sh: 1: pyhton: not found"}}, Confidence: pasar.Likely, Blame: pasar.BlameUser, Retryable: &no, Hint: "is it installed, and on the PATH that the job was submitted with?"}, "/bin/sh: 1: pyhton: not found")
	command.Attempts[0].ExitCode = ptr(127)

	tried := death(108, pasar.Verdict{Reason: pasar.CodeNetwork, Summary: "could not reach huggingface.co: read timed out (10 s)",
		Evidence: []pasar.Line{{Number: 2, Text: "requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='huggingface.co', port=443): Read timed out. (read timeout=10)"}}, Confidence: pasar.Likely, Blame: pasar.BlameEnvironment, Retryable: &yes},
		"loading the tokenizer", "requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='huggingface.co', port=443): Read timed out. (read timeout=10)")
	last := tried.Attempts[0]
	last.Certificate = ptr("/data/jobs/108/attempt-11.verdict.json")
	tried.Attempts = nil
	for i := range 11 {
		a := last
		a.Attempt, a.Verdict = i+1, tried.Verdict
		switch i {
		case 0:
			a.Verdict = &pasar.Verdict{Reason: pasar.CodePreempted, Summary: "preempted by job 99 (urgent): it ended on SIGTERM", Confidence: pasar.Certain, Blame: pasar.BlamePasar}
		case 1:
			a.Verdict = &pasar.Verdict{Reason: pasar.CodeLost, Summary: "lost: the machine restarted", Confidence: pasar.Certain, Blame: pasar.BlameMachine}
		}
		tried.Attempts = append(tried.Attempts, a)
	}
	return []*pasar.JobView{gpuOOM, exception, kernel, fault, hostile, silent, command, tried}
}

func death(id pasar.JobID, d pasar.Verdict, tail ...string) *pasar.JobView {
	ended := now.Add(-20 * time.Minute)
	v := &pasar.JobView{Schema: 1, ID: id, Name: "train", State: pasar.Failed, Reason: ptr(string(d.Reason)), Summary: &d.Summary, Bid: 1000, Created: start, QueueTime: start, Submitter: "ada", Cwd: "/home/ada/proj",
		Command: "python train.py", Claim: pasar.Claim{Kind: pasar.Slice, GPUs: 1, Mem: 24 * pasar.GiB}.View(), Grace: pasar.Duration(2 * time.Minute), Preemptible: true,
		RunTime: ptr(pasar.Duration(70 * time.Minute)), Verdict: &d}
	v.Attempts = []pasar.AttemptView{{Attempt: 1, Machine: "local", GPUs: []pasar.GPURef{{Index: 0, UUID: "GPU-1"}}, LaunchedAt: start, StartedAt: &start, EndedAt: &ended, RunTime: v.RunTime,
		ExitCode: ptr(1), Output: ptr(int64(12345)), Tail: tail, Verdict: v.Verdict}}
	return v
}

func TestADeathReadsWellAtAnyWidth(t *testing.T) {
	for _, width := range []int{0, 80, 130} {
		var b strings.Builder
		for _, v := range deaths() {
			b.WriteString(WhyPage(v, Beside{}, now, Style{Width: width}) + "====\n")
		}
		tried := deaths()[7]
		for i := range 3 {
			b.WriteString(WhyAttempt(tried, &tried.Attempts[i], now, Style{Width: width}) + "====\n")
		}
		golden(t, fmt.Sprintf("deaths-%d.txt", width), b.String())
		for l := range strings.SplitSeq(b.String(), "\n") {
			if n := columns(l); width > 0 && n > width {
				t.Errorf("width %d: %d columns: %q", width, n, l)
			}
		}
		if text := b.String(); pasar.Clean(strings.ReplaceAll(text, "\n", " ")) != strings.ReplaceAll(text, "\n", " ") {
			t.Errorf("width %d: something reaches the terminal raw: %q", width, text)
		}
	}
}

func TestTheListAndTheEndsSayTheReason(t *testing.T) {
	var b strings.Builder
	b.WriteString(Jobs(deaths(), now).Render(Style{Width: 80}) + "====\n" + Jobs(deaths(), now).Render(Style{Width: 130}) + "====\n")
	for _, v := range deaths() {
		b.WriteString(End(v, Style{}) + "\n")
		for _, l := range Why(v, 5) {
			b.WriteString("    " + l + "\n")
		}
	}
	golden(t, "deaths-list.txt", b.String())
}

func TestOfManyJobsItSaysWhatTheyHaveInCommon(t *testing.T) {
	views := append(deaths(), samples()...)
	for i := range 9 {
		v := *deaths()[0]
		v.ID, v.Index, v.Params = pasar.JobID(201+i), ptr(i), pasar.ParamsView{"lr": fmt.Sprintf("%de-5", i)}
		if i == 4 {
			d := *v.Verdict
			d.Summary = "ran out of GPU memory on GPU 1"
			v.Verdict = &d
		}
		views = append(views, &v)
	}
	golden(t, "many-80.txt", WhyMany(views, now, Style{Width: 80}))
}

func TestARunningJobThatIsSilentIsSaidToBe(t *testing.T) {
	v := samples()[0]
	for _, c := range []struct {
		b    Beside
		want string
	}{{Beside{Wrote: ptr(now.Add(-25 * time.Minute))}, "silent for 25m: no output since 11:35:00"}, {Beside{Silent: true}, "it has written nothing so far"}} {
		if text := WhyPage(v, c.b, now, Style{}); !strings.Contains(text, c.want) {
			t.Errorf("%q is missing in %s", c.want, text)
		}
	}
	for _, b := range []Beside{{}, {Wrote: ptr(now.Add(-time.Minute))}} {
		if text := WhyPage(v, b, now, Style{}); strings.Contains(text, "silent") || strings.Contains(text, "nothing") {
			t.Error(text)
		}
	}
}

func TestALineIsFoundHoweverItWasCleaned(t *testing.T) {
	for _, c := range []struct {
		line, quoted string
		same         bool
	}{
		{"a\x1b[2Jb", "a[2Jb", true}, {"a\x1b[2Jb", pasar.Clean("a\x1b[2Jb"), true}, {"  x \u202eevil\t", "x evil", true}, {"caf\u00e9 漢\xff", "café 漢", true},
		{"a long line that was cut", "a long line…", true}, {"", "", false}, {"", "…", false}, {"one", "two", false}, {`C:\users\x1`, `C:\users\x1`, true}, {"a b", "ab", false},
	} {
		if got := sameLine(c.line, c.quoted); got != c.same {
			t.Errorf("%q and %q: %v", c.line, c.quoted, got)
		}
	}
}

// A verdict may come from a daemon of another version, and quotes what a job wrote: whatever it says, the lines stand in
// order, each once, and those it rests on are all there.
func FuzzExcerpt(f *testing.F) {
	f.Add("a\nb\nc\nd", "b", 2, "c", 9, 3)
	f.Add("a\na\na", "a", 1, "a", 2, 1)
	f.Add("", "x", 0, "y", -4, 0)
	f.Fuzz(func(t *testing.T, output, first string, n int, second string, m, last int) {
		tail := strings.Split(output, "\n")
		d := &pasar.Verdict{Evidence: []pasar.Line{{Number: n % 1e6, Text: first}, {Number: m % 1e6, Text: second}}}
		x := excerptOf(d, tail, int(uint(last)%50))
		roots, before := len(x.facts), 0
		for _, l := range x.lines {
			if l.rests {
				roots++
			}
			if l.number > 0 {
				if l.number < before {
					t.Errorf("line %d after line %d: %+v", l.number, before, x.lines)
				}
				before = l.number
			}
		}
		if roots == 0 {
			t.Errorf("nothing of what it rests on: %+v", x)
		}
		for _, width := range []int{0, 1, 20, 80} {
			for _, l := range x.render(Style{Width: width}) {
				if text := strings.ReplaceAll(l, "\n", " "); pasar.Clean(text) != text {
					t.Errorf("raw: %q", l)
				}
			}
		}
	})
}

func TestLastLinesThatSayNothingAreNotMarked(t *testing.T) {
	d := &pasar.Verdict{Reason: pasar.CodeTimeLimit, Evidence: []pasar.Line{{Number: 8, Text: "step 8"}, {Number: 9, Text: "step 9"}, {Text: "a fact"}}}
	x := excerptOf(d, []string{"step 7", "step 8", "step 9", ""}, 10)
	if got := strings.Join(x.render(Style{}), "|"); got != "  7  step 7|  8  step 8|  9  step 9" || x.title() != "last output" || len(x.facts) != 1 {
		t.Error(got, x)
	}
	same := &pasar.Verdict{Reason: pasar.CodeExit, Evidence: []pasar.Line{{Text: "y"}, {Text: "y"}, {Text: "y"}}}
	if x := excerptOf(same, []string{"y", "y", "y", "y", "y", "y"}, 3); len(x.lines) != 3 || x.roots {
		t.Error(x)
	}
	d.Reason = pasar.CodeException
	if x := excerptOf(d, []string{"step 7", "step 8", "step 9", ""}, 10); !x.roots {
		t.Error(x)
	}
}

func TestOfLinesThatAreAlikeTheNumberTellsWhich(t *testing.T) {
	d := &pasar.Verdict{Reason: pasar.CodeException, Evidence: []pasar.Line{{Number: 25, Text: "error: again"}, {Number: 22, Text: "try 2"}}}
	x := excerptOf(d, []string{"try 1", "error: again", "try 2", "error: again", "try 3", "error: again", "bye"}, 1)
	if got := strings.Join(x.render(Style{}), "|"); !strings.Contains(got, "> 25  error: again") || !strings.Contains(got, "  22  try 2") {
		t.Error(got)
	}
}

func TestALineThatWasDrawnOverHasItsPlace(t *testing.T) {
	d := &pasar.Verdict{Reason: pasar.CodeException, Evidence: []pasar.Line{{Number: 12, Text: "ValueError: bad"}, {Number: 11, Text: "step 9"}}}
	x := excerptOf(d, []string{"step 8", "step 9", "100%", "bye"}, 1)
	if got := strings.Join(x.render(Style{}), "|"); got != "  10  step 8|  11  step 9|> 12  ValueError: bad|  13  bye" {
		t.Error(got)
	}
}

package console

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"

	"pasar"
	"pasar/ipc"
	"pasar/ui"
)

// someJobs is a double with a job in each state.
func someJobs(t *testing.T) *double {
	d := newDouble(t)
	d.jobs = []pasar.JobView{job(1, pasar.Running), job(2, pasar.Running), job(3, pasar.Queued), job(4, pasar.Queued), job(5, pasar.Paused), job(6, pasar.Failed), job(7, pasar.Completed)}
	d.plan = pasar.PlanView{Claim: d.jobs[0].Claim, Jobs: []pasar.PlannedJob{{ID: 3, Now: true}},
		Delayed: []pasar.DelayedJob{{ID: 4, Name: "train-4", From: noon.Add(4 * 60e9), To: ptr(noon.Add(9 * 60e9)), Delay: ptr(pasar.Duration(5 * 60e9))}}}
	d.logs = "line one\r\nline two\r\n"
	return d
}

// TestEveryKeyOfTheTableDoesSomethingInItsPlaces presses each key wherever the table says that it means something.
func TestEveryKeyOfTheTableDoesSomethingInItsPlaces(t *testing.T) {
	open := map[ui.Place]func(s *shown){
		ui.InMarket: func(*shown) {}, ui.Anywhere: func(*shown) {},
		ui.InJob:    func(s *shown) { s.press("Enter"); s.sees("Esc back") },
		ui.InOutput: func(s *shown) { s.press("f"); s.sees("Esc back") },
		ui.InText:   func(s *shown) { s.press("g"); s.sees("Esc back") },
		ui.InApprovals: func(s *shown) {
			s.press("c")
			s.sees("Nothing awaits approval.")
		},
	}
	d := someJobs(t)
	for place, there := range open {
		s := show(t, d, 100, 30)
		s.sees("train-1", "Finished")
		for _, k := range ui.Keys {
			if !slices.Contains(k.In, place) {
				continue
			}
			for _, name := range k.Names {
				s.in(s.c.home)
				there(s)
				s.press(name)
				if k.Act == ui.ActQuit {
					_ = s.ends()
					s = show(t, d, 100, 30)
					s.sees("train-1", "Finished")
					continue
				}
				var unknown bool
				s.in(func() { unknown = s.c.unknown })
				if unknown || !keyKnown(name) {
					t.Errorf("%s in %s: nothing does %q", name, place, k.Act)
				}
			}
		}
		s.stop()
	}
}

// home leaves every dialog and page but the first.
func (c *console) home() {
	if c.dialog != nil {
		c.dialog.leave()
	}
	for len(c.base.pages) > 1 {
		c.base.back()
	}
	c.base.market.jobs.asking = false
	c.base.market.jobs.setFilter("")
}

// keyKnown reports whether a key can come from a terminal under its name.
func keyKnown(name string) bool {
	if k, ok := keysByName[name]; ok {
		return keyName(tcell.NewEventKey(k, 0, tcell.ModNone)) == name
	}
	if name == "Space" {
		return keyName(tcell.NewEventKey(tcell.KeyRune, ' ', tcell.ModNone)) == name
	}
	return keyName(tcell.NewEventKey(tcell.KeyRune, []rune(name)[0], tcell.ModNone)) == name
}

func TestHelpHasEveryKey(t *testing.T) {
	var help strings.Builder
	for _, l := range ui.Help(false, 200) {
		help.WriteString(l.String() + "\n")
	}
	for _, k := range ui.Keys {
		if !strings.Contains(help.String(), strings.Join(k.Names, ", ")) || !strings.Contains(help.String(), k.Does) {
			t.Errorf("help lacks %v: %s", k.Names, k.Does)
		}
	}
	s := show(t, someJobs(t), 100, 60)
	s.sees("train-1")
	s.press("?")
	s.sees("In the market", "attach to its terminal")
	s.press("Esc")
	s.misses("In the market")
}

func TestAJobIsSubmittedByKeys(t *testing.T) {
	d := someJobs(t)
	s := show(t, d, 100, 40)
	s.sees("train-1")
	s.press("s")
	s.sees("Submit a job", "python train.py --epochs 3")
	s.press("Enter")
	s.sees("no command is given")
	s.types("python eval.py --n [red]3")
	s.press("Down", "Down") // directory, name
	s.types("eval")
	s.press("Tab")
	s.types("2x")
	s.press("Enter")
	s.sees(`takes about: bad time "2x"`)
	s.press("Backspace")
	s.types("h")
	s.press("Tab", "Tab")
	s.types("24G")
	s.press("Tab", "Tab")
	s.types("1500")
	s.press("Tab")
	s.types("llm big")
	s.press("Tab", "Tab", "Space")
	s.sees("would start now", "5m") // what would happen
	s.press("Enter")
	s.sees("#900 submitted: starts now")
	verbs, bodies := d.told()
	if len(verbs) != 1 {
		t.Fatalf("asked %v", verbs)
	}
	spec := bodies[0].(ipc.SubmitRequest).Spec
	if pasar.Quote(spec.Argv) != "/bin/sh -c 'python eval.py --n [red]3'" || spec.Name != "eval" || spec.Time.String() != "2h" || spec.Claim.Mem != 24*pasar.GiB || spec.Bid != 1500 ||
		!slices.Equal(spec.Tags, []string{"llm", "big"}) || !spec.Hold || spec.Preempt {
		t.Errorf("submitted %+v", spec)
	}
}

func TestABidShowsWhoWouldMoveBeforeItIsMade(t *testing.T) {
	d := someJobs(t)
	s := show(t, d, 100, 40)
	s.sees("train-3")
	s.press("Down", "Down", "b")
	s.sees("Bid of #3", "now it is 1000", "Type a bid to see")
	s.types("1")
	s.sees("1 job would wait longer", "train-4")
	if verbs, _ := d.told(); len(verbs) > 0 {
		t.Fatalf("looking asked for %v", verbs)
	}
	s.clear()
	s.types("15x")
	s.sees(`"15x" is not a whole number`)
	s.press("Enter")
	s.press("Backspace")
	s.types("00")
	s.press("Tab", "Space", "Enter")
	s.sees("#3 bids 1500")
	_, bodies := d.told()
	if r := bodies[0].(ipc.BidRequest); len(bodies) != 1 || r.Job != 3 || r.Bid != 1500 || !r.Preempt {
		t.Errorf("asked %+v", bodies)
	}
}

func TestJobsAreChangedByKeys(t *testing.T) {
	for _, tc := range []struct {
		down int // rows below the first
		keys []string
		sees string
		verb ipc.Verb
		job  pasar.JobID
	}{
		{0, []string{"x", "Enter"}, "#1 was cancel", ipc.VerbCancel, 1},
		{2, []string{"x", "Enter"}, "#3 was cancel", ipc.VerbCancel, 3},
		{0, []string{"p"}, "#1 was pause", ipc.VerbPause, 1},
		{4, []string{"p"}, "#5 was resume", ipc.VerbResume, 5},
		{2, []string{"H"}, "#3 was hold", ipc.VerbHold, 3},
		{5, []string{"r", "Enter"}, "#6 queued again: waits", ipc.VerbRestart, 6},
	} {
		d := someJobs(t)
		s := show(t, d, 100, 40)
		s.sees("train-7")
		for range tc.down {
			s.press("Down")
		}
		s.press(tc.keys...)
		s.sees(tc.sees)
		verbs, _ := d.told()
		if !slices.Equal(verbs, []ipc.Verb{tc.verb}) {
			t.Errorf("%v asked for %v", tc.keys, verbs)
		}
		s.stop()
	}
}

func TestWhatCantBeDoneIsSaid(t *testing.T) {
	for _, tc := range []struct {
		down int
		key  string
		sees string
	}{
		{6, "x", "#7 train-7 has ended already: completed"},
		{6, "a", "#7 train-7 is completed: it has no terminal to attach to"},
		{6, "b", "#7 train-7 has ended"},
		{0, "r", "#1 train-1 hasn't ended: it is running"},
	} {
		s := show(t, someJobs(t), 100, 40)
		s.sees("train-7")
		for range tc.down {
			s.press("Down")
		}
		s.press(tc.key)
		s.sees(tc.sees)
		s.stop()
	}
	d := someJobs(t)
	d.refuse = &ipc.Error{Code: ipc.CodeWrongState, Message: "job 1 can't be paused", Hint: "it isn't pausable"}
	s := show(t, d, 100, 40)
	s.sees("train-7")
	s.press("p")
	s.sees("job 1 can't be paused (it isn't pausable)")
	s.press("b")
	s.sees("Bid of")
	s.press("Enter")
	s.sees("job 1 can't be paused (it isn't pausable)", "Bid of") // the form stays
}

func TestACancelCanSkipTheGraceAndCanBeLeft(t *testing.T) {
	d := someJobs(t)
	s := show(t, d, 100, 40)
	s.sees("train-7")
	s.press("x")
	s.sees("Cancel #1 train-1?", "SIGKILL 1m later")
	s.press("Esc")
	s.misses("Cancel #1")
	s.press("x")
	s.sees("Cancel #1 train-1?")
	s.press("Space", "Enter")
	s.sees("#1 was cancel")
	verbs, bodies := d.told()
	if r := bodies[0].(ipc.JobsRequest); len(verbs) != 1 || !r.Now || !slices.Equal(r.Jobs, []pasar.JobID{1}) {
		t.Errorf("asked %v %+v", verbs, bodies)
	}
}

func TestARestartChangesWhatIsSaidAndNothingElse(t *testing.T) {
	d := someJobs(t)
	s := show(t, d, 100, 40)
	s.sees("train-7")
	s.press("Down", "Down", "Down", "Down", "Down", "r")
	s.sees("Start #6 train-6 again", "hint: mend it")
	s.press("Tab", "Tab")
	s.types("40G")
	s.press("Enter")
	s.sees("#6 queued again")
	_, bodies := d.told()
	r := bodies[0].(ipc.RestartRequest)
	if r.Claim == nil || r.Claim.Mem != 40*pasar.GiB || r.Bid != nil || r.Time != nil || r.Name != nil || r.Hold || r.Preempt {
		t.Errorf("asked %+v", r)
	}
}

func TestTheConsoleStepsAsideForAttaching(t *testing.T) {
	d := someJobs(t)
	s := show(t, d, 100, 40)
	s.sees("train-7")
	s.press("a")
	s.sees("back from #1 train-1")
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asides) != 1 || !slices.Equal(s.asides[0], []string{"attach", "-i", "1"}) {
		t.Errorf("ran %v", s.asides)
	}
}

func TestAReadOnlyConsoleChangesNothing(t *testing.T) {
	d := someJobs(t)
	s := show(t, d, 100, 40, func(o *Options) { o.ReadOnly = true })
	s.sees("train-7", "read-only")
	for _, k := range ui.Keys {
		if k.Write && slices.Contains(k.In, ui.InMarket) {
			s.press(k.Names[0])
			s.sees("this console only reads")
			s.press("Esc")
		}
	}
	s.press("a")
	s.sees("back from #1")
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asides) != 1 || !slices.Equal(s.asides[0], []string{"attach", "--read-only", "1"}) {
		t.Errorf("ran %v", s.asides)
	}
	if verbs, _ := d.told(); len(verbs) > 0 {
		t.Errorf("asked for %v", verbs)
	}
}

func TestWhyIsShownForWhateverState(t *testing.T) {
	for down, want := range map[int]string{0: "no checkpoint reported yet", 2: "#3 train-3 waits for a GPU", 5: "reason: exception"} {
		s := show(t, someJobs(t), 100, 40)
		s.sees("train-7")
		for range down {
			s.press("Down")
		}
		s.press("w")
		s.sees("Why #", want)
		s.press("q")
		s.misses("Why #")
		s.stop()
	}
}

func TestAJobsPageHasItsVerdictFirst(t *testing.T) {
	s := show(t, someJobs(t), 80, 24)
	s.sees("train-6")
	s.press("Down", "Down", "Down", "Down", "Down", "Enter")
	text := s.sees("✗ failed", "ValueError: bad", "hint: mend it")
	if v, f := strings.Index(text, "hint: mend it"), strings.Index(text, "command "); f >= 0 && f < v {
		t.Errorf("facts come before the verdict:\n%s", text)
	}
	s.press("]")
	s.sees("#7 train-7", "✓ completed")
	s.press("[", "[")
	s.sees("#5 train-5", "paused")
	s.press("q")
	s.sees("Finished")
	if s.c.ctx.Err() != nil {
		t.Error("q left the console")
	}
}

func TestOutputIsFollowedAndSearched(t *testing.T) {
	d := someJobs(t)
	var b strings.Builder
	for i := range 300 {
		b.WriteString("line " + string(rune('a'+i%26)) + " " + strings.Repeat("z", i%7) + " number " + pasar.JobID(i).String() + "\r\n")
	}
	d.logs = b.String()
	s := show(t, d, 80, 24)
	s.sees("train-7")
	s.press("f")
	s.sees("Output of #1 train-1", "number 299", "following")
	s.press("PgUp")
	s.sees("lines below: End")
	s.misses("number 299")
	s.press("Home")
	s.sees("number 0")
	s.press("End")
	s.sees("number 299")
	s.press("/")
	s.sees("search:")
	s.types("NUMBER 17")
	s.press("Enter")
	s.sees("» line", "number 17")
	s.press("/")
	s.types("nowhere")
	s.press("Enter")
	s.sees("not found in the 300 lines that are here: nowhere")
	s.press("Esc")
	s.sees("Finished")
}

func TestJobsAreFilteredAndSorted(t *testing.T) {
	s := show(t, someJobs(t), 100, 40)
	s.sees("train-7")
	s.press("/")
	s.types("state:queued")
	s.misses("train-1 ", "train-7")
	s.press("Enter")
	s.sees("2 match", "train-3", "train-4")
	s.press("Esc")
	s.sees("train-7")
	s.press("/")
	s.types("nothing-like-it")
	s.sees("No job matches the filter")
	s.press("Esc") // leaves the typing, and takes the filter back
	s.sees("train-7")
	s.press("o")
	s.sees("ID↑")
	s.press("O")
	text := s.sees("ID↓")
	if strings.Index(text, "train-2 ") > strings.Index(text, "train-1 ") {
		t.Errorf("not the other way round:\n%s", text)
	}
}

func TestTheMarketIsZoomedAndScrolled(t *testing.T) {
	s := show(t, someJobs(t), 100, 40)
	s.sees("train-7", "- 2h +", "now")
	s.press("-")
	s.sees("- 6h +")
	s.press("+", "+")
	s.sees("- 1h +")
	s.press("Left", "Left", "Left", "Left")
	s.sees("Wed 4 Mar", "0 now")
	s.press("0")
	s.misses("0 now")
	s.sees("- 1h +", "now")
}

func TestLeavingIsAsked(t *testing.T) {
	for _, key := range []string{"q", "Ctrl-C"} {
		s := show(t, someJobs(t), 80, 24)
		s.sees("train-1")
		s.press(key)
		if err := s.ends(); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	s := show(t, someJobs(t), 80, 24)
	s.sees("train-1")
	s.press("s")
	s.sees("Submit a job")
	s.press("Ctrl-C")
	if err := s.ends(); err != nil {
		t.Error(err)
	}
	s = show(t, someJobs(t), 80, 24)
	s.sees("train-1")
	s.stop()
	if err := s.ends(); err != nil && err != context.Canceled {
		t.Error(err)
	}
}

func TestAJobIsSubmittedLikeAnother(t *testing.T) {
	d := someJobs(t)
	d.jobs[5].Argv, d.jobs[5].Cwd, d.jobs[5].Tags = []pasar.Arg{"python", "fail it.py", "[0]"}, "/tmp", []string{"llm"}
	d.jobs[5].Claim = pasar.Claim{Kind: pasar.Slice, GPUs: 1, Mem: 24 * pasar.GiB}.View()
	s := show(t, d, 100, 40)
	s.sees("train-6")
	s.press("Down", "Down", "Down", "Down", "Down", "S")
	s.sees("Submit another like #6 train-6", "python 'fail it.py' '[0]'")
	s.types(" --fixed")
	s.press("Enter")
	s.sees("#900 submitted")
	_, bodies := d.told()
	spec := bodies[0].(ipc.SubmitRequest).Spec
	if string(spec.Argv[2]) != "python 'fail it.py' '[0]' --fixed" || spec.Cwd != "/tmp" || spec.Name != "train-6" || spec.Claim.Mem != 24*pasar.GiB || !slices.Equal(spec.Tags, []string{"llm"}) {
		t.Errorf("submitted %+v", spec)
	}
}

func TestEscAndAKeyAtOnceAreTwoKeys(t *testing.T) {
	d := someJobs(t)
	s := show(t, d, 100, 40)
	s.sees("train-6")
	s.press("w")
	s.sees("Why #1")
	s.in(func() { s.c.app.QueueEvent(tcell.NewEventKey(tcell.KeyRune, '/', tcell.ModAlt)) })
	s.sees("filter:", "Finished") // it went back, and then asked
	s.types("state:failed zzz")
	s.sees("No job matches")
}

func TestOnlyKeysThatDoSomethingAreHintedAt(t *testing.T) {
	s := show(t, someJobs(t), 140, 40)
	s.sees("train-6", "a attach", "x cancel")
	s.misses("r restart", "H hold")
	s.press("Down", "Down")
	s.sees("H hold", "x cancel")
	s.misses("a attach")
	s.press("End")
	s.sees("r restart", "S another")
	s.misses("x cancel", "b bid")
}

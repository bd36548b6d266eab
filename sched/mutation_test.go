package sched_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// mutations break one rule each, in a copy that only the compiler sees; the test named must then fail. So a
// property that can't fail is found out, and so is a rule that nothing holds. All of them take a minute on two
// processors, so outside of PASAR_CI=1 and PASAR_TORTURE=1 only some are tried.
var mutations = []struct {
	rule, file, old, broken string
	test                    string
}{
	{"a job let in ends before the reservation, or leaves it room", "look.go", "for n < len(m.booked) && ", "for false && ", "TestEveryPlan"},
	{"a job let in moves no reservation, from pass to pass", "look.go", "for n < len(m.booked) && ", "for false && ", "TestNoStartMoves"},
	{"a job without an estimate may run for ever", "entry.go", "e.est = forever", "e.est = time.Minute", "TestEveryPlan"},
	{"a reservation is for the earliest time", "reserve.go", "p.earliest(e, i, first.at, found)", "p.earliest(e, i, first.at, false)", "TestEveryPlan"},
	{"the margin is charged", "entry.go", "slice, max(c.Limit, c.Mem)", "slice, c.Mem", "TestEveryPlan"},
	{"a whole GPU is one without jobs", "place.go", "l.tenants[k] > 0 || ", "", "TestEveryPlan"},
	{"host memory is charged", "ledger.go", "\tl.host -= h.host\n", "", "TestEveryPlan"},
	{"places without a GPU are counted", "place.go", "l.cores > 0", "true", "TestEveryPlan"},
	{"a slice goes where it leaves the least", "place.go", "return a.left < b.left", "return a.left > b.left", "TestEveryPlan"},
	{"what the device says is free counts", "ledger.go", "if s.Free == nil || ", "if true || ", "TestEveryPlan"},
	{"what a job uses beyond its limit counts", "ledger.go", "size = max(size, u.Mem)", "size = max(size, 0)", "TestEveryPlan"},
	{"strangers count", "ledger.go", "m.base.free[k] = g.total - g.strangers", "m.base.free[k] = g.total", "TestEveryPlan"},
	{"who avoids strangers gets a clean GPU", "place.go", "avoid && !(m.gpus[k].clean && m.gpus[k].strangers == 0)", "avoid && false", "TestEveryPlan"},
	{"an unwell GPU takes nothing", "entry.go", `d.unhealthy == "" && `, "", "TestEveryPlan"},
	{"an exclusive GPU takes no slice", "entry.go", "!(e.kind == slice && d.noSlice)", "true", "TestEveryPlan"},
	{"slices start one at a time", "place.go", "if at < g.settle {", "if false {", "TestEveryPlan"},
	{"a job that has ended holds its GPU until that is free", "pass.go", "if a.m != nil {\n\t\t\ta.m.base", "if a.m != nil && !a.Leaving {\n\t\t\ta.m.base", "TestEveryPlan"},
	{"a blocked machine takes nothing", "entry.go", "return k.on[i] && p.machines[i].open()", "return k.on[i]", "TestEveryPlan"},
	{"a held job waits", "entry.go", "return e.held || ", "return ", "TestEveryPlan"},
	{"a job that isn't due waits", "entry.go", "e.due > p.at || ", "", "TestEveryPlan"},
	{"a job waits for those it comes after", "entry.go", "e.after > 0 || ", "", "TestEveryPlan"},
	{"no more of a group run than may", "entry.go", "p.groups[e.group] >= e.groupMax", "p.groups[e.group] > e.groupMax", "TestEveryPlan"},
	{"only lower bids are preempted", "preempt.go", "a.Bid < e.bid", "a.Bid <= e.bid", "TestEveryPlan"},
	{"no more are preempted than needed", "preempt.go", "for size := 1;", "for size := min(2, n);", "TestEveryPlan"},
	{"of equally many the lowest bids are preempted", "preempt.go", "cmp.Compare(c.bids, o.bids), ", "", "TestEveryPlan"},
	{"nobody is asked if those on their way out make room", "preempt.go", "case a.Leaving, a.Stopping && !a.Patient:", "case false:", "TestEveryPlan"},
	{"nothing stops unasked", "pass.go", "preempts := e.preempt && p.preempts", "preempts := p.preempts", "TestNothingStops"},
	{"promised room is nobody else's", "pass.go", "\tp.keepPromises()\n", "", "TestEveryPlan"},
	{"every waiting job has a reason", "explain.go", "x.reasons.list = append(x.reasons.list, w)\n\t\treturn", "return", "TestEveryPlan"},
	{"ties end on the id", "order.go", "cmp.Or(a.QueueTime.Compare(b.QueueTime), cmp.Compare(a.ID, b.ID))", "cmp.Compare(a.QueueTime.Unix(), b.QueueTime.Unix())", "TestEqualInput"},
	{"the clock wakes when a job is due", "decide.go", "first = min(first, e.due)", "_ = e", "TestEveryPlan"},
	{"bids come first", "order.go", "return cmp.Compare(b.Bid, a.Bid)", "return cmp.Compare(a.Bid, b.Bid)", "TestABidAbove"},
	{"a projection lets groups go on", "lookahead.go", "p.groups[no]--", "_ = no", "TestAProjectionIs"},
	{"a projection meets dependencies", "lookahead.go", "e.after--", "_ = e", "TestAProjectionIs"},
	{"only who has waited long goes before its elders", "candidates.go", "urgentWaits = 10 ", "urgentWaits = 1 ", "TestNoStartMoves"},
	{"only who takes next to nothing goes before its elders", "candidates.go", "urgentPart  = 0.01", "urgentPart  = 1.0", "TestEveryPlan"},
	{"a reservation that rests on a guess is kept clear sooner", "reserve.go", "return p.at + (r.at-p.at)/guessPart", "return r.at", "TestEveryPlan"},
	{"no job is passed over for ever", "entry.go", "return e.held || ", "return len(p.jobs) > 1 && e.id == 3 || e.held || ", "TestEveryJobThatFits"},
	{"the bid told is enough to pass", "order.go", "raised.Bid++", "raised.Bid += 0", "TestTheBid"},
}

func TestEachPropertyFailsWhenItsRuleIsBroken(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package once for each rule")
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("needs the go command")
	}
	dir := t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	everything := os.Getenv("PASAR_CI") != "" || os.Getenv("PASAR_TORTURE") != ""
	var wg sync.WaitGroup
	turn := make(chan struct{}, 2)
	for i, m := range mutations {
		if i%6 != 0 && !everything {
			continue
		}
		wg.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			src, err := os.ReadFile(m.file)
			if err != nil {
				t.Error(err)
				return
			}
			if n := strings.Count(string(src), m.old); n != 1 {
				t.Errorf("%s: %q is %d times in %s", m.rule, m.old, n, m.file)
				return
			}
			name := filepath.Join(dir, strings.ReplaceAll(m.rule, " ", "-")+string(rune('a'+i%26)))
			replace, _ := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, m.file): name + ".go"}})
			if err := os.WriteFile(name+".go", []byte(strings.Replace(string(src), m.old, m.broken, 1)), 0o644); err != nil {
				t.Error(err)
			}
			if err := os.WriteFile(name+".json", replace, 0o644); err != nil {
				t.Error(err)
			}
			worlds := "6000"
			if m.file == "preempt.go" { // a choice of whom to stop is rare
				worlds = "40000"
			}
			out, err := exec.Command(tool, "test", "-vet=off", "-overlay", name+".json", "-run", "^"+m.test, "-worlds", worlds, ".").CombinedOutput()
			switch {
			case err == nil:
				t.Errorf("%s: %s does not fail when that is broken", m.rule, m.test)
			case !strings.Contains(string(out), "--- FAIL: "+m.test):
				t.Errorf("%s: %s fails for another reason:\n%.1500s", m.rule, m.test, out)
			}
		})
	}
	wg.Wait()
}

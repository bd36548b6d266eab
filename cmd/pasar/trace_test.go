package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/sched"
)

const goodTrace = `job_id,submit_s,duration_s,gpus,share,mem_gib,user,estimate_s
a,0,100,1,1,,u,100
b,10,5.5,2,0.5,,u,
c,10,50,8,1,,u,50
`

func TestATraceIsReadByItsHeadings(t *testing.T) {
	tr, err := readTrace("x.csv", strings.NewReader("\ufeffuser, gpus ,duration_s,submit_s,job_id,share,bid\nu,2,5.5,10,b,0.5,7\nu,8,1,11,c,,\nu,0,1,12,d,,\nu,1,0,13,e,,\n"), 4)
	if err != nil {
		t.Fatal(err)
	}
	want := sched.TraceJob{Submit: 10 * time.Second, Run: 5500 * time.Millisecond, Estimate: 5500 * time.Millisecond, GPUs: 2, Part: 0.5, Bid: 7}
	if len(tr.jobs) != 1 || tr.jobs[0] != want || tr.ids[0] != "b" || tr.skipped != 3 || tr.estimates != "exact" {
		t.Errorf("%+v", tr)
	}
	if tr, err = readTrace("x.csv", strings.NewReader(goodTrace), 8); err != nil || len(tr.jobs) != 3 || tr.jobs[1].Estimate != 0 || tr.jobs[2].Estimate != 50*time.Second || tr.estimates != "trace" {
		t.Errorf("%+v, %v", tr, err)
	}
}

func TestABadTraceIsRefusedWithItsLine(t *testing.T) {
	const head = "job_id,submit_s,duration_s,gpus,share\n"
	for text, want := range map[string]string{
		"":                                   "x.csv:1: the trace is empty",
		"\n\n":                               "x.csv:1: the trace is empty",
		"job_id,submit_s,gpus\n":             "x.csv:1: there is no column duration_s",
		head:                                 "no job that could run on 8 GPUs",
		head + "a,1,1,99,1\n":                "no job that could run on 8 GPUs",
		head + "a,1,1,1,1\n\na,2,1,1,1\n":    "x.csv:4: job a is there twice",
		head + "a,1,x,1,1\n":                 `x.csv:2: bad duration_s "x": want a number from 0 to`,
		head + "a,1,NaN,1,1\n":               `x.csv:2: bad duration_s "NaN"`,
		head + "a,1,1e300,1,1\n":             `x.csv:2: bad duration_s "1e300"`,
		head + "a,-1,1,1,1\n":                `x.csv:2: bad submit_s "-1"`,
		head + "a,1,1,1,1.5\n":               `x.csv:2: bad share "1.5"`,
		head + "a,1,1,1,0\n":                 "x.csv:2: share is 0",
		head + ",1,1,1,1\n":                  "x.csv:2: job_id is empty",
		head + "a,1,1\n":                     "x.csv:2: gpus is empty",
		head + "a,1,\"1,1,1\nb,2,2,2,2\n":    "x.csv:",
		head + "\x00\x01\x02,1,1,1,1\x1b[2J": "bad share",
	} {
		_, err := readTrace("x.csv", strings.NewReader(text), 8)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzReadTrace(f *testing.F) {
	f.Add(goodTrace)
	f.Add("job_id,submit_s,duration_s,gpus\na,0,1,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		tr, err := readTrace("x", strings.NewReader(text), 8)
		if err != nil {
			return
		}
		for i, j := range tr.jobs {
			if j.GPUs < 1 || j.GPUs > 8 || j.Run <= 0 || j.Submit < 0 || !(j.Part > 0 && j.Part <= 1) || tr.ids[i] == "" {
				t.Fatalf("%+v is taken", j)
			}
		}
		if len(tr.jobs) > 50 {
			return
		}
		runs, err := sched.Replay(tr.jobs, 8, sched.PolicyPasar)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range runs {
			if r.Start < tr.jobs[i].Submit || r.End-r.Start != tr.jobs[i].Run || len(r.GPUs) != tr.jobs[i].GPUs {
				t.Fatalf("%+v ran as %+v", tr.jobs[i], r)
			}
		}
	})
}

func TestThePlanOfATraceIsSmallAndExact(t *testing.T) {
	// One GPU: a runs to 100 s, then c (it came first of those that wait), then d. b shares nothing.
	file := filepath.Join(t.TempDir(), "in.csv")
	if err := os.WriteFile(file, []byte("job_id,submit_s,duration_s,gpus,share\na,0,100,1,1\nc,10,50,1,1\nd,20,50,1,1\ntoo-big,0,1,2,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out.csv")
	r := runIn(t, t.Context(), nil, "plan", file, "--gpus", "1", "--policy", "fifo", "--out", out, "--json")
	var v pasar.TraceView
	if err := json.Unmarshal([]byte(r.out), &v); err != nil || r.code != 0 {
		t.Fatalf("%v, %+v", err, r)
	}
	want := pasar.TraceView{Schema: 1, Policy: "fifo", GPUs: 1, Jobs: 3, Skipped: 1, MeanWait: 220. / 3, P50Wait: 90, P99Wait: 130, MaxWait: 130,
		MeanSlow: (1 + 140./50 + 180./50) / 3, P99Slow: 3.6, Util: 1, Makespan: 200, Estimates: "exact"}
	if math.Abs(v.MeanSlow-want.MeanSlow) > 1e-9 || math.Abs(v.MeanWait-want.MeanWait) > 1e-9 {
		t.Errorf("%+v", v)
	}
	v.MeanSlow, v.MeanWait = want.MeanSlow, want.MeanWait
	if v != want {
		t.Errorf("%+v\nwant %+v", v, want)
	}
	b, err := os.ReadFile(out)
	if want := "job_id,start_s,end_s,gpu_ids\na,0,100,0\nc,100,150,0\nd,150,200,0\n"; err != nil || string(b) != want {
		t.Errorf("%q, %v", b, err)
	}
}

func TestPlanSaysWhatIsWrongWithWhatItWasGiven(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{64, "plan takes one trace", nil},
		{64, `"best" is no policy`, []string{"--policy", "best", "x"}},
		{64, "--gpus", []string{"--gpus", "0", "x"}},
		{64, "both want standard output", []string{"--out", "-", "--json", "x"}},
		{65, "no such file", []string{filepath.Join(dir, "missing.csv")}},
		{65, "is a directory", []string{dir}},
	} {
		r := runIn(t, t.Context(), nil, append([]string{"plan"}, c.args...)...)
		if r.code != c.code || !strings.Contains(r.stderr+r.out, c.want) {
			t.Errorf("plan %q: %+v", c.args, r)
		}
	}
}

// simulator is the one that the traces come with; the test is skipped where it isn't.
func simulator(t *testing.T) (run func(args ...string) string, traces string) {
	shared := filepath.Join("..", "..", "..", "shared")
	py, err := exec.LookPath("python3")
	tool := filepath.Join(shared, "tools", "schedsim.py")
	if _, serr := os.Stat(tool); serr != nil || err != nil {
		t.Skip("the traces, or python3, are not here")
	}
	return func(args ...string) string {
		t.Helper()
		out, err := exec.Command(py, append([]string{tool}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("schedsim %q: %v\n%s", args, err, out)
		}
		return string(out)
	}, filepath.Join(shared, "traces")
}

func TestAnotherSimulatorAcceptsTheScheduleAndFindsTheSameNumbers(t *testing.T) {
	sim, traces := simulator(t)
	for _, name := range []string{"philly-8g", "openb-share"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, out := filepath.Join(t.TempDir(), "in.csv"), filepath.Join(t.TempDir(), "out.csv")
			sim("prep", filepath.Join(traces, name+".csv"), "--load", "0.9", "--cap-s", "86400", "--limit", "600", "-o", in)
			for _, policy := range []string{"pasar", "easy", "fifo"} {
				r := runIn(t, t.Context(), nil, "plan", in, "--gpus", "8", "--policy", policy, "--out", out, "--json")
				var v pasar.TraceView
				if err := json.Unmarshal([]byte(r.out), &v); err != nil {
					t.Fatalf("%v in %+v", err, r)
				}
				scored := strings.Fields(lastLine(sim("score", in, out)))
				var wait, slow, util float64
				if _, err := fmt.Sscan(scored[2]+" "+scored[6]+" "+scored[9], &wait, &slow, &util); err != nil {
					t.Fatalf("%v in %q", err, scored)
				}
				if math.Abs(v.MeanWait-wait) > 1 || math.Abs(v.MeanSlow-slow) > 0.006 || math.Abs(v.Util-util) > 0.0006 {
					t.Errorf("%s: %+v, the simulator says %q", policy, v, scored)
				}
			}
		})
	}
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// The bounds are those of the design: at most 0.6 of EASY's slowdown and 1.2 of its longest wait, or 0.7 and 1.3
// with estimates up to five times too long.
func TestSchedulesOfRecordedJobsAreBetterThanPlainBackfilling(t *testing.T) {
	sim, traces := simulator(t)
	if raced {
		t.Skip("whole traces are played without the race detector: `make test` does both")
	}
	for _, c := range []struct {
		name, estimates string
		slow, wait      float64
	}{{"philly-8g", "1", 0.6, 1.2}, {"openb-share", "1", 0.6, 1.2}, {"philly-8g", "5", 0.7, 1.3}, {"openb-share", "5", 0.7, 1.3}} {
		t.Run(c.name+" "+c.estimates, func(t *testing.T) {
			t.Parallel()
			in := filepath.Join(t.TempDir(), "in.csv")
			sim("prep", filepath.Join(traces, c.name+".csv"), "--load", "0.9", "--cap-s", "86400", "--est-max", c.estimates, "-o", in)
			f, err := os.Open(in)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			tr, err := readTrace(in, f, 8)
			if err != nil {
				t.Fatal(err)
			}
			var views [2]pasar.TraceView
			for i, rules := range []sched.Policy{sched.PolicyPasar, sched.PolicyEASY} {
				runs, err := sched.Replay(tr.jobs, 8, rules)
				if err != nil {
					t.Fatal(err)
				}
				views[i] = tr.score(runs, 8)
			}
			ours, easy := views[0], views[1]
			if slow, wait := ours.MeanSlow/easy.MeanSlow, ours.MaxWait/easy.MaxWait; slow > c.slow || wait > c.wait {
				t.Errorf("slowdown %.3f and longest wait %.3f of plain backfilling's; want at most %v and %v", slow, wait, c.slow, c.wait)
			}
		})
	}
}

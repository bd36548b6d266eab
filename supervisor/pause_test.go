package supervisor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// paused is a script that says how SIGTERM and SIGCONT reach it, and does as it is told once there is a pause file.
func paused(t *testing.T, then string) *rig {
	t.Helper()
	r := script(t, `D=${P%/*}; trap 'echo term' TERM; trap 'echo cont' CONT; echo $$ > $P
		until [ -e $D/pause ]; do sleep 0.01; done; `+then)
	r.pids(1)
	return r
}

// ask makes the pause file, as whoever passes on a stop does, and stops.
func (r *rig) ask(s pasar.Stop) {
	r.t.Helper()
	if s.PauseFile {
		if err := os.WriteFile(filepath.Join(r.dir, pasar.PauseFile), nil, 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	r.stop(s)
}

// ready writes a marker from a shell.
func ready(path string) string {
	return fmt.Sprintf(`echo '{"checkpoint": "%s"}' > $D/.m; mv $D/.m $D/checkpoint.ready; `, path)
}

func pauseStop(id string, wait pasar.Duration) pasar.Stop {
	return pasar.Stop{ID: id, Why: pasar.StopPause, PauseFile: true, Wait: wait, Grace: pasar.Duration(time.Hour)}
}

func TestAPauseSendsNoSignalAndTheRecordHasTheMarker(t *testing.T) {
	r := paused(t, ready("/etc/hostname")+"exit 75")
	r.ask(pauseStop("p", pasar.Forever))
	rec := r.end()
	if rec.Exit != (pasar.Exit{Code: 75}) || rec.StopStep != pasar.StepFile || rec.Stop == nil || rec.Stop.ID != "p" {
		t.Errorf("%+v", rec)
	}
	if rec.Marker == nil || *rec.Marker != (pasar.Marker{Checkpoint: "/etc/hostname"}) {
		t.Errorf("marker %+v", rec.Marker)
	}
	if out := r.output(); strings.Contains(out, "term") || strings.Contains(out, "cont") {
		t.Errorf("it got a signal: %q", out)
	}
}

func TestAPauseThatWasObeyedBeforeItWasHeardOfIsInTheRecord(t *testing.T) {
	r := paused(t, ready("/etc/hostname")+"exit 75")
	if err := os.WriteFile(filepath.Join(r.dir, pasar.PauseFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.wait(ipc.AttemptExited)
	r.stop(pauseStop("p", pasar.Forever))
	if rec := r.end(); rec.Exit.Code != 75 || rec.StopStep != pasar.StepFile || rec.Stop == nil || rec.Stop.ID != "p" || rec.Leftovers != 0 {
		t.Errorf("%+v", rec)
	}
}

func TestAPauseFileThatNobodyMadeAStopForHoldsTheEndUpForAMoment(t *testing.T) {
	r := script(t, `D=${P%/*}; echo $$ > $P; : > $D/pause; exit 75`)
	if rec := r.end(); rec.Exit.Code != 75 || rec.StopStep != pasar.StepNone || rec.Stop != nil {
		t.Errorf("%+v", rec)
	}
}

func TestTheRecordSaysWhatIsMissingOfAMarker(t *testing.T) {
	for name, c := range map[string]struct {
		then, missing string
		code          int
		none          bool
	}{
		"75 without a marker":         {"exit 75", "no marker was written", 75, false},
		"75 with one that lies":       {ready("/no/such/ck") + "exit 75", "the marker names /no/such/ck, which is not there", 75, false},
		"75 with half a one":          {`printf '{"check' > $D/checkpoint.ready; exit 75`, `the marker is not JSON: {"checkpoint": "/path"} was wanted`, 75, false},
		"another code and no marker":  {"exit 3", "", 3, true},
		"another code and a good one": {ready("/etc") + "exit 3", "", 3, false},
	} {
		r := paused(t, c.then)
		r.ask(pauseStop("p", pasar.Forever))
		rec := r.end()
		if rec.Exit.Code != c.code || (rec.Marker == nil) != c.none || rec.Marker != nil && rec.Marker.Missing != c.missing {
			t.Errorf("%s: exit %+v, marker %+v", name, rec.Exit, rec.Marker)
		}
	}
}

func TestAMarkerNobodyAskedForIsRecordedToo(t *testing.T) {
	r := script(t, `D=${P%/*}; echo $$ > $P; `+ready("/etc")+"exit 75")
	rec := r.end()
	if rec.Stop != nil || rec.StopStep != pasar.StepNone || rec.Marker == nil || rec.Marker.Missing != "" {
		t.Errorf("%+v, marker %+v", rec, rec.Marker)
	}
}

func TestACancelReplacesAPauseThatWaits(t *testing.T) {
	r := paused(t, `while :; do sleep 0.01; done`)
	r.ask(pauseStop("p", pasar.Forever))
	r.ask(pauseStop("p", pasar.Forever)) // again
	r.stop(pasar.Stop{ID: "c", Why: pasar.StopCancel, Grace: pasar.Duration(300 * time.Millisecond)})
	rec := r.end()
	if rec.Stop == nil || rec.Stop.ID != "c" || rec.StopStep != pasar.StepKill || rec.Exit.Signal != 9 {
		t.Errorf("%+v", rec)
	}
	if n := strings.Count(r.output(), "term"); n != 1 {
		t.Errorf("%d SIGTERMs: %q", n, r.output())
	}
	r.mustBeGone(r.pids(1))
}

func TestAPauseDoesNotReplaceACancel(t *testing.T) {
	r := script(t, `trap 'echo term' TERM; echo $$ > $P; while :; do read x; done`)
	r.pids(1)
	c := r.attach(ipc.Hello{Mode: ipc.ModeWatch})
	r.stop(pasar.Stop{ID: "c", Why: pasar.StopCancel, Grace: pasar.Duration(time.Hour)})
	c.until("term\r\n")
	r.ask(pauseStop("p", pasar.Forever))
	r.stop(pasar.Stop{ID: "c", Why: pasar.StopCancel, Now: true})
	rec := r.end2(c)
	if rec.Stop == nil || rec.Stop.Why != pasar.StopCancel || rec.StopStep != pasar.StepKill {
		t.Errorf("%+v", rec)
	}
}

func TestAPauseThatGivesUpTerminatesAndKills(t *testing.T) {
	r := paused(t, `echo seen; while :; do sleep 0.01; done`)
	began := time.Now()
	s := pauseStop("p", pasar.Duration(400*time.Millisecond))
	s.Grace = pasar.Duration(300 * time.Millisecond)
	r.ask(s)
	rec := r.end()
	if took := time.Since(began); took < 700*time.Millisecond || rec.StopStep != pasar.StepKill || rec.Exit.Signal != 9 || rec.Marker != nil {
		t.Errorf("after %s: %+v", took, rec)
	}
	if out := r.output(); strings.Index(out, "seen") > strings.Index(out, "term") || strings.Count(out, "term") != 1 {
		t.Errorf("output %q", out)
	}
}

func TestToldLaterToGiveUpAPauseDoes(t *testing.T) {
	r := paused(t, `echo seen; while :; do sleep 0.01; done`)
	r.ask(pauseStop("p", pasar.Forever))
	s := pauseStop("q", pasar.Duration(time.Millisecond))
	s.Grace = pasar.Duration(100 * time.Millisecond)
	r.ask(s)
	rec := r.end()
	if rec.StopStep != pasar.StepKill || rec.Stop == nil || rec.Stop.ID != "q" {
		t.Errorf("%+v", rec)
	}
}

func TestWithoutSigtermAJobHasItsGraceAndThenIsKilled(t *testing.T) {
	stop := pasar.Stop{ID: "p", Why: pasar.StopPreempt, PauseFile: true, NoTerm: true, Grace: pasar.Duration(400 * time.Millisecond)}
	r := paused(t, `echo seen; while :; do sleep 0.01; done`)
	began := time.Now()
	r.ask(stop)
	rec := r.end()
	if took := time.Since(began); took < 400*time.Millisecond || rec.StopStep != pasar.StepKill || strings.Contains(r.output(), "term") {
		t.Errorf("after %s: %+v, output %q", took, rec, r.output())
	}

	r = paused(t, ready("/etc")+`sleep 1000 & echo $! >> $P; exit 75`) // what it leaves behind is a leftover
	stop.Grace = pasar.Duration(time.Hour)
	r.ask(stop)
	rec = r.end()
	if rec.Exit.Code != 75 || rec.StopStep != pasar.StepFile || rec.Marker == nil || rec.Marker.Missing != "" || rec.Leftovers != 1 {
		t.Errorf("%+v, marker %+v", rec, rec.Marker)
	}
	r.mustBeGone(r.pids(2))
}

func TestAStoppedJobThatIsNotToldByASignalIsWokenAllTheSame(t *testing.T) {
	r := script(t, `D=${P%/*}; echo $$ > $P; kill -STOP $$; until [ -e $D/pause ]; do sleep 0.01; done; exit 75`)
	pids := r.pids(1)
	eventually(t, patience, "the job has stopped itself", func() bool {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pids[0]))
		return strings.Contains(string(b), ") T ")
	})
	r.ask(pasar.Stop{ID: "p", Why: pasar.StopPreempt, PauseFile: true, NoTerm: true, Grace: pasar.Duration(time.Hour)})
	if rec := r.end(); rec.Exit.Code != 75 {
		t.Errorf("%+v", rec)
	}
}

func TestATermToTheSupervisorEndsAPauseThatWaits(t *testing.T) {
	r := paused(t, `while :; do sleep 0.01; done`)
	r.ask(pauseStop("p", pasar.Forever))
	c := r.attach(ipc.Hello{Mode: ipc.ModeWatch})
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	c.until("cont\r\n")
	r.stop(pasar.Stop{ID: "n", Why: pasar.StopCancel, Now: true})
	if rec := r.end2(c); rec.Exit.Signal != 9 || rec.Stop.ID != "n" {
		t.Errorf("%+v", rec)
	}
}

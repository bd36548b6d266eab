package web

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pasar"
)

// TestAnotherJobIsAskedForWithAllThatAJobTells goes through what a submit takes and what a job tells: a key that is added to
// either has to be carried over to another job like it, or to be said to be lost, or to stand here.
func TestAnotherJobIsAskedForWithAllThatAJobTells(t *testing.T) {
	carried := map[string][]string{ // a submit's keys, and the view's that they come from
		"command": {"argv", "command"}, "cwd": {"cwd"}, "name": {"name"}, "tags": {"tags"}, "note": {"note"}, "by": {"by"}, "bid": {"bid"}, "preempt": {"preempt"},
		"gpus": {"claim.kind", "claim.gpus"}, "mem": {"claim.mem", "claim.auto"}, "ram": {"claim.ram"}, "gpu_type": {"claim.type"}, "gpu_ids": {"claim.ids"}, "external": {"claim.external"},
		"time": {"est_runtime", "est_source"}, "time_limit": {"time_limit"}, "grace": {"grace"}, "non_preemptible": {"preemptible"}, "pausable": {"pausable"}, "resume_command": {"resume_command"},
		"retries": {"retries.max"}, "retry_on": {"retries.on"}, "after": {"after"}, "begin": {"begin"}, "points": {"index", "params"},
	}
	lost := []string{"env", "no_pty", "cols", "rows", "no_sigterm", "checkpoint_grace"}
	anew := []string{ // what is of one request alone, or would make a group or the same job
		"key", "hold", "request", "dry_run", "array", "param", "max_concurrent",
	}
	happens := strings.Fields(`schema id state reason summary queue_time created machine gpus usage over_limit run_time remaining projected waiting progress last_checkpoint
		retries.used attempts lost submitter git group max_concurrent key verdict cloud claim.limit`) // what became of the job, or is of it alone

	b, err := assets.ReadFile("assets/another.js")
	if err != nil {
		t.Fatal(err)
	}
	format, err := assets.ReadFile("assets/format.js") // reads the command for it
	if err != nil {
		t.Fatal(err)
	}
	code := string(b) + string(format)
	said := regexp.MustCompile(`export const lost = ".*";`).FindString(code)
	var tells []string
	for _, key := range keysOf(reflect.TypeFor[pasar.JobView]()) {
		switch key {
		case "claim":
			for _, k := range keysOf(reflect.TypeFor[pasar.ClaimView]()) {
				tells = append(tells, "claim."+k)
			}
		case "retries":
			for _, k := range keysOf(reflect.TypeFor[pasar.RetriesView]()) {
				tells = append(tells, "retries."+k)
			}
		default:
			tells = append(tells, key)
		}
	}
	var used []string
	for key, from := range carried {
		if !regexp.MustCompile(`\b` + key + `(:|",)`).MatchString(code) {
			t.Errorf("another.js doesn't set %s", key)
		}
		used = append(used, from...)
	}
	for _, key := range tells {
		switch known := slices.Contains(used, key); {
		case known == slices.Contains(happens, key):
			t.Errorf("a job tells %s: another one is asked for with it, or else it is what became of the job", key)
		case known && !strings.Contains(code, key[strings.Index(key, ".")+1:]):
			t.Errorf("another.js doesn't read %s", key)
		case slices.Contains(lost, key):
			t.Errorf("%s isn't lost: a job tells it", key)
		}
	}
	for _, key := range append(used, happens...) {
		if !slices.Contains(tells, key) {
			t.Errorf("no job tells %s", key)
		}
	}
	takes := keysOf(reflect.TypeFor[submitWords]())
	for _, key := range takes {
		n := 0
		for _, in := range [][]string{lost, anew} {
			if slices.Contains(in, key) {
				n++
			}
		}
		if _, ok := carried[key]; ok {
			n++
		}
		if n != 1 {
			t.Errorf("a submit takes %s: for another job it is carried over, lost, or said anew, and one of them", key)
		}
		if word := strings.Replace(key, "env", "environment", 1); slices.Contains(lost, key) && !regexp.MustCompile(`\b`+word+`\b`).MatchString(said) {
			t.Errorf("nobody is told that %s is lost", key)
		}
	}
	for _, key := range append(lost, anew...) {
		if !slices.Contains(takes, key) {
			t.Errorf("no submit takes %s", key)
		}
	}
}

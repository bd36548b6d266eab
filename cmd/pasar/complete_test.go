package main

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pasar"
	"pasar/ipc"
)

func TestCompletionKnowsWhatCanStandWhere(t *testing.T) {
	f := newFake(t, verbs{ipc.VerbList: func(_ context.Context, c *ipc.Call) error {
		running, held, queued, done := job(42, pasar.Running, ""), job(43, pasar.Queued, ""), job(44, pasar.Queued, ""), job(45, pasar.Failed, pasar.CodeExit)
		running.Tags, done.Tags = []string{"sweep", "a b", "$(x)"}, []string{"old"}
		running.Pausable, running.Group = true, pasar.Known(pasar.JobID(40))
		held.Waiting = &pasar.WaitingView{Why: pasar.WaitHeld}
		for _, v := range []pasar.JobView{running, held, queued, done} {
			if err := c.Chunk(append(jobView(t, v), '\n')); err != nil {
				return err
			}
		}
		return nil
	}}.handle)
	for _, tc := range []struct{ line, want string }{
		{"su", "submit"}, {"submit --tim", "--time --time-limit"}, {"show 4", "42 43 44 45"}, {"completion z", "zsh"}, {"help sta", "stats status"},
		{"submit ", ":commands"}, {"submit --mem 3G py", ":commands"}, {"submit -- py", ":commands"},
		{"submit python tr", ":files"}, {"submit python --", ":files"}, {"submit -- python --time", ":files"},
		{"submit --cwd ", ":files"}, {"submit --name ", ""}, {"submit --note x", ""}, {"submit --tag s", "sweep"}, {"ls --tag ", "old sweep"},
		{"ls --state r", "running"}, {"ls --state queued,r", "queued,running"}, {"ls --state=r", "running"},
		{"ls --color ", "auto always never"}, {"submit --color=n", "never"}, {"submit --note=", ""},
		{"wait --for ", "ended started"}, {"wait --any 4", "42 43 44"}, {"wait @", "@sweep"}, {"show @", "@old @sweep"},
		{"cancel ", "last 42 43 44"}, {"kill 4", "42 43 44"}, {"attach ", "last 42"}, {"attach -i 4", "42"}, {"hold ", "last 44"},
		{"release ", "last 43"}, {"restart ", "last 45"}, {"pause ", "last 42"}, {"resume ", "last"}, {"edit 4", "43 44"}, {"promote 4", "43 44"}, {"cancel gr", "group:40"}, {"drain ", "local"}, {"stats --by ", "day tag submitter machine reason"},
		{"submit --after 42,4", "42,42 42,43 42,44"}, {"console --theme ", "auto light dark"}, {"submit --external ", "share avoid"}, {"submit --job ", ":files"}, {"submit --mem a", "auto"}, {"gpus ", ""}, {"bid 42 ", ""}, {"show 42 ", ""}, {"logs -n ", ""}, {"logs -fn ", ""}, {"logs -f 45", "45"},
		{"nonsense ", ""}, {"status ", ""},
	} {
		r := f.run(append([]string{"__complete", "--"}, strings.Split(tc.line, " ")...)...)
		var words []string
		for l := range strings.Lines(r.out) {
			w, _, _ := strings.Cut(strings.TrimSuffix(l, "\n"), "\t")
			words = append(words, w)
		}
		if got := strings.Join(words, " "); r.code != 0 || got != tc.want {
			t.Errorf("%q: %q, want %q", tc.line, got, tc.want)
		}
	}
	if r := f.run("__complete", "--", "show", "42"); r.out != "42\ttrain, running\n" {
		t.Errorf("%q", r.out)
	}
	for _, sh := range []string{"bash", "zsh", "fish"} {
		if r := f.run("completion", sh); r.code != 0 || !strings.Contains(r.out, "pasar __complete") {
			t.Errorf("%s: %q", sh, r.out)
		}
	}
}

func TestBashCompletesProgramsFilesAndJobs(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
	h := newHome(t)
	h.pasar("submit", "--gpus", "0", "--hold", "--tag", "sweep", "true")
	if err := os.WriteFile(h.dir+"/train here.py", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const script = `source <(pasar completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pasar; printf '%s\n' "${COMPREPLY[@]}"`
	for line, want := range map[string]string{
		"submit pyth": "python3", "submit python3 tra": "train here.py", "submit --name ": "", "wait @": "@sweep", "ls --state que": "queued", "submit --cwd tra": "train here.py",
	} {
		c := exec.Command("bash", append([]string{"-c", script, "bash", "pasar"}, strings.Split(line, " ")...)...)
		c.Env, c.Dir = h.env, h.dir
		out, err := c.Output()
		got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		if err != nil || !slices.Contains(got, want) || want == "" && len(got) != 1 {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
}

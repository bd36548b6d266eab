package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pasar"
	"pasar/ipc"
)

func guide(t *testing.T, topic string) string {
	t.Helper()
	text, err := Guide(topic)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestTheGuideListsAllOfThePythonModule(t *testing.T) {
	src, err := os.ReadFile("../jobproto/python/pasar_job.py")
	if err != nil {
		t.Fatal(err)
	}
	_, all, _ := strings.Cut(string(src), "__all__ = [")
	all, _, _ = strings.Cut(all, "]")
	names := regexp.MustCompile(`"(\w+)"`).FindAllStringSubmatch(all, -1)
	if len(names) < 13 {
		t.Fatalf("__all__ has %d names", len(names))
	}
	text := guide(t, "jobs")
	for _, n := range names {
		if !strings.Contains(text, "`"+n[1]+"(") {
			t.Errorf("pasar_job.%s is not in the guide", n[1])
		}
	}
}

func TestEveryVariableInTheGuideIsSet(t *testing.T) {
	var src strings.Builder
	files, err := filepath.Glob("../target/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && !strings.HasSuffix(f, "_test.go") {
			src.Write(b)
		}
	}
	seen := 0
	for _, v := range regexp.MustCompile("`(PASAR_[A-Z_]+|CUDA_[A-Z_]+|XLA_[A-Z_]+)`").FindAllStringSubmatch(guide(t, "jobs"), -1) {
		seen++
		if !strings.Contains(src.String(), `"`+v[1]+`"`) && !strings.Contains(src.String(), `"`+strings.TrimPrefix(v[1], "PASAR_")+`"`) {
			t.Errorf("%s is not set by package target", v[1])
		}
	}
	if seen < 15 {
		t.Errorf("only %d variables were found", seen)
	}
}

func TestEveryVariableThatIsSetIsInTheGuide(t *testing.T) {
	src, err := os.ReadFile("../target/env.go")
	if err != nil {
		t.Fatal(err)
	}
	set := regexp.MustCompile(`\.set\("([A-Z_]+)"`).FindAllStringSubmatch(string(src), -1)
	if len(set) < 10 {
		t.Fatalf("only %d variables were found", len(set))
	}
	text := guide(t, "jobs")
	for _, v := range set {
		if !strings.Contains(text, "`"+v[1]+"`") {
			t.Errorf("%s is not in the guide", v[1])
		}
	}
}

func TestTheGuidesNameEveryCodeAProgramMayMeet(t *testing.T) {
	agents, api := guide(t, "agents"), guide(t, "api")
	for _, s := range pasar.States {
		if s != pasar.Awaiting && s != pasar.Paused && !strings.Contains(agents, "`"+string(s)+"`") {
			t.Errorf("state %s is not in the guide", s)
		}
	}
	for _, c := range []pasar.Confidence{pasar.Certain, pasar.Likely, pasar.Guess} {
		if !strings.Contains(agents, "`"+string(c)+"`") {
			t.Errorf("confidence %s is not in the guide", c)
		}
	}
	for _, c := range []ipc.Code{ipc.CodeBadRequest, ipc.CodeUnknownJob, ipc.CodeWrongState, ipc.CodeImpossible, ipc.CodeOverLimit,
		ipc.CodeUnavailable, ipc.CodeUnsupported, ipc.CodeVersion, ipc.CodeNotAllowed, ipc.CodeInterrupted, ipc.CodeInternal,
		ipc.CodeNoDaemon, ipc.CodeUsage, ipc.CodeBadInput, ipc.CodeLaunch} {
		if !strings.Contains(api, "`"+string(c)+"`") {
			t.Errorf("error code %s is not in the guide", c)
		}
	}
}

// Every reason is in the guide, and what that says of retries and exit codes is so.
func TestTheGuideExplainsEveryReason(t *testing.T) {
	text := guide(t, "reasons")
	item := regexp.MustCompile("^\\* `(\\w+)` \\((\\w+), (not )?retried\\): \\S")
	rows := map[pasar.Code][]string{} // blame, "not " or nothing, what to do
	section := map[pasar.Code]string{}
	heading, code := "", pasar.Code("")
	for line := range strings.Lines(text) {
		if h, ok := strings.CutPrefix(line, "## "); ok {
			heading = strings.TrimSpace(h)
		}
		if m := item.FindStringSubmatch(line); m != nil {
			code = pasar.Code(m[1])
			if rows[code] != nil {
				t.Errorf("%s is there twice", code)
			}
			rows[code], section[code] = []string{m[2], m[3], ""}, heading
		}
		if do, ok := strings.CutPrefix(line, "  What to do: "); ok && rows[code] != nil {
			rows[code][2] = strings.TrimSpace(do)
		}
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 && !strings.HasPrefix(line, "pasar ") {
			t.Errorf("%d columns are more than a terminal has: %s", n, line)
		}
	}
	blames := []pasar.Blame{pasar.BlameJob, pasar.BlameMachine, pasar.BlameEnvironment, pasar.BlamePasar, pasar.BlameUser, pasar.BlameProvider}
	for _, c := range pasar.Codes {
		r := rows[c]
		if r == nil {
			t.Errorf("%s is not in the guide", c)
			continue
		}
		if !slices.Contains(blames, pasar.Blame(r[0])) || r[2] == "" {
			t.Errorf("%s: %q", c, r)
		}
		if c.RetriedByDefault() != (r[1] == "") {
			t.Errorf("%s is retried: %v, and the guide says %sretried", c, c.RetriedByDefault(), r[1])
		}
		if c.ForMemory() != (section[c] == "Memory" || c == pasar.CodeOOM) {
			t.Errorf("%s stands under %q", c, section[c])
		}
		delete(rows, c)
	}
	for c := range rows {
		t.Errorf("the guide has the reason %s, which there is not", c)
	}
	for _, b := range blames {
		if !strings.Contains(text, "`"+string(b)+"`") {
			t.Errorf("blame %s is not in the guide", b)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runDoctor runs the program in a home of its own.
func runDoctor(t *testing.T, args ...string) (code int, stdout, stderr, home string) {
	t.Helper()
	home = shortDir(t)
	t.Setenv("HOME", home)
	for _, v := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "PASAR_SOCKET", "PASAR_CONFIG"} {
		t.Setenv(v, "")
	}
	var out, errs bytes.Buffer
	code = Run(context.Background(), append([]string{"doctor"}, args...), &out, &errs)
	return code, out.String(), errs.String(), home
}

func TestTheDoctorExaminesThisMachineAndLeavesNothing(t *testing.T) {
	code, stdout, stderr, home := runDoctor(t, "--json")
	var report struct {
		Schema             int
		Findings           []struct{ Check, Level, Found string }
		Problems, Warnings int
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	if report.Schema != 1 || len(report.Findings) < len(checks) || stderr != "" || strings.Count(stdout, "\n") != 1 {
		t.Errorf("%s\n%s", stdout, stderr)
	}
	problems := 0
	for _, f := range report.Findings {
		if f.Level == "problem" {
			problems++
		}
	}
	// A test binary has no supervisor beside it, so there is a problem at least.
	if problems == 0 || report.Problems != problems || code != 1 {
		t.Errorf("%d problems, %d counted, exit %d", problems, report.Problems, code)
	}
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}

func TestBadArgumentsOfTheDoctor(t *testing.T) {
	for _, args := range [][]string{{"--bad"}, {"now"}, {"--color", "blue"}, {"--config"}, {"--\x1b[2J"}} {
		code, stdout, stderr, _ := runDoctor(t, args...)
		if code != exitUsage || stdout != "" || strings.Count(stderr, "pasard: ") != 1 || strings.Contains(stderr, "\x1b") {
			t.Errorf("%q: exit %d, %q, %q", args, code, stdout, stderr)
		}
	}
}

func TestTheDoctorHasHelp(t *testing.T) {
	code, stdout, stderr, _ := runDoctor(t, "--help")
	for _, want := range []string{"usage: pasar doctor", "--json", "--config FILE", "exit codes: 0"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("help lacks %q", want)
		}
	}
	if code != 0 || stderr != "" {
		t.Errorf("exit %d, %q", code, stderr)
	}
}

func TestTheDoctorReadsTheConfigurationItIsGiven(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.toml")
	if err := os.WriteFile(file, []byte("\n\ndefault_bid = 'much'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stdout, _, _ := runDoctor(t, "--config", file)
	first, _, _ := strings.Cut(stdout, "\n")
	if !strings.HasPrefix(first, "problem  configuration") || !strings.Contains(first, file+":3: default_bid") {
		t.Errorf("it begins with %q", first)
	}
}

func TestTheReportForPeople(t *testing.T) {
	findings := []finding{
		found(gpusFine, "", "0 NVIDIA H100"),
		found(dataOpen, "chmod 700 /d", "/d can be entered by others"),
		found(ptmxBroken, "let it be opened", "bad \x1b[2J\n\u202e name"),
	}
	const want = `ok       GPUs            0 NVIDIA H100
warning  data directory  /d can be entered by others
                         fix: chmod 700 /d
problem  terminals       bad \x1b[2J\n\u202e name
                         fix: let it be opened
1 problem and 1 warning: see to the problems first.
`
	var b bytes.Buffer
	if err := printFindings(&b, findings, false); err != nil || b.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, b.String(), want)
	}
	b.Reset()
	if err := printFindings(&b, findings[1:2], true); err != nil || !strings.HasPrefix(b.String(), "\x1b[33mwarning\x1b[0m  data directory  ") {
		t.Errorf("in colour: %q, %v", b.String(), err)
	}
}

func TestTheReportInJSON(t *testing.T) {
	findings := []finding{found(gpusFine, "", "0 NVIDIA H100"), found(dataOpen, "chmod 700 /d", "/d is open")}
	const want = `{"schema":1,"findings":[` +
		`{"check":"GPUs","level":"ok","found":"0 NVIDIA H100","fix":null},` +
		`{"check":"data directory","level":"warning","found":"/d is open","fix":"chmod 700 /d"}],"problems":0,"warnings":1}` + "\n"
	var b bytes.Buffer
	if err := printFindingsJSON(&b, findings, true); err != nil || b.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, b.String(), want)
	}
}

func TestTheSummary(t *testing.T) {
	problem, warning := finding{Level: levelProblem}, finding{Level: levelWarning}
	for want, findings := range map[string][]finding{
		"All is well: jobs can run.":                           {{Level: levelOK}, {Level: levelNote}},
		"No problems, 1 warning: jobs can run.":                {warning},
		"2 problems to see to.":                                {problem, problem},
		"1 problem and 2 warnings: see to the problems first.": {problem, warning, warning},
	} {
		if got := summary(findings); got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
}

func TestOffATerminalThereIsNoColor(t *testing.T) {
	none := func(string) string { return "" }
	var b bytes.Buffer
	if takesColor(&b, none) {
		t.Error("a buffer takes colour")
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if takesColor(f, none) {
		t.Error("/dev/null takes colour")
	}
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pty.Close()
	if !takesColor(pty, none) {
		t.Error("a terminal takes no colour")
	}
	for _, v := range []string{"NO_COLOR", "TERM"} {
		if takesColor(pty, func(k string) string { return map[string]string{v: "dumb"}[k] }) {
			t.Errorf("a terminal takes colour in spite of %s", v)
		}
	}
}

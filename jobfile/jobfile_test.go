package jobfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func show(settings []Setting) string {
	var out []string
	for _, s := range settings {
		for _, v := range s.Values {
			out = append(out, fmt.Sprintf("%d:--%s=%s", s.Line, s.Flag, v))
		}
	}
	return strings.Join(out, " ")
}

func TestTOMLAndYAMLSayTheSame(t *testing.T) {
	const toml = `# a job
name = "train"
mem = "24G"
gpus = 2
time_limit = "2h"
tag = ["a", "b"]
hold = true
begin = 2026-12-01T08:00:00
command = ["python", "train.py", "--lr={lr}"]
[env]
A = "1"
B = 2
[param]
lr = ["1e-5", "3,4"]
`
	const yaml = `# a job
name: train
mem: 24G
gpus: 2
time_limit: 2h
tag: [a, b]
hold: true
begin: 2026-12-01T08:00:00
command:
  - python
  - train.py
  - --lr={lr}
env:
  A: "1"
  B: 2
param:
  lr: ["1e-5", "3,4"]
`
	for name, text := range map[string]string{"j.toml": toml, "j.yaml": yaml, "j.yml": yaml, "job": toml} {
		f, err := Read(write(t, name, text))
		if err != nil {
			t.Fatal(name, err)
		}
		want := `2:--name=train 3:--mem=24G 4:--gpus=2 5:--time-limit=2h 6:--tag=a 6:--tag=b 7:--hold=true 8:--begin=2026-12-01T08:00:00`
		if got := show(f.Settings); !strings.HasPrefix(got, want) || !strings.Contains(got, ":--env=A=1") || !strings.Contains(got, ":--env=B=2") ||
			!strings.HasSuffix(got, `:--param=lr=1e-5,"3,4"`) {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
		if got := strings.Join(f.Command, "|"); got != "python|train.py|--lr={lr}" {
			t.Errorf("%s: command %q", name, got)
		}
	}
}

func TestNamesThatPeopleBringAlongAreUnderstood(t *testing.T) {
	f, err := Read(write(t, "j.yaml", "job_name: x\ngpus: [0, 3]\ngpu_count: 1\nworkdir: /data\nenvironment: {A: b}\npriority: 5\npreemptible: false\ntags: [t]\ncmd: |\n  make data\n  make\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := show(f.Settings); got != "1:--name=x 2:--gpu-ids=0,3 3:--gpus=1 4:--cwd=/data 5:--env=A=b 6:--bid=5 7:--non-preemptible=true 8:--tag=t" {
		t.Error(got)
	}
	if len(f.Command) != 1 || f.Command[0] != "make data\nmake" {
		t.Errorf("%q", f.Command)
	}
}

func TestAMistakeHasItsFileAndLine(t *testing.T) {
	for name, texts := range map[string]map[string]string{
		"j.toml": {"a = 1\nb = \n": ":2: ", "a = 1\na = 2": ":2: ", "x = [[1]]": ":1: x: a list may have", "[x]\n[x.y]\nz = 1": ":1: x: a table within a table", "[name]\na = 1": ":1: name: it takes a value",
			"name = 'a'\njob_name = 'b'": ":2: job_name: the same stands in line 1", "command = []": ":1: command: the command is empty", "[[x]]\na=1": ":1: x: a list of tables",
			"[env]\nA = ['x', 'y']": ":1: env.A: a variable has one value"},
		"j.yaml": {"a: 1\nb: [1\n": ":", "- a\n- b\n": ":1: it isn't a mapping", "a: b\n---\nc: d\n": ":3: a second document", "a: {b: {c: d}}": ":1: a value is", "a: &x 1": ":1: a value is", "a: !!str 1": ":1: a value is",
			"a:\nb: 1": ":1: a name without a value", "a: [[1]]": ":1: a value is", strings.Repeat("[", 1000): ": it is nested too deeply", "a: 1\na: 2\n": ":2: "},
	} {
		for text, want := range texts {
			path := write(t, name, text)
			_, err := Read(path)
			var e *Error
			if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), path+want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %v, want %s%s", text, err, name, want)
			}
		}
	}
	if _, err := Read(t.TempDir() + "/none.toml"); err == nil || !strings.HasSuffix(err.Error(), "none.toml: no such file or directory") {
		t.Error(err)
	}
	if _, err := Read(write(t, "big.toml", strings.Repeat("#", MaxFile+1))); err == nil || !strings.HasSuffix(err.Error(), "larger than 256 KiB") {
		t.Error(err)
	}
	if f, err := Read(write(t, "empty.yaml", "# nothing\n")); err != nil || len(f.Settings) != 0 || f.Command != nil {
		t.Error(f, err)
	}
}

func TestLinesAtTheTopOfAScriptAreRead(t *testing.T) {
	s, err := ReadScript(write(t, "train.sh", `#!/bin/sh
#PASAR --time 2h --note "two words" # a comment
#PASARX --not ours

# a comment
#SBATCH -J train
#SBATCH --time=1-12:30:00
#SBATCH --gres=gpu:h100:2,fs:1 --mem=16G
#SBATCH -d afterok:41:42,afterany:43,singleton
#SBATCH --array 0-9%2
#SBATCH -o out.%j -p gpu --mail-type=END
#SBATCH --begin=now+2hours
echo go
#PASAR --bid 5
`))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Lines) != 1 || s.Lines[0].Number != 2 || strings.Join(s.Lines[0].Words, "|") != "--time|2h|--note|two words" {
		t.Errorf("%+v", s.Lines)
	}
	want := "6:--name=train 7:--time=1d12h30m 8:--gpus=2 8:--gpu-type=h100 8:--ram=16G 9:--after=41 9:--after=42 9:--after=43:any 10:--array=0-9%2 12:--begin=+2h"
	if got := show(s.Settings); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := strings.Join(s.Unknown, " "); got != "--partition --mail-type" {
		t.Error(got)
	}
	notes := strings.Join(s.Notes, "\n")
	for _, want := range []string{"--time is an estimate here", "--gres fs:1: only GPUs", "host memory, which is --ram", "--dependency singleton: only", "`pasar logs`"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note %q in %q", want, notes)
		}
	}
}

func TestSlurmsTimesAreWhatSlurmSays(t *testing.T) {
	for in, want := range map[string]string{"90": "1h30m", "90:30": "1h30m30s", "1:30:00": "1h30m", "2-12": "2d12h", "2-12:30": "2d12h30m", "2-12:30:05": "2d12h30m5s", "00:05:00": "5m", "0": "", "UNLIMITED": ""} {
		s, err := parseScript([]byte("#SBATCH -t " + in + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimPrefix(show(s.Settings), "1:--time="); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	for _, bad := range []string{"x", "1:2:3:4", "1-2:3:4:5", "-5", "1-"} {
		if s, err := parseScript([]byte("#SBATCH --time=" + bad)); err == nil {
			t.Errorf("%s is taken for %s", bad, show(s.Settings))
		}
	}
}

func TestABadLineOfAScriptHasItsNumber(t *testing.T) {
	for text, want := range map[string]string{
		"#!/bin/sh\n#PASAR --note 'x": ":2: #PASAR: a quote is not closed", "#SBATCH --time": ":1: #SBATCH --time needs a value", "#SBATCH train": `:1: #SBATCH "train" is no option`,
		"#SBATCH -G x": ":1: #SBATCH --gpus: ", "#SBATCH --mem=lots": ":1: #SBATCH --mem: ", "#SBATCH -d afterok:x": ":1: #SBATCH --dependency: ", "#SBATCH -b now+2fortnights": ":1: #SBATCH --begin: ",
	} {
		path := write(t, "s", text)
		if _, err := ReadScript(path); err == nil || !strings.HasPrefix(err.Error(), path+want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for _, path := range []string{"/no/such", t.TempDir(), "/dev/zero", write(t, "b", "\x00\x01\x02"), write(t, "e", "")} {
		if s, err := ReadScript(path); err != nil || len(s.Lines)+len(s.Settings) != 0 {
			t.Errorf("%s: %+v, %v", path, s, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("a = 1\n[env]\nb = 'c'"), false)
	f.Add([]byte("a: 1\nenv: {b: c}\nd:\n  - e\n"), true)
	f.Add([]byte("a: |\n  x\n y\n"), true)
	f.Add([]byte("? a\n: b"), true)
	f.Fuzz(func(t *testing.T, b []byte, yaml bool) {
		if len(b) > 4<<10 {
			return
		}
		parse := parseTOML
		if yaml {
			parse = parseYAML
		}
		keys, err := parse(b)
		if err != nil {
			return
		}
		file, err := assemble(keys)
		if err == nil && file.Command != nil && file.Command[0] == "" {
			t.Errorf("%q: an empty command", b)
		}
	})
}

func FuzzParseScript(f *testing.F) {
	f.Add([]byte("#!/bin/sh\n#PASAR --time 2h 'a b'\n#SBATCH -t 1-2 -G h100:2 --gres=gpu:1 -d afterok:1\n"))
	f.Add([]byte("#SBATCH --begin=now+1hour --mem=1G -N 2\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseScript(b)
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.Line < 1) {
			t.Errorf("%q: %v", b, err)
		}
		if err == nil {
			for _, set := range s.Settings {
				if set.Line < 1 || len(set.Values) == 0 {
					t.Errorf("%q: %+v", b, set)
				}
			}
		}
	})
}

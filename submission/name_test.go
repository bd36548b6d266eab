package submission

import (
	"strings"
	"testing"
)

func TestAJobIsNamedForItsProgramOrScript(t *testing.T) {
	for line, want := range map[string]string{
		"train":                              "train",
		"./bin/train":                        "train",
		"python train.py":                    "train",
		"python3.12 -u src/train.py --lr 3":  "train",
		"python -m pkg.train --x":            "pkg.train",
		"python -c print(1)":                 "python",
		"bash run.sh":                        "run",
		"uv run python train.py":             "train",
		"torchrun --standalone train.py":     "train",
		"accelerate launch train.py":         "train",
		"env A=1 python train.py":            "train",
		"A=1 B=2":                            "B=2",
		"python":                             "python",
		"/bin/sh -c python|train.py|--x":     "train",
		"/bin/sh -c make|data|&&|make":       "make",
		"/bin/sh -c X=1|./go.sh":             "go",
		"/bin/sh -c for|i|in|1;|do|x;|done":  "sh",
		"/bin/sh -c env|>|x":                 "env",
		"/bin/sh -c (python|train.py;|ls)":   "train",
		"/bin/sh -c |":                       "",
		"sh":                                 "sh",
		"\x1b[31mred":                        `\x1b[31mred`,
		strings.Repeat("é", 200):             strings.Repeat("é", 100),
		"nice -n 5 python train.py":          "train",
		"timeout 1.5h ./train.sh":            "train",
		"/usr/bin/env -S python3 a/b/c.d.py": "c.d",
	} {
		argv := strings.Fields(line)
		for i := range argv {
			argv[i] = strings.ReplaceAll(argv[i], "|", " ")
		}
		if got := Name(argv); got != want {
			t.Errorf("%q is named %q, want %q", line, got, want)
		}
	}
}

package docs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// A market is a throw-away pasar: directories of its own and freshly built programs.
type market struct {
	t    *testing.T
	work string
	env  []string
}

func newMarket(t *testing.T) *market {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	build := exec.Command("go", "build", "-o", bin+"/", "../cmd/pasar", "../cmd/pasard", "../cmd/pasar-supervisor")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	m := &market{t: t, work: filepath.Join(dir, "work")}
	if err := os.Mkdir(m.work, 0o700); err != nil {
		t.Fatal(err)
	}
	m.env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "PASAR_EVENTS=" + filepath.Join(dir, "events")}
	t.Cleanup(func() {
		m.run(`ids=$(pasar ls --json --state queued,starting,running,stopping | grep -o '"id":[0-9]*' | cut -d: -f2)
			[ -z "$ids" ] || { pasar cancel --now $ids; pasar wait $ids; }; pasar shutdown`)
	})
	return m
}

// run runs a line in a shell, with nothing to read, and returns its exit code and output.
func (m *market) run(line string) (int, string) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", line)
	cmd.Dir, cmd.Env = m.work, m.env
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		m.t.Errorf("never ended: %s\n%s", line, out)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		m.t.Fatalf("%s: %v", line, err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// example makes a documented command one that can be run here: on a small machine, with programs that
// are there, and to an end.
func example(line string) string {
	line = regexp.MustCompile(`\bfacts -f\b`).ReplaceAllString(line, "facts")
	line = regexp.MustCompile(`CMD( ARGS)?…|CMD \[ARG…\]`).ReplaceAllString(line, "true")
	for _, r := range [][2]string{{"python3 ", "true "}, {"24G", "64M"}, {"$id", "42"}, {"--write DIR", "--write ."}, {"new.toml", "/dev/null"}, {"SEQ", "0"}, {"--hold ", ""}, {"[flags] ", ""}, {" --watch", ""}, {"--job job.toml", "true"}, {"--param-file points.csv", "--param lr=1"}} {
		line = strings.ReplaceAll(line, r[0], r[1])
	}
	return line
}

func TestEveryCommandInADocument(t *testing.T) {
	m := newMarket(t)
	t.Run("Exists", func(t *testing.T) { checkExist(t, m) })
	t.Run("Runs", func(t *testing.T) { checkRun(t, m) })
}

func checkRun(t *testing.T, m *market) {
	const seed = "for i in $(seq 44); do pasar submit --parsable --gpus 0 --tag sweep7 -- true || exit; done && pasar wait 1-44"
	if code, out := m.run(seed); code != 0 {
		t.Fatalf("exit %d:\n%s", code, out)
	}
	docs := documents(t)
	done := map[string]bool{}
	for _, file := range slices.Sorted(maps.Keys(docs)) {
		for _, line := range commandsIn(docs[file]) {
			line = example(line)
			// After the first two nothing would start; the last needs a terminal.
			if name, _ := splitCommand(line); done[line] || slices.Contains([]string{"shutdown", "drain", "console"}, name) {
				continue
			}
			done[line] = true
			// 70 is a refusal: there may be no such job, or not in that state. 64, 65, 69 and 77 would be our mistake.
			code, out := m.run("pasar " + line)
			if !slices.Contains([]int{0, 1, 2, 3, 4, 5, 70}, code) || strings.HasPrefix(out, "bash: ") {
				t.Errorf("%s: exit %d: pasar %s\n%s", file, code, line, indent(out))
			}
		}
	}
	if len(done) < 40 {
		t.Errorf("only %d commands were found in the documents", len(done))
	}
}

func indent(s string) string {
	return fmt.Sprintf("\t%s", strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n\t"))
}

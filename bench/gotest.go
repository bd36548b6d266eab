package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// measureGo runs the benchmarks of the packages. Those that the table of docs/performance.md names get
// lines of their own; all of them are printed as they come.
func measureGo(ctx context.Context, l *lab) ([]result, error) {
	args := []string{"test", "-run", "^$", "-bench", ".", "-benchmem", "-count", "3", "-benchtime", "0.3s", "pasar/..."}
	if l.quick {
		args = []string{"test", "-run", "^$", "-bench", "BenchmarkDecide|BenchmarkProject", "-benchmem", "-benchtime", "20ms", "pasar/sched"}
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+l.dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, l.log), l.log
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("go test -bench: %w", err)
	}
	lines := parseBenchmarks(out.String())
	var rs []result
	for _, c := range []struct {
		name, what string
		limit      float64 // ms
	}{
		{"BenchmarkDecide/1000", "one pass of Decide, 1 000 queued, 8 GPUs", 0},
		{"BenchmarkDecide/10000", "one pass of Decide, 10 000 queued, 8 GPUs", 5},
		{"BenchmarkDecide/100000", "one pass of Decide, 100 000 queued, 8 GPUs", 60},
		{"BenchmarkDecideDistinct/10000", "one pass of Decide, 10 000 queued, no two alike", 5},
		{"BenchmarkDecideDistinct/100000", "one pass of Decide, 100 000 queued, no two alike", 60},
		{"BenchmarkProject/10000_alike", "projection of everything, 10 000 queued in four shapes, 8 GPUs", 250},
		{"BenchmarkProject/10000_distinct", "projection of everything, 10 000 queued, no two alike", 250},
	} {
		s := series{Unit: "ms"}
		for _, b := range lines {
			if b.name == c.name {
				s.Values = append(s.Values, b.metrics["ns/op"]/1e6)
			}
		}
		if len(s.Values) == 0 {
			err = cmp.Or(err, fmt.Errorf("%s was not run", c.name))
			continue
		}
		r := result{What: c.what, Value: s}
		if c.limit > 0 {
			r.Reach = atMost(c.limit)
		}
		rs = append(rs, r)
	}
	return rs, err
}

// A benchmark is one line that `go test -bench` printed.
type benchmark struct {
	name    string // without the number of processors
	metrics map[string]float64
}

// parseBenchmarks reads the lines that are benchmarks and skips all others.
func parseBenchmarks(out string) []benchmark {
	var bs []benchmark
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 4 || len(f)%2 != 0 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		b := benchmark{name: f[0], metrics: map[string]float64{}}
		if i := strings.LastIndexByte(f[0], '-'); i > 0 {
			if _, err := strconv.Atoi(f[0][i+1:]); err == nil {
				b.name = f[0][:i]
			}
		}
		for i := 2; i+1 < len(f); i += 2 {
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				b.metrics = nil
				break
			}
			b.metrics[f[i+1]] = v
		}
		if b.metrics != nil {
			bs = append(bs, b)
		}
	}
	return bs
}

package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/sched"
)

// Limits of a trace.
const (
	maxTrace     = 256 << 20 // bytes of the file
	maxTraceJobs = 1_000_000
	maxTraceTime = 100 * 365 * 24 * time.Hour
	maxTraceGPUs = 1024
)

// A trace is a file of jobs as they came and ran, for `pasar plan`.
type trace struct {
	ids       []string
	jobs      []sched.TraceJob
	skipped   int
	estimates string
}

// Columns of a trace. Those that aren't there have a default, and others are passed over.
const (
	colID, colSubmit, colRun, colGPUs = "job_id", "submit_s", "duration_s", "gpus"
	colPart, colEstimate, colBid      = "share", "estimate_s", "bid"
)

// readTrace reads a trace for a machine with some GPUs. Its errors name the line.
func readTrace(file string, r io.Reader, gpus int) (*trace, error) {
	bad := func(line int, format string, args ...any) error {
		return problemf(ipc.CodeBadInput, "%s:%d: %s", pasar.Clean(file), line, fmt.Sprintf(format, args...))
	}
	limited := &io.LimitedReader{R: r, N: maxTrace + 1}
	c := csv.NewReader(limited)
	c.ReuseRecord, c.FieldsPerRecord, c.TrimLeadingSpace = true, -1, true
	head, err := c.Read()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil, bad(1, "the trace is empty").(problem).hint(traceForm)
		}
		return nil, csvProblem(file, err)
	}
	at, err := traceColumns(head)
	if err != nil {
		return nil, bad(1, "%v", err).(problem).hint(traceForm)
	}
	t := &trace{estimates: "exact"}
	if at[colEstimate] >= 0 {
		t.estimates = "trace"
	}
	seen := map[string]bool{}
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, csvProblem(file, err)
		}
		line, _ := c.FieldPos(0)
		j, id, err := traceRow(row, at)
		if err != nil {
			return nil, bad(line, "%v", err)
		}
		if seen[id] {
			return nil, bad(line, "job %s is there twice", pasar.Clean(id))
		}
		if j.GPUs > gpus || j.GPUs < 1 || j.Run <= 0 {
			t.skipped++
			continue
		}
		if len(t.jobs) == maxTraceJobs {
			return nil, bad(line, "more than %d jobs", maxTraceJobs)
		}
		id = strings.Clone(id)
		seen[id] = true
		if at[colEstimate] < 0 {
			j.Estimate = j.Run
		}
		t.ids, t.jobs = append(t.ids, id), append(t.jobs, j)
	}
	if limited.N <= 0 {
		return nil, problemf(ipc.CodeBadInput, "%s: larger than %s", pasar.Clean(file), pasar.Bytes(maxTrace))
	}
	if len(t.jobs) == 0 {
		return nil, problemf(ipc.CodeBadInput, "%s: no job that could run on %d GPUs", pasar.Clean(file), gpus).hint(traceForm)
	}
	return t, nil
}

const traceForm = "a line of headings, job_id,submit_s,duration_s,gpus,share,estimate_s,bid (the last three may be missing), and a line for each job"

func csvProblem(file string, err error) error {
	var p *csv.ParseError
	if errors.As(err, &p) {
		return problemf(ipc.CodeBadInput, "%s:%d: %v", pasar.Clean(file), p.Line, p.Err)
	}
	return problemf(ipc.CodeBadInput, "read %s: %v", pasar.Clean(file), err)
}

// traceColumns says where each column is; -1 where it isn't.
func traceColumns(head []string) (map[string]int, error) {
	at := map[string]int{}
	for _, name := range []string{colID, colSubmit, colRun, colGPUs, colPart, colEstimate, colBid} {
		at[name] = slices.IndexFunc(head, func(h string) bool {
			return strings.TrimSpace(strings.TrimPrefix(h, "\ufeff")) == name // some spreadsheets write a byte order mark
		})
	}
	for _, name := range []string{colID, colSubmit, colRun, colGPUs} {
		if at[name] < 0 {
			return nil, fmt.Errorf("there is no column %s", name)
		}
	}
	return at, nil
}

func traceRow(row []string, at map[string]int) (sched.TraceJob, string, error) {
	field := func(name string) string {
		if i := at[name]; i >= 0 && i < len(row) {
			return strings.TrimSpace(row[i])
		}
		return ""
	}
	var j sched.TraceJob
	id := field(colID)
	if id == "" {
		return j, "", fmt.Errorf("%s is empty", colID)
	}
	var err error
	number := func(name string, otherwise, least, most float64) float64 {
		s := field(name)
		if s == "" {
			return otherwise
		}
		v, perr := strconv.ParseFloat(s, 64)
		if err == nil && (perr != nil || math.IsNaN(v) || v < least || v > most) {
			err = fmt.Errorf("bad %s %q: want a number from %g to %g", name, pasar.Clean(s), least, most)
		}
		return v
	}
	seconds := func(name string) time.Duration {
		return time.Duration(math.Round(number(name, 0, 0, maxTraceTime.Seconds()) * 1e9))
	}
	for _, name := range []string{colSubmit, colRun, colGPUs} {
		if field(name) == "" {
			return j, id, fmt.Errorf("%s is empty", name)
		}
	}
	j.Submit, j.Run, j.Estimate = seconds(colSubmit), seconds(colRun), seconds(colEstimate)
	j.GPUs = int(number(colGPUs, 1, 0, 1<<20))
	j.Part = number(colPart, 1, 0, 1)
	j.Bid = pasar.Bid(number(colBid, float64(pasar.DefaultBid), float64(pasar.MinBid), float64(pasar.MaxBid)))
	if err == nil && j.Part == 0 {
		err = fmt.Errorf("%s is 0: want a part of a GPU, at most 1", colPart)
	}
	return j, id, err
}

// score is what became of the trace in numbers.
func (t *trace) score(runs []sched.TraceRun, gpus int) pasar.TraceView {
	v := pasar.TraceView{Schema: pasar.Schema, GPUs: gpus, Jobs: len(runs), Skipped: t.skipped, Estimates: t.estimates}
	first, last, end := t.jobs[0].Submit, t.jobs[0].Submit, time.Duration(0)
	for i := range t.jobs {
		first, last, end = min(first, t.jobs[i].Submit), max(last, t.jobs[i].Submit), max(end, runs[i].End)
	}
	waits, slows := make([]float64, len(runs)), make([]float64, len(runs))
	busy := 0.0
	for i := range runs {
		j, r := &t.jobs[i], &runs[i]
		wait, run := (r.Start - j.Submit).Seconds(), j.Run.Seconds()
		waits[i], slows[i] = wait, max(1, (wait+run)/max(run, 10))
		busy += max(0, (min(r.End, last)-max(r.Start, first)).Seconds()) * float64(j.GPUs) * j.Part
	}
	slices.Sort(waits)
	slices.Sort(slows)
	v.MeanWait, v.P50Wait, v.P99Wait, v.MaxWait = mean(waits), ranked(waits, 0.5), ranked(waits, 0.99), waits[len(waits)-1]
	v.MeanSlow, v.P99Slow = mean(slows), ranked(slows, 0.99)
	if last > first {
		v.Util = busy / (float64(gpus) * (last - first).Seconds())
	}
	v.Makespan = (end - first).Seconds()
	return v
}

func mean(sorted []float64) float64 {
	sum := 0.0
	for _, v := range sorted {
		sum += v
	}
	return sum / float64(len(sorted))
}

// ranked is the value below which the part q of all lies.
func ranked(sorted []float64, q float64) float64 {
	return sorted[min(len(sorted)-1, int(float64(len(sorted))*q))]
}

// writeSchedule writes one line for each run.
func (t *trace) writeSchedule(w io.Writer, runs []sched.TraceRun) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"job_id", "start_s", "end_s", "gpu_ids"}) // Flush tells of errors
	for i := range runs {
		var on strings.Builder
		for k, g := range runs[i].GPUs {
			if k > 0 {
				on.WriteByte('+')
			}
			on.WriteString(strconv.Itoa(g))
		}
		_ = c.Write([]string{t.ids[i], seconds(runs[i].Start), seconds(runs[i].End), on.String()})
	}
	c.Flush()
	return c.Error()
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

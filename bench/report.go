package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"pasar"
)

// A result is one line of the table.
type result struct {
	What    string
	Value   series
	Against string // the floor or the peer; none: the number stands alone
	Other   series
	Reach   reach
	Note    string
}

// A reach is the number to reach. The zero reach is none: the line is information.
type reach struct {
	limit   float64
	atLeast bool // else at most
	ratio   bool // of Value to Other; else of Value
}

func atMost(limit float64) reach       { return reach{limit: limit} }
func atLeast(limit float64) reach      { return reach{limit: limit, atLeast: true} }
func ratioAtMost(limit float64) reach  { return reach{limit: limit, ratio: true} }
func ratioAtLeast(limit float64) reach { return reach{limit: limit, ratio: true, atLeast: true} }

func (r result) ratio() float64 {
	if r.Against == "" || len(r.Other.Values) == 0 {
		return math.NaN()
	}
	return r.Value.median() / r.Other.median()
}

// met is nil when there is nothing to reach or nothing to compare with.
func (r result) met() *bool {
	v := r.Value.median()
	if r.Reach.ratio {
		v = r.ratio()
	}
	if r.Reach == (reach{}) || math.IsNaN(v) {
		return nil
	}
	ok := v <= r.Reach.limit
	if r.Reach.atLeast {
		ok = v >= r.Reach.limit
	}
	return &ok
}

func (r reach) text(unit string) string {
	if r == (reach{}) {
		return ""
	}
	s := "≤ "
	if r.atLeast {
		s = "≥ "
	}
	s += strconv.FormatFloat(r.limit, 'g', -1, 64)
	if r.ratio {
		return s + "×"
	}
	return s + " " + unit
}

// A report is all that was measured in one run.
type report struct {
	quick        bool
	began        time.Time
	load, loaded string // load average before and after
	groups       []group
}

type group struct {
	row     row
	results []result
	err     error
	took    time.Duration
}

func newReport(o options) *report {
	return &report{quick: o.quick, began: time.Now(), load: loadAverage()}
}

func (p *report) add(r row, results []result, err error, took time.Duration) {
	p.groups = append(p.groups, group{r, results, err, took})
}

func (p *report) end() { p.loaded = loadAverage() }

func (p *report) failed() bool {
	for _, g := range p.groups {
		if g.err != nil {
			return true
		}
	}
	return false
}

// busy reports whether others used the machine when the run began.
func (p *report) busy() bool {
	v, err := strconv.ParseFloat(firstField(p.load), 64)
	return err == nil && v > 0.3*float64(runtime.NumCPU())
}

const notYet = `Not measured here: the quality of schedules, which depends on the jobs; see "pasar plan --help".`

func (p *report) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "pasar %s, %s, %d × %s, Linux %s, %s\n", pasar.Version, p.began.Format("2006-01-02 15:04"), runtime.NumCPU(), cpuModel(), kernel(), runtime.Version())
	fmt.Fprintf(&b, "load average %s before, %s after", p.load, p.loaded)
	if p.busy() {
		b.WriteString("; the machine was busy, so trust ratios more than times")
	}
	if p.quick {
		b.WriteString("; quick run: not to be quoted")
	}
	b.WriteString("\nMedians over interleaved runs, with the least and the most.\n\n")
	table := [][]string{{"what", "measured", "against", "ratio", "to reach", "met"}}
	for _, g := range p.groups {
		for _, r := range g.results {
			table = append(table, r.cells())
		}
		if g.err != nil {
			table = append(table, []string{g.row.name + " FAILED: " + g.err.Error()})
		}
	}
	writeTable(&b, table)
	b.WriteByte('\n')
	for _, g := range p.groups {
		for _, r := range g.results {
			if r.Note != "" {
				fmt.Fprintf(&b, "%s: %s\n", r.What, r.Note)
			}
		}
	}
	b.WriteString(notYet + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (r result) cells() []string {
	against, ratio, met := r.Against, "", ""
	if against != "" && len(r.Other.Values) > 0 {
		against += " " + r.Other.String()
		ratio = digits(r.ratio()) + "×"
	}
	if m := r.met(); m != nil {
		met = map[bool]string{true: "yes", false: "NO"}[*m]
	}
	return []string{r.What, r.Value.String(), against, ratio, r.Reach.text(r.Value.Unit), met}
}

// writeTable writes rows of a Markdown table with aligned columns; a row of one cell is a line of its own.
func writeTable(b *strings.Builder, table [][]string) {
	width := make([]int, len(table[0]))
	for _, row := range table {
		for i, c := range row {
			if len(row) > 1 {
				width[i] = max(width[i], len([]rune(c)))
			}
		}
	}
	for n, row := range table {
		if len(row) == 1 {
			fmt.Fprintf(b, "| %s |\n", row[0])
			continue
		}
		for i, c := range row {
			fmt.Fprintf(b, "| %s%s ", c, strings.Repeat(" ", width[i]-len([]rune(c))))
		}
		b.WriteString("|\n")
		if n == 0 {
			for _, w := range width {
				b.WriteString("|" + strings.Repeat("-", w+2))
			}
			b.WriteString("|\n")
		}
	}
}

// jsonResult is a line of the table as -json prints it; what is not known is null.
type jsonResult struct {
	Row     string      `json:"row"`
	What    string      `json:"what"`
	Value   *jsonSeries `json:"value"`
	Against *string     `json:"against"`
	Other   *jsonSeries `json:"other"`
	Ratio   *float64    `json:"ratio"`
	Reach   *string     `json:"reach"`
	Met     *bool       `json:"met"`
	Note    *string     `json:"note"`
	Error   *string     `json:"error"`
}

type jsonSeries struct {
	Unit   string    `json:"unit"`
	N      int       `json:"n"`
	Median float64   `json:"median"`
	P90    float64   `json:"p90"`
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`
	Values []float64 `json:"values"`
}

func (s series) json() *jsonSeries {
	if len(s.Values) == 0 {
		return nil
	}
	return &jsonSeries{s.Unit, len(s.Values), s.median(), s.quantile(0.9), s.quantile(0), s.quantile(1), s.Values}
}

func (p *report) printJSON(w io.Writer) error {
	var results []jsonResult
	for _, g := range p.groups {
		for _, r := range g.results {
			j := jsonResult{Row: g.row.name, What: r.What, Value: r.Value.json(), Against: pasar.Known(r.Against), Other: r.Other.json(),
				Reach: pasar.Known(r.Reach.text(r.Value.Unit)), Met: r.met(), Note: pasar.Known(r.Note)}
			if v := r.ratio(); !math.IsNaN(v) && !math.IsInf(v, 0) {
				j.Ratio = &v
			}
			results = append(results, j)
		}
		if g.err != nil {
			results = append(results, jsonResult{Row: g.row.name, What: g.row.does, Error: pasar.Known(g.err.Error())})
		}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(struct {
		Schema  int          `json:"schema"`
		Version string       `json:"version"`
		Began   time.Time    `json:"began"`
		CPU     string       `json:"cpu"`
		Cores   int          `json:"cores"`
		Kernel  string       `json:"kernel"`
		Go      string       `json:"go"`
		Before  string       `json:"load_before"`
		After   string       `json:"load_after"`
		Quick   bool         `json:"quick"`
		Results []jsonResult `json:"results"`
	}{pasar.Schema, pasar.Version, p.began.UTC(), cpuModel(), runtime.NumCPU(), kernel(), runtime.Version(), p.load, p.loaded, p.quick, results})
}

func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	f := strings.Fields(string(b))
	return strings.Join(f[:min(3, len(f))], " ")
}

func cpuModel() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return runtime.GOARCH
}

func kernel() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}

func firstField(s string) string {
	f, _, _ := strings.Cut(s, " ")
	return f
}

// Package prometheus asks a Prometheus how GPUs were used, for times that pasar itself no longer knows.
package prometheus

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pasar"
)

const (
	// Kept is how far back is asked at most.
	Kept = 30 * 24 * time.Hour

	answerTime = 10 * time.Second // for all that one history takes
	atOnce     = 2                // histories that are asked for; others wait
	unit       = 10 * time.Second // steps are multiples of it, as those of pasar's own samples

	// leastStep is the smallest step: twice the usual time between two scrapes, so that each has one in it.
	leastStep = 2 * time.Minute
	// maxPoints bounds the points over all GPUs, so that the view fits into a frame of the protocol (4 MiB; as JSON one
	// takes at most 130 bytes).
	maxPoints = 24_576
)

// A quantity is something that is asked for: pasar's own metric where it is scraped, else that of NVIDIA's DCGM exporter.
type quantity struct {
	own, dcgm     string  // names of metrics
	times, dcgmBy float64 // what they are multiplied by
	over          string  // what makes one value of those of a step
	most          float64 // what is beyond can't be
	set           func(*pasar.GPUSampleView, float64)
}

// quantities are all that is asked for.
var quantities = []quantity{
	{"pasar_gpu_memory_used_bytes", "DCGM_FI_DEV_FB_USED", 1, float64(pasar.MiB), "max_over_time", 1 << 50, func(p *pasar.GPUSampleView, v float64) {
		used := pasar.Bytes(v)
		p.Used = &used
	}},
	{"pasar_gpu_utilization_ratio", "DCGM_FI_DEV_GPU_UTIL", 100, 1, "avg_over_time", 1e6, func(p *pasar.GPUSampleView, v float64) { p.Util = tenths(v) }},
	{"pasar_gpu_temperature_celsius", "DCGM_FI_DEV_GPU_TEMP", 1, 1, "max_over_time", 1e6, func(p *pasar.GPUSampleView, v float64) { p.TempC = tenths(v) }},
	{"pasar_gpu_power_watts", "DCGM_FI_DEV_POWER_USAGE", 1, 1, "avg_over_time", 1e6, func(p *pasar.GPUSampleView, v float64) { p.PowerW = tenths(v) }},
}

// query asks for one of them, of some GPUs, with the label uuid and nothing else. Of a GPU that is split (MIG), the exporter
// tells its instances apart by a label of their own: those are left out, since pasar knows them by other names.
func (q *quantity) query(uuids []string, step time.Duration) string {
	escaped := make([]string, len(uuids))
	for i, u := range uuids {
		escaped[i] = regexp.QuoteMeta(u)
	}
	these, window := strconv.Quote(strings.Join(escaped, "|")), strconv.FormatInt(int64(step/time.Second), 10)+"s"
	return fmt.Sprintf(`max by (uuid) (%[1]s(%[2]s{uuid=~%[3]s}[%[4]s])) * %[5]v or `+
		`max by (uuid) (label_replace(%[1]s(%[6]s{UUID=~%[3]s,GPU_I_ID=""}[%[4]s]), "uuid", "$1", "UUID", "(.*)")) * %[7]v`,
		q.over, q.own, these, window, q.times, q.dcgm, q.dcgmBy)
}

// A Client asks; it may be used by several goroutines.
type Client struct {
	http *http.Client
	turn chan struct{}
}

// NewClient makes one. Connections that nobody uses are given up soon.
func NewClient() *Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.IdleConnTimeout, t.MaxIdleConnsPerHost, t.MaxResponseHeaderBytes = 30*time.Second, len(quantities), 64<<10
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // who was named is asked, and nobody else
	return &Client{http: &http.Client{Transport: t, CheckRedirect: stay}, turn: make(chan struct{}, atOnce)}
}

// View is how the GPUs with these UUIDs were used between two times, as the Prometheus at a URL knows it; of each at most
// so many points, 1 or more. Those of which it knows nothing are left out. What only the inventory knows is null. It takes ten
// seconds at most; an error is one line, and names the URL.
func (c *Client) View(ctx context.Context, url string, uuids []string, since, until time.Time, points int) (pasar.GPUHistoryView, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, fmt.Errorf("no answer within %s", pasar.Duration(answerTime)))
	defer cancel()
	v, err := c.view(ctx, url, uuids, since, until, points)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return v, fmt.Errorf("%s: %w", pasar.Clean(url), err)
	}
	return v, nil
}

func (c *Client) view(ctx context.Context, url string, uuids []string, since, until time.Time, points int) (pasar.GPUHistoryView, error) {
	points = max(1, min(points, maxPoints/max(1, len(uuids))))
	g := gridOf(since, until, points)
	v := pasar.GPUHistoryView{Schema: pasar.Schema, Source: "prometheus", Step: pasar.Duration(g.step), From: g.first.UTC(), Until: until.UTC(), GPUs: []pasar.GPUSeriesView{}}
	if len(uuids) == 0 || g.n == 0 {
		return v, nil
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return v, context.Cause(ctx)
	}
	answers, errs := make([][]series, len(quantities)), make([]error, len(quantities))
	var wg sync.WaitGroup
	for i := range quantities {
		wg.Go(func() { answers[i], errs[i] = c.ask(ctx, url, quantities[i].query(uuids, g.step), g) })
	}
	wg.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 { // all for the same reason, mostly
		return v, errs[i]
	}
	for _, uuid := range uuids {
		s := pasar.GPUSeriesView{UUID: uuid}
		all := make([]pasar.GPUSampleView, g.n)
		for i := range quantities {
			for _, a := range answers[i] {
				if a.Labels.UUID == uuid {
					g.fill(all, a.Values, &quantities[i])
				}
			}
		}
		for _, p := range all {
			if p != (pasar.GPUSampleView{At: p.At}) {
				s.Points = append(s.Points, p)
			}
		}
		if len(s.Points) > 0 {
			v.GPUs = append(v.GPUs, s)
		}
	}
	return v, nil
}

// A grid is the times of a view's points: n steps from the first on.
type grid struct {
	first time.Time
	step  time.Duration
	n     int
}

// gridOf has at most so many points, which begin at since or later and before until. Its steps are aligned to the wall clock, so
// that who asks again a little later gets the same points.
func gridOf(since, until time.Time, points int) grid {
	span := max(0, until.Sub(since))
	step := (span + time.Duration(points) - 1) / time.Duration(points)
	step = max(leastStep, (step+unit-1)/unit*unit)
	sec := int64(step / time.Second)
	from := since.Unix()
	if since.Nanosecond() > 0 {
		from++
	}
	first := time.Unix((from+sec-1)/sec*sec, 0)
	n := int((until.Sub(first) + step - 1) / step)
	return grid{first, step, max(0, min(n, points))}
}

// at is the time at which Prometheus is asked for a point, since what it answers is of the time before: the last
// millisecond of the step. Whether a range has its first moment in it depends on the version; nothing is in that one.
func (g grid) at(i int) time.Time { return g.first.Add(time.Duration(i+1)*g.step - time.Millisecond) }

// fill puts values where they belong. What isn't a number, or can't be, is as if it wasn't there.
func (g grid) fill(points []pasar.GPUSampleView, values []value, q *quantity) {
	for _, x := range values {
		i := math.Round((x.at-float64(g.first.Unix()))/g.step.Seconds()) - 1
		if !(i >= 0 && i < float64(len(points))) || !(x.v >= 0 && x.v <= q.most) {
			continue
		}
		p := &points[int(i)]
		p.At = g.first.Add(time.Duration(i) * g.step).UTC()
		q.set(p, x.v)
	}
}

// tenths is a value as it is shown.
func tenths(v float64) *float64 {
	f := math.Round(v*10) / 10
	return &f
}

// errTooLong is an answer that nobody asked for.
var errTooLong = errors.New("the answer is too long")

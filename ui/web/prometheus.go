package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"pasar"
	"pasar/ipc"
)

// prometheusRoutes are for Prometheus, which sends the token like everybody who isn't this user on this machine.
var prometheusRoutes = []route{
	{"GET /metrics", users, bare((*Server).scrape)},
}

// scrape answers with the status as metrics. They are made for each request of one answer of the daemon's, in a registry
// of their own, so that nothing is remembered here and nothing of this process is told.
func (s *Server) scrape(w http.ResponseWriter, r *http.Request) error {
	var v pasar.StatusView
	if err := s.with(r, func(ctx context.Context, c *ipc.Client) error {
		b, err := c.Status(ctx)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(b, &v); err != nil {
			return fmt.Errorf("read status: %w", err)
		}
		return nil
	}); err != nil {
		return err
	}
	reg := prometheus.NewPedanticRegistry()
	if err := reg.Register(collected{&v}); err != nil {
		return fmt.Errorf("make metrics: %w", err)
	}
	families, err := reg.Gather()
	if err != nil {
		return fmt.Errorf("make metrics: %w", err)
	}
	promhttp.HandlerFor(prometheus.GathererFunc(always(families)), promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(w, r)
	return nil
}

func always[T any](v T) func() (T, error) { return func() (T, error) { return v, nil } }

// A metric is one that is told: its values have so many labels.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

// metrics is every metric there is.
var metrics []metric

func newMetric(kind prometheus.ValueType, name, help string, labels []string) metric {
	m := metric{prometheus.NewDesc("pasar_"+name, help, labels, nil), kind}
	metrics = append(metrics, m)
	return m
}

func gauge(name, help string, labels ...string) metric {
	return newMetric(prometheus.GaugeValue, name, help, labels)
}

// counter is a metric that never goes down: the daemon keeps it with its journal.
func counter(name, help string, labels ...string) metric {
	return newMetric(prometheus.CounterValue, name, help, labels)
}

// Labels of a GPU. A part of one (MIG) has a UUID of its own and its parent's index.
var gpuLabels = []string{"machine", "index", "uuid", "name"}

func ofGPU(name, help string) metric { return gauge("gpu_"+name, help, gpuLabels...) }

func ofMachine(name, help string) metric { return gauge(name, help, "machine") }

var (
	buildInfo   = gauge("build_info", "The version of the daemon; always 1.", "version")
	startTime   = gauge("start_time_seconds", "When the daemon was started, in seconds since 1970.")
	takesWork   = gauge("takes_work", "Whether the daemon takes and starts jobs: 1, or 0 while something is in the way, which pasar status names.")
	jobsByState = gauge("jobs", "Jobs by state. Those that have ended are counted since the daemon's data began; a restart takes a job back out of them.", "state")

	submitted = counter("jobs_submitted_total", "Jobs that were ever submitted.")
	ended     = counter("attempts_ended_total", "Attempts that ended, by the reason of their verdict. A job may have several.", "reason")
	lost      = counter("lost_seconds_total", "Work that interruptions cost jobs, and the way back to where they were: counted when a job ends, of those that report checkpoints and resumes.", "cause")

	reachable     = ofMachine("machine_reachable", "Whether the machine can be reached: 1 or 0.")
	drained       = ofMachine("machine_drained", "Whether nothing starts there, since it is drained: 1 or 0.")
	lookedAt      = ofMachine("machine_read_timestamp_seconds", "When its GPUs and memory were last looked at, in seconds since 1970.")
	cpuPlaces     = ofMachine("cpu_places", "Jobs without a GPU that may run at once.")
	cpuTaken      = ofMachine("cpu_places_taken", "Jobs without a GPU that have a place.")
	hostTotal     = ofMachine("host_memory_total_bytes", "Physical host memory.")
	hostForJobs   = ofMachine("host_memory_jobs_bytes", "Host memory that jobs may claim: all but the system's reserve.")
	hostClaimed   = ofMachine("host_memory_claimed_bytes", "Host memory that running jobs claim.")
	hostAvailable = ofMachine("host_memory_available_bytes", "Host memory that nobody uses.")
	pressure      = ofMachine("host_memory_pressure_ratio", "Memory pressure: PSI some avg10, as a part of 1.")

	gpuTotal    = ofGPU("memory_total_bytes", "Memory that jobs may be given.")
	gpuUsed     = ofGPU("memory_used_bytes", "Memory in use by everybody.")
	gpuClaimed  = ofGPU("memory_claimed_bytes", "Memory that running jobs claim.")
	gpuFree     = ofGPU("memory_free_bytes", "Memory that a slice could have now, by the claims and by what is in use.")
	gpuUtil     = ofGPU("utilization_ratio", "The part of the time in which something ran on it, from 0 to 1.")
	gpuTemp     = ofGPU("temperature_celsius", "Its temperature.")
	gpuPower    = ofGPU("power_watts", "What it draws.")
	gpuLimit    = ofGPU("power_limit_watts", "What it may draw.")
	gpuResponds = ofGPU("responds", "Whether it answers: 1 or 0.")
	gpuDrained  = ofGPU("drained", "Whether nothing starts there, since it is drained or unwell: 1 or 0.")
	gpuJobs     = ofGPU("jobs", "Jobs that have some of it.")
)

// collected is a status as metrics. What isn't known isn't there, rather than 0.
type collected struct{ v *pasar.StatusView }

// Describe names every metric, whether or not there is something to tell.
func (collected) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range metrics {
		ch <- m.desc
	}
}

// Collect tells them.
func (t collected) Collect(ch chan<- prometheus.Metric) {
	o := out{ch}
	v := t.v
	o.put(buildInfo, 1, v.Version)
	o.put(startTime, float64(v.StartedAt.UnixMilli())/1000)
	o.put(takesWork, truth(v.Problem == nil))
	for _, st := range pasar.States {
		o.put(jobsByState, float64(v.Jobs[st]), string(st))
	}
	o.put(submitted, float64(v.Counts.Submitted))
	for _, c := range pasar.Codes { // those that nothing ended for as well, so that the first one is seen as an increase
		o.put(ended, float64(v.Counts.Attempts[c]), string(c))
	}
	o.put(lost, v.Counts.LostPreempt.Seconds(), "preemption")
	o.put(lost, v.Counts.LostFailed.Seconds(), "failure")
	for i := range v.Machines {
		o.machine(&v.Machines[i])
	}
}

// out is where metrics go.
type out struct{ ch chan<- prometheus.Metric }

func (o out) put(m metric, value float64, labels ...string) {
	c, err := prometheus.NewConstMetric(m.desc, m.kind, value, labels...)
	if err != nil { // the request's error
		c = prometheus.NewInvalidMetric(m.desc, err)
	}
	o.ch <- c
}

func (o out) machine(m *pasar.MachineView) {
	o.put(reachable, truth(m.Reachable), m.Name)
	o.put(drained, truth(m.Drained != nil), m.Name)
	if m.LookedAt != nil {
		o.put(lookedAt, float64(m.LookedAt.UnixMilli())/1000, m.Name)
	}
	if m.RAM > 0 { // else nobody has seen what it has
		o.put(cpuPlaces, float64(m.CPUJobs), m.Name)
		o.put(cpuTaken, float64(m.CPUUsed), m.Name)
		o.put(hostTotal, float64(m.RAM), m.Name)
		o.put(hostForJobs, float64(m.HostMemory), m.Name)
		o.put(hostClaimed, float64(m.HostUsed), m.Name)
	}
	maybe(o, hostAvailable, m.Available, m.Name)
	maybe(o, pressure, m.Pressure, m.Name)
	for i := range m.GPUs {
		if g := &m.GPUs[i]; !g.Virtual { // what stands for a GPU has the host's memory
			o.gpu(m.Name, g)
		}
	}
}

func (o out) gpu(machine string, g *pasar.GPUView) {
	labels := []string{machine, strconv.Itoa(g.Index), g.UUID, g.Name}
	o.put(gpuTotal, float64(g.Total), labels...)
	o.put(gpuClaimed, float64(g.Claimed), labels...)
	o.put(gpuFree, float64(g.Free), labels...)
	o.put(gpuDrained, truth(g.Drained != nil), labels...)
	o.put(gpuJobs, float64(len(g.Jobs)), labels...)
	if g.Status != nil {
		o.put(gpuResponds, truth(*g.Status == pasar.GPUOK), labels...)
	}
	if g.Util != nil {
		o.put(gpuUtil, *g.Util/100, labels...)
	}
	maybe(o, gpuUsed, g.Used, labels...)
	maybe(o, gpuTemp, g.TempC, labels...)
	maybe(o, gpuPower, g.PowerW, labels...)
	maybe(o, gpuLimit, g.LimitW, labels...)
}

// maybe tells what is known.
func maybe[T pasar.Bytes | float64](o out, m metric, v *T, labels ...string) {
	if v != nil {
		o.put(m, float64(*v), labels...)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

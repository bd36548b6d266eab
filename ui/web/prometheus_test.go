package web

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"pasar"
	"pasar/ipc"
)

// fullStatus is a status with all that is ever known, and one GPU of which nothing is.
func fullStatus() pasar.StatusView {
	at := time.Date(2026, 1, 31, 12, 0, 0, 5e8, time.UTC)
	used, reserved, half, hot, limit, ok, gone := 12*pasar.GiB, pasar.GiB, 50.0, 61.0, 700.0, pasar.GPUOK, pasar.GPULost
	available, some := 40*pasar.GiB, 0.25
	return pasar.StatusView{
		Schema: 1, Version: "1.2.3", StartedAt: at, Jobs: map[pasar.State]int{pasar.Running: 2, pasar.Failed: 1},
		Counts: pasar.CountsView{Submitted: 9, Attempts: map[pasar.Code]int64{pasar.CodeGPUOOM: 3}, LostPreempt: 90e9, LostFailed: 5e8},
		Machines: []pasar.MachineView{
			{Name: "local", Reachable: true, CPUJobs: 8, CPUUsed: 1, RAM: 64 * pasar.GiB, HostMemory: 48 * pasar.GiB, HostUsed: pasar.GiB, LookedAt: &at, Available: &available, Pressure: &some,
				GPUs: []pasar.GPUView{
					{GPU: pasar.GPU{Index: 0, UUID: "GPU-1", Name: "H200 \"x\"\n\\", Total: 139 * pasar.GiB}, Claimed: 20 * pasar.GiB, Free: 100 * pasar.GiB, Jobs: []pasar.JobID{1, 2},
						Status: &ok, Used: &used, Reserved: &reserved, Util: &half, TempC: &hot, PowerW: &limit, LimitW: &limit},
					{GPU: pasar.GPU{Index: 1, UUID: "GPU-2", Name: "H200", Total: 139 * pasar.GiB}, Status: &gone, Drained: &pasar.Health{Reason: "fan"}},
					{GPU: pasar.GPU{Index: 2, UUID: "GPU-3", Name: "H200", Total: 139 * pasar.GiB}},
					{GPU: pasar.GPU{Index: 0, Name: "none", Total: 48 * pasar.GiB, Virtual: true}, Used: &used},
				}},
			{Name: "far", Trouble: pasar.Known("nobody has looked")},
		},
	}
}

func scrape(t *testing.T, v pasar.StatusView, accept string) (code int, kind, body string) {
	t.Helper()
	s, d := newServer(t)
	d.reply[ipc.VerbStatus] = func(_ context.Context, c *ipc.Call) error {
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		return c.Answer(ipc.ViewAnswer{JSON: b})
	}
	w := ask(t, s, "GET", "/metrics", "", func(r *http.Request) { r.Header.Set("Accept", accept) })
	return w.Code, w.Header().Get("Content-Type"), w.Body.String()
}

func TestMetricsAreWhatPrometheusExpects(t *testing.T) {
	problem := fullStatus()
	problem.Problem = pasar.Known("the disk is full")
	for name, v := range map[string]pasar.StatusView{"full": fullStatus(), "empty": {}, "problem": problem} {
		code, kind, body := scrape(t, v, "")
		if code != 200 || !strings.HasPrefix(kind, "text/plain; version=0.0.4") {
			t.Errorf("%s: %d %s", name, code, kind)
		}
		problems, err := promlint.New(strings.NewReader(body)).Lint()
		if err != nil || len(problems) > 0 {
			t.Errorf("%s: %v, %v", name, problems, err)
		}
	}
	_, kind, body := scrape(t, fullStatus(), "application/openmetrics-text;version=1.0.0")
	if !strings.HasPrefix(kind, "application/openmetrics-text") || !strings.HasSuffix(body, "# EOF\n") {
		t.Errorf("%s %.100s", kind, body)
	}
}

func TestMetricsSayWhatIsKnownAndLeaveOutWhatIsNot(t *testing.T) {
	_, _, body := scrape(t, fullStatus(), "")
	const one, two, three = `{index="0",machine="local",name="H200 \"x\"\n\\",uuid="GPU-1"}`, `{index="1",machine="local",name="H200",uuid="GPU-2"}`, `{index="2",machine="local",name="H200",uuid="GPU-3"}`
	for _, want := range []string{
		`pasar_build_info{version="1.2.3"} 1`, `pasar_takes_work 1`, `pasar_start_time_seconds 1.7698608005e+09`,
		`pasar_jobs{state="running"} 2`, `pasar_jobs{state="queued"} 0`, `pasar_jobs{state="awaiting"} 0`, `pasar_jobs{state="failed"} 1`,
		`pasar_jobs_submitted_total 9`, `pasar_attempts_ended_total{reason="gpu_oom"} 3`, `pasar_attempts_ended_total{reason="lost"} 0`,
		`pasar_lost_seconds_total{cause="preemption"} 90`, `pasar_lost_seconds_total{cause="failure"} 0.5`,
		`pasar_machine_reachable{machine="local"} 1`, `pasar_machine_reachable{machine="far"} 0`, `pasar_cpu_places{machine="local"} 8`, `pasar_cpu_places_taken{machine="local"} 1`,
		`pasar_host_memory_total_bytes{machine="local"} 6.8719476736e+10`, `pasar_host_memory_available_bytes{machine="local"} 4.294967296e+10`,
		`pasar_host_memory_claimed_bytes{machine="local"} 1.073741824e+09`, `pasar_host_memory_pressure_ratio{machine="local"} 0.25`,
		`pasar_gpu_memory_used_bytes` + one + ` 1.2884901888e+10`, `pasar_gpu_memory_claimed_bytes` + one + ` 2.147483648e+10`, `pasar_gpu_utilization_ratio` + one + ` 0.5`,
		`pasar_gpu_temperature_celsius` + one + ` 61`, `pasar_gpu_power_watts` + one + ` 700`, `pasar_gpu_responds` + one + ` 1`, `pasar_gpu_jobs` + one + ` 2`, `pasar_gpu_drained` + one + ` 0`,
		`pasar_gpu_responds` + two + ` 0`, `pasar_gpu_drained` + two + ` 1`, `pasar_gpu_memory_claimed_bytes` + three + ` 0`,
	} {
		if !strings.Contains(body, "\n"+want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	for _, not := range []string{`pasar_gpu_memory_used_bytes` + two, `pasar_gpu_temperature_celsius` + two, `pasar_gpu_responds` + three, `pasar_gpu_utilization_ratio` + three, `name="none"`,
		`pasar_host_memory_total_bytes{machine="far"}`, `pasar_host_memory_available_bytes{machine="far"}`, `pasar_machine_read_timestamp_seconds{machine="far"}`, `go_goroutines`, `process_`} {
		if strings.Contains(body, not) {
			t.Errorf("%s is told, and isn't known", not)
		}
	}
	if t.Failed() {
		t.Log(body)
	}
	problem := pasar.StatusView{Problem: pasar.Known("the disk is full")}
	if _, _, body := scrape(t, problem, ""); !strings.Contains(body, "\npasar_takes_work 0\n") {
		t.Error(body)
	}
}

func TestMetricsAreForWhoHasTheTokenAndTheirErrorsAreJSON(t *testing.T) {
	s, d := newServer(t)
	token, err := s.Token(false)
	if err != nil {
		t.Fatal(err)
	}
	for header, want := range map[string]int{"": 401, "Bearer nonsense": 401, "Bearer " + token: 200} {
		w := ask(t, s, "GET", "/metrics", "", func(r *http.Request) {
			stranger(r)
			if header != "" {
				r.Header.Set("Authorization", header)
			}
		})
		if w.Code != want {
			t.Errorf("%q: %d", header, w.Code)
		}
	}
	d.reply[ipc.VerbStatus] = func(context.Context, *ipc.Call) error {
		return &ipc.Error{Code: ipc.CodeUnavailable, Message: "no"}
	}
	if w := ask(t, s, "GET", "/metrics", "", nil); w.Code != 503 || !json.Valid(w.Body.Bytes()) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	twins := fullStatus() // which no registry takes
	twins.Machines = append(twins.Machines, twins.Machines[0])
	if code, _, body := scrape(t, twins, ""); code != 500 || !json.Valid([]byte(body)) {
		t.Errorf("%d %s", code, body)
	}
}

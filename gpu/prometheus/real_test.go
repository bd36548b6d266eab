package prometheus

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pasar"
)

// TestARealPrometheusUnderstandsWhatItIsAsked needs the programs prometheus and promtool.
func TestARealPrometheusUnderstandsWhatItIsAsked(t *testing.T) {
	server, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip(err)
	}
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	// Three days until now: GPU-own is told of by pasar and by DCGM, GPU-dcgm by DCGM alone, with an instance that is none.
	now := time.Now().UTC().Truncate(time.Hour)
	first := now.Add(-72 * time.Hour)
	var b strings.Builder
	family := func(name string, line func(at time.Time)) {
		fmt.Fprintf(&b, "# HELP %s h\n# TYPE %s gauge\n", name, name)
		for at := first; at.Before(now); at = at.Add(time.Minute) {
			line(at)
		}
	}
	family("pasar_gpu_memory_used_bytes", func(at time.Time) {
		fmt.Fprintf(&b, "pasar_gpu_memory_used_bytes{machine=\"local\",index=\"0\",uuid=\"GPU-own\",name=\"H200\"} %d %d\n", int64(at.Hour()+1)*int64(pasar.GiB), at.Unix())
	})
	family("pasar_gpu_utilization_ratio", func(at time.Time) {
		fmt.Fprintf(&b, "pasar_gpu_utilization_ratio{machine=\"local\",index=\"0\",uuid=\"GPU-own\",name=\"H200\"} %g %d\n", float64(at.Minute()%2), at.Unix())
	})
	family("DCGM_FI_DEV_FB_USED", func(at time.Time) {
		fmt.Fprintf(&b, "DCGM_FI_DEV_FB_USED{gpu=\"0\",UUID=\"GPU-own\",Hostname=\"box\"} 7 %d\n", at.Unix())
		fmt.Fprintf(&b, "DCGM_FI_DEV_FB_USED{gpu=\"1\",UUID=\"GPU-dcgm\",Hostname=\"box\"} 2048 %d\n", at.Unix())
		fmt.Fprintf(&b, "DCGM_FI_DEV_FB_USED{gpu=\"1\",UUID=\"GPU-dcgm\",Hostname=\"box\",GPU_I_ID=\"3\"} 9999 %d\n", at.Unix())
	})
	family("DCGM_FI_DEV_GPU_TEMP", func(at time.Time) {
		fmt.Fprintf(&b, "DCGM_FI_DEV_GPU_TEMP{gpu=\"1\",UUID=\"GPU-dcgm\",Hostname=\"box\"} %d %d\n", 40+at.Minute()%10, at.Unix())
	})
	b.WriteString("# EOF\n")
	metrics, data, conf := filepath.Join(dir, "metrics"), filepath.Join(dir, "data"), filepath.Join(dir, "prometheus.yml")
	for file, text := range map[string]string{metrics: b.String(), conf: "global: {}\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, tool, "tsdb", "create-blocks-from", "openmetrics", metrics, data).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	cmd := exec.CommandContext(ctx, server, "--config.file="+conf, "--storage.tsdb.path="+data, "--web.listen-address="+addr, "--log.level=error")
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = cmd.Wait() }()
	for ready := false; !ready; {
		select {
		case <-ctx.Done():
			t.Fatal("it never was ready")
		case <-time.After(50 * time.Millisecond): // a port can't be waited for
		}
		if res, err := http.Get("http://" + addr + "/-/ready"); err == nil {
			_ = res.Body.Close()
			ready = res.StatusCode == http.StatusOK
		}
	}
	v, err := NewClient().View(ctx, "http://"+addr, []string{"GPU-own", "GPU-dcgm", "GPU-none"}, first, now, 72)
	if err != nil || len(v.GPUs) != 2 || time.Duration(v.Step) != time.Hour {
		t.Fatalf("%+v, %v", v, err)
	}
	own, dcgm := v.GPUs[0], v.GPUs[1]
	if own.UUID != "GPU-own" || dcgm.UUID != "GPU-dcgm" || len(own.Points) != 72 || len(dcgm.Points) != 72 {
		t.Fatalf("%s has %d points, %s %d", own.UUID, len(own.Points), dcgm.UUID, len(dcgm.Points))
	}
	for i, p := range own.Points[1:70] { // those at the ends may lack a sample
		if d := dcgm.Points[i+1]; d.Used == nil || *d.Used != 2*pasar.GiB || d.TempC == nil || *d.TempC != 49 || d.Util != nil || d.PowerW != nil {
			t.Errorf("%+v", d)
		}
		if hour := pasar.Bytes(p.At.Hour()+1) * pasar.GiB; p.Used == nil || *p.Used != hour || p.Util == nil || *p.Util != 50 || p.TempC != nil {
			t.Errorf("%+v; want %s and 50 %%", p, hour)
		}
	}
	if _, err := NewClient().View(ctx, "http://"+addr, []string{"GPU-own"}, now.Add(-30*24*time.Hour), now, 8640); err != nil {
		t.Errorf("all points of 30 days: %v", err)
	}
	bad := NewClient()
	if _, err := bad.ask(ctx, "http://"+addr, "max by (", gridOf(first, now, 10)); err == nil || !strings.Contains(err.Error(), "it says: ") || !strings.Contains(err.Error(), "parse error") {
		t.Errorf("a bad query: %v", err)
	}
}

package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	devtools "github.com/chromedp/cdproto/page"
)

// queueMany queues so many jobs behind one that runs, and returns the daemon's address.
func queueMany(h *home, n int) string {
	h.t.Helper()
	addr := h.startWeb()
	h.pasar("submit", "--gpus", "1", "--name", "runs", "--", "sleep", "1000")
	h.pasar("submit", "--gpus", "1", "--time", "1h", "--name", "many", "--array", fmt.Sprintf("1-%d", n), "--", "sleep", "1")
	return addr
}

// watchTasks has every page from now on keep its longest task, and when the first row of its list was painted.
const watchTasks = `window.longest = 0; window.first = null;
	new PerformanceObserver((l) => { for (const e of l.getEntries()) longest = Math.max(longest, e.duration); }).observe({type: "longtask", buffered: true});
	const look = () => { if (first === null && document.querySelector("tr[data-job]")) first = performance.now(); if (first === null) requestAnimationFrame(look); };
	requestAnimationFrame(look);`

// Of ten thousand jobs a page has five hundred, and then it is sent what changes, which is little.
func TestTenThousandJobsAreTooManyForNoBrowser(t *testing.T) {
	h := newHome(t)
	addr := queueMany(h, 10000)
	b := openBrowser(t, addr, screens[0])
	b.open("/")
	b.until(`document.querySelectorAll("tr[data-job]").length === 500`)
	b.read(".more", "more")
	b.look("ten thousand jobs")

	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+addr+"/api/stream?limit=500", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	in := bufio.NewScanner(res.Body)
	in.Buffer(nil, 64<<20)
	snapshot, bidden := 0, false
	for event := ""; in.Scan(); {
		if name, ok := strings.CutPrefix(in.Text(), "event: "); ok {
			event = name
			continue
		}
		data, ok := strings.CutPrefix(in.Text(), "data: ")
		switch {
		case !ok:
		case event == "snapshot":
			if snapshot != 0 {
				t.Fatal("all of it was sent again")
			}
			snapshot = len(data)
			h.pasar("bid", "9000", "2000")
			bidden = true
		case bidden && strings.Contains(data, `"bid":2000`):
			if len(data) > snapshot/4 {
				t.Errorf("a bid changes %d bytes, and all jobs have %d", len(data), snapshot)
			}
			b.until(`document.querySelectorAll("tr[data-job]")[1].dataset.job === "9000" && document.querySelectorAll("tr[data-job]").length <= 500`)
			return
		}
	}
	t.Fatal("the stream ended", in.Err())
}

// It reports how long the first rows took to be there, and the longest task of the page.
func BenchmarkTheDashboardOfTenThousandJobs(b *testing.B) {
	h := newHome(b)
	addr := queueMany(h, 10000)
	w := openBrowser(b, addr, screens[0])
	w.do(command(devtools.AddScriptToEvaluateOnNewDocument, devtools.AddScriptToEvaluateOnNewDocumentParams{Source: watchTasks}))
	var first, longest float64
	for b.Loop() {
		w.open("/")
		w.until(`document.querySelectorAll("tr[data-job]").length === 500`)
		time.Sleep(3 * time.Second) // some changes come
		first += eval[float64](w, `first`)
		longest = max(longest, eval[float64](w, `longest`))
	}
	b.ReportMetric(first/float64(b.N), "first-ms")
	b.ReportMetric(longest, "longest-task-ms")
}

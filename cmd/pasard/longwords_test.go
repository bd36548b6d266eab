package main

import (
	"strings"
	"testing"

	devtools "github.com/chromedp/cdproto/page"
)

// What people and machines are called may have no break in it: it widens no page and no dialog.
func TestNoWordIsWiderThanThePages(t *testing.T) {
	word := func(begin string) string { return begin + strings.Repeat("w", 200-len(begin)) }
	// What isn't there to be named here is in what the page is told.
	script := `const read = JSON.parse;
		JSON.parse = (text) => {
			const long = (begin) => begin.padEnd(200, "w");
			const v = read(text);
			if (!v?.status) return v;
			const gpu = (index) => ({uuid: long("GPU-" + index), index, name: long("NVIDIA "), parent: "", virtual: false, util: 50, used: 5e9, total: 1e10, claimed: 5e9, temp_c: 50, hot_c: 80, power_w: 100, limit_w: 200,
				throttle: [long("thermal")], status: long("lost"), drained: {reason: long("drained: "), since: "2026-11-30T08:00:00Z", remedy: long("remedy")}, exclusive: true, settling: 1, jobs: [1], leaving: [],
				processes: [{name: long("python"), user: long("ada"), used: 1e9, job: null, graphics: false}]});
			const one = v.status.machines[0];
			v.status.machines = ["box", "other"].map((name) => ({...one, name: long(name), driver: long("5"), cuda: long("1"), trouble: long("trouble"), notes: [long("note")], gpus: [gpu(0), gpu(1)]}));
			v.status.problem = long("problem");
			v.status.warning = long("warning");
			v.status.incidents = [{at: new Date().toISOString(), what: long("incident"), detail: long("detail")}];
			for (const job of v.jobs) Object.assign(job, {submitter: long("ada"), machine: long("box"), note: long("note")});
			return v;
		};`
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			h := newHome(t)
			b := openBrowser(t, h.startWeb(), s)
			flags := []string{"--by", word("agent"), "--tag", word("tag")[:64], "--note", word("note"), "--time", "1h"}
			for _, name := range []string{"one", "two", "three"} {
				h.pasar(append(append([]string{"submit", "--gpus", "1", "--name", word(name)}, flags...), "--", "sleep", word("1000")[:4])...)
			}
			h.pasar("submit", "--gpus", "0", "--name", word("done"), "--", "sh", "-c", "exit 3; true "+word("path"))
			h.await(4)
			b.do(command(devtools.AddScriptToEvaluateOnNewDocument, devtools.AddScriptToEvaluateOnNewDocumentParams{Source: script}))
			b.open("/")
			b.read(`tr[data-job="3"]`, word("three"))
			b.read(".tile", "lostw")
			fits := func(what string) {
				t.Helper()
				b.rest()
				for _, wide := range eval[[]string](b, `[document.scrollingElement, ...document.querySelectorAll("dialog, dialog form, .preview, .card, main, header")].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.tagName + " " + e.className + " " + e.scrollWidth + " " + e.clientWidth)`) {
					t.Errorf("%s: too wide: %s", what, wide)
				}
			}
			whole := func(what string) { // numbers and times are on one line
				t.Helper()
				for _, cell := range eval[[]string](b, `[...document.querySelectorAll(".plantable tbody td:not(:first-child, :has(.lines))")].filter((e) => {
					const r = document.createRange();
					r.selectNodeContents(e);
					return new Set([...r.getClientRects()].map((x) => Math.round(x.top))).size > 1;
				}).map((e) => e.innerText)`) {
					t.Errorf("%s: %q is broken in two", what, cell)
				}
			}
			fits("the dashboard")
			if eval[bool](b, `[...document.querySelectorAll(".namebox")].some((e) => e.querySelector(".dot").getBoundingClientRect().bottom > e.querySelector(".name").getClientRects()[0].bottom || e.querySelector(".dot").getBoundingClientRect().top < e.querySelector(".name").getClientRects()[0].top)`) {
				t.Error("a job's colour is on another line than its name")
			}
			b.scheme("dark")
			fits("the dashboard in the dark")
			b.scheme("light")
			b.click(`tr[data-job="1"] .c-state`, "")
			b.click(`tr[data-job="1"] button`, "Cancel job")
			fits("a cancel")
			b.click("dialog button", "Not now")
			b.click(`tr[data-job="3"] .c-state`, "")
			b.click(`tr[data-job="3"] button`, "Bid")
			b.fill("Bid", "1000000")
			b.click(`dialog input[type="checkbox"]`, "")
			b.read("dialog .preview", "would be stopped")
			b.read("dialog .preview", "would wait longer")
			fits("a bid")
			whole("a bid")
			b.click("dialog button", "Not now")
			b.open("/jobs/4")
			b.press("Restart with…")
			fits("a restart")
			b.click("dialog button", "Not now")
			b.press("Submit another…")
			fits("another like it")
		})
	}
}

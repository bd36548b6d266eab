package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	devtools "github.com/chromedp/cdproto/page"
)

func TestTheDashboardInABrowser(t *testing.T) {
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			h := newHome(t)
			b := openBrowser(t, h.startWeb(), s)
			b.firstJob()
			b.findsJobs(h)
			b.bidsAndCancels(h)
			b.keepsItsPlace(h)
			b.goesThroughTime()
		})
	}
}

// firstJob: an empty market says what to do, and what is submitted there is there.
func (b *browser) firstJob() {
	b.t.Helper()
	b.open("/")
	b.read(".jobcard .empty", "nobody has brought a job yet")
	b.look("an empty market")
	b.press("Submit the first job")
	b.click("dialog button", "Submit")
	b.read("dialog .fieldwrong", "No command is given")
	b.once("No command is given")
	b.fill("Command", "echo it ran; sleep 600")
	b.gone("No command is given")
	b.pardon("status of 400")
	b.fill("Directory", "/nope")
	b.read("dialog .fieldwrong", "/nope")
	b.once("/nope")
	b.click("dialog button", "Submit")
	b.until(`document.activeElement === document.querySelector("dialog [aria-invalid]")`)
	b.once("/nope")
	b.fill("Directory", " ")
	b.gone("/nope")
	b.fill("GPU memory", "24")
	b.read("dialog .fieldwrong", "with its unit")
	b.fill("GPU memory", " ")
	b.gone("with its unit")
	b.fill("Name", "from-the-page")
	b.fill("GPUs", "none")
	b.read("dialog .fieldwrong", "a whole number")
	b.fill("GPUs", "0")
	b.fill("Tags", "llm, first")
	b.read("dialog .preview", "would start now")
	b.look("a job that is about to be submitted")
	b.click("dialog button", "Submit")
	b.read("#said", "Submitted #1 from-the-page")
	b.see(`tr[data-job="1"] .state[data-state="running"]`, "")
}

// findsJobs: a filter is a part of the address, whatever set it.
func (b *browser) findsJobs(h *home) {
	b.t.Helper()
	name := `<img src=x onerror="document.title='owned'">`
	h.pasar("submit", "--gpus", "0", "--name", name, "--tag", "data", "--", "sh", "-c", "exit 3")
	h.pasar("submit", "--gpus", "0", "--name", "later", "--hold", "--tag", "llm", "--", "true")
	b.read(`tr[data-job="2"]`, name)
	b.read(`tr[data-job="3"]`, "held until")
	b.see(`tr[data-job="2"] .state[data-state="failed"]`, "")
	only := func(ids string) string {
		return fmt.Sprintf(`[...document.querySelectorAll("tr[data-job]")].map((r) => r.dataset.job).join() === %s`, js(ids))
	}
	if eval[bool](b, `matchMedia("(max-width: 48rem)").matches === Boolean(document.querySelector(".timeline").compareDocumentPosition(document.querySelector(".jobcard")) & Node.DOCUMENT_POSITION_FOLLOWING)`) {
		b.t.Error("on a phone jobs come before the timeline, and elsewhere behind it")
	}
	if eval[bool](b, `matchMedia("(max-width: 48rem)").matches`) {
		b.until(`!document.querySelector(".tile .tilefacts").checkVisibility()`)
		b.click(`.tilemore[aria-expanded="false"]`, "")
		b.until(`document.querySelector(".tile.open .tilefacts").checkVisibility()`)
		b.click("button", "Timeline ↓")
		b.until(`document.activeElement.matches(".timeline .stage") && document.activeElement.getBoundingClientRect().top < innerHeight`)
	}
	if top := eval[float64](b, `document.querySelector("tr[data-job]").getBoundingClientRect().top + scrollY`); top > 800 {
		b.t.Errorf("the first job is at %v", top)
	}
	b.click(`.filters [data-key="failed"]`, "")
	b.until(only("2") + ` && location.search === "?state=failed"`)
	b.open("/?state=failed&q=@data") // as a link that somebody was sent
	b.until(only("2"))
	b.until(`document.querySelector("#filter").value === "@data"`)
	width := eval[float64](b, `document.querySelector("#filter").offsetWidth`)
	b.fill("Filter jobs", "state:bogus")
	b.read(".jobcard .empty", "There is no state “bogus”")
	b.fill("Filter jobs", "no such thing")
	b.read(".jobcard .empty", "No job matches")
	b.until(`document.querySelector('.filters [data-key="failed"] .num').innerText === "0"`)
	if is := eval[float64](b, `document.querySelector("#filter").offsetWidth`); is != width {
		b.t.Errorf("the filter was %v wide, and is %v", width, is)
	}
	b.look("a filter that takes nothing")
	b.press("Clear the filter")
	b.until(only("1,3,2") + ` && location.search === ""`)
	b.click(`.filters [data-key="llm"]`, "")
	b.until(only("1,3") + ` && location.search === "?q=@llm"`)
	eval[bool](b, `history.back() ?? true`)
	b.until(only("1,3,2"))
	b.click("th button", "Name")
	b.until(only("2,1,3") + ` && document.querySelector("th.c-name").ariaSort === "ascending"`)
	b.click("th button", "Name")
	b.until(only("3,1,2") + ` && document.querySelector("th.c-name").ariaSort === "descending"`)
	b.click("th button", "Name")
	b.until(only("1,3,2") + ` && document.querySelector("th.c-name").ariaSort === null`)
	if eval[bool](b, `document.querySelector("main img") !== null || document.title.includes("owned")`) {
		b.t.Error("a job's name was taken for markup")
	}
	b.look("a market")
	b.scheme("dark")
	b.look("a market in the dark")
	b.scheme("light")
}

// bidsAndCancels: a bid is shown before it is made, and both are done from the job's row.
func (b *browser) bidsAndCancels(h *home) {
	b.t.Helper()
	b.click(`tr[data-job="3"] .c-state`, "")
	b.click(`tr[data-job="3"] button`, "Bid")
	b.fill("Bid", "many")
	b.read("dialog .preview", "A bid is a whole number")
	b.fill("Bid", "1300")
	b.read("dialog .preview", "nobody would wait longer")
	b.look("a bid")
	b.click("dialog button", "Bid")
	b.read("#said", "#3 bids 1300")
	b.read(`tr[data-job="3"] .c-bid`, "1300")
	b.click(`tr[data-job="3"] .c-state`, "")
	b.click(`tr[data-job="3"] button`, "Cancel job")
	b.click("dialog button", "Cancel job")
	b.see(`tr[data-job="3"] .state[data-state="cancelled"]`, "")
}

// keepsItsPlace: what has the focus keeps it while others come and go, and there are never too many rows.
func (b *browser) keepsItsPlace(h *home) {
	b.t.Helper()
	eval[bool](b, `document.querySelector('tr[data-job="1"] .name').focus() ?? true`)
	h.pasar("submit", "--gpus", "0", "--name", "many", "--hold", "--array", "0-599", "--", "true")
	b.until(`document.querySelectorAll("tr[data-job]").length === 500`)
	b.read(".more", "101 more that haven't ended")
	b.until(`document.activeElement.closest("tr")?.dataset.job === "1"`)
	b.typeText("jj")
	b.until(`document.activeElement.closest("tr") === document.querySelectorAll("tr[data-job]")[2]`)
	b.typeText("k")
	b.until(`document.activeElement.closest("tr") === document.querySelectorAll("tr[data-job]")[1]`)
	b.look("more jobs than are listed")
	eval[bool](b, `(scrollBy({top: 200, behavior: "instant"}), true)`)
	at := eval[string](b, `document.activeElement.closest("tr").dataset.job`)
	top := eval[float64](b, `document.activeElement.getBoundingClientRect().top`)
	b.typeText("\r")
	b.until(`location.pathname.startsWith("/jobs/")`)
	eval[bool](b, `history.back() ?? true`)
	b.until(`document.activeElement.closest("tr")?.dataset.job === ` + js(at))
	b.until(fmt.Sprintf(`Math.abs(document.activeElement.getBoundingClientRect().top - %v) < 3`, top))
	b.fill("Filter jobs", "many")
	b.until(`location.search === "?q=many"`)
	b.typeText("\u001b")
	b.until(`location.search === "" && document.querySelector("#filter").value === "" && document.activeElement.id === "filter"`)
	b.typeText("\u001b")
	b.until(`document.activeElement.id !== "filter"`)
}

// goesThroughTime: the timeline can be read and moved with the keys alone.
func (b *browser) goesThroughTime() {
	b.t.Helper()
	b.until(`document.querySelector(".timeline canvas").height > 50`)
	b.read(".timeline ul", "#1 from-the-page runs")
	b.click(".timeline button", "24 h")
	b.until(`location.search === "?range=24h"`)
	eval[bool](b, `document.querySelector(".stage").focus() ?? true`)
	b.typeText("+")
	b.read("#timeline-said", " to ")
	b.typeText("\u0301") // Down
	b.read("#timeline-said", "#1 from-the-page")
	b.see(".tip", "")
	b.look("a timeline")
	b.typeText("\r")
	b.until(`location.pathname === "/jobs/1"`)
}

// A Prometheus that doesn't answer isn't a past in which nothing was used.
func TestWhatIsLackingOfThePastIsSaidWhereItIsDrawn(t *testing.T) {
	h := newGPUHome(t, "gpus 1\n")
	h.kill()
	h.write(h.config, fmt.Sprintf("nvml_library = %q\nkernel_log = %q\nprometheus_url = \"http://127.0.0.1:1\"\n", h.dir+"/libnvidia-ml.so.1", h.kmsg))
	b := openBrowser(t, h.startWebWith(func(c *exec.Cmd) {
		c.Path = filepath.Join(bin, "pasard-gpu")
		c.Env = append(c.Env, "FAKE_NVML_STATE="+h.state)
	}), screens[0])
	b.open("/?range=7d")
	b.read(".timeline", "Memory: this is of the last day, which pasar itself keeps: Prometheus can't be asked")
	b.look("a timeline without its past")
	b.click(".timeline button", "6 h")
	b.until(`!document.querySelector(".timeline").innerText.includes("Prometheus")`)
}

// Nothing costs money here, so what awaits approval is what the page is told in place of the daemon.
func TestApprovingInABrowserTakesTheAmount(t *testing.T) {
	const told = `{"schema":1,"mode":"amount","requests":[
		{"id":7,"name":"big","kind":"start","plan":"p7","submitter":"ada","by":"agent","command":"python train.py","code":{"hash":"h","commit":"9f3c2d1","dirty":true,"diff":"3 files, +120 −4"},"target":"modal","gpu":"8 × H100",
		 "time":7200,"estimate":63.2,"at_most":79,"budget":{"daily":120.5,"monthly":null},"since":"2026-11-30T08:00:00Z","expires":null,"warning":"it has never run","progress":null},
		{"id":8,"name":"more","kind":"more","plan":"p8","submitter":"bob","by":null,"command":"python eval.py","code":{"hash":null,"commit":null,"dirty":false,"diff":null},"target":"modal","gpu":"1 × H100",
		 "time":1800,"estimate":1.98,"at_most":2.505,"budget":{"daily":null,"monthly":null},"since":"2026-11-30T08:00:00Z","expires":null,"warning":null,"progress":null}]}`
	script := `window.sent = []; window.refuse = true;
		const ask = window.fetch;
		window.fetch = (path, o) => {
			const say = (status, text) => Promise.resolve(new Response(text, {status, headers: {"Content-Type": "application/json"}}));
			if (path === "/api/cloud") return say(200, ` + js(told) + `);
			if (o?.method !== "POST") return ask(path, o);
			if (window.refuse) return say(403, '{"schema":1,"error":{"code":"not_allowed","message":"no","hint":null}}');
			window.sent.push(path + " " + o.body);
			return say(200, '{"schema":1,"jobs":[]}');
		};`
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			h := newHome(t)
			b := openBrowser(t, h.startWeb(), s)
			b.do(command(devtools.AddScriptToEvaluateOnNewDocument, devtools.AddScriptToEvaluateOnNewDocumentParams{Source: script}))
			b.open("/")
			b.read(".cloud", "1 job awaits approval, 1 running job asks for more time, $81.51 at most")
			b.look("what awaits approval")
			eval[bool](b, `document.querySelectorAll(".requests input").forEach((e) => e.click()) ?? true`)
			b.read(".cloud .sum", "2 chosen, at most $81.51 together")
			b.click(".cloud .sum button", "Approve")
			for _, part := range []string{"ada for agent", "python train.py", "commit 9f3c2d1 with changes, 3 files, +120 −4", "8 × H100", "about 2h", "$63.20", "$120.50 of the day's", "it has never run", "More time for #8 more"} {
				b.read("dialog", part)
			}
			b.look("an approval")
			b.fill("Type the amount", "79")
			b.click("dialog button", "Approve")
			b.read("dialog .error", "That is $79.00, and they cost $81.51 at most: nothing was approved.")
			b.fill("Type the amount", "81.51")
			b.click("dialog button", "Approve")
			b.read("dialog .error", "pasar web")
			eval[bool](b, `(window.refuse = false) || true`)
			b.click("dialog button", "Approve")
			b.read("#said", "2 requests are approved")
			sent := eval[[]string](b, `window.sent.map((t) => t.replace(/,"request":"[^"]+"/, ""))`)
			want := []string{`/api/jobs/7/approve {"plan":"p7","at_most":79}`, `/api/jobs/8/approve {"plan":"p8","at_most":2.505}`}
			if fmt.Sprint(sent) != fmt.Sprint(want) {
				t.Errorf("it sent %q", sent)
			}
			b.click(`.requests li button`, "Reject")
			b.fill("Why", "too dear")
			b.click("dialog button", "Reject")
			b.read("#said", "#7 is rejected")
			if got := eval[string](b, `window.sent.at(-1).replace(/,"request":"[^"]+"/, "")`); got != `/api/jobs/7/reject {"plan":"p7","why":"too dear"}` {
				t.Errorf("it sent %s", got)
			}
		})
	}
}

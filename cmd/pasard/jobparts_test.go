package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a job saved is told without the directory each time, and where that is the same, without the path.
func TestCheckpointsOnAPageAreShort(t *testing.T) {
	h := newHome(t)
	b := openBrowser(t, h.startWeb(), screens[0])
	at := "/a/long/way/" + strings.Repeat("down/", 20)
	lines := ""
	for step, name := range []string{"first", "last", "last"} {
		lines += fmt.Sprintf("{\"event\":\"checkpoint\",\"step\":%d,\"path\":\"%s\"}\n", step+1, at+name)
	}
	if err := os.WriteFile(filepath.Join(h.dir, "saved"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	h.run("train", `cat "$HOME/saved" >> "$PASAR_EVENTS"; `+until("over"))
	b.open("/jobs/1")
	for _, want := range []string{"saved at step 1 to first", "saved at step 2 to last", "saved at step 3"} {
		b.until(`[...document.querySelectorAll(".events li > span")].some((e) => e.innerText === ` + js(want) + `)`)
	}
	b.until(`document.querySelector(".events span[title]").title === ` + js("saved at step 3 to "+at+"last"))
	b.read(".facts", "it saves, but doesn't say that it can pause: submit such programs with --pausable or --resume-command")
	h.file("over")
	b.until(pageState + ` === "completed"`)
	b.until(`!document.querySelector(".facts").innerText.includes("it can pause")`)
}

// What is said of times, GPUs and sizes is the same wherever it is said.
func TestPartsOfThePagesAgree(t *testing.T) {
	h := newHome(t)
	b := openBrowser(t, h.startWeb(), screens[0])
	b.open("/")
	words := eval[[]string](b, `import("/assets/format.js").then(({gpus}) => [[], [{index: 2}], [{index: 2}, {index: 3}]].map(gpus))`)
	if fmt.Sprintf("%q", words) != `["" "GPU 2" "GPUs 2,3"]` {
		t.Errorf("%q", words)
	}
	// A row's bar goes on with its words between two reports.
	row := eval[[]string](b, `import("/assets/jobrow.js").then(({Row}) => {
		const at = (s) => new Date(Date.now() + 1000 * s).toISOString();
		const job = {id: 1, name: "train", argv: ["train"], command: "train", tags: [], gpus: [], bid: 1, state: "running", claim: {kind: "none", gpus: 0, mem: null, ram: null}, group: null, progress: null, waiting: null, summary: null,
			est_runtime: 1000, run_time: 50, remaining: 950, projected: {start: null, finish: at(950)}, attempts: [{attempt: 1, started_at: at(-50)}]};
		const row = new Row(job);
		const said = () => row.rest.innerText + " " + row.fill.style.inlineSize.split(".")[0].replace("%", "");
		const before = said();
		job.projected.finish = at(499.9);
		row.tick();
		return [before, said()];
	})`)
	if fmt.Sprintf("%q", row) != `["15m50s left 5" "8m20s left 50"]` && fmt.Sprintf("%q", row) != `["16m left 5" "8m20s left 50"]` {
		t.Errorf("%q", row)
	}
	// What a small job uses has an axis with more than its foot on it.
	axis := eval[[]string](b, `import("/assets/charts.js").then(async ({Usage}) => {
		const usage = new Usage();
		usage.load = () => {};
		document.querySelector("main").append(usage.el);
		usage.show(1, 1, false, false);
		usage.draw([0, 10, 20].map((s) => ({at: new Date(s * 1000).toISOString(), gpu: 0, host: 4096 * s, use: null})));
		while (!usage.memory.plot) await new Promise(requestAnimationFrame);
		const words = usage.memory.plot.axes[1]._values;
		usage.close();
		usage.el.remove();
		return words;
	})`)
	if len(axis) < 3 || axis[0] != "0 B" || axis[len(axis)-1] != "1 MiB" {
		t.Errorf("the axis has %q", axis)
	}
}

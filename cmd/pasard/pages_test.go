package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// jobState is an expression: the state of a job's row in the list.
func jobState(id int) string {
	return fmt.Sprintf(`document.querySelector('tr[data-job="%d"] .state')?.dataset.state`, id)
}

// pageState is an expression: the state on a job's own page.
const pageState = `document.querySelector("main header .state, main h1 ~ .state, main .state")?.dataset.state`

// file makes an empty file in the home, which a job waits for.
func (h *home) file(name string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), nil, 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// await waits for a job's end, whatever it is.
func (h *home) await(id int) {
	h.t.Helper()
	cmd := exec.Command(filepath.Join(bin, "pasar"), "wait", strconv.Itoa(id))
	cmd.Env = h.env()
	if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() == 69 {
		h.t.Fatalf("%v\n%s", err, out)
	}
}

func until(name string) string { return `until [ -e "$HOME/` + name + `" ]; do sleep 0.05; done` }

// A pageTour is one reader's way through the pages.
type pageTour struct {
	*home
	b *browser
}

func TestThePagesInABrowser(t *testing.T) {
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			h := newHome(t)
			addr := h.startWeb()
			tour := &pageTour{h, openBrowser(t, addr, s)}
			tour.watchesAJob()
			tour.readsAFailure()
			tour.raisesABid()
			tour.cancels()
			tour.followsALog()
			tour.types()
		})
	}
}

// watchesAJob submits one in the page, and sees it go from queued to completed there.
func (p *pageTour) watchesAJob() {
	b := p.b
	b.open("/")
	b.read("main", "Submit the first job")
	b.look("an empty market")
	p.pasar("submit", "--gpus", "1", "--name", "before", "--", "sh", "-c", until("go"))
	b.until(jobState(1) + ` === "running"`)
	b.press("Submit a job")
	b.look("the dialog of a submit")
	b.fill("Command", "echo started; "+until("done"))
	b.fill("Name", "watched")
	b.press("Submit")
	b.until(jobState(2) + ` === "queued"`)
	eval[bool](b, `(() => { window.unloaded = false; return true; })()`)
	b.look("two jobs")
	p.file("go")
	b.until(jobState(2) + ` === "running"`)
	p.file("done")
	b.until(jobState(2) + ` === "completed"`)
	if eval[bool](b, `window.unloaded !== false`) {
		p.t.Error("the page was loaded anew")
	}
	b.click(`tr[data-job="2"] a`, "")
	b.until(`location.pathname === "/jobs/2" && ` + pageState + ` === "completed"`)
	b.read("main", "watched")
	b.look("the page of a completed job")
	b.do(chromedp.Reload())
	b.until(pageState + ` === "completed"`)
}

// readsAFailure sees why a job failed, and the line at its root, first.
func (p *pageTour) readsAFailure() {
	b := p.b
	script := filepath.Join(p.dir, "train.py")
	if err := os.WriteFile(script, []byte("def load():\n    raise FileNotFoundError(2, 'No such file or directory', '<b>weights.pt</b>')\n\nload()\n"), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.pasar("submit", "--gpus", "0", "--name", "<i>eval</i>", "--", "python3", script)
	p.await(3)
	b.open("/jobs/3")
	b.until(pageState + ` === "failed"`)
	b.read(".part-verdict", "file_missing")
	b.read(".part-verdict", "FileNotFoundError: [Errno 2] No such file or directory: '<b>weights.pt</b>'")
	if eval[float64](b, `document.querySelector(".part-verdict").getBoundingClientRect().top`) > eval[float64](b, `document.querySelector(".part-facts").getBoundingClientRect().top`)+1 {
		p.t.Error("the verdict isn't first")
	}
	b.see("button", "Restart with…")
	b.look("the page of a failed job")
	b.scheme("dark")
	b.look("the page of a failed job, in the dark")
	b.scheme("light")
}

// raisesABid sees what a bid would do before it is made.
func (p *pageTour) raisesABid() {
	b := p.b
	p.pasar("submit", "--gpus", "1", "--name", "holder", "--", "sleep", "1000")                  // 4
	p.pasar("submit", "--gpus", "1", "--name", "first", "--time", "10m", "--", "sleep", "1000")  // 5
	p.pasar("submit", "--gpus", "1", "--name", "second", "--time", "10m", "--", "sleep", "1000") // 6
	b.open("/jobs/6")
	b.until(pageState + ` === "queued"`)
	b.press("Bid")
	b.fill("Bid", "1500")
	b.read("dialog[open]", "#5 first") // it would have to wait longer
	b.look("the dialog of a bid")
	b.click(`dialog[open] button[type="submit"]`, "")
	b.until(`!document.querySelector("dialog[open]")`)
	b.read("main", "1500")
	b.open("/")
	b.until(`(() => { const ids = [...document.querySelectorAll("tr[data-job]")].map((r) => r.dataset.job); return ids.indexOf("6") < ids.indexOf("5"); })()`)
}

// cancels ends a job that waits and one that runs.
func (p *pageTour) cancels() {
	b := p.b
	b.open("/jobs/5")
	b.until(pageState + ` === "queued"`)
	for _, id := range []string{"5", "4"} {
		b.open("/jobs/" + id)
		b.press("Cancel job")
		b.look("the dialog of a cancel")
		b.click(`dialog[open] button[type="submit"]`, "")
		b.until(pageState + ` === "cancelled"`)
	}
	p.pasar("cancel", "6")
}

// followsALog sees lines and a progress bar as they are written, and text as text.
func (p *pageTour) followsALog() {
	b := p.b
	p.pasar("submit", "--gpus", "0", "--name", "bars", "--", "sh", "-c", // 7
		`echo first; printf '\033[31mred\033[0m <script>alert(1)</script> \033]52;c;aGk=\007end\n'; printf '\r10%%'; `+until("half")+`; printf '\r55%%'; `+until("whole")+`; printf '\r100%%\n'; echo last; `+until("over"))
	b.open("/jobs/7")
	b.read(`[role="log"]`, "first")
	b.read(`[role="log"]`, "red <script>alert(1)</script> end")
	b.read(`[role="log"]`, "10%")
	p.file("half")
	b.read(`[role="log"]`, "55%")
	p.file("whole")
	b.read(`[role="log"]`, "last")
	text := eval[string](b, `document.querySelector('[role="log"]').innerText`)
	if !strings.Contains(text, "100%") || strings.Contains(text, "55%") || strings.Contains(text, "10%\n") {
		p.t.Errorf("the bar has left something behind:\n%s", text)
	}
	b.look("a job that runs")
	p.file("over")
	b.until(pageState + ` === "completed"`)
}

// types takes control of a job's terminal, and types into it.
func (p *pageTour) types() {
	b := p.b
	p.pasar("submit", "--gpus", "0", "--name", "asks", "--", "sh", "-c", `printf 'name? '; read -r name; echo "hello, $name"; `+until("read")) // 8
	b.open("/jobs/8")
	b.click(`[role="tab"]`, "Terminal")
	screen := `document.querySelector(".xterm-rows").innerText.replaceAll("\u00a0", " ")`
	b.until(screen + `.includes("name?")`)
	b.click(".xterm-screen", "")
	b.keys(0, "n", "o", "Enter") // it only watches
	b.press("Take control")
	b.see("button", "Release control")
	b.look("a terminal under control")
	b.keys(0, "a", "d", "a", "Enter")
	b.until(screen + `.includes("hello, ada")`)
	if eval[bool](b, screen+`.includes("no\n")`) {
		p.t.Error("who only watched has typed")
	}
	b.press("Release control")
	b.see("button", "Take control")
	p.file("read")
	b.until(pageState + ` === "completed"`)
}

// A browser lets six requests to a server wait, for all of its windows together.
func TestAnyNumberOfWindowsIsLive(t *testing.T) {
	h := newHome(t)
	addr := h.startWeb()
	h.pasar("submit", "--gpus", "0", "--name", "seen", "--", "sh", "-c", "echo first; "+until("go")+"; echo second; "+until("over"))
	b := openBrowser(t, addr, screens[0])
	windows := []*browser{b}
	for range 7 {
		windows = append(windows, b.window())
	}
	for _, w := range windows {
		w.open("/jobs/1")
		w.read(`[role="log"]`, "first")
	}
	h.file("go")
	for _, w := range windows {
		w.read(`[role="log"]`, "second")
	}
	h.file("over")
	for _, w := range windows {
		w.until(pageState + ` === "completed"`)
	}
}

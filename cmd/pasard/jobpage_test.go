package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// hostile is what a job may print: it must be seen, and do nothing.
const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`

// run submits a job without a GPU.
func (h *home) run(name, script string, flags ...string) {
	h.t.Helper()
	h.pasar(append(append([]string{"submit", "--gpus", "0", "--name", name}, flags...), "--", "sh", "-c", script)...)
}

func TestAJobsPageInABrowser(t *testing.T) {
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			h := newHome(t)
			b := openBrowser(t, h.startWeb(), s)
			b.failedJob(h)
			b.terminalOf(h)
			b.waitingJob(h)
			b.pardon("status of 404")
			b.open("/jobs/99")
			b.read("h1", "There is no job 99")
			b.look("a job that there isn't")
		})
	}
}

// failedJob: why it failed comes first, what it printed is only text, and it can be started again.
func (b *browser) failedJob(h *home) {
	b.t.Helper()
	quoted := strings.ReplaceAll(hostile, "'", `'\''`)
	h.run("train", `echo '`+quoted+`'; while [ ! -e go ]; do sleep 0.02; done; echo '{"event":"progress","step":3,"total_steps":10,"loss":0.5}' >> $PASAR_EVENTS
		i=0; while [ $i -lt 6000 ]; do i=$((i+1)); echo "line $i"; done; echo "FileNotFoundError: [Errno 2] No such file or directory: 'data.bin'"; exit 1`, "--tag", "llm", "--note", hostile)
	b.open("/jobs/1")
	b.see(`.state[data-state="running"]`, "")
	b.read(".log", hostile)
	if err := os.WriteFile(filepath.Join(h.dir, "go"), nil, 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.read("section.part-verdict li.root", "data.bin")
	b.read("section.part-verdict", "file_missing")
	b.read(".facts", hostile)
	b.read(".log", "line 6000")
	b.read(".log .dropped", "earlier lines left out")
	b.see(`[role="progressbar"]`, "")
	b.see(".chart .plot canvas", "")
	b.read("table.attempts", "exit code 1")
	b.until(`document.title === "#1 train: failed · pasar"`)
	if n := eval[int](b, `document.querySelectorAll(".log .line").length`); n > 5001 {
		b.t.Errorf("%d lines are in the page", n)
	}
	b.fill("Find in the output", "line 5999")
	b.read(".hits", "1 of 1")
	b.look("a job that failed")
	b.scheme("dark")
	b.look("a job that failed, in the dark")
	b.scheme("light")

	b.pardon("status of 400")
	b.press("Restart with…")
	b.fill("Bid", "many")
	b.read(".preview .error", "Bid")
	b.look("a restart with other words")
	b.click("dialog button", "Restart")
	b.read("dialog .error", "Bid")
	b.fill("Bid", "1234")
	b.click("dialog button", "Restart")
	b.read("table.attempts", "2")
	b.read(".jobhead .sub", "bid 1234")
	b.read("section.part-verdict", "Attempt 2 of 2")
	b.settle("main section")
	b.click("table.attempts a", "attempt 1")
	b.until(`location.search === "?attempt=1"`)
	b.read("section.part-verdict", "Attempt 1 of 2")
	b.open("/jobs/1?attempt=1") // as a link that somebody was sent
	b.read("section.part-verdict", "Attempt 1 of 2")
	if eval[bool](b, `document.querySelector("main img, main script, main b") !== null || document.title.includes("owned")`) {
		b.t.Error("what the job said was taken for markup")
	}
}

// terminalOf: it is watched, typed into once control is taken, and left by the keys that the page names.
func (b *browser) terminalOf(h *home) {
	b.t.Helper()
	h.run("shell", `stty -echo; echo ready; while read line; do printf '\033[38;2;200;80;0mgot\033[0m <%s>\n' "$line"; done`)
	b.open("/jobs/2")
	b.read(".log", "ready")
	b.click(`[role="tab"]`, "Terminal")
	b.read(".xterm-rows", "ready")
	b.read(".said", "You are watching.")
	b.look("a terminal that is watched")
	b.press("Take control")
	b.read(".said", "You have control.")
	b.until(`document.activeElement.closest(".xterm") !== null`)
	b.keys(0, "h", "e", "l", "l", "o", "Enter")
	b.read(".xterm-rows", "got <hello>")
	b.look("a terminal that is held")
	if phone := eval[bool](b, `matchMedia("(pointer: coarse)").matches`); phone {
		b.press("Tab")
		b.keys(0, "x", "Enter")
		b.read(".xterm-rows", "x>")
		b.until(`document.activeElement.closest(".xterm") !== null && !document.querySelector(".terminal").innerText.includes("Esc,")`)
	} else if eval[bool](b, `document.querySelector(".pad").checkVisibility()`) {
		b.t.Error("there are keys for who has a keyboard")
	}
	b.keys(ctrl, "]")
	b.keys(0, "d")
	b.until(`document.activeElement.innerText === "Release control"`)
	b.press("Release control")
	b.read(".said", "You are watching.")
	b.see("button", "Take control")
	b.press("Cancel job")
	b.read("dialog", "It runs. It gets SIGTERM")
	b.look("a cancel")
	b.fill("Now, without the grace", " ")
	b.click("dialog button", "Cancel job")
	b.see(`.state[data-state="cancelled"]`, "")
	b.read(".said", "This is its last screen;")
	b.read(".xterm-rows", "got <hello>")
	b.open("/jobs/2?view=terminal") // who comes later sees it as well
	b.read(".said", "This is its last screen;")
	b.read(".xterm-rows", "got <hello>")
	if eval[bool](b, `document.querySelector(".terminal .tools").innerText.includes("Take control")`) {
		b.t.Error("the keyboard of a job that has ended is offered")
	}
	b.look("a terminal that is over")
}

// ctrl is the key, beside others.
const ctrl = 2

// keys presses keys, as far as a program in the page takes them: what it doesn't isn't typed.
func (b *browser) keys(with int64, names ...string) {
	b.t.Helper()
	for _, name := range names {
		p := input.DispatchKeyEventParams{Key: name, Modifiers: with, WindowsVirtualKeyCode: int64(strings.ToUpper(name)[0])}
		switch name {
		case "Enter":
			p.WindowsVirtualKeyCode = 13
		case "]":
			p.WindowsVirtualKeyCode = 221
		}
		for _, p.Type = range []input.DispatchKeyEventType{"rawKeyDown", "keyUp"} {
			b.do(command(input.DispatchKeyEvent, p))
		}
	}
}

// waitingJob: it says why it waits, and what can be done is done.
func (b *browser) waitingJob(h *home) {
	b.t.Helper()
	h.run("later", "echo it ran: {lr}", "--hold", "--non-preemptible", "--retries", "2", "--retry-on", "host_oom", "--param", "lr=1e-5", "--by", "agent")
	b.open("/jobs/3")
	b.read(".note.wait", "until it is released")
	b.read(".pane", "It hasn't started")
	b.look("a job that waits")
	b.press("Release")
	b.see(`.state[data-state="completed"]`, "")
	b.read(".log", "it ran: 1e-5")
	b.see("button", "Restart")

	b.press("Submit another…")
	b.read("dialog h2", "another like #3 later")
	b.read("dialog", "what isn't known any more: its environment")
	b.read("dialog", "not stopped for a higher bid; tried again only for host_oom; with lr=1e-5 of its group, alone in one of its own; for agent.")
	if got := eval[[]string](b, `["Command", "Name", "GPUs", "Bid", "Grace"].map((t) => [...document.querySelectorAll("dialog label")].find((l) => l.innerText === t || l.textContent === t).control.value)`); fmt.Sprint(got) != "[sh -c 'echo it ran: 1e-5' later 0 1000 2m]" {
		b.t.Errorf("the form of another job has %q", got)
	}
	b.read("dialog .preview", "would start now")
	b.look("a job like another")
	b.fill("Name", "again")
	b.click("dialog button", "Submit")
	b.read("#said", "Submitted #4 again")
	var like struct {
		By          string
		Preemptible bool
		Params      map[string]string
		Retries     struct {
			Max int
			On  []string
		}
	}
	if err := json.Unmarshal([]byte(h.pasar("show", "--json", "4")), &like); err != nil || like.By != "agent" || like.Preemptible || like.Params["lr"] != "1e-5" || like.Retries.Max != 2 || fmt.Sprint(like.Retries.On) != "[host_oom]" {
		b.t.Errorf("another job is %+v %v", like, err)
	}
	b.press("Submit another…")
	b.fill("Name", "plain")
	b.click("dialog label", "The rest as that job has it")
	b.click("dialog button", "Submit")
	b.read("#said", "Submitted #5 plain")
	if s := h.pasar("show", "--json", "5"); !strings.Contains(s, `"preemptible":true`) || !strings.Contains(s, `"by":null`) {
		b.t.Errorf("what was left out is in %s", s)
	}
}

// hover moves the pointer over a text in the terminal, and returns where that is.
func (b *browser) hover(text string) (x, y float64) {
	b.t.Helper()
	b.read(".xterm-rows", text)
	at := eval[[]float64](b, fmt.Sprintf(`(() => { document.querySelector(".screenbox").scrollIntoView({block: "center", behavior: "instant"});
		const walk = document.createTreeWalker(document.querySelector(".xterm-rows"), NodeFilter.SHOW_TEXT); let n;
		while ((n = walk.nextNode()) && !n.data.includes(%[1]s));
		const r = new Range(); r.setStart(n, n.data.indexOf(%[1]s)); r.setEnd(n, n.data.indexOf(%[1]s) + %[1]s.length);
		const box = r.getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]; })()`, js(text)))
	b.do(command(input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: "mouseMoved", X: at[0], Y: at[1]}))
	return at[0], at[1]
}

func TestALinkOfAJobSaysWhereItLeadsBeforeItIsOpened(t *testing.T) {
	h := newHome(t)
	b := openBrowser(t, h.startWeb(), screens[0])
	h.run("links", `echo ready; `+until("go")+`
		link() { printf '\033]8;;%s\033\\%s\033]8;;\033\\\n' "$1" "$2"; }
		link 'javascript:document.title="owned"' script; link file:///etc/passwd file; link 'https://example.org:8443/a%20b?c=d#e' web; `+until("over"))
	b.open("/jobs/1?view=terminal")
	b.read(".xterm-rows", "ready")
	h.file("go")
	b.read(".xterm-rows", "web")
	eval[bool](b, `(window.opened = [], window.open = (...a) => { window.opened.push(a.join(" ")); return null; }, true)`)
	hovered := `document.querySelector(".xterm-cursor-pointer") !== null`
	for _, text := range []string{"script", "file"} {
		b.hover("web")
		b.until(hovered)
		b.do(chromedp.MouseClickXY(b.hover(text)))
		b.until("!(" + hovered + ")")
		if eval[bool](b, `document.querySelector("dialog") !== null`) {
			t.Errorf("%s is a link", text)
		}
	}
	follow := func() {
		t.Helper()
		b.hover("ready")
		b.until("!(" + hovered + ")")
		x, y := b.hover("web")
		b.until(hovered)
		b.do(chromedp.MouseClickXY(x, y))
		b.see("dialog .link", "")
	}
	follow()
	b.read("dialog .link", "https://example.org:8443/a%20b?c=d#e")
	b.until(`document.querySelector("dialog .link strong").innerText === "example.org:8443"`)
	b.look("a link of a job")
	b.press("Cancel")
	b.until(`document.querySelector("dialog") === null && window.opened.length === 0`)
	follow()
	b.press("Copy")
	b.read("#said", "cop")
	b.until(`document.querySelector("dialog") === null && window.opened.length === 0`)
	follow()
	b.press("Open")
	b.until(`document.querySelector("dialog") === null`)
	if got := eval[[]string](b, `[...window.opened, document.title]`); fmt.Sprint(got) != "[https://example.org:8443/a%20b?c=d#e _blank noopener,noreferrer #1 links: running · pasar]" {
		t.Errorf("%q", got)
	}
	h.file("over")
	b.read(".said", "This is its last screen;")
}

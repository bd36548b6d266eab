package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// axe is axe-core, which looks for what keeps people with disabilities out of a page.
//
//go:embed testdata/axe/axe.min.js
var axe string

// patience is how long a browser is waited for. It is there for busy machines: nothing that is tested takes a tenth of it.
const patience = 60 * time.Second

// A browser is a real one, with a window of its own on the daemon's pages.
type browser struct {
	t    testing.TB
	ctx  context.Context
	base string // http://host:port

	mu       sync.Mutex // guards what follows
	troubles []string   // what its console says is wrong, and what its policy refused
	pardoned []string   // parts of troubles that are meant to be
}

// A screen is how large a window is.
type screen struct {
	name   string
	width  int64
	height int64
	phone  bool
}

var screens = []screen{{"wide", 1440, 1000, false}, {"phone", 390, 844, true}}

// openBrowser starts a browser of a screen's size for the pages at addr. At the test's end it must have complained of nothing.
func openBrowser(t testing.TB, addr string, s screen) *browser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			program = p
			break
		}
	}
	if program == "" {
		if os.Getenv("PASAR_CI") != "" {
			t.Fatal("no chromium")
		}
		t.Skip("no chromium")
	}
	profile, err := os.MkdirTemp("", "pasar-browser")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(profile) })
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.UserDataDir(profile), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("host-resolver-rules", "MAP box.lan 127.0.0.1"), // to a browser another machine
		chromedp.WSURLReadTimeout(patience), chromedp.Env("HOME="+profile))
	ctx, cancelAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(ctx)
	b := &browser{t: t, ctx: ctx, base: "http://" + addr}
	b.pardon("ERR_NETWORK_CHANGED") // the machine's doing, and the page copes
	t.Cleanup(func() {
		if t.Failed() {
			b.picture(filepath.Join(os.TempDir(), "pasar-"+strings.ReplaceAll(t.Name(), "/", "-")+".png"))
		}
		_ = chromedp.Cancel(ctx)
		cancel()
		cancelAllocator()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, s := range b.troubles {
			t.Errorf("the browser: %s", s)
		}
	})
	if err := chromedp.Do(ctx); err != nil { // it lives as long as the context of the first action
		t.Fatal(err)
	}
	size := []chromedp.EmulateViewportOption{}
	if s.phone {
		size = append(size, chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulatePortrait)
	}
	b.do(chromedp.EmulateViewport(s.width, s.height, size...))
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	b.do(command(audits.Enable, cdp.Empty{}), command(log.Enable, cdp.Empty{}))
	return b
}

// window is another one of the same browser.
func (b *browser) window() *browser {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	b.t.Cleanup(cancel)
	w := &browser{t: b.t, ctx: ctx, base: b.base}
	if err := chromedp.Do(ctx); err != nil {
		b.t.Fatal(err)
	}
	return w
}

// hear keeps what the browser complains of.
func (b *browser) hear(ev any) {
	said := ""
	switch ev := ev.(type) {
	case *runtime.EventExceptionThrown:
		said = ev.ExceptionDetails.Text
		if e := ev.ExceptionDetails.Exception; e != nil {
			said += " " + e.Description
		}
	case *runtime.EventConsoleAPICalled:
		if ev.Type != runtime.ConsoleAPICalledTypeError && ev.Type != runtime.ConsoleAPICalledTypeWarning && ev.Type != runtime.ConsoleAPICalledTypeAssert {
			return
		}
		said = string(ev.Type) + ":"
		for _, arg := range ev.Args {
			said += " " + string(arg.Value) + arg.Description
		}
	case *log.EventEntryAdded:
		if ev.Entry.Level != log.EntryLevelError && ev.Entry.Level != log.EntryLevelWarning {
			return
		}
		said = fmt.Sprintf("%s: %s %s", ev.Entry.Source, ev.Entry.Text, ev.Entry.URL)
	case *audits.EventIssueAdded:
		if ev.Issue.Details.ContentSecurityPolicyIssueDetails == nil {
			return
		}
		d := ev.Issue.Details.ContentSecurityPolicyIssueDetails
		said = fmt.Sprintf("policy: %s refused %s %v", d.ViolatedDirective, d.BlockedURL, d.SourceCodeLocation)
	default:
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, part := range b.pardoned {
		if strings.Contains(said, part) {
			return
		}
	}
	b.troubles = append(b.troubles, said)
}

// pardon lets the browser complain of what has this in it: a refusal that a test asks for is an error to its console.
func (b *browser) pardon(part string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pardoned = append(b.pardoned, part)
}

// command is an action that gives the browser one command.
func command[P, R any](c cdp.Command[P, R], with P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, with)
		return err
	})
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// open goes to a path.
func (b *browser) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base + path))
}

// eval is the value of an expression in the page.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%.200s: %v", expression, err)
	}
	return v
}

// until waits until an expression is true in the page.
func (b *browser) until(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Poll[bool]("(() => { try { return Boolean("+expression+"); } catch { return false; } })()",
		chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(patience)))
	if err != nil {
		text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body.innerText.slice(0, 3000)`))
		b.t.Fatalf("%s is never true: %v\n%s", expression, err, text)
	}
}

// js is a text as JavaScript has it.
func js(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// shown is an expression: the first element that can be seen of those which match a selector, and whose text is this one if it isn't empty.
// A dialog that is open hides all that is behind it.
func shown(selector, text string) string {
	return fmt.Sprintf(`([...(document.querySelector("dialog[open]") ?? document).querySelectorAll(%s)].find((e) => e.checkVisibility({visibilityProperty: true}) && (%[2]s === "" || (e.innerText ?? "").trim() === %[2]s || e.getAttribute("aria-label") === %[2]s)))`, js(selector), js(text))
}

// see waits for an element.
func (b *browser) see(selector, text string) {
	b.t.Helper()
	b.until(shown(selector, text))
}

// read waits until some element has a text in it.
func (b *browser) read(selector, part string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`[...document.querySelectorAll(%s)].some((e) => e.innerText.includes(%s))`, js(selector), js(part)))
}

// settle waits until nothing of a page has moved for a while: what is fetched for it pushes the rest down.
func (b *browser) settle(selector string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`(async () => {
		const at = () => [...document.querySelectorAll(%s)].map((e) => { const r = e.getBoundingClientRect(); return [r.top + scrollY, r.left, r.height]; }).join();
		for (let was = at(), same = 0; same < 12; same = at() === was ? same + 1 : 0) { was = at(); await new Promise((done) => setTimeout(done, 60)); }
		return true; })()`, js(selector)))
}

// click waits for a control, and presses it as a pointer does: in its middle, where it must not be covered.
func (b *browser) click(selector, text string) {
	b.t.Helper()
	b.see(selector, text)
	b.until(fmt.Sprintf(`!%s.disabled`, shown(selector, text)))
	at := eval[struct {
		X, Y float64
		Over string // what is over it, if something is
	}](b, fmt.Sprintf(`(async () => { let e, r = {}, was;
		do { // until it stays where it is: what is above it may still come
			await new Promise((done) => setTimeout(() => requestAnimationFrame(done), 60));
			e = %s; e.scrollIntoView({block: "center", behavior: "instant"});
			was = r; r = e.getBoundingClientRect();
		} while (was.left !== r.left || was.top !== r.top);
		const [X, Y] = [r.left + r.width / 2, r.top + r.height / 2];
		const top = document.elementFromPoint(X, Y); return {X, Y, Over: e.contains(top) || top?.closest("label")?.control === e ? "" : (top?.outerHTML ?? "nothing").slice(0, 200)}; })()`, shown(selector, text)))
	if at.Over != "" {
		b.t.Fatalf("%s %q at %v, %v is covered by %s", selector, text, at.X, at.Y, at.Over)
	}
	b.do(chromedp.MouseClickXY(at.X, at.Y))
}

// press presses a button by what is written on it.
func (b *browser) press(text string) {
	b.t.Helper()
	b.click("button", text)
}

// fill puts a text in place of what is in the field with this label.
func (b *browser) fill(label, text string) {
	b.t.Helper()
	field := fmt.Sprintf(`([...(document.querySelector("dialog[open]") ?? document).querySelectorAll("input, textarea, select")].find((e) => e.checkVisibility() && (e.labels?.[0]?.innerText.trim() === %[1]s || e.getAttribute("aria-label") === %[1]s)))`, js(label))
	b.until(field)
	if eval[bool](b, field+`.tagName === "SELECT"`) {
		eval[bool](b, fmt.Sprintf(`(() => { const e = %s; e.value = %s; e.dispatchEvent(new Event("input", {bubbles: true})); e.dispatchEvent(new Event("change", {bubbles: true})); return true; })()`, field, js(text)))
		return
	}
	eval[bool](b, field+`.focus() ?? `+field+`.select() ?? true`)
	b.typeText(text)
}

// typeText types into what has the focus.
func (b *browser) typeText(text string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(text))
}

// rest waits until nothing moves: halfway there, nothing has its colours.
func (b *browser) rest() {
	b.t.Helper()
	b.until(`document.getAnimations().every((a) => a.playState !== "running" || a.effect.getComputedTiming().endTime === Infinity)`)
}

// look has axe-core look at the page as it is: nothing serious may be found.
func (b *browser) look(what string) {
	b.t.Helper()
	b.rest()
	eval[bool](b, axe+"; true")
	found := eval[string](b, `axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations.filter((v) => v.impact === "serious" || v.impact === "critical")
		.map((v) => v.id + ": " + v.help + "\n" + v.nodes.slice(0, 5).map((n) => "    " + n.target + " " + n.html.slice(0, 200) + "\n      " + n.failureSummary.replaceAll("\n", " ")).join("\n")).join("\n"))`)
	if found != "" {
		b.t.Errorf("%s:\n%s", what, found)
	}
	if w := eval[[]int](b, `[document.documentElement.scrollWidth, document.documentElement.clientWidth]`); w[0] > w[1] {
		b.t.Errorf("%s: it is %d pixels wide in a window of %d", what, w[0], w[1])
	}
}

// scheme is light or dark.
func (b *browser) scheme(name string) {
	b.t.Helper()
	b.do(command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}}))
}

// picture keeps what is on the screen.
func (b *browser) picture(file string) {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(file, png, 0o644)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		b.t.Logf("no picture: %v", err)
		return
	}
	b.t.Logf("picture: %s", file)
}

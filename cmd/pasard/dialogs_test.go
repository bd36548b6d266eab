package main

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"pasar"
)

// once waits until the dialog says something, and says it in one place.
func (b *browser) once(text string) {
	b.t.Helper()
	b.until(`document.querySelector("dialog").innerText.split(` + js(text) + `).length === 2`)
}

// gone waits until the dialog doesn't say something any more.
func (b *browser) gone(text string) {
	b.t.Helper()
	b.until(`!document.querySelector("dialog").innerText.includes(` + js(text) + `)`)
}

// Whatever the form or the daemon refuses is said below the field, in whole sentences, with the fields' names.
func TestRefusalsOfTheFormAreWholeSentences(t *testing.T) {
	long := strings.Repeat("w", pasar.MaxName+1)
	h := newHome(t)
	b := openBrowser(t, h.startWeb(), screens[0])
	b.pardon("status of 400")
	b.pardon("status of 404")
	b.pardon("status of 422")
	b.open("/")
	b.press("Submit a job")
	b.click("dialog summary", "More")
	for _, c := range []struct{ field, text, want string }{
		{"GPUs", "-1", "GPUs: Write a whole number, 0 or more."},
		{"GPUs", "two", "GPUs: Write a whole number, 0 or more."},
		{"GPUs", "1025", "GPUs: A job has at most 1\u202f024 GPUs."},
		{"GPUs", "4", "GPUs: This machine has not got 4 GPUs (1 at most). The most is 1 GPU."},
		{"GPU memory", "24", "GPU memory: Write a size with its unit, such as 24G, or auto."},
		{"GPU memory", "0", "GPU memory: Write more than 0, or nothing for whole GPUs."},
		{"GPU memory", "900000G", "GPU memory: This machine has not got"},
		{"Host memory", "16", "Host memory: Write a size with its unit, such as 24G."},
		{"Host memory", "900000G", "Host memory: This machine has not got"},
		{"Takes about", "soon", "Takes about: Write 2h, 90m or 1d12h."},
		{"Bid", "high", "Bid: A bid is a whole number."},
		{"Bid", "1.5", "Bid: A bid is a whole number."},
		{"Bid", "99999999999999999999", "Bid: A bid is at most 1\u202f000\u202f000\u202f000."},
		{"Bid", fmt.Sprint(pasar.MinBid - 1), "Bid: A bid is at least −1\u202f000\u202f000\u202f000."},
		{"Retries", "-1", "Retries: Write a whole number, 0 or more."},
		{"Retries", fmt.Sprint(pasar.MaxRetries + 1), "Retries: It is tried again at most 1\u202f000 times."},
		{"Directory", "/nope", "Directory /nope: there is no such directory. The directory is one of the machine that runs the job; an empty field is your home."},
		{"Name", long, "Name: It is 201 bytes long, and at most 200 fit."},
		{"Key", long, "Key: It is 201 bytes long, and at most 200 fit."},
		{"GPU type", long, "GPU type: It is 201 bytes long, and at most 200 fit."},
		{"GPU type", "H900", "GPU type: This machine has not got"},
		{"Tags", "@" + long, "Tags: It is 201 bytes long, and at most 200 fit."},
		{"Tags", strings.Repeat("t ", pasar.MaxTags+1), "Tags: There are 33 of them, and at most 32 fit."},
		{"Grace", "soon", "Grace: Write 2h, 90m or 1d12h."},
		{"Time limit", "soon", "Time limit: Write 2h, 90m or 1d12h."},
		{"After", "me", "After: Write 41, or 41:any."},
		{"After", "77", "After 77: there is no job 77."},
		{"Environment", "A", "Environment: Write KEY=VALUE, one a line."},
	} {
		b.fill(c.field, c.text)
		b.read("dialog .fieldwrong", c.want)
		said := eval[string](b, `[...document.querySelectorAll("dialog .fieldwrong")].map((e) => e.innerText).filter(Boolean).join("|")`)
		for _, s := range strings.Split(strings.TrimPrefix(said, c.field+": "), ". ") {
			if s == "" || s[0] >= 'a' && s[0] <= 'z' && !strings.HasPrefix(s, "pasar ") {
				t.Errorf("%s %q: %q begins in the middle", c.field, c.text, said)
			}
		}
		if !strings.HasSuffix(said, ".") || strings.Contains(said, "|") || strings.Contains(strings.ReplaceAll(said, "pasar ls --all", ""), "--") || strings.Contains(said, "_") {
			t.Errorf("%s %q: it says %q", c.field, c.text, said)
		}
		if wide := eval[float64](b, `document.querySelector("dialog .fieldwrong:not(:empty)").getBoundingClientRect().width / document.querySelector("dialog .content").getBoundingClientRect().width`); wide < 0.95 {
			t.Errorf("%s: what is wrong has %.2f of the form's width", c.field, wide)
		}
		b.fill(c.field, " ")
		b.until(`[...document.querySelectorAll("dialog .fieldwrong")].every((e) => e.innerText === "")`)
	}
	b.fill("GPUs", "0")
	b.fill("GPU memory", "4G")
	b.read("dialog .fieldwrong", "GPU memory: A job without a GPU has none of its memory. What it needs of the machine's goes under Host memory.")
	b.fill("GPUs", "1")
	b.gone("A job without a GPU")
}

// What is wrong with a bid is said once, and no longer than it is.
func TestABidThatIsTooLargeIsSaidToBe(t *testing.T) {
	h := newHome(t)
	b := openBrowser(t, h.startWeb(), screens[0])
	h.pasar("submit", "--gpus", "0", "--name", "held", "--hold", "--", "true")
	b.open("/")
	b.click(`tr[data-job="1"] .c-state`, "")
	b.click(`tr[data-job="1"] button`, "Bid")
	b.fill("Bid", "99999999999999999999")
	const large = "A bid is at most 1\u202f000\u202f000\u202f000."
	b.once(large)
	b.click("dialog button", "Bid")
	b.read("dialog .error[role=alert]", large)
	b.once(large)
	b.fill("Bid", "many")
	b.gone(large)
	b.once("A bid is a whole number.")
	b.fill("Bid", fmt.Sprint(pasar.MaxBid))
	b.gone("A bid is")
	b.click("dialog button", "Bid")
	b.read(`tr[data-job="1"] .c-bid`, fmt.Sprint(pasar.MaxBid))
}

// A daemon that is gone is said once, and no longer than it is; nothing on the page moves for it.
func TestALostConnectionIsSaidOnceUntilItIsBack(t *testing.T) {
	const lost = "pasar doesn't answer. It may be restarting; jobs go on without it."
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			h := newHome(t)
			addr := h.startWeb()
			b := openBrowser(t, addr, s)
			for _, part := range []string{"ERR_CONNECTION_REFUSED", "WebSocket connection", "net::ERR"} {
				b.pardon(part)
			}
			h.pasar("submit", "--gpus", "0", "--name", "held", "--hold", "--", "true")
			b.open("/")
			b.read(`tr[data-job="1"]`, "held")
			top := `document.querySelector("main").getBoundingClientRect().top + scrollY`
			was := eval[float64](b, top)
			h.kill()
			b.read("#trouble", "any pasar command on its machine starts it")
			if is := eval[float64](b, top); is != was {
				t.Errorf("the page went from %v to %v", was, is)
			}
			b.look("a page without a connection")
			dialogs := []func(){
				func() { b.press("Submit a job"); b.fill("Command", "true") },
				func() {
					b.click(`tr[data-job="1"] .c-state`, "")
					b.click(`tr[data-job="1"] button`, "Bid")
					b.fill("Bid", "1300")
				},
				func() {
					b.click(`tr[data-job="1"] .c-state`, "")
					b.click(`tr[data-job="1"] button`, "Cancel job")
				},
			}
			for i, open := range dialogs {
				if i > 0 {
					h.kill()
					b.until(`!document.querySelector("#trouble").hidden`)
				}
				open()
				if i < 2 {
					b.once(lost)
				}
				b.click(`dialog button[type="submit"]`, "")
				b.read("dialog .error[role=alert]", lost)
				b.once(lost)
				if eval[bool](b, `document.querySelector("dialog .error[role=alert]").getBoundingClientRect().bottom > document.querySelector("dialog .buttons").getBoundingClientRect().top + 1`) {
					t.Error("the buttons cover what is wrong")
				}
				h.startWebAt(addr, func(*exec.Cmd) {})
				b.gone("pasar doesn't answer")
				if i < 2 {
					b.read("dialog .preview", "by the estimates")
				}
				b.click("dialog button", "Not now")
			}
		})
	}
}

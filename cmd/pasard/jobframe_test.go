package main

import "testing"

// oneRow checks that what can be seen of some elements stands in one row.
func (b *browser) oneRow(what, elements string) {
	b.t.Helper()
	if tops := eval[[]float64](b, `[...new Set([...document.querySelectorAll(`+js(elements)+`)].filter((e) => e.checkVisibility()).map((e) => { const r = e.getBoundingClientRect(); return Math.round((r.top + r.bottom) / 2); }))]`); len(tops) != 1 {
		b.t.Errorf("%s stands in rows at %v", what, tops)
	}
}

// A terminal has the scrollbar that it needs, beside what is written, at the frame's edge; and what can be done stands in a row.
func TestTheFrameOfATerminalFits(t *testing.T) {
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			h := newHome(t)
			b := openBrowser(t, h.startWeb(), s)
			h.run("long", `i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo "line $i"; done; `+until("over"))
			b.open("/jobs/1")
			b.read(".log", "line 200")
			b.oneRow("what can be done with the output", ".logview .tools > *")
			b.click(`[role="tab"]`, "Terminal")
			b.read(".xterm-rows", "line 200")
			b.oneRow("what can be done with the terminal", ".terminal .tools > button")
			fits := func(when string) {
				t.Helper()
				b.until(`document.querySelector(".xterm-screen").clientWidth > 100`)
				m := eval[struct{ Box, Bar, Text float64 }](b, `(() => { const at = (s) => document.querySelector(s).getBoundingClientRect().right; return {Box: at(".screenbox"), Bar: at(".xterm-viewport"), Text: at(".xterm-screen")}; })()`)
				if wide := eval[bool](b, `document.querySelector(".screenbox").scrollWidth > document.querySelector(".screenbox").clientWidth`); !wide && (m.Box-m.Bar > 12 || m.Bar-m.Text < 10) {
					t.Errorf("%s: the frame ends at %v, the scrollbar at %v, what is written at %v", when, m.Box, m.Bar, m.Text)
				}
			}
			fits("watched")
			b.press("Take control")
			b.read(".said", "You have control.")
			b.oneRow("what can be done with the terminal", ".terminal .tools > button")
			b.until(`document.querySelector(".xterm-helper-textarea").clientHeight < 40`)
			fits("held")
			if hidden := eval[float64](b, `(() => { const e = document.querySelector(".screenbox"); return e.scrollHeight - e.clientHeight; })()`); hidden > 0 {
				t.Errorf("the frame of a terminal that is held hides %v pixels of it", hidden)
			}
			h.file("over")
			b.until(pageState + ` === "completed"`)
		})
	}
}

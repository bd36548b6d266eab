package console

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"pasar"
	"pasar/ui"
)

// hostile are things that jobs may be called or print.
var hostile = []string{
	"[red]red[-] [::b]bold[::-] [\"x\"]region[\"\"]", "\x1b[31mred\x1b[2J\x1b[H\x1b]0;title\x07", "a\tb\nc\rd\x00e\x7f", "日本語の名前がとても長い場合",
	"👨‍👩‍👧‍👦 family 🇳🇱 flag 👍🏽 ⚠️", "שלום עולם مرحبا", "\u202eevil\u202c \u2066x\u2069", "e\u0301\u0302\u0303\u0304\u0305\u0306 z\u0310", strings.Repeat("x", 10_000), strings.Repeat("語", 5000),
	"\xff\xfe broken \xc3", "\u200b\u200d\ufeff", "ﷺ ꧅ 𒐫", "ᄀᄀᄀ각ᆨᆨ", "a\u00adb", "",
}

// poisoned has hostile words wherever a job may say something.
func poisoned(v pasar.JobView, text string) pasar.JobView {
	clean := pasar.Clean(text) // as the daemon sends it; argv comes raw
	v.Name, v.Note, v.Tags, v.Command, v.By = clean, &clean, []string{clean}, clean, &clean
	v.Argv, v.Cwd = []pasar.Arg{pasar.Arg(text)}, pasar.Arg(text)
	v.Submitter = text
	if v.Waiting != nil {
		v.Waiting.Sentence = "waits for " + text
	}
	if v.Verdict != nil {
		v.Verdict.Summary, v.Verdict.Hint = text, text
		v.Verdict.Evidence[0].Text = text
		v.Attempts[0].Tail = []string{text, text}
	}
	v.Progress = &pasar.ProgressView{Step: ptr(3.0), Total: ptr(10.0), At: noon, Metrics: map[string]float64{text: 3}}
	return v
}

// frame is what the layout of a screen is: where its rules and borders stand.
func frame(text string) string {
	var b strings.Builder
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "─ ") || strings.ContainsAny(line, "╭╰") {
			b.WriteString(strings.Map(func(r rune) rune {
				if strings.ContainsRune("─╭╮╰╯│", r) {
					return r
				}
				return ' '
			}, line[:min(len(line), 12)]))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestWhatJobsSayLeavesTheLayoutWholeAndInjectsNothing(t *testing.T) {
	pages := []struct {
		keys []string
		sees string
	}{{nil, "Jobs"}, {[]string{"Enter"}, "Esc back"}, {[]string{"w"}, "Why"}, {[]string{"f"}, "Output of"}, {[]string{"b"}, "Bid of"}, {[]string{"x"}, "Cancel"}, {[]string{"End", "r"}, "again"}, {[]string{"End", "Enter"}, "Esc back"}}
	sizes := [][2]int{{80, 24}, {120, 40}}
	for i, text := range append([]string{"benign"}, hostile...) {
		d := newDouble(t)
		d.jobs = []pasar.JobView{poisoned(job(1, pasar.Running), text), poisoned(job(2, pasar.Queued), text), poisoned(job(3, pasar.Failed), text)}
		d.jobs[2].ID = 3
		d.plan = pasar.PlanView{Claim: d.jobs[0].Claim, Jobs: []pasar.PlannedJob{{ID: 1, Now: true, Sentence: text}}, Delayed: []pasar.DelayedJob{{ID: 2, Name: text, From: noon}}, Stopped: []pasar.PreemptedJob{{ID: 1, Name: text}}}
		d.logs = text + "\r\n" + text
		d.metrics = pasar.MetricsView{ID: 1, Attempt: 1, Points: []pasar.MetricsPoint{{Metrics: map[string]float64{text: 1}}, {Metrics: map[string]float64{text: 2}}}}
		size := sizes[i%2]
		s := show(t, d, size[0], size[1])
		s.sees("Finished")
		for _, p := range pages {
			s.in(s.c.home)
			s.press("Home")
			s.press(p.keys...)
			s.sees(p.sees)
			s.sound(fmt.Sprintf("%.30q: %v", text, p.keys))
		}
		s.stop()
	}
}

// sound checks that what is on the screen is drawn soundly: no control characters, and each wide character whole.
func (s *shown) sound(what string) {
	s.t.Helper()
	s.in(func() {
		cells, w, h := s.screen.GetContents()
		for y := range h {
			for x := range w {
				for _, r := range cells[y*w+x].Runes {
					if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
						s.t.Errorf("%s: %U at %d,%d", what, r, x, y)
					}
					if ui.RuneWidth(r) == 2 && x == w-1 {
						s.t.Errorf("%s: half of %q at the edge", what, r)
					}
				}
			}
		}
	})
}

func TestHostileWordsDontMoveTheLayout(t *testing.T) {
	layout := func(text string) string {
		d := newDouble(t)
		d.jobs = []pasar.JobView{poisoned(job(1, pasar.Running), text), poisoned(job(2, pasar.Queued), text), poisoned(job(3, pasar.Failed), text)}
		s := show(t, d, 100, 30)
		defer s.stop()
		return frame(s.sees("Finished"))
	}
	want := layout("benign")
	for _, text := range hostile {
		if got := layout(text); got != want {
			t.Errorf("%.40q moves the layout:\n%s\nit was\n%s", text, got, want)
		}
	}
}

func TestBracketsAreShownAsTheyAre(t *testing.T) {
	d := newDouble(t)
	v := job(1, pasar.Failed)
	v.Name = "[red]x[-]"
	d.jobs = []pasar.JobView{v}
	s := show(t, d, 100, 30)
	s.sees("[red]x[-]")
	s.press("r")
	s.sees("Start #1 [red]x[-] again")
	s.press("Esc")
	s.press("s")
	s.types("echo [blue]y[-]")
	s.sees("echo [blue]y[-]")
}

package console

import (
	"fmt"
	"strings"
	"testing"

	"pasar"
)

// reading shows the output of job 1.
func reading(t *testing.T, d *double, cols, rows int) *shown {
	t.Helper()
	s := show(t, d, cols, rows)
	s.sees("train-1")
	s.press("f")
	s.sees("Output of #1 train-1")
	return s
}

func TestALineThatHasNotEndedIsSeen(t *testing.T) {
	for logs, want := range map[string]string{
		"\r[##        ] 200/1000\r[###       ] 300/1000": "[###       ] 300/1000",
		"hello\r\nEnter value: ":                         "Enter value:",
		"\x1b[32mgreen\x1b[m and \x1b[1mbold":            "green and bold",
		"epoch 1\r\n 10%|#\r 20%|##\r 30%|###\x1b[K":     "30%|###",
	} {
		d := someJobs(t)
		d.logs = logs
		s := reading(t, d, 80, 24)
		s.sees(want)
		s.misses("written nothing", "200/1000", "20%|##")
		s.stop()
	}
}

func TestOutputIsSearchedAsItIsSeen(t *testing.T) {
	d := someJobs(t)
	d.logs = "first er\x1b[32mror\x1b[m line\r\n" + strings.Repeat("filler\r\n", 100)
	s := reading(t, d, 80, 24)
	s.until("all lines", func(string) bool { return s.c.base.top().(*logPage).out.look().n() == 101 })
	s.press("/")
	s.types("31m")
	s.press("Enter")
	s.sees("not found in the 101 lines that are here: 31m")
	s.press("/")
	s.types("ERROR")
	s.press("Enter")
	s.sees("» first error line")
	s.misses("not found")
}

func TestEveryRowOfALongLineIsReached(t *testing.T) {
	d := someJobs(t)
	d.logs = "before\r\n" + strings.Repeat("0123456789", 1000) + "END10k\r\nafter\r\n" + strings.Repeat("more\r\n", 30)
	s := reading(t, d, 80, 24)
	s.sees("more")
	s.press("Home")
	s.sees("before")
	for range 8 {
		s.press("PgDn")
	}
	s.press("Up", "Up")
	for range 60 {
		if strings.Contains(s.text(), "END10k") {
			break
		}
		s.press("Up")
	}
	s.sees("END10k", "after")
	s.press("PgUp")
	s.sees("0123456789")
	s.press("End")
	s.sees("following", "more")
}

func TestOutputSaysWhatIsNotThere(t *testing.T) {
	d := someJobs(t)
	d.behind = 99 << 20
	d.logs = "half a line\r\nwhole\r\n"
	s := reading(t, d, 100, 24)
	s.sees("99 MiB before this aren't shown here: `pasar logs 1` has all", "whole")
}

func TestOutputOfEarlierAttemptsIsHad(t *testing.T) {
	d := someJobs(t)
	for len(d.jobs[0].Attempts) < 3 {
		d.jobs[0].Attempts = append(d.jobs[0].Attempts, pasar.AttemptView{Attempt: len(d.jobs[0].Attempts) + 1})
	}
	d.logged = map[int]string{1: "from the first\r\n", 2: "from the second\r\n", 3: "from the third\r\n"}
	s := reading(t, d, 100, 24)
	s.sees("attempt 3", "from the third")
	s.press("[")
	s.sees("attempt 2", "from the second", "ended")
	s.press("[")
	s.sees("from the first")
	s.press("[")
	s.sees("there is no other attempt")
	s.press("]")
	s.sees("from the second")
	s.press("]")
	s.sees("from the third")
}

func TestALogThatGrowsFasterThanItIsReadIsCut(t *testing.T) {
	d := someJobs(t)
	var b strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&b, "line %d\r\n", i)
	}
	d.logs = b.String()
	s := reading(t, d, 100, 24)
	s.sees("line 29999")
	s.press("Home")
	s.misses("line 9999\n") // of so many lines the last are kept
	lines := s.c.base.top().(*logPage).out.look()
	if lines.n() > outMost || lines.at(lines.past()-1) != "line 29999" {
		t.Errorf("%d lines, of which the last is %q", lines.n(), lines.at(lines.past()-1))
	}
}

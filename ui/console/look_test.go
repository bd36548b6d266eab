package console

import (
	"testing"

	"github.com/gdamore/tcell/v2"

	"pasar"
)

// everyPage goes through the pages of a console.
func everyPage(s *shown, look func(page string)) {
	for _, keys := range [][]string{{}, {"Enter"}, {"f"}, {"w"}, {"g"}, {"c"}, {"?"}, {"?", "PgDn", "PgDn"}, {"s"}, {"b"}, {"x"}, {"End", "Enter"}, {"End", "r"}, {"/"}} {
		s.in(s.c.home)
		s.press("Home")
		s.press(keys...)
		s.text() // what was pressed has been drawn
		page := ""
		if len(keys) > 0 {
			page = keys[len(keys)-1]
		}
		look(page)
	}
}

func TestASCIIIsASCII(t *testing.T) {
	d := someJobs(t)
	d.status.Machines[0].GPUs[0].Drained = &pasar.Health{Reason: "Xid 79: fallen off the bus", Remedy: "restart", Since: noon}
	s := show(t, d, 120, 40, func(o *Options) { o.ASCII = true })
	s.sees("train-1")
	everyPage(s, func(page string) {
		s.in(func() {
			cells, w, _ := s.screen.GetContents()
			for i, c := range cells {
				for _, r := range c.Runes {
					if r > '~' {
						t.Errorf("on page %q: %q at %d,%d", page, r, i%w, i/w)
						return
					}
				}
			}
		})
	})
	d.kill()
	s.in(s.c.home)
	s.sees("no connection")
}

func TestWithoutColourNothingIsColoured(t *testing.T) {
	s := show(t, someJobs(t), 120, 40, func(o *Options) { o.Env = append(o.Env, "NO_COLOR=1") })
	s.sees("train-1")
	everyPage(s, func(page string) {
		s.in(func() {
			cells, w, _ := s.screen.GetContents()
			for i, c := range cells {
				if fg, bg, _ := c.Style.Decompose(); fg != tcell.ColorDefault || bg != tcell.ColorDefault {
					t.Errorf("on page %q: %q at %d,%d is coloured", page, c.Runes, i%w, i/w)
					return
				}
			}
		})
	})
}

func TestAGPUThatTakesNoJobsSaysSo(t *testing.T) {
	d := someJobs(t)
	lost := pasar.GPULost
	d.status.Machines[0].GPUs[0].Drained = &pasar.Health{Reason: "Xid 79: GPU has fallen off the bus", Since: noon}
	d.status.Machines[0].GPUs[1].Status = &lost
	d.status.Machines[0].Notes = []string{"GPU 4 takes no jobs: GPU is lost", "no GPU was found"}
	d.status.Incidents = []pasar.IncidentView{{At: noon.Add(-3600e9), What: "old", Detail: "long ago"}, {At: noon, What: "xid", Detail: "GPU 0: Xid 79"}, {At: noon, What: "hot", Detail: "GPU 1"}}
	s := show(t, d, 120, 40)
	s.sees("drained: Xid 79: GPU has fallen off the bus", "lost ", "GPU 4 takes no jobs: GPU is lost", "2 incidents", "hot: GPU 1")
	s.misses("long ago", "no GPU was found")
	s.press("g")
	s.sees("xid: GPU 0: Xid 79", "old: long ago")
}

func TestALostConnectionIsSaidOnEveryPage(t *testing.T) {
	d := someJobs(t)
	s := show(t, d, 80, 24)
	s.sees("train-1")
	d.kill()
	s.sees("no connection")
	everyPage(s, func(string) { s.sees("no connection") })
}

func TestOldJobsAreFoundByTheFilter(t *testing.T) {
	d := someJobs(t)
	s := show(t, d, 100, 40)
	s.sees("train-7")
	d.change(func(d *double) { // it has ended too long ago to be listed by itself, but it is there
		old := job(99, pasar.Completed)
		old.Name = "ancient"
		d.older = []pasar.JobView{old}
	})
	s.press("/")
	s.types("ancient")
	s.press("Enter")
	s.sees(" 99  ancient", "1 match")
	s.press("Enter")
	s.sees("#99 ancient", "completed")
}

package console

import (
	"slices"
	"testing"

	"github.com/gdamore/tcell/v2"

	"pasar/ipc"
)

func TestEverythingIsDoneByMouseToo(t *testing.T) {
	d := someJobs(t)
	s := show(t, d, 120, 40)
	s.click("train-3  ") // choose,
	s.sees("H hold")
	s.click("b bid") // a hint
	s.sees("Bid of #3")
	s.click("  Back  ")
	s.misses("Bid of #3")
	s.click("x cancel")
	s.sees("Cancel #3 train-3?")
	s.click("Cancel the job")
	s.sees("#3 was cancel")
	if verbs, _ := d.told(); !slices.Equal(verbs, []ipc.Verb{ipc.VerbCancel}) {
		t.Errorf("asked for %v", verbs)
	}
	s.click("train-6  ")
	s.click("train-6  ") // and open
	s.sees("✗ failed", "hint: mend it")
	s.click("Esc back")
	s.sees("Finished")
	s.click("NAME")
	s.sees("NAME↑")
	s.click("NAME")
	s.sees("NAME↓")
	s.click("GPUs")
	s.sees("host memory")
	x, y := s.where("host memory")
	s.screen.InjectMouse(x, y, tcell.ButtonSecondary, tcell.ModNone)
	s.screen.InjectMouse(x, y, tcell.ButtonNone, tcell.ModNone)
	s.sees("Finished")
	s.click("#2 train-2")                    // in the market
	s.in(func() { s.c.message = message{} }) // the clock stands still, and hints are below it
	s.click("q quit")
	if err := s.ends(); err != nil {
		t.Error(err)
	}
}

func TestTheWheelScrollsAndZooms(t *testing.T) {
	d := someJobs(t)
	for i := range 100 {
		d.jobs = append(d.jobs, job(jobID(100+i), "completed"))
	}
	s := show(t, d, 100, 30)
	x, y := s.where("train-5")
	for range 60 {
		s.wheel(x, y, tcell.WheelDown)
	}
	s.sees("train-199")
	for range 60 {
		s.wheel(x, y, tcell.WheelUp)
	}
	s.sees("train-1 ")
	x, y = s.where("- 2h +")
	s.wheel(x, y+2, tcell.WheelDown)
	s.sees("- 6h +")
	s.wheel(x, y+2, tcell.WheelUp)
	s.sees("- 2h +")
}

func TestFormsAreFilledInByMouse(t *testing.T) {
	d := someJobs(t)
	s := show(t, d, 100, 40)
	s.sees("train-1")
	s.click("s submit")
	s.sees("Submit a job")
	s.types("sleep 1")
	x, y := s.where("keep it from starting")
	s.clickAt(x-3, y)
	x, y = s.where("Name")
	s.clickAt(x+14, y)
	s.types("nap")
	s.click("  Submit  ")
	s.sees("#900 submitted")
	_, bodies := d.told()
	if spec := bodies[0].(ipc.SubmitRequest).Spec; !spec.Hold || spec.Name != "nap" {
		t.Errorf("submitted %+v", spec)
	}
}

package console

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/gdamore/tcell/v2"
)

// A watched screen notes whether it was put back.
type watched struct {
	tcell.Screen
	finished *atomic.Int32
}

func (w watched) Fini() { w.finished.Add(1); w.Screen.Fini() }

// broken is a page that can't be drawn.
type broken struct{ *textPage }

func (broken) draw(*painter, area) { panic("broken page") }

func TestAPanicPutsTheTerminalBackFirst(t *testing.T) {
	d := someJobs(t)
	finished := new(atomic.Int32)
	sim := tcell.NewSimulationScreen("UTF-8")
	c, err := newConsole(t.Context(), Options{Socket: d.path, screen: watched{sim, finished}})
	if err != nil {
		t.Fatal(err)
	}
	c.base.open(broken{newTextPage(c, "", nil)})
	var said any
	func() {
		defer func() { said = recover() }()
		_ = c.run()
	}()
	if said != "broken page" || finished.Load() == 0 {
		t.Errorf("in the loop: %v, put back %d times", said, finished.Load())
	}
	c.end(errors.New("over"))
	c.workers.Wait()

	finished, sim = new(atomic.Int32), tcell.NewSimulationScreen("UTF-8")
	if c, err = newConsole(t.Context(), Options{Socket: d.path, screen: watched{sim, finished}}); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { said = recover() }()
		defer c.rescue()
		panic("broken worker")
	}()
	if said != "broken worker" || finished.Load() == 0 {
		t.Errorf("beside the loop: %v, put back %d times", said, finished.Load())
	}
}

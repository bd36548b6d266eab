package daemon

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
)

func TestOutputThatCannotBeKeptIsAnIncidentAndNotOneEachSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		id := d.submit(spec("a", 1000))
		d.expect(id, pasar.Running)
		said := func() string {
			synctest.Wait()
			var s []string
			for _, in := range d.pub.Load().incident {
				if in.What == "log" {
					s = append(s, in.Detail)
				}
			}
			return strings.Join(s, "|")
		}
		const full, again = "the output of job 1 can't be kept (no space left on device); the job goes on without it", "the output of job 1 is kept again"
		for range 20 { // it comes and goes
			w.machine.Trouble(key(id, 1), "no space left on device")
			time.Sleep(time.Second)
			w.machine.Trouble(key(id, 1), "")
			time.Sleep(time.Second)
		}
		if got := said(); got != full+"|"+again {
			t.Errorf("%s", got)
		}
		time.Sleep(time.Minute)
		w.machine.Trouble(key(id, 1), "no space left on device")
		if got := said(); got != full+"|"+again+"|"+full {
			t.Errorf("%s", got)
		}
		w.machine.Finish(key(id, 1), 0)
		d.expect(id, pasar.Completed)
		w.check()
	})
}

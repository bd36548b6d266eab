package daemon

import (
	"fmt"

	"pasar"
)

// stopping is why a job is being stopped, as a word and as a sentence if there is more to say.
func (d *Daemon) stopping(s *pasar.Stop) (reason, summary *string) {
	reason = pasar.Known(string(s.Why))
	switch {
	case s.Why == pasar.StopPause:
		reason = pasar.Known("pausing")
		switch {
		case patient(s):
			return reason, pasar.Known("was asked to pause; it runs on until it has saved")
		case s.Wait > 0:
			return reason, pasar.Known(fmt.Sprintf("was asked to pause; if it hasn't within %s it is stopped", s.Wait))
		}
		return reason, pasar.Known("is being stopped, to be paused")
	case s.Why == pasar.StopPreempt && d.named(s.For) != "":
		return reason, pasar.Known("makes room for " + d.named(s.For) + ", and is queued again")
	case s.Why == pasar.StopLimit:
		return reason, pasar.Known("has reached its time limit and is being stopped")
	}
	return reason, nil
}

package daemon

import (
	"pasar"
	"pasar/ipc"
	"pasar/target"
)

// standing is where the target puts supervisors; the zero value if it has nothing to say on that.
func (d *Daemon) standing() target.Standing {
	if p, ok := d.Target.(target.Placed); ok {
		return p.Standing()
	}
	return target.Standing{}
}

// admit refuses to queue jobs where they would surely be killed with no fault of theirs.
func (d *Daemon) admit() error {
	if no := d.standing().Refusal; no != nil {
		return &ipc.Error{Code: ipc.CodeUnavailable, Message: "no job is taken: " + pasar.Clean(no.Why), Hint: pasar.Clean(no.Fix)}
	}
	return nil
}

// place fills in what status says of it.
func (d *Daemon) place(v *pasar.StatusView) {
	s := d.standing()
	v.Place = pasar.Known(s.Place)
	if s.Place != "" {
		v.PlaceRAM = &s.Memory
	}
	v.PlaceNote, v.PlaceFix = cleaned(s.Note()), cleaned(s.Fix())
	for _, l := range []*target.Lack{s.Refusal, s.Warning} {
		if l != nil {
			v.Warning = cleaned(l.Why)
			break
		}
	}
}

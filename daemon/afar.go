package daemon

import (
	"pasar"
	"pasar/ipc"
)

// fromAfar fills in what a client on another machine can't know.
func (d *Daemon) fromAfar(r *ipc.SubmitRequest) error {
	if r.Afar == nil {
		return nil
	}
	if d.Surround == nil {
		return &ipc.Error{Code: ipc.CodeUnsupported, Message: "this daemon takes no jobs from another machine"}
	}
	around, cwd, err := d.Surround(string(r.Spec.Cwd), r.Afar.NoEnv, r.Surroundings.Env)
	if err != nil {
		return err
	}
	r.Surroundings, r.Spec.Cwd = around, pasar.Arg(cwd)
	set := d.settings.Load()
	if r.Afar.Bid {
		r.Spec.Bid = set.Bid
	}
	if r.Afar.Grace {
		r.Spec.Grace = set.Grace
	}
	return nil
}

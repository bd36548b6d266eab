package daemon

import (
	"fmt"
	"os"

	"pasar"
	"pasar/ipc"
)

// prepare completes and checks a spec as it came from a client.
func (d *Daemon) prepare(spec *pasar.Spec) error {
	if err := d.finishSpec(spec); err != nil {
		return err
	}
	fi, err := os.Stat(string(spec.Cwd))
	if err != nil || !fi.IsDir() {
		return &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("working directory %s: not a directory one can enter", pasar.Clean(string(spec.Cwd)))}
	}
	return nil
}

// finishSpec is prepare without a look at the disk, so that the loop may call it.
func (d *Daemon) finishSpec(spec *pasar.Spec) error {
	set := d.settings.Load()
	spec.Submitter, spec.UID = d.User, d.UID
	if err := d.auto(spec); err != nil {
		return err
	}
	if spec.Claim.Kind == pasar.Slice {
		spec.Claim.Limit = set.Margin.Limit(spec.Claim.Mem)
	} else {
		spec.Claim.Limit = 0
	}
	if err := spec.Validate(); err != nil {
		return &ipc.Error{Code: ipc.CodeBadRequest, Message: err.Error()}
	}
	if set.RequireTime && spec.Time == 0 {
		return &ipc.Error{Code: ipc.CodeBadRequest, Message: "a job needs an estimate here", Hint: "add --time 2h, or as long as it may take"}
	}
	return nil
}

// changed makes the changes that restart and edit have in common.
func changed(spec *pasar.Spec, c *ipc.Change) {
	set(&spec.TimeLimit, c.TimeLimit)
	set(&spec.NonPreemptible, c.NonPreemptible)
	set(&spec.Pausable, c.Pausable)
	set(&spec.ResumeCommand, c.ResumeCommand)
	set(&spec.CheckpointGrace, c.CheckpointGrace)
	set(&spec.NoSigterm, c.NoSigterm)
	set(&spec.Retries, c.Retries)
	set(&spec.RetryOn, c.RetryOn)
	set(&spec.After, c.After)
	set(&spec.Begin, c.Begin)
	set(&spec.MaxConcurrent, c.MaxConcurrent)
	set(&spec.Visible, c.Visible)
}

func set[T any](dst *T, v *T) {
	if v != nil {
		*dst = *v
	}
}

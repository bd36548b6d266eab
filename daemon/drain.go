package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"pasar"
	"pasar/ipc"
)

// drainAsked is the command that lets nothing more start on a machine or a GPU, or ends that. Jobs that run there
// go on.
func (d *Daemon) drainAsked(r ipc.DrainRequest, on bool) *command {
	verb := ipc.VerbUndrain
	if on {
		verb = ipc.VerbDrain
	}
	by := cmp.Or(r.By, d.User)
	return &command{verb: verb, looks: true, request: r.Request, asked: ipc.Asked(r), check: func(s *state, now time.Time) (change, error) {
		machine := cmp.Or(r.Machine, pasar.LocalMachine)
		inv, ok := s.machines[machine]
		if !ok {
			return change{}, &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("there is no machine %q", pasar.Clean(machine)),
				Hint: "machines: " + strings.Join(sortedKeys(s.machines), ", ")}
		}
		gpus := []string{""}
		if r.GPU != "" {
			var err error
			if gpus, err = gpusNamed(inv, r.GPU); err != nil {
				return change{}, err
			}
		}
		var ch change
		for _, gpu := range gpus {
			switch old := s.drains[machine][gpu]; {
			case on:
				ch.facts = append(ch.facts, pasar.Drained{Machine: machine, GPU: gpu, By: by, Health: personal(r.Why, by, now, d.Boot)})
			case old.health() != nil:
				ch.facts = append(ch.facts, pasar.Undrained{Machine: machine, GPU: gpu, By: by})
			}
		}
		return ch, nil
	}}
}

// personal is a person's wish that nothing starts.
func personal(why, by string, now time.Time, boot string) pasar.Health {
	h := pasar.Health{Reason: "drained by " + pasar.Clean(by), Remedy: "`pasar undrain` when it may take jobs again", Since: now, Boot: boot, Person: true}
	if why != "" {
		h.Reason += ": " + pasar.Clean(why)
	}
	return h
}

// gpusNamed are the UUIDs of the GPUs that a person names: by index, which with MIG is every part of that
// GPU, by UUID, or by the beginning of just one.
func gpusNamed(inv pasar.Inventory, name string) ([]string, error) {
	var is, begins []string
	for _, g := range inv.GPUs {
		switch {
		case name == strconv.Itoa(g.Index), strings.EqualFold(name, g.UUID), g.Parent != "" && strings.EqualFold(name, g.Parent):
			is = append(is, g.UUID)
		case len(name) >= 4 && len(name) < len(g.UUID) && strings.EqualFold(name, g.UUID[:len(name)]):
			begins = append(begins, g.UUID)
		}
	}
	switch {
	case len(is) > 0:
		return is, nil
	case len(begins) == 1:
		return begins, nil
	case len(begins) > 1:
		return nil, &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("%d GPUs of %s begin with %q", len(begins), inv.Machine, pasar.Clean(name)),
			Hint: "give more of the UUID: " + strings.Join(begins, ", ")}
	}
	return nil, &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("%s has no GPU %q", inv.Machine, pasar.Clean(name)), Hint: "`pasar gpus` lists them"}
}

func (d *Daemon) serveDrain(ctx context.Context, c *ipc.Call, on bool) error {
	var r ipc.DrainRequest
	if err := errors.Join(c.Bind(&r), checkRequestID(r.Request)); err != nil {
		return err
	}
	if len(r.Why) > pasar.MaxName || len(r.By) > pasar.MaxName {
		return &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("--why has at most %d bytes", pasar.MaxName)}
	}
	if _, err := d.do(ctx, d.drainAsked(r, on)); err != nil {
		return err
	}
	return answerView(c, d.gpusView())
}

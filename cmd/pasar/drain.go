package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"pasar"
	"pasar/ipc"
)

func drainCommand() *command {
	return &command{
		name: "drain", section: sectionMachine, args: "[MACHINE]", brief: "let nothing more start on a machine, or on one GPU", takes: takesWords, words: machineNames,
		long: "What runs goes on, and what waits keeps its place. It holds over restarts of the daemon, until pasar undrain.",
		examples: []example{
			{"pasar drain --why 'new driver at noon'", "nothing more starts on this machine"},
			{"pasar drain --gpu 3", "nor on its GPU 3"},
		},
		setup: func(f *flags) action {
			gpu := f.String("gpu", "", "only this GPU: its number, UUID `ID` or the beginning of that")
			why := f.String("why", "", "`TEXT` to show whoever waits")
			by := f.String("by", "", "on whose behalf: a `NAME`")
			return func(ctx context.Context, c *call) error {
				return c.drain(ctx, ipc.DrainRequest{GPU: *gpu, Why: *why, By: *by}, (*ipc.Client).Drain)
			}
		},
	}
}

func undrainCommand() *command {
	return &command{
		name: "undrain", section: sectionMachine, args: "[MACHINE]", brief: "end a drain, also one for a fault", takes: takesWords, words: machineNames,
		long: "A GPU that was drained for a fault is given out again as well: say so only when it is mended.",
		examples: []example{
			{"pasar undrain", "jobs start on this machine again"},
			{"pasar undrain --gpu 3", "and on its GPU 3"},
		},
		setup: func(f *flags) action {
			gpu := f.String("gpu", "", "only this GPU: its number, UUID `ID` or the beginning of that")
			by := f.String("by", "", "on whose behalf: a `NAME`")
			return func(ctx context.Context, c *call) error {
				return c.drain(ctx, ipc.DrainRequest{GPU: *gpu, By: *by}, (*ipc.Client).Undrain)
			}
		},
	}
}

func machineNames() []string { return []string{pasar.LocalMachine} }

type drainVerb func(*ipc.Client, context.Context, ipc.DrainRequest) ([]byte, error)

// drain changes what is drained, and says what is now.
func (c *call) drain(ctx context.Context, req ipc.DrainRequest, verb drainVerb) error {
	switch {
	case len(c.args) > 1:
		return usagef("%s takes one machine; got %s", c.name, pasar.Clean(strings.Join(c.args, " ")))
	case len(c.args) == 1 && isNumber(c.args[0]):
		return usagef("%s takes a machine; %q is none", c.name, pasar.Clean(c.args[0])).hint(fmt.Sprintf("`pasar %s --gpu %s` is for one GPU", c.name, pasar.Clean(c.args[0])))
	case c.flags.given("gpu") && req.GPU == "":
		return usagef("--gpu needs a GPU").hint("`pasar gpus` lists them")
	case len(c.args) == 1:
		req.Machine = c.args[0]
	}
	req.Request = ipc.NewRequest()
	return showValue(ctx, c, func(d *ipc.Client) ([]byte, error) { return verb(d, ctx, req) }, func(v *pasar.GPUsView) string {
		return drained(v, cmp.Or(req.Machine, pasar.LocalMachine), req.GPU, c.name == "drain") + "\n"
	})
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// named reports whether a drain of what a person names is one of a GPU; naming none is naming all.
func named(g *pasar.GPUView, gpu string) bool {
	return gpu == "" || fmt.Sprint(g.Index) == gpu || strings.EqualFold(g.Parent, gpu) || strings.HasPrefix(strings.ToLower(g.UUID), strings.ToLower(gpu))
}

// again says what has come of the end of a drain: what else still keeps jobs from there.
func again(v *pasar.GPUsView, machine, gpu string) string {
	var not []string
	some := false
	for _, m := range v.Machines {
		if m.Name != machine {
			continue
		}
		if m.Drained != nil {
			return ": the drain is over, but the machine is drained still: " + pasar.Clean(m.Drained.Reason)
		}
		for _, g := range m.GPUs {
			switch why := keeps(&m, &g); {
			case !named(&g, gpu):
			case why == "":
				some = true
			default:
				not = append(not, fmt.Sprintf("GPU %d (%s)", g.Index, why))
			}
		}
	}
	switch {
	case len(not) == 0:
		return ": jobs start there again"
	case some || gpu == "":
		return ": jobs start there again, but not yet on " + strings.Join(not, ", ")
	}
	return ": the drain is over, but jobs don't start there yet: " + strings.Join(not, ", ")
}

// keeps says what keeps jobs from a GPU; empty if nothing does.
func keeps(m *pasar.MachineView, g *pasar.GPUView) string {
	switch {
	case g.Drained != nil:
		return pasar.Clean(g.Drained.Reason)
	case g.Status != nil && *g.Status == pasar.GPULost:
		return "the driver has lost it"
	case g.Status != nil && *g.Status != pasar.GPUOK:
		return "it doesn't answer"
	case g.Status == nil && !g.Virtual && m.LookedAt != nil && m.Trouble == nil:
		return "it isn't there any more"
	}
	return ""
}

// drained says what a drain, or its end, has come to.
func drained(v *pasar.GPUsView, machine, gpu string, on bool) string {
	where := pasar.Clean(machine)
	if gpu != "" {
		where = "GPU " + pasar.Clean(gpu) + " of " + where
	}
	if !on {
		return where + again(v, machine, gpu)
	}
	running := map[pasar.JobID]bool{}
	for _, m := range v.Machines {
		if m.Name != machine {
			continue
		}
		for _, g := range m.GPUs {
			if !named(&g, gpu) {
				continue
			}
			for _, id := range g.Jobs {
				running[id] = true
			}
		}
	}
	what := "no job is on it"
	if gpu == "" {
		what = "no job is on its GPUs"
	}
	if n := len(running); n == 1 {
		what = "the job that is there goes on"
	} else if n > 1 {
		what = fmt.Sprintf("the %d jobs that are there go on", n)
	}
	undo := "pasar undrain"
	if gpu != "" {
		undo += " --gpu " + pasar.Clean(gpu)
	}
	return fmt.Sprintf("%s: nothing more starts there; %s (`%s` ends it)", where, what, undo)
}

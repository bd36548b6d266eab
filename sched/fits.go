package sched

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pasar"
)

// An ImpossibleError says that a claim can never fit.
type ImpossibleError struct {
	What string // one sentence
	How  string // the largest that would fit, as flags
}

func (e *ImpossibleError) Error() string { return e.What }

// Hint says what would fit.
func (e *ImpossibleError) Hint() string { return e.How }

// Fits reports whether a claim fits on at least one of the machines when nothing else is there, whether
// or not it takes work just now. If not the error is an *ImpossibleError with the largest that would: the margin is
// what a slice of another size gets.
func Fits(c pasar.Claim, margin pasar.Margin, machines []Machine) error {
	l := ledger(newMachines(machines, time.Time{}))
	if len(l) == 0 {
		return &ImpossibleError{"there is no machine to run it on", "see `pasar doctor`"}
	}
	if l.any(c) {
		return nil
	}
	return l.impossible(c, margin)
}

// A ledger is machines as they are when nothing runs.
type ledger []*machine

// impossible finds the first demand that no machine meets, leaving out the later ones.
func (l ledger) impossible(c pasar.Claim, margin pasar.Margin) *ImpossibleError {
	where := "no machine has"
	if len(l) == 1 {
		where = l[0].Inventory.Machine + " has not got"
	}
	no := func(how, format string, args ...any) *ImpossibleError {
		return &ImpossibleError{fmt.Sprintf(where+" "+format, args...), how}
	}
	if most := l.most(func(m *machine) pasar.Bytes { return m.hostTotal }); c.RAM > most {
		return no(fmt.Sprintf("the most is --ram %s", flag(most)), "%s of host memory for jobs (%s at most)", c.RAM, most)
	}
	if c.Kind == pasar.NoGPU {
		return no("set cpu_jobs in the configuration", "a place for a job without a GPU")
	}
	named := ""
	if c.Type != "" {
		named += " of type " + pasar.Clean(c.Type)
	}
	if len(c.IDs) > 0 {
		named += " named " + pasar.Clean(strings.Join(c.IDs, " or "))
	}
	all := func(*gpu) bool { return true }
	switch n := l.count(&c, all); {
	case n == 0:
		return no("see `pasar status` for what there is; for no GPU say --gpus 0", "a GPU%s", named)
	case n < c.GPUs:
		how := fmt.Sprintf("the most is --gpus %d", n)
		if l.parts(&c) {
			how = "a job can use one MIG instance at most; " + how
		}
		return no(how, "%d GPUs%s (%d at most)", c.GPUs, named, n)
	}
	if c.Kind == pasar.Slice {
		size := max(c.Limit, c.Mem)
		one := c
		one.GPUs, one.RAM = 1, 0
		most := l.most(func(m *machine) pasar.Bytes {
			var most pasar.Bytes
			for k := range m.gpus {
				if m.gpus[k].allows(c.Type, c.IDs) {
					most = max(most, m.gpus[k].total)
				}
			}
			return most
		})
		if !l.any(one) {
			what := fmt.Sprintf("%s of memory on one GPU", c.Mem)
			if size > c.Mem {
				what += fmt.Sprintf(" and its margin of %s", size-c.Mem)
			}
			how := "for all of a GPU leave out --mem"
			if fits := l.largest(c, margin, most); fits > 0 {
				how = fmt.Sprintf("--mem %s fits; for all of a GPU leave out --mem", flag(fits))
			}
			return no(how, "%s (the largest GPU has %s)", what, most)
		}
		roomy := func(g *gpu) bool { return size <= g.total }
		if n := l.count(&c, roomy); n < c.GPUs {
			return no(fmt.Sprintf("the most is --gpus %d with that --mem", n), "%d GPUs%s with room for %s each (%d at most)", c.GPUs, named, size, n)
		}
	}
	if c.RAM > 0 {
		without := c
		without.RAM = 0
		if l.any(without) {
			return no("ask for less with --ram or --mem", "%s together", c)
		}
	}
	return no("ask for fewer GPUs or less memory", "%s on one machine", c)
}

// largest is the largest slice, with the margin that is its own, for which a claim fits, in whole MiB; 0 if there is
// none up to a size.
func (l ledger) largest(c pasar.Claim, margin pasar.Margin, most pasar.Bytes) pasar.Bytes {
	low, high := pasar.Bytes(0), most/pasar.MiB // in MiB; so much fits, and no more than so much
	for low < high {
		mid := (low + high + 1) / 2
		c.Mem = mid * pasar.MiB
		if c.Limit = margin.Limit(c.Mem); l.any(c) { // a larger slice has no smaller limit
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low * pasar.MiB
}

// any reports whether a claim could fit on some machine.
func (l ledger) any(c pasar.Claim) bool {
	return slices.ContainsFunc(l, func(m *machine) bool { return m.couldFit(&c) })
}

// count is the most GPUs of one machine that a claim may have together and that are such: with a part of a GPU
// it has no other.
func (l ledger) count(c *pasar.Claim, such func(*gpu) bool) int {
	most := 0
	for _, m := range l {
		n, part := 0, 0
		for k := range m.gpus {
			switch g := &m.gpus[k]; {
			case !g.allows(c.Type, c.IDs) || !such(g):
			case g.part:
				part = 1
			default:
				n++
			}
		}
		most = max(most, n, part)
	}
	return most
}

// parts reports whether some of the GPUs that a claim names are parts of one.
func (l ledger) parts(c *pasar.Claim) bool {
	return slices.ContainsFunc(l, func(m *machine) bool {
		return slices.ContainsFunc(m.gpus, func(g gpu) bool { return g.part && g.allows(c.Type, c.IDs) })
	})
}

func (l ledger) most(of func(*machine) pasar.Bytes) pasar.Bytes {
	var most pasar.Bytes
	for _, m := range l {
		most = max(most, of(m))
	}
	return most
}

// flag is a size as a flag takes it, rounded down: 72G, or 500M.
func flag(b pasar.Bytes) string {
	if b >= pasar.GiB {
		return fmt.Sprintf("%dG", b/pasar.GiB)
	}
	return fmt.Sprintf("%dM", b/pasar.MiB)
}

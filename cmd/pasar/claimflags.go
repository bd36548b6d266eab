package main

import (
	"fmt"

	"pasar"
)

// claimFlags are the flags that say what a job asks of the machine.
type claimFlags struct {
	f        *flags
	mem, ram *pasar.Bytes
	gpus     *int64
}

func (s *claimFlags) declare(f *flags) {
	s.f = f
	s.mem = f.size("mem", "a slice of a GPU's memory, such as 24G; else whole GPUs")
	s.gpus = define(f, "gpus", "", "N", "how many GPUs; 0 for a job without one", func(word string) (int64, error) {
		n, err := parseWhole(word, 0, 1024)
		if err != nil {
			err = fmt.Errorf("%w; 0 is a job without a GPU, and none given is one whole GPU", err)
		}
		return n, err
	})
	s.ram = f.size("ram", "host memory")
}

// given reports whether the command line says anything of a claim.
func (s *claimFlags) given() bool { return s.f.given("mem") || s.f.given("gpus") || s.f.given("ram") }

// claim changes a claim as the flags say.
func (s *claimFlags) claim(c pasar.Claim) (pasar.Claim, error) {
	if s.f.given("gpus") {
		c.GPUs = int(*s.gpus)
		switch {
		case c.GPUs == 0:
			c.Kind, c.Mem, c.Limit = pasar.NoGPU, 0, 0
		case c.Kind == pasar.NoGPU:
			c.Kind = pasar.Whole
		}
	}
	if s.f.given("mem") {
		if s.f.given("gpus") && c.GPUs == 0 {
			return c, usagef("--mem is a slice of a GPU; it can't go with --gpus 0").hint("--ram is host memory")
		}
		if *s.mem <= 0 {
			return c, usagef("--mem 0 claims nothing").hint("for no GPU say --gpus 0")
		}
		c.Kind, c.Mem, c.GPUs = pasar.Slice, *s.mem, max(1, c.GPUs)
	}
	if s.f.given("ram") {
		c.RAM = *s.ram
	}
	return c, nil
}

package main

import (
	"fmt"
	"strings"

	"pasar"
)

// claimFlags are the flags that say what a job asks of the machine.
type claimFlags struct {
	f        *flags
	mem      *memory
	ram      *pasar.Bytes
	gpus     *int64
	ids      *[]string
	kind     *string
	external *pasar.External
}

// A memory is what --mem says: a size, or that history knows.
type memory struct {
	size pasar.Bytes
	auto bool
}

func (s *claimFlags) declare(f *flags) {
	s.f = f
	s.mem = define(f, "mem", "", "SIZE", "a slice of a GPU's memory, such as 24G, or auto: what such jobs have used; else whole GPUs", parseMemory)
	s.gpus = define(f, "gpus", "", "N", "how many GPUs; 0 for a job without one", func(word string) (int64, error) {
		n, err := parseWhole(word, 0, 1024)
		if err != nil {
			err = fmt.Errorf("%w; 0 is a job without a GPU, and none given is one whole GPU", err)
		}
		return n, err
	})
	s.ids = define(f, "gpu-ids", "", "LIST", "only these GPUs: numbers, UUIDs or beginnings of them, with commas", parseGPUs)
	s.kind = f.String("gpu-type", "", "only GPUs whose name has this `TYPE` in it, such as H100")
	s.ram = f.size("ram", "host memory")
	s.external = define(f, "external", "", "HOW", "what whole GPUs make of processes that pasar did not start: share, or avoid", parseExternal)
}

func parseMemory(s string) (memory, error) {
	if strings.EqualFold(s, "auto") {
		return memory{auto: true}, nil
	}
	n, err := pasar.ParseBytes(s)
	return memory{size: n}, err
}

// minUUID is the shortest part of a UUID that names a GPU.
const minUUID = len("GPU-") + 4

// parseGPUs reads a list of GPUs; an empty one is any.
func parseGPUs(s string) ([]string, error) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	var ids []string
	for id := range strings.SplitSeq(s, ",") {
		id = strings.TrimSpace(id)
		_, isNumber := parseIndex(id)
		upper := strings.ToUpper(id)
		isUUID := (strings.HasPrefix(upper, "GPU-") || strings.HasPrefix(upper, "MIG-")) && len(id) >= minUUID
		if !isNumber && !isUUID {
			return nil, fmt.Errorf("%q names no GPU; write 0,3 or the beginning of a UUID such as GPU-4b5f; `pasar gpus --json` has them", id)
		}
		if indexOf(ids, id) >= 0 {
			return nil, fmt.Errorf("GPU %s is there twice", id)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func parseExternal(s string) (pasar.External, error) {
	switch e := pasar.External(s); e {
	case pasar.ExternalShare, pasar.ExternalAvoid:
		return e, nil
	}
	return "", fmt.Errorf("%q: it is share or avoid", s)
}

// claimNames are the flags of a claim.
var claimNames = []string{"mem", "gpus", "gpu-ids", "gpu-type", "ram", "external"}

// given reports whether the command line says anything of a claim.
func (s *claimFlags) given() bool {
	for _, n := range claimNames {
		if s.f.given(n) {
			return true
		}
	}
	return false
}

// claim changes a claim as the flags say.
func (s *claimFlags) claim(c pasar.Claim) (pasar.Claim, error) {
	named := s.f.given("gpu-ids")
	if named {
		c.IDs = *s.ids
		if !s.f.given("gpus") && len(c.IDs) > 0 {
			c.GPUs = len(c.IDs)
			if c.Kind == pasar.NoGPU {
				c.Kind = pasar.Whole
			}
		}
	}
	if s.f.given("gpus") {
		c.GPUs = int(*s.gpus)
		switch {
		case c.GPUs == 0:
			c = pasar.Claim{Kind: pasar.NoGPU, RAM: c.RAM}
		case c.Kind == pasar.NoGPU:
			c.Kind = pasar.Whole
		}
	}
	if s.f.given("mem") {
		if s.f.given("gpus") && c.GPUs == 0 {
			return c, usagef("--mem is a slice of a GPU; it can't go with --gpus 0").hint("--ram is host memory")
		}
		if !s.mem.auto && s.mem.size <= 0 {
			return c, usagef("--mem 0 claims nothing").hint("for no GPU say --gpus 0")
		}
		c.Kind, c.Mem, c.Auto, c.GPUs = pasar.Slice, s.mem.size, s.mem.auto, max(1, c.GPUs)
	}
	if s.f.given("ram") {
		c.RAM = *s.ram
	}
	if s.f.given("gpu-type") {
		c.Type = *s.kind
	}
	if s.f.given("external") {
		c.External = *s.external
	}
	switch {
	case c.Kind == pasar.NoGPU && named && len(*s.ids) > 0:
		return c, usagef("--gpu-ids names GPUs, and --gpus 0 asks for none")
	case c.Kind == pasar.NoGPU && s.f.given("gpu-type") && c.Type != "":
		return c, usagef("--gpu-type is about GPUs, and --gpus 0 asks for none")
	case named && len(c.IDs) > 0 && c.GPUs > len(c.IDs):
		return c, usagef("--gpus %d asks for more than the %d that --gpu-ids names", c.GPUs, len(c.IDs)).hint("without --gpus it is all of them; with fewer, any so many of them")
	case c.Kind != pasar.Whole && s.f.given("external"):
		return c, usagef("--external is about whole GPUs").hint("a slice never gets memory that another process has")
	}
	if c.Kind != pasar.Whole {
		c.External = ""
	}
	return c, nil
}

// validate says what is wrong with a spec. What a slice gets from history isn't known yet.
func validate(spec pasar.Spec) error {
	if spec.Claim.Auto && spec.Claim.Mem == 0 {
		spec.Claim.Mem = pasar.GiB
	}
	if err := spec.Validate(); err != nil {
		return usagef("%v", err)
	}
	return nil
}

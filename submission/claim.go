package submission

import "pasar"

// ClaimWords are what somebody said that a job asks of the machine. What is nil was not said.
type ClaimWords struct {
	Mem      *Memory
	GPUs     *int      // 0 is a job without one
	IDs      *[]string // as ParseGPUs returns them; empty is any
	Type     *string   // empty is any
	RAM      *pasar.Bytes
	External *pasar.External
}

// A Memory is the size of a slice of a GPU's memory, or that history knows it.
type Memory struct {
	Size pasar.Bytes
	Auto bool
}

// Default is the claim of a job of which nothing is said: one whole GPU.
func Default() pasar.Claim { return pasar.Claim{Kind: pasar.Whole, GPUs: 1} }

// Apply changes a claim as the words say.
func (w ClaimWords) Apply(c pasar.Claim) (pasar.Claim, error) {
	named := w.IDs != nil && len(*w.IDs) > 0
	if w.IDs != nil {
		c.IDs = *w.IDs
		if w.GPUs == nil && named {
			c.GPUs = len(c.IDs)
			if c.Kind == pasar.NoGPU {
				c.Kind = pasar.Whole
			}
		}
	}
	if w.GPUs != nil {
		c.GPUs = *w.GPUs
		switch {
		case c.GPUs == 0:
			c = pasar.Claim{Kind: pasar.NoGPU, RAM: c.RAM}
		case c.Kind == pasar.NoGPU:
			c.Kind = pasar.Whole
		}
	}
	if m := w.Mem; m != nil {
		if w.GPUs != nil && c.GPUs == 0 {
			return c, refusef("--mem is a slice of a GPU; it can't go with --gpus 0").with("--ram is host memory")
		}
		if !m.Auto && m.Size <= 0 {
			return c, refusef("--mem 0 claims nothing").with("for no GPU say --gpus 0")
		}
		c.Kind, c.Mem, c.Auto, c.GPUs = pasar.Slice, m.Size, m.Auto, max(1, c.GPUs)
	}
	if w.RAM != nil {
		c.RAM = *w.RAM
	}
	if w.Type != nil {
		c.Type = *w.Type
	}
	if w.External != nil {
		c.External = *w.External
	}
	switch {
	case c.Kind == pasar.NoGPU && named:
		return c, refusef("--gpu-ids names GPUs, and --gpus 0 asks for none")
	case c.Kind == pasar.NoGPU && w.Type != nil && c.Type != "":
		return c, refusef("--gpu-type is about GPUs, and --gpus 0 asks for none")
	case named && c.GPUs > len(c.IDs):
		return c, refusef("--gpus %d asks for more than the %d that --gpu-ids names", c.GPUs, len(c.IDs)).with("without --gpus it is all of them; with fewer, any so many of them")
	case c.Kind != pasar.Whole && w.External != nil:
		return c, refusef("--external is about whole GPUs").with("a slice never gets memory that another process has")
	}
	if c.Kind != pasar.Whole {
		c.External = ""
	}
	return c, nil
}

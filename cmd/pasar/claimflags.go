package main

import (
	"pasar"
	"pasar/submission"
)

// claimFlags are the flags that say what a job asks of the machine.
type claimFlags struct {
	f        *flags
	mem      *submission.Memory
	ram      *pasar.Bytes
	gpus     *int
	ids      *[]string
	kind     *string
	external *pasar.External
}

func (s *claimFlags) declare(f *flags) {
	s.f = f
	s.mem = define(f, "mem", "", "SIZE", "a slice of a GPU's memory, such as 24G, or auto: what such jobs have used; else whole GPUs", submission.ParseMemory)
	s.gpus = define(f, "gpus", "", "N", "how many GPUs; 0 for a job without one", submission.ParseCount)
	s.ids = define(f, "gpu-ids", "", "LIST", "only these GPUs: numbers, UUIDs or beginnings of them, with commas", submission.ParseGPUs)
	s.kind = f.String("gpu-type", "", "only GPUs whose name has this `TYPE` in it, such as H100")
	s.ram = f.size("ram", "host memory")
	s.external = define(f, "external", "", "HOW", "what whole GPUs make of processes that pasar did not start: share, or avoid", submission.ParseExternal)
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
	f := s.f
	return understood(submission.ClaimWords{Mem: ifGiven(f, "mem", s.mem), GPUs: ifGiven(f, "gpus", s.gpus), IDs: ifGiven(f, "gpu-ids", s.ids),
		Type: ifGiven(f, "gpu-type", s.kind), RAM: ifGiven(f, "ram", s.ram), External: ifGiven(f, "external", s.external)}.Apply(c))
}

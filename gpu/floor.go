package gpu

import (
	"slices"

	"pasar"
)

// maxFloor is the most that is taken for the driver's own.
const maxFloor = pasar.GiB

// floors are what the driver keeps for itself of GPUs, by UUID, where it counts that as used and doesn't say how
// much it is, as drivers before 510 do. It is learned while no process is on the GPU: the least that was used
// then, and never more than maxFloor, so that memory that nobody gives back is still seen. Until a GPU was seen
// without a process nothing is known of it, and it counts as used.
type floors map[string]pasar.Bytes

// apart learns from a look, and returns its sights with the driver's own moved from Used to Reserved. Sights of
// a look may be shared, and stay as they are.
func (f *floors) apart(sights []Sight) []Sight {
	out := slices.Clone(sights)
	for i := range out {
		d, r := &out[i].Device, &out[i].Now
		if r.Status != pasar.GPUOK || d.UUID == "" || d.Unified || r.Reserved != nil || r.Used == nil {
			continue
		}
		floor, known := (*f)[d.UUID]
		if r.Processes != nil && len(r.Processes) == 0 {
			seen := min(*r.Used, maxFloor)
			if !known || seen < floor {
				floor, known = seen, true
				if *f == nil {
					*f = floors{}
				}
				(*f)[d.UUID] = floor
			}
		}
		if !known {
			continue
		}
		used := max(0, *r.Used-floor)
		r.Reserved, r.Used = &floor, &used
		d.Total = max(0, d.Total-floor)
	}
	return out
}

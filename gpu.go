package pasar

// A GPU is one device that jobs can be given.
type GPU struct {
	Index   int    `json:"index"` // physical, in PCI bus order
	UUID    string `json:"uuid"`
	Name    string `json:"name"`
	Total   Bytes  `json:"total"`   // memory jobs may be given
	Virtual bool   `json:"virtual"` // stands for a machine without a GPU; its memory is host memory
	Unified bool   `json:"unified"` // shares the host's memory
	Parent  string `json:"parent"`  // a MIG instance: UUID of the GPU that it is a part of; else empty
}

// An Inventory is what a machine has to give.
type Inventory struct {
	Machine string   `json:"machine"`
	Boot    string   `json:"boot"` // boot id: attempts of another boot are gone
	Cores   int      `json:"cores"`
	RAM     Bytes    `json:"ram"`     // physical host memory
	Reserve Bytes    `json:"reserve"` // of RAM, kept for the system
	CPUJobs int      `json:"cpu_jobs"`
	GPUs    []GPU    `json:"gpus"`
	Notes   []string `json:"notes,omitempty"` // what people should know, e.g. that there is no GPU
}

// Places adds to a list the places in the inventory of the GPUs that have some of what a ref names. Where that is
// there, it is that alone, which exact says. Else it was split since, or its parts were put together: then it is
// every part of the device that it was, since nobody can say which.
//
// An index can come to mean another device when one is added, and all parts of a device share it, so it counts
// only where there is no UUID to go by.
func (inv *Inventory) Places(ref GPURef, list []int) (places []int, exact bool) {
	for k := range inv.GPUs {
		if ref.UUID != "" && inv.GPUs[k].UUID == ref.UUID {
			return append(list, k), true
		}
	}
	for k := range inv.GPUs {
		switch g := &inv.GPUs[k]; {
		case ref.UUID == "" || g.UUID == "" && g.Parent == "" && ref.Parent == "":
			if g.Index == ref.Index {
				return append(list, k), true
			}
		case g.Parent == ref.UUID, ref.Parent != "" && (g.UUID == ref.Parent || g.Parent == ref.Parent):
			list = append(list, k)
		}
	}
	return list, false
}

// HostMemory is the RAM that jobs may be given.
func (inv Inventory) HostMemory() Bytes { return inv.RAM - inv.Reserve }

// LocalMachine is the name of the machine the daemon runs on.
const LocalMachine = "local"

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

// HostMemory is the RAM that jobs may be given.
func (inv Inventory) HostMemory() Bytes { return inv.RAM - inv.Reserve }

// LocalMachine is the name of the machine the daemon runs on.
const LocalMachine = "local"

// Package nvml is the driver's library, NVML, as the probe asks it: the only importer of the vendor's
// binding, for a process of its own.
//
// A call may hang for ever in the driver, and one that the library lacks ends the process. So nothing here
// runs in the daemon, and every function that some driver lacks is looked up before it is called.
package nvml

import "pasar/gpu"

// Built is nil where this build can ask the library, else why not.
var Built error = built()

// New is the library at a path; empty is the system's. Its errors are *gpu.Broken.
func New(library string) gpu.Driver { return newDriver(library) }

package target

import (
	"path/filepath"
	"strconv"
	"strings"

	"pasar"
)

// Dirs are the paths that only the target knows, all absolute.
type Dirs struct {
	Attempt string // the attempt's own: events, pause file, checkpoint marker
	Job     string // the job's own, the same for all of its attempts
	Persist string // where its checkpoints survive attempts
	Socket  string // the daemon's socket, if it must be told; else the submitter's PASAR_SOCKET stays
}

// cudaContext is what a CUDA context takes of a GPU's memory beside what a program allocates; a
// program that sizes itself by a fraction of the total has to leave it out.
const cudaContext = 600 * pasar.MiB

// virtualPrefix begins the UUID of a GPU that is not one: it stands for the host memory of a
// machine without GPUs.
const virtualPrefix = "virtual-"

// VirtualUUID names the virtual GPU of a machine without GPUs.
const VirtualUUID = virtualPrefix + "0"

// IsVirtual reports whether a GPU's UUID is that of a virtual one.
func IsVirtual(uuid string) bool { return strings.HasPrefix(uuid, virtualPrefix) }

// Environment completes an attempt's environment: the submitter's, less what belongs to the
// submitter's own terminal and service, then what pasar says. It is pure. Every byte survives; of
// variables given twice the last one counts, in the place of the first, so that equal input gives
// equal output.
func Environment(a Attempt, d Dirs) []pasar.Arg {
	e := newEnviron(a.Spec.Surroundings.Env)
	e.dropForeign()
	e.dropOuterJob()
	identity(e, a, d)
	point(e, a)
	pauseContract(e, a, d)
	devices(e, a)
	slice(e, a)
	e.set("TERM", "xterm-256color")
	return e.list()
}

func identity(e *environ, a Attempt, d Dirs) {
	e.set("PASAR_JOB_ID", a.Spec.Key.Job.String())
	e.set("PASAR_ATTEMPT", strconv.Itoa(a.Spec.Key.Attempt))
	e.set("PASAR_NONCE", a.Spec.Nonce)
	if a.Resuming {
		e.set("PASAR_RESUMING", "1")
	}
	e.set("PASAR_EVENTS", filepath.Join(d.Attempt, pasar.EventsFile))
	e.set("PASAR_JOB_DIR", d.Job)
	e.set("PASAR_PERSIST_DIR", d.Persist)
	e.set("PASAR_GRACE_SECONDS", strconv.FormatFloat(leastGrace(a).Seconds(), 'f', -1, 64))
	if d.Socket != "" {
		e.set("PASAR_SOCKET", d.Socket)
	}
}

// leastGrace is how much time there surely is between a request to stop and SIGKILL, whoever asks: the job can't
// tell a time limit from a cancel.
func leastGrace(a Attempt) pasar.Duration {
	if a.SaveGrace > 0 {
		return min(a.Spec.Grace, a.SaveGrace)
	}
	return a.Spec.Grace
}

// point says which job of an array or sweep this is.
func point(e *environ, a Attempt) {
	if a.Index != nil {
		e.set("PASAR_ARRAY_INDEX", strconv.Itoa(*a.Index))
	}
	for _, p := range a.Params {
		e.set(p.Env(), p.Value)
	}
}

// pauseContract says where to look for a request to pause and where to answer it, also under the
// names that programs written for CardBaton know.
func pauseContract(e *environ, a Attempt, d Dirs) {
	for _, prefix := range []string{"PASAR_", "SSHGPU_"} {
		e.set(prefix+"PAUSE_FILE", filepath.Join(d.Attempt, pasar.PauseFile))
		e.set(prefix+"CHECKPOINT_READY", filepath.Join(d.Attempt, pasar.MarkerFile))
		if a.Checkpoint != "" {
			e.set(prefix+"CHECKPOINT", a.Checkpoint)
		}
	}
}

// migPrefix begins the UUID of a part of a GPU that is a GPU of its own (MIG).
const migPrefix = "MIG-"

// devices names the granted GPUs. CUDA_VISIBLE_DEVICES is always set: left out, a program would
// take any GPU it finds. Parts of a GPU have no index that CUDA knows, and it takes no list of both
// kinds, so that one of them has all named by UUID.
func devices(e *environ, a Attempt) {
	var uuids, indices, visible []string
	byIndex := a.ByIndex
	for _, g := range a.Grant.GPUs {
		uuids = append(uuids, g.UUID)
		indices = append(indices, strconv.Itoa(g.Index))
		byIndex = byIndex && !strings.HasPrefix(g.UUID, migPrefix)
	}
	for i, g := range a.Grant.GPUs {
		switch {
		case IsVirtual(g.UUID):
		case byIndex:
			visible = append(visible, indices[i])
		default:
			visible = append(visible, g.UUID)
		}
	}
	e.set("PASAR_GPU_UUIDS", strings.Join(uuids, ","))
	e.set("PASAR_GPUS", strings.Join(indices, ","))
	e.set("CUDA_VISIBLE_DEVICES", strings.Join(visible, ","))
	e.set("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
}

// slice tells a program how much of a GPU's memory is its own.
func slice(e *environ, a Attempt) {
	c := a.Grant.Claim
	if c.Kind != pasar.Slice {
		return
	}
	e.set("PASAR_MEM_LIMIT_BYTES", strconv.FormatInt(int64(c.Limit), 10))
	e.set("PASAR_MEM_REQUEST_BYTES", strconv.FormatInt(int64(c.Mem), 10))
	if a.GPUTotal <= 0 {
		return
	}
	f := gpuFraction(c.Mem, a.GPUTotal)
	e.set("PASAR_GPU_FRACTION", f)
	if !e.has("XLA_PYTHON_CLIENT_MEM_FRACTION") && !e.has("XLA_CLIENT_MEM_FRACTION") {
		e.set("XLA_PYTHON_CLIENT_MEM_FRACTION", f)
	}
}

// gpuFraction is (slice − context) / total with four decimals, cut and not rounded so that it never
// says more than there is. A slice hardly larger than the context still gets a tenth of itself.
func gpuFraction(mem, total pasar.Bytes) string {
	f := float64(max(mem-cudaContext, mem/10)) / float64(total)
	const digits = 10000
	return strconv.FormatFloat(float64(int(min(f, 1)*digits))/digits, 'f', -1, 64)
}

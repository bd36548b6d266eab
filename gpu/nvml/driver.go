//go:build cgo

package nvml

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"pasar/gpu"
)

func built() error { return nil }

func newDriver(library string) gpu.Driver { return &driver{path: library} }

// A driver is the library, opened.
type driver struct {
	path string // as set; empty: the system's
	lib  nvml.Interface
	has  map[string]bool // functions of optional that the library has

	gpus int
	file os.FileInfo // of the library, when it was opened; nil: not known
	real string      // its path
	proc string      // what the kernel's part lists

	events nvml.EventSet // nil: none; made by Open

	mu      sync.Mutex // guards what follows
	watched map[int]bool
	handles map[int]*handle
}

// optional are the functions that not every driver has. What isn't listed is in all that CUDA 11 runs on.
var optional = []string{
	"nvmlInit_v2", "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2",
	"nvmlSystemGetCudaDriverVersion", "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetProcessName",
	"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2",
	"nvmlDeviceGetMemoryInfo_v2",
	"nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses_v3",
	"nvmlDeviceGetGraphicsRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses_v2", "nvmlDeviceGetGraphicsRunningProcesses_v3",
	"nvmlDeviceGetMPSComputeRunningProcesses", "nvmlDeviceGetMPSComputeRunningProcesses_v2", "nvmlDeviceGetMPSComputeRunningProcesses_v3",
	"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons",
	"nvmlDeviceGetFieldValues", "nvmlDeviceGetComputeMode", "nvmlDeviceGetUtilizationRates",
	"nvmlDeviceGetTemperature", "nvmlDeviceGetTemperatureThreshold",
	"nvmlDeviceGetPowerUsage", "nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetFanSpeed", "nvmlDeviceGetClockInfo",
	"nvmlDeviceGetMigMode", "nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMigDeviceHandleByIndex", "nvmlDeviceGetGpuInstanceId",
	"nvmlEventSetCreate", "nvmlDeviceGetSupportedEventTypes", "nvmlDeviceRegisterEvents", "nvmlEventSetWait", "nvmlEventSetWait_v2",
}

// Open implements gpu.Driver.
func (d *driver) Open(at func(string)) (gpu.Versions, int, error) {
	var options []nvml.LibraryOption
	if d.path != "" {
		options = append(options, nvml.WithLibraryPath(d.path))
	}
	d.lib = nvml.New(options...)
	// The binding looks up nvmlInit_v2 itself, but falls back on nvmlInit unasked, and needs ErrorString.
	at("nvmlInit")
	if ret := d.lib.Init(); ret != nvml.SUCCESS {
		return gpu.Versions{}, 0, d.broken("open the driver's library", ret)
	}
	d.has = map[string]bool{}
	for _, name := range optional {
		d.has[name] = d.lib.Extensions().LookupSymbol(name) == nil
	}
	v := gpu.Versions{}
	at("nvmlSystemGetDriverVersion")
	if s, ret := d.lib.SystemGetDriverVersion(); ret == nvml.SUCCESS {
		v.Driver = s
	}
	if d.has["nvmlSystemGetCudaDriverVersion"] {
		at("nvmlSystemGetCudaDriverVersion")
		if n, ret := d.lib.SystemGetCudaDriverVersion(); ret == nvml.SUCCESS && n > 0 {
			v.CUDA = fmt.Sprintf("%d.%d", n/1000, n%1000/10)
		}
	}
	at("nvmlDeviceGetCount")
	n, ret := d.lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return gpu.Versions{}, 0, d.broken("count the GPUs", ret)
	}
	d.gpus, d.watched, d.handles = n, map[int]bool{}, map[int]*handle{}
	if d.real = loaded(d.path); d.real != "" {
		d.file, _ = os.Stat(d.real)
		v.Library = d.real
	}
	d.proc = kernelGPUs()
	if d.has["nvmlEventSetCreate"] && d.has["nvmlDeviceRegisterEvents"] && (d.has["nvmlEventSetWait"] || d.has["nvmlEventSetWait_v2"]) {
		at("nvmlEventSetCreate")
		if set, ret := d.lib.EventSetCreate(); ret == nvml.SUCCESS {
			d.events = set
		}
	}
	return v, n, nil
}

// broken makes an error of what the library returned.
func (d *driver) broken(doing string, ret nvml.Return) error {
	fault := gpu.FaultOther
	text := fmt.Sprintf("%s: %s", doing, ret.Error())
	switch ret {
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		fault, text = gpu.FaultNoLibrary, "there is no libnvidia-ml.so.1"
		if d.path != "" {
			text = d.path + " can't be loaded"
		}
	case nvml.ERROR_DRIVER_NOT_LOADED:
		fault, text = gpu.FaultNoDriver, "NVIDIA's driver isn't loaded"
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		fault, text = gpu.FaultMismatch, "NVIDIA's library and its driver in the kernel are of different versions"
	}
	return &gpu.Broken{Fault: fault, Text: text}
}

// gone are errors that mean that the driver has to be opened anew.
var gone = map[nvml.Return]bool{
	nvml.ERROR_UNINITIALIZED: true, nvml.ERROR_DRIVER_NOT_LOADED: true,
	nvml.ERROR_LIB_RM_VERSION_MISMATCH: true, nvml.ERROR_LIBRARY_NOT_FOUND: true,
}

// Changed implements gpu.Driver.
func (d *driver) Changed(at func(string)) error {
	if d.file != nil {
		at("stat")
		now, err := os.Stat(d.real)
		if err != nil || !os.SameFile(now, d.file) || !now.ModTime().Equal(d.file.ModTime()) {
			return &gpu.Broken{Fault: gpu.FaultReplaced, Text: d.real + " is another file by now"}
		}
	}
	at("nvmlDeviceGetCount")
	n, ret := d.lib.DeviceGetCount()
	switch {
	case gone[ret]:
		return d.broken("count the GPUs", ret)
	case ret == nvml.SUCCESS && n != d.gpus, kernelGPUs() != d.proc:
		return &gpu.Broken{Fault: gpu.FaultChanged, Text: "GPUs came or went"}
	}
	return nil
}

// kernelGPUs is the list of GPUs that the driver in the kernel has; the library doesn't notice when
// another one comes.
func kernelGPUs() string {
	entries, _ := os.ReadDir("/proc/driver/nvidia/gpus")
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// loaded is the path of the library that this process has mapped; empty: not known.
func loaded(path string) string {
	name := "libnvidia-ml.so"
	if path != "" {
		name = path
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return ""
	}
	for line := range strings.SplitSeq(string(maps), "\n") {
		if i := strings.IndexByte(line, '/'); i >= 0 && strings.Contains(line[i:], name) {
			return line[i:]
		}
	}
	return path
}

// eventWait is how long Wait waits in the library, in ms.
const eventWait = 20_000

var errNoEvents = errors.New("the library has no events")

// Watch implements gpu.Driver.
func (d *driver) Watch(index int, at func(string)) error {
	h := d.handle(index)
	if d.events == nil || h == nil {
		return errNoEvents
	}
	at("nvmlDeviceRegisterEvents")
	switch ret := h.dev.RegisterEvents(nvml.EventTypeXidCriticalError, d.events); ret {
	case nvml.SUCCESS:
		d.mu.Lock()
		defer d.mu.Unlock()
		d.watched[index] = true
		return nil
	case nvml.ERROR_NOT_SUPPORTED:
		return nil // for good
	default:
		return fmt.Errorf("watch GPU %d: %w", index, ret)
	}
}

// Wait implements gpu.Driver.
func (d *driver) Wait() (gpu.Event, bool, error) {
	d.mu.Lock()
	none := len(d.watched) == 0
	d.mu.Unlock()
	if none {
		return gpu.Event{}, false, errNoEvents
	}
	e, ret := d.events.Wait(eventWait)
	switch {
	case ret == nvml.ERROR_TIMEOUT:
		return gpu.Event{}, false, nil
	case ret != nvml.SUCCESS:
		return gpu.Event{}, false, fmt.Errorf("wait for events: %w", ret)
	case e.EventType != nvml.EventTypeXidCriticalError || e.EventData > 9999:
		return gpu.Event{}, false, nil
	}
	out := gpu.Event{Code: int(e.EventData), Instance: -1}
	if e.GpuInstanceId != none32 {
		out.Instance = int(e.GpuInstanceId)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, h := range d.handles {
		if h.dev == e.Device {
			out.Index, out.UUID, out.Bus = i, h.uuid, h.bus
			return out, true, nil
		}
	}
	return gpu.Event{}, false, nil
}

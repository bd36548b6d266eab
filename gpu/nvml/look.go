//go:build cgo

package nvml

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"pasar"
	"pasar/gpu"
)

// Values of the library that stand for none.
const (
	none32     = 0xFFFFFFFF
	noneMemory = 0xFFFFFFFFFFFFFFFF
)

// A handle is a GPU with what doesn't change of it.
type handle struct {
	dev             nvml.Device
	uuid, name, bus string
	hot             *float64
}

// handle is what is known of a GPU; nil if it never answered.
func (d *driver) handle(index int) *handle {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.handles[index]
}

// meet asks a GPU what doesn't change of it.
func (d *driver) meet(index int, at func(string)) (*handle, nvml.Return) {
	if h := d.handle(index); h != nil {
		return h, nvml.SUCCESS
	}
	at("nvmlDeviceGetHandleByIndex")
	dev, ret := d.lib.DeviceGetHandleByIndex(index)
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	h := &handle{dev: dev}
	at("nvmlDeviceGetUUID")
	if h.uuid, ret = dev.GetUUID(); ret != nvml.SUCCESS {
		return nil, ret
	}
	at("nvmlDeviceGetName")
	if h.name, ret = dev.GetName(); ret != nvml.SUCCESS {
		return nil, ret
	}
	if d.has["nvmlDeviceGetPciInfo_v3"] || d.has["nvmlDeviceGetPciInfo_v2"] {
		at("nvmlDeviceGetPciInfo")
		if pci, ret := dev.GetPciInfo(); ret == nvml.SUCCESS {
			h.bus = fmt.Sprintf("%08X:%02X:%02X.0", pci.Domain, pci.Bus, pci.Device)
		}
	}
	if d.has["nvmlDeviceGetTemperatureThreshold"] {
		at("nvmlDeviceGetTemperatureThreshold")
		h.hot = number(dev.GetTemperatureThreshold(nvml.TEMPERATURE_THRESHOLD_SLOWDOWN))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.handles[index] = h
	return h, nvml.SUCCESS
}

// number is what the library said, nil unless it did.
func number(n uint32, ret nvml.Return) *float64 {
	if ret != nvml.SUCCESS {
		return nil
	}
	f := float64(n)
	return &f
}

// Look implements gpu.Driver.
func (d *driver) Look(index int, at func(string)) []gpu.Sight {
	h, ret := d.meet(index, at)
	if ret != nvml.SUCCESS {
		s := gpu.Sight{Device: gpu.Device{Index: index, Left: ret.Error()}}
		s.Now.Status, s.Now.Detail = pasar.GPULost, ret.Error()
		return []gpu.Sight{s}
	}
	s := gpu.Sight{Device: gpu.Device{Index: index, UUID: h.uuid, Name: h.name, Bus: h.bus}}
	s.Now.Status = pasar.GPUOK
	d.sensors(h, &s.Now, at)
	d.memory(h.dev, &s, at)
	if s.Now.Status == pasar.GPUOK && d.isDivided(h.dev, at) {
		return d.instances(h, s, at)
	}
	s.Now.Processes = d.processes(h.dev, none32, at)
	return []gpu.Sight{s}
}

// lost takes a GPU for lost if a call says so.
func lost(r *pasar.GPUReading, ret nvml.Return) bool {
	switch ret {
	case nvml.ERROR_GPU_IS_LOST:
		r.Status, r.Detail = pasar.GPULost, ret.Error()
	case nvml.ERROR_RESET_REQUIRED:
		r.Status, r.Detail, r.Recovery = pasar.GPULost, ret.Error(), "reset"
	default:
		return false
	}
	return true
}

// memory asks how much there is. Only the answer that there is no such number makes a GPU a unified one.
func (d *driver) memory(dev nvml.Device, s *gpu.Sight, at func(string)) {
	r := &s.Now
	ret := nvml.ERROR_FUNCTION_NOT_FOUND
	if d.has["nvmlDeviceGetMemoryInfo_v2"] {
		at("nvmlDeviceGetMemoryInfo_v2")
		var m nvml.Memory_v2
		if m, ret = dev.GetMemoryInfo_v2(); ret == nvml.SUCCESS {
			total, reserved, used := pasar.Bytes(m.Total), pasar.Bytes(m.Reserved), pasar.Bytes(m.Used)
			r.Total, r.Reserved, r.Used = &total, &reserved, &used
			s.Device.Total = total - min(reserved, total)
		}
	}
	if ret == nvml.ERROR_FUNCTION_NOT_FOUND || ret == nvml.ERROR_ARGUMENT_VERSION_MISMATCH {
		at("nvmlDeviceGetMemoryInfo")
		var m nvml.Memory
		if m, ret = dev.GetMemoryInfo(); ret == nvml.SUCCESS {
			// What the driver keeps is in Used here, and nobody says how much that is; the meter learns it.
			total, used := pasar.Bytes(m.Total), pasar.Bytes(m.Used)
			r.Total, r.Used = &total, &used
			s.Device.Total = total
		}
	}
	if ret == nvml.ERROR_NOT_SUPPORTED {
		s.Device.Unified = true
	}
	lost(r, ret)
}

// sensors asks for everything that memory and processes aren't.
func (d *driver) sensors(h *handle, r *pasar.GPUReading, at func(string)) {
	r.HotC = h.hot
	ask := func(name string, f func() nvml.Return) {
		if d.has[name] {
			at(name)
			lost(r, f())
		}
	}
	value := func(to **float64, scale float64, n uint32, ret nvml.Return) nvml.Return {
		if v := number(n, ret); v != nil {
			*v *= scale
			*to = v
		}
		return ret
	}
	ask("nvmlDeviceGetComputeMode", func() nvml.Return {
		mode, ret := h.dev.GetComputeMode()
		r.Exclusive = ret == nvml.SUCCESS && mode != nvml.COMPUTEMODE_DEFAULT
		return ret
	})
	ask("nvmlDeviceGetUtilizationRates", func() nvml.Return {
		u, ret := h.dev.GetUtilizationRates()
		return value(&r.Util, 1, u.Gpu, ret)
	})
	ask("nvmlDeviceGetTemperature", func() nvml.Return {
		n, ret := h.dev.GetTemperature(nvml.TEMPERATURE_GPU)
		return value(&r.TempC, 1, n, ret)
	})
	ask("nvmlDeviceGetPowerUsage", func() nvml.Return {
		n, ret := h.dev.GetPowerUsage()
		return value(&r.PowerW, 1e-3, n, ret)
	})
	ask("nvmlDeviceGetEnforcedPowerLimit", func() nvml.Return {
		n, ret := h.dev.GetEnforcedPowerLimit()
		return value(&r.LimitW, 1e-3, n, ret)
	})
	ask("nvmlDeviceGetFanSpeed", func() nvml.Return {
		n, ret := h.dev.GetFanSpeed()
		return value(&r.FanPct, 1, n, ret)
	})
	ask("nvmlDeviceGetClockInfo", func() nvml.Return {
		n, ret := h.dev.GetClockInfo(nvml.CLOCK_SM)
		return value(&r.ClockMHz, 1, n, ret)
	})
	throttle := func(mask uint64, ret nvml.Return) nvml.Return {
		if ret == nvml.SUCCESS {
			r.Throttle = gpu.ThrottleReasons(mask)
		}
		return ret
	}
	if d.has["nvmlDeviceGetCurrentClocksEventReasons"] {
		ask("nvmlDeviceGetCurrentClocksEventReasons", func() nvml.Return { return throttle(h.dev.GetCurrentClocksEventReasons()) })
	} else {
		ask("nvmlDeviceGetCurrentClocksThrottleReasons", func() nvml.Return { return throttle(h.dev.GetCurrentClocksThrottleReasons()) })
	}
	ask("nvmlDeviceGetFieldValues", func() nvml.Return {
		v := []nvml.FieldValue{{FieldId: nvml.FI_DEV_GET_GPU_RECOVERY_ACTION}}
		ret := h.dev.GetFieldValues(v)
		if ret == nvml.SUCCESS && nvml.Return(v[0].NvmlReturn) == nvml.SUCCESS {
			r.Recovery = recoveries[nvml.DeviceGpuRecoveryAction(binary.NativeEndian.Uint32(v[0].Value[:4]))]
		}
		return ret
	})
}

var recoveries = map[nvml.DeviceGpuRecoveryAction]string{
	nvml.GPU_RECOVERY_ACTION_NONE:                "none",
	nvml.GPU_RECOVERY_ACTION_GPU_RESET:           "reset",
	nvml.GPU_RECOVERY_ACTION_NODE_REBOOT:         "reboot",
	nvml.GPU_RECOVERY_ACTION_DRAIN_P2P:           "drain_p2p",
	nvml.GPU_RECOVERY_ACTION_DRAIN_AND_RESET:     "drain_and_reset",
	nvml.GPU_RECOVERY_ACTION_RECOVER_IMEX_DOMAIN: "recover_imex_domain",
	nvml.GPU_RECOVERY_ACTION_BUS_RESET:           "bus_reset",
	nvml.GPU_RECOVERY_ACTION_SYSTEM_REBOOT:       "reboot",
}

// isDivided reports whether MIG is on.
func (d *driver) isDivided(dev nvml.Device, at func(string)) bool {
	if !d.has["nvmlDeviceGetMigMode"] || !d.has["nvmlDeviceGetMaxMigDeviceCount"] || !d.has["nvmlDeviceGetMigDeviceHandleByIndex"] {
		return false
	}
	at("nvmlDeviceGetMigMode")
	mode, _, ret := dev.GetMigMode()
	return ret == nvml.SUCCESS && mode == nvml.DEVICE_MIG_ENABLE
}

// instances are the parts of a divided GPU, each with memory and processes of its own, and the sensors of
// the whole. Undivided it can't be used, so without any it is one that takes no jobs.
func (d *driver) instances(h *handle, whole gpu.Sight, at func(string)) []gpu.Sight {
	at("nvmlDeviceGetMaxMigDeviceCount")
	most, _ := h.dev.GetMaxMigDeviceCount()
	var out []gpu.Sight
	for i := range most {
		at("nvmlDeviceGetMigDeviceHandleByIndex")
		dev, ret := h.dev.GetMigDeviceHandleByIndex(i)
		if ret != nvml.SUCCESS {
			continue // indices may have gaps
		}
		s := whole
		s.Device.Parent, s.Device.Total, s.Device.Unified = h.uuid, 0, false
		s.Now.Total, s.Now.Reserved, s.Now.Used, s.Now.Util = nil, nil, nil, nil
		at("nvmlDeviceGetUUID")
		if s.Device.UUID, ret = dev.GetUUID(); ret != nvml.SUCCESS {
			continue
		}
		at("nvmlDeviceGetName")
		if name, ret := dev.GetName(); ret == nvml.SUCCESS {
			s.Device.Name = name
		}
		s.Device.Instance = -1
		if d.has["nvmlDeviceGetGpuInstanceId"] {
			at("nvmlDeviceGetGpuInstanceId")
			if n, ret := dev.GetGpuInstanceId(); ret == nvml.SUCCESS {
				s.Device.Instance = n
			}
		}
		d.memory(dev, &s, at)
		s.Now.Processes = d.processes(dev, uint32(s.Device.Instance), at)
		out = append(out, s)
	}
	if len(out) == 0 {
		whole.Device.Left = "MIG is on and it is divided into no instances"
		whole.Now.Processes = d.processes(h.dev, none32, at)
		out = []gpu.Sight{whole}
	}
	return out
}

// processes lists who has memory of a GPU; instance is none32, or whose processes are meant. It is nil where
// some of them can't be told.
func (d *driver) processes(dev nvml.Device, instance uint32, at func(string)) []pasar.GPUProcess {
	out := []pasar.GPUProcess{}
	failed, asked := false, false
	known := map[int]int{} // pid → place in out
	add := func(name string, graphics bool, f func() ([]nvml.ProcessInfo, nvml.Return)) {
		if !d.has[name+"_v3"] && !d.has[name+"_v2"] && !d.has[name] {
			return
		}
		at(name)
		infos, ret := f()
		if ret != nvml.SUCCESS {
			failed = failed || ret != nvml.ERROR_NOT_SUPPORTED && ret != nvml.ERROR_FUNCTION_NOT_FOUND
			return
		}
		asked = true
		for _, in := range infos {
			// A driver may list a whole GPU's processes for each of its instances.
			if instance != none32 && in.GpuInstanceId != none32 && in.GpuInstanceId != instance {
				continue
			}
			p := pasar.GPUProcess{Pid: int(in.Pid), Graphics: graphics}
			if in.UsedGpuMemory != noneMemory {
				used := pasar.Bytes(in.UsedGpuMemory)
				p.Used = &used
			}
			// One that computes and draws is listed twice, with the same memory.
			if i, ok := known[p.Pid]; ok {
				if p.Used != nil && (out[i].Used == nil || *out[i].Used < *p.Used) {
					out[i].Used = p.Used
				}
				continue
			}
			known[p.Pid] = len(out)
			p.Name = d.nameOf(p.Pid, at)
			out = append(out, p)
		}
	}
	add("nvmlDeviceGetComputeRunningProcesses", false, dev.GetComputeRunningProcesses)
	add("nvmlDeviceGetMPSComputeRunningProcesses", false, dev.GetMPSComputeRunningProcesses)
	add("nvmlDeviceGetGraphicsRunningProcesses", true, dev.GetGraphicsRunningProcesses)
	if len(out) == 0 && (failed || !asked) {
		return nil
	}
	return out
}

// nameOf asks the driver for a process's name where the kernel doesn't show the process.
func (d *driver) nameOf(pid int, at func(string)) string {
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil || !d.has["nvmlSystemGetProcessName"] {
		return ""
	}
	at("nvmlSystemGetProcessName")
	name, ret := d.lib.SystemGetProcessName(pid)
	if ret != nvml.SUCCESS {
		return ""
	}
	return filepath.Base(name)
}

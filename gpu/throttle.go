package gpu

// Bits of NVML's clocks event reasons (nvml.h, nvmlClocksEventReason…).
const (
	reasonPowerCap   = 0x04
	reasonHWSlowdown = 0x08
	reasonSWThermal  = 0x20
	reasonHWThermal  = 0x40
	reasonPowerBrake = 0x80
)

// ThrottleReasons says why clocks are held back, from the driver's mask; nil: they aren't, but for
// settings of people and for want of work.
func ThrottleReasons(mask uint64) []string {
	var out []string
	if mask&(reasonSWThermal|reasonHWThermal) != 0 {
		out = append(out, "thermal")
	}
	if mask&reasonPowerBrake != 0 {
		out = append(out, "power_brake")
	}
	if mask&reasonHWSlowdown != 0 && mask&(reasonHWThermal|reasonPowerBrake) == 0 {
		out = append(out, "hw_slowdown") // some driver doesn't say which
	}
	if mask&reasonPowerCap != 0 {
		out = append(out, "power_cap")
	}
	return out
}

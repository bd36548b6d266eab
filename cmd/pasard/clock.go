package main

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
)

// systemClock is the kernel's wall clock and its clock since boot, which also counts suspends.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Mono() pasar.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0
	}
	return pasar.Duration(ts.Nano())
}

func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// monotonic is the kernel's clock that stands still in a suspend, which systemd goes by.
func monotonic() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

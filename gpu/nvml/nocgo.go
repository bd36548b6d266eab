//go:build !cgo

package nvml

import (
	"errors"

	"pasar/gpu"
)

// noCgo is every answer of a build that can't have the library.
var noCgo = &gpu.Broken{Fault: gpu.FaultNoCgo, Text: "this pasard was built without cgo, which NVIDIA's library needs"}

func built() error { return noCgo }

func newDriver(string) gpu.Driver { return nothing{} }

type nothing struct{}

func (nothing) Open(func(string)) (gpu.Versions, int, error) { return gpu.Versions{}, 0, noCgo }
func (nothing) Changed(func(string)) error                   { return noCgo }
func (nothing) Look(int, func(string)) []gpu.Sight           { return nil }
func (nothing) Watch(int, func(string)) error                { return noCgo }
func (nothing) Wait() (gpu.Event, bool, error)               { return gpu.Event{}, false, errors.ErrUnsupported }

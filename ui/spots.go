package ui

import (
	"slices"
	"strconv"
	"time"

	"pasar"
)

// A spot is one place where jobs run, and its bars.
type spot struct {
	label string
	bars  []Bar
}

// A gpuAt names a GPU on a machine by its UUID or its index.
type gpuAt struct {
	machine, uuid string
	index         int
}

func newMarket(s *Snapshot, from, to, now time.Time) *market {
	m := &market{from: from, to: to, now: now, byUUID: map[gpuAt]*spot{}, byIndex: map[gpuAt]*spot{}, cpu: spot{label: laneCPU}, queue: spot{label: laneQueue}}
	machines := s.machines()
	m.several = len(machines) > 1
	for i := range machines {
		gpus := machines[i].GPUs
		for _, g := range family(gpus) {
			if g.UUID != "" && slices.ContainsFunc(gpus, func(o pasar.GPUView) bool { return o.Parent == g.UUID }) {
				continue // it is divided, and takes no jobs itself
			}
			st := m.open(machines[i].Name, pasar.GPURef{Index: g.Index, UUID: g.UUID, Parent: g.Parent})
			if g.Virtual {
				st.label = m.on(machines[i].Name, laneHost)
			}
		}
	}
	return m
}

// open makes a spot for a GPU.
func (m *market) open(machine string, ref pasar.GPURef) *spot {
	name := strconv.Itoa(ref.Index)
	if ref.Parent != "" { // instances share their index
		uuid := []rune(Shown(ref.UUID))
		name += "/" + string(uuid[min(len(uuid), len("MIG-")):min(len(uuid), len("MIG-")+2)])
	}
	st := &spot{label: m.on(machine, "GPU "+name)}
	m.spots = append(m.spots, st)
	if ref.UUID != "" {
		m.byUUID[gpuAt{machine: machine, uuid: ref.UUID}] = st
	}
	if at := (gpuAt{machine: machine, index: ref.Index}); m.byIndex[at] == nil {
		m.byIndex[at] = st
	}
	return st
}

// on is a label with its machine, where there are several.
func (m *market) on(machine, label string) string {
	if m.several {
		return Shown(machine) + " " + label
	}
	return label
}

// at is the spot of a GPU; one that is gone gets one as well. An index counts only where there is no UUID to go by.
func (m *market) at(machine string, ref pasar.GPURef) *spot {
	st := m.byUUID[gpuAt{machine: machine, uuid: ref.UUID}]
	if byIndex := m.byIndex[gpuAt{machine: machine, index: ref.Index}]; ref.UUID == "" {
		st = byIndex
	}
	if st == nil {
		st = m.open(machine, ref)
	}
	return st
}

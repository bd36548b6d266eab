package schedtest

import (
	"fmt"
	"slices"
	"strconv"

	"pasar"
	"pasar/sched"
)

// split makes instances of a GPU, or one GPU of its instances.
func (w *world) split(name string, flags []string) error {
	i := slices.IndexFunc(w.in.Machines, func(m sched.Machine) bool { return m.Inventory.Machine == name })
	if i < 0 || len(flags) < 2 {
		return fmt.Errorf("no such machine, or no size")
	}
	index, err := strconv.Atoi(flags[0])
	if err != nil {
		return err
	}
	m := &w.in.Machines[i]
	was := fmt.Sprintf("GPU-%04d-%s", index, name)
	at := slices.IndexFunc(m.GPUs, func(g pasar.GPU) bool { return g.UUID == was || g.Parent == was })
	m.GPUs = slices.DeleteFunc(slices.Clone(m.GPUs), func(g pasar.GPU) bool { return g.UUID == was || g.Parent == was })
	if at < 0 {
		return fmt.Errorf("no such GPU")
	}
	for n, size := range flags[1:] {
		g := pasar.GPU{Index: index, UUID: was, Name: "GPU"}
		if g.Total, err = pasar.ParseBytes(size); err != nil {
			return err
		}
		if len(flags) > 2 {
			g.UUID, g.Parent = fmt.Sprintf("MIG-%04d-%d-%s", index, n, name), was
		}
		m.GPUs = slices.Insert(m.GPUs, at+n, g)
	}
	return nil
}

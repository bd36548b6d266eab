package daemon

import "pasar"

// drains is what keeps work from machines and GPUs: by machine, then by GPU's UUID; the empty one is
// the whole machine.
type drains map[string]map[string]drain

// A drain is why nothing starts on a machine or a GPU. A person's wish and a fault stand side by side, so
// that neither's end ends the other.
type drain struct {
	Person *pasar.Health `json:"person,omitempty"`
	Fault  *pasar.Health `json:"fault,omitempty"`
}

// health is what people are told first: a fault, since it needs mending.
func (d drain) health() *pasar.Health {
	if d.Fault != nil {
		return d.Fault
	}
	return d.Person
}

// of is why nothing starts there; nil if it does.
func (ds drains) of(machine, gpu string) *pasar.Health { return ds[machine][gpu].health() }

// set replaces one drain; an empty one is forgotten. Maps that readers may have are never changed.
func (ds drains) set(machine, gpu string, d drain) drains {
	all := drains{}
	for m, gpus := range ds {
		all[m] = gpus
	}
	gpus := map[string]drain{}
	for g, old := range ds[machine] {
		gpus[g] = old
	}
	gpus[gpu] = d
	if d.health() == nil {
		delete(gpus, gpu)
	}
	all[machine] = gpus
	if len(gpus) == 0 {
		delete(all, machine)
	}
	return all
}

func (ds drains) drained(f pasar.Drained) drains {
	d := ds[f.Machine][f.GPU]
	if f.Health.Person {
		d.Person = &f.Health
	} else {
		d.Fault = &f.Health
	}
	return ds.set(f.Machine, f.GPU, d)
}

// undrained ends a fault's drain when the daemon saw it mended, and every drain when a person says so.
func (ds drains) undrained(f pasar.Undrained) drains {
	d := ds[f.Machine][f.GPU]
	d.Fault = nil
	if f.By != "" {
		d.Person = nil
	}
	return ds.set(f.Machine, f.GPU, d)
}

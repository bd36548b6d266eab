package daemon

import (
	"slices"

	"pasar"
)

// maxHappened bounds what happened to a job in bytes, about: paths that programs report may be long, and all of it is
// written again with each snapshot.
const maxHappened = 64 << 10

// happens remembers an event that nothing else of the job tells. Of too many the reports go before what was done to
// the job, the oldest first.
func (j *job) happens(h pasar.Happening) {
	all := append(slices.Clip(j.Happened), h) // a new list: the old one may be shared
	weight := 0
	for i := range all {
		weight += weighHappening(&all[i])
	}
	for len(all) > pasar.MaxHappened || weight > maxHappened && len(all) > 1 {
		i := max(0, slices.IndexFunc(all, func(h pasar.Happening) bool { return h.Event != nil }))
		if i == len(all)-1 {
			i = 0 // the newest stays
		}
		weight -= weighHappening(&all[i])
		all = slices.Delete(all, i, i+1)
		j.Forgotten++
	}
	j.Happened = all
}

func weighHappening(h *pasar.Happening) int {
	const fixed = 100
	w := fixed + len(h.By)
	if h.Stop != nil {
		w += fixed + len(h.Stop.Detail) + len(h.Stop.By)
	}
	if h.Event != nil {
		w += fixed + len(h.Event.Path) + len(h.Event.Text)
	}
	return w
}

package ui

import (
	"hash/fnv"
	"strings"

	"pasar"
)

// Hues is how many colours jobs have. Each medium has its own for each of them.
const Hues = 12

// Hue is the colour of a job, 1 to Hues: the same for all jobs with the same first tag, else with the same name but for
// its numbers, so that the parts of an array or a sweep share it.
func Hue(v *pasar.JobView) int {
	if v == nil {
		return 1
	}
	key := "name " + unnumbered(v.Name)
	if len(v.Tags) > 0 {
		key = "tag " + v.Tags[0]
	}
	h := fnv.New32a()
	h.Write([]byte(key))
	sum := h.Sum32()
	return 1 + int((sum^sum>>16)%Hues) // the low bits of FNV alone are worse mixed
}

// unnumbered is a name with every run of digits as one sign.
func unnumbered(name string) string {
	var b strings.Builder
	digits := false
	for _, r := range name {
		digit := r >= '0' && r <= '9'
		switch {
		case !digit:
			b.WriteRune(r)
		case !digits:
			b.WriteByte('#')
		}
		digits = digit
	}
	return b.String()
}

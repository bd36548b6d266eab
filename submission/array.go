package submission

import (
	"fmt"
	"strconv"
	"strings"

	"pasar"
)

// An Array is what --array says: the indices of its jobs in the order in which they were named, and how
// many may run at once (0: no bound).
type Array struct {
	Indices []int
	AtOnce  int
}

// MaxArrayIndex bounds an array's indices; it is Slurm's largest MaxArraySize less one.
const MaxArrayIndex = 4_000_000

const arrayForms = "write 0-9, 1,3,5, 0-9:2 for every second one, or 0-9%4 for four at once"

// ParseArray reads the form that Slurm's --array has.
func ParseArray(s string) (Array, error) {
	var a Array
	bad := func(why string) (Array, error) { return Array{}, pasar.BadWord(arrayForms, "%q: %s", s, why) }
	list, most, bounded := strings.Cut(s, "%")
	if bounded {
		n, err := strconv.ParseUint(most, 10, 31)
		if err != nil || n == 0 {
			return bad("after % stands how many may run at once")
		}
		a.AtOnce = int(n)
	}
	seen := map[int]bool{}
	for part := range strings.SplitSeq(list, ",") {
		from, to, step, ok := parseIndices(part)
		if !ok {
			return bad("no list of indices")
		}
		if (to-from)/step >= pasar.MaxPoints {
			return bad(fmt.Sprintf("more than %d jobs", pasar.MaxPoints))
		}
		for i := from; i <= to; i += step {
			if seen[i] {
				return bad(fmt.Sprintf("index %d is there twice", i))
			}
			seen[i] = true
			a.Indices = append(a.Indices, i)
		}
		if len(a.Indices) > pasar.MaxPoints {
			return bad(fmt.Sprintf("more than %d jobs", pasar.MaxPoints))
		}
	}
	return a, nil
}

// parseIndices reads 7, 0-9 or 0-9:2.
func parseIndices(s string) (from, to, step int, ok bool) {
	span, by, stepped := strings.Cut(s, ":")
	a, b, isRange := strings.Cut(span, "-")
	from, ok = parseIndex(a)
	to, step = from, 1
	if ok && isRange {
		to, ok = parseIndex(b)
	}
	if ok && stepped {
		step, ok = parseIndex(by)
		ok = ok && isRange && step > 0
	}
	return from, to, step, ok && to >= from
}

func parseIndex(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil && n <= MaxArrayIndex
}

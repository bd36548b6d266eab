package sched

import (
	"strings"

	"pasar"
)

// charged is what a claim takes of one GPU's memory. A whole one takes all but what strangers hold there.
func charged(c *pasar.Claim, g *gpu) pasar.Bytes {
	if c.Kind == pasar.Slice {
		return max(c.Limit, c.Mem)
	}
	return max(g.total-g.strangers, 0)
}

// hostCharge is what a claim takes of host memory, given what it takes of GPUs that share it. A slice
// is apart from the RAM asked for; a whole shared GPU is all of that memory, so the RAM is in it.
func hostCharge(kind pasar.ClaimKind, ram, shared pasar.Bytes) pasar.Bytes {
	if kind == pasar.Whole && shared > 0 {
		return max(shared, ram)
	}
	return shared + ram
}

// allows reports whether a claim names this GPU, or names none.
func (g *gpu) allows(gpuType string, ids []string) bool {
	if gpuType != "" && !containsFold(g.name, gpuType) {
		return false
	}
	if len(ids) == 0 {
		return true
	}
	for _, id := range ids {
		if g.is(id) {
			return true
		}
	}
	return false
}

// is reports whether an id names this GPU: its index, or its UUID or the start of it (that it is the
// only such start is seen to at submit).
func (g *gpu) is(id string) bool {
	if len(id) >= minPrefix && len(g.UUID) >= len(id) && strings.EqualFold(g.UUID[:len(id)], id) {
		return true
	}
	n := 0
	for _, r := range id {
		if r < '0' || r > '9' || n > 1<<20 {
			return false
		}
		n = n*10 + int(r-'0')
	}
	return id != "" && n == g.Index
}

// minPrefix is the shortest part of a UUID that names a GPU, long enough not to be taken for an index.
const minPrefix = len("GPU-") + 4

// containsFold reports whether lower, which is in lower case, contains s in any case. It allocates
// nothing for ASCII.
func containsFold(lower, s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return strings.Contains(lower, strings.ToLower(s))
		}
	}
next:
	for i := 0; i+len(s) <= len(lower); i++ {
		for k := range len(s) {
			c := s[k]
			if c >= 'A' && c <= 'Z' {
				c += 'a' - 'A'
			}
			if lower[i+k] != c {
				continue next
			}
		}
		return true
	}
	return false
}

package submission

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pasar"
)

// ParseMemory reads a size, or auto.
func ParseMemory(s string) (Memory, error) {
	if strings.EqualFold(s, "auto") {
		return Memory{Auto: true}, nil
	}
	n, err := pasar.ParseBytes(s)
	return Memory{Size: n}, err
}

// maxGPUs is how many GPUs a job may ask for; a number beyond is a slip.
const maxGPUs = 1024

// ParseCount reads how many GPUs.
func ParseCount(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > maxGPUs {
		return 0, pasar.BadWord("0 is a job without a GPU, and none given is one whole GPU", "%q is not a whole number from 0 to %d", pasar.Clean(s), maxGPUs)
	}
	return n, nil
}

// ParseBid reads a bid.
func ParseBid(s string) (pasar.Bid, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil || pasar.Bid(n) < pasar.MinBid || pasar.Bid(n) > pasar.MaxBid {
		return 0, fmt.Errorf("%q is not a whole number from %d to %d", pasar.Clean(s), pasar.MinBid, pasar.MaxBid)
	}
	return pasar.Bid(n), nil
}

// minUUID is the shortest part of a UUID that names a GPU, and maxIndex more than any machine's GPUs.
const (
	minUUID  = len("GPU-") + 4
	maxIndex = 4_000_000
)

// ParseGPUs reads a list of GPUs, numbers and UUIDs or beginnings of them, with commas; an empty one is any.
func ParseGPUs(s string) ([]string, error) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	var ids []string
	for id := range strings.SplitSeq(s, ",") {
		id = strings.TrimSpace(id)
		n, err := strconv.ParseUint(id, 10, 31)
		isNumber := err == nil && n <= maxIndex
		upper := strings.ToUpper(id)
		isUUID := (strings.HasPrefix(upper, "GPU-") || strings.HasPrefix(upper, "MIG-")) && len(id) >= minUUID
		if !isNumber && !isUUID {
			return nil, pasar.BadWord("write 0,3 or the beginning of a UUID such as GPU-4b5f; `pasar gpus --json` has them", "%q names no GPU", id)
		}
		if slices.Contains(ids, id) {
			return nil, fmt.Errorf("GPU %s is there twice", id)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// ParseExternal reads what whole GPUs make of processes that pasar did not start.
func ParseExternal(s string) (pasar.External, error) {
	switch e := pasar.External(s); e {
	case pasar.ExternalShare, pasar.ExternalAvoid:
		return e, nil
	}
	return "", fmt.Errorf("%q: it is share or avoid", s)
}

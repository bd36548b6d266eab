package config

// nearest is the known key that looks most like a mistyped one, or nothing when none does.
func nearest(name string) string {
	if len(name) > 64 {
		return ""
	}
	best, least := "", 1+max(2, len(name)/3) // a third of the letters may be wrong
	for _, k := range keys {
		if d := distance(name, k.name); d < least {
			best, least = k.name, d
		}
	}
	return best
}

// distance is Levenshtein's: how many letters to add, drop or change.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

package ui

// Nearest is the word of words that is most like s, or "" when none is near: a third of its letters,
// and at least one, may differ.
func Nearest(s string, words []string) string {
	best, least := "", max(1, len(s)/3)+1
	for _, w := range words {
		if d := distance(s, w); d < least {
			best, least = w, d
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with a neighbour to make b of a.
func distance(a, b string) int {
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}

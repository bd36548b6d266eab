//go:build race

package autopsy_test

// raced reports whether the race detector is on, under which expressions take ten times as long.
const raced = true

//go:build !race

package autopsy_test

const raced = false

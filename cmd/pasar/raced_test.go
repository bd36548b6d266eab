//go:build race

package main

// raced reports whether the race detector is on, under which simulations take minutes.
const raced = true

package main

import (
	"bytes"
	"time"

	"pasar/config"
)

// How long keys are held back from the job: those that may be on the way to detaching, as long as a person
// takes from one key to the next; the start of a sequence, as long as its end may take to arrive.
const (
	keysPatience     = time.Second
	sequencePatience = 50 * time.Millisecond
)

// detachKeys finds the keys that detach in what is typed. The first of them alone is held back until it is
// known what follows; twice it is typed once. They are recognised in whatever form the job's keyboard
// mode has the terminal send them.
type detachKeys struct {
	want []config.Key
	got  int    // how many of them have come
	held []byte // those, as they came
	part []byte // the start of a sequence
}

// feed returns what goes to the job, and whether to detach. b isn't kept.
func (d *detachKeys) feed(b []byte) (pass []byte, detach bool) {
	if len(d.part) > 0 {
		b = append(d.part, b...)
		d.part = nil
	}
	if d.got == 0 && bytes.IndexByte(b, 0x1b) < 0 && !d.begins(b) {
		return b, false // nearly everything, and every large paste
	}
	for len(b) > 0 {
		k, rest, ok := nextKey(b)
		if !ok {
			d.part = bytes.Clone(b)
			break
		}
		b = rest
		switch {
		case k.silent && d.got > 0:
			d.held = append(d.held, k.raw...)
		case k.silent:
			pass = append(pass, k.raw...)
		case k.is(d.want[d.got]):
			if d.got++; d.got == len(d.want) {
				d.drop()
				return pass, true
			}
			d.held = append(d.held, k.raw...)
		case d.got == 1 && k.is(d.want[0]):
			pass = append(pass, d.held...)
			d.drop()
		default:
			pass = append(pass, d.held...)
			d.drop()
			if k.is(d.want[0]) {
				d.got, d.held = 1, bytes.Clone(k.raw)
			} else {
				pass = append(pass, k.raw...)
			}
		}
	}
	return pass, false
}

// begins reports whether the first key, as a plain byte, is in b.
func (d *detachKeys) begins(b []byte) bool { return bytes.IndexByte(b, d.want[0].Char&0x1f) >= 0 }

func (d *detachKeys) drop() { d.got, d.held = 0, nil }

// patience is how long to wait for more before expire; 0: nothing is held.
func (d *detachKeys) patience() time.Duration {
	switch {
	case d.got > 0:
		return keysPatience
	case len(d.part) > 0:
		return sequencePatience
	}
	return 0
}

// expire gives back what nothing followed in time.
func (d *detachKeys) expire() []byte {
	b := append(d.held, d.part...)
	d.drop()
	d.part = nil
	return b
}

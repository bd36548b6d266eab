package vt

// Limits of the kitty keyboard protocol: flags that exist, and how often they may be pushed. The oldest go first.
const (
	keyFlags   = 31
	maxKeyPush = 8
)

// A keyStack is a screen's flags of the kitty keyboard protocol, and those pushed beneath them.
type keyStack struct {
	flags  uint8
	below  [maxKeyPush]uint8
	pushed uint8
}

func (k *keyStack) push(flags int) {
	if k.pushed == maxKeyPush {
		copy(k.below[:], k.below[1:])
		k.pushed--
	}
	k.below[k.pushed] = k.flags
	k.pushed++
	k.flags = uint8(flags & keyFlags)
}

func (k *keyStack) pop(n int) {
	if n > int(k.pushed) {
		*k = keyStack{}
		return
	}
	k.pushed -= uint8(n)
	k.flags = k.below[k.pushed]
}

// set changes the flags: mode 1 to these, 2 adds these, 3 takes these away.
func (k *keyStack) set(flags, mode int) {
	f := uint8(flags & keyFlags)
	switch mode {
	case 1:
		k.flags = f
	case 2:
		k.flags |= f
	case 3:
		k.flags &^= f
	}
}

// append appends what makes a terminal without any have these.
func (k *keyStack) append(b []byte) []byte {
	first := k.flags
	if k.pushed > 0 {
		first = k.below[0]
	}
	if first != 0 {
		b = appendCSI(b, "=", 'u', int(first), 1)
	}
	for i := 1; i < int(k.pushed); i++ {
		b = appendCSI(b, ">", 'u', int(k.below[i]))
	}
	if k.pushed > 0 {
		b = appendCSI(b, ">", 'u', int(k.flags))
	}
	return b
}

package daemon

import "pasar"

// A fingerprint stands for what makes two jobs alike: the first tag, else the command with its numbers folded;
// and the working directory. It is a hash (FNV-1a, 64 bits): of the few thousand that are kept, two are the
// same by chance less often than once in a million million.
type fingerprint uint64

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func (f fingerprint) byte(c byte) fingerprint { return (f ^ fingerprint(c)) * fnvPrime }

func (f fingerprint) text(s string) fingerprint {
	for i := range len(s) {
		f = f.byte(s[i])
	}
	return f.byte(0)
}

// fingerprintOf is the fingerprint of a spec. It allocates nothing, since it is asked for at every change.
func fingerprintOf(s *pasar.Spec) fingerprint {
	f := fingerprint(fnvOffset)
	if len(s.Tags) > 0 {
		f = f.text("tag").text(s.Tags[0])
	} else {
		for _, a := range s.Argv {
			f = f.folded(string(a))
		}
	}
	return f.text(string(s.Cwd))
}

// folded is text with each number as one mark, so that runs that differ by seed, rate or step are alike.
// 17, 0.001, .5 and 1e-4 are numbers; the digits of sha256 or of h100 are too, as they may count something.
// A sign stays: it may as well be the dash of a flag.
func (f fingerprint) folded(s string) fingerprint {
	for i := 0; i < len(s); {
		n := numberAt(s[i:])
		if n == 0 {
			f = f.byte(s[i])
			i++
			continue
		}
		f = f.byte('#')
		i += n
	}
	return f.byte(0)
}

// numberAt is how long the number at the beginning of s is; 0: there is none.
func numberAt(s string) int {
	digits := func(i int) int {
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i
	}
	n := digits(0)
	if n < len(s) && s[n] == '.' {
		if m := digits(n + 1); m > n+1 {
			n = m
		}
	}
	if n == 0 {
		return 0
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		i := n + 1
		if i < len(s) && (s[i] == '-' || s[i] == '+') {
			i++
		}
		if m := digits(i); m > i {
			n = m
		}
	}
	return n
}

// Package pasar holds the nouns of a market for GPU time: jobs, attempts, claims, verdicts and the
// facts about them, with the JSON that every client sees.
//
// Everything here is plain data. The daemon folds facts into state, the scheduler and the autopsy
// are pure functions over these types, and each client shows the same views in the same words.
// The package imports only the standard library.
package pasar

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Schema is the number in the "schema" key of every JSON answer. Additions don't bump it.
const Schema = 1

// Version is what `pasar version` prints; the linker may set it (-X pasar.Version=…).
var Version = "0.1.0-dev"

// A JobID names one job for life. IDs start at 1, grow by one and are never reused.
type JobID int64

func (id JobID) String() string { return strconv.FormatInt(int64(id), 10) }

// An AttemptKey names one launch of a job. Attempts are numbered from 1.
type AttemptKey struct {
	Job     JobID `json:"job"`
	Attempt int   `json:"attempt"`
}

// String is "42.1": job, dot, attempt.
func (k AttemptKey) String() string { return fmt.Sprintf("%d.%d", k.Job, k.Attempt) }

// A Bid is a job's priority: higher starts first. It costs nothing.
type Bid int64

// The default bid, and the range in which a bid must lie.
const (
	DefaultBid Bid = 1000
	MinBid     Bid = -1_000_000_000
	MaxBid     Bid = 1_000_000_000
)

// Bytes is a size in bytes.
type Bytes int64

// Units of memory, in powers of 1024.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
	TiB Bytes = 1 << 40
)

// String shows a size with at most one decimal: "24 GiB", "1.5 GiB", "512 MiB", "100 B".
func (b Bytes) String() string {
	abs := b
	if abs < 0 {
		abs = -abs
	}
	for _, u := range []struct {
		n    Bytes
		name string
	}{{TiB, "TiB"}, {GiB, "GiB"}, {MiB, "MiB"}, {KiB, "KiB"}} {
		if abs >= u.n {
			s := strconv.FormatFloat(float64(b)/float64(u.n), 'f', 1, 64)
			return strings.TrimSuffix(s, ".0") + " " + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10) + " B"
}

// ParseBytes reads a size as people write it: 24G, 24GB, 24GiB (all 24 GiB), 1.5T, 512M, 100K.
// A bare number is refused, since 24 could mean bytes, MiB or GiB.
func ParseBytes(s string) (Bytes, error) {
	const forms = "write 24G, 24GiB, 512M or 1.5T"
	t := strings.TrimSpace(s)
	i := strings.LastIndexAny(t, "0123456789.")
	num, unit := t[:i+1], strings.ToUpper(strings.TrimSpace(t[i+1:]))
	if num == "" {
		return 0, fmt.Errorf("bad size %q: %s", s, forms)
	}
	v, err := strconv.ParseFloat(num, 64)
	if err != nil || math.IsNaN(v) || v < 0 {
		return 0, fmt.Errorf("bad size %q: %s", s, forms)
	}
	unit = strings.TrimSuffix(strings.TrimSuffix(unit, "B"), "I")
	var mult Bytes
	switch unit {
	case "":
		return 0, BadWord(fmt.Sprintf("%sG, %sM?", num, num), "bad size %q: a size needs a unit", s)
	case "K":
		mult = KiB
	case "M":
		mult = MiB
	case "G":
		mult = GiB
	case "T":
		mult = TiB
	default:
		return 0, BadWord(forms, "bad size %q: unknown unit", s)
	}
	n := v * float64(mult)
	if n >= math.MaxInt64 {
		return 0, fmt.Errorf("bad size %q: too large", s)
	}
	return Bytes(n), nil
}

// Duration is a span of time. In JSON it is a number of seconds; on the wire, nanoseconds.
type Duration time.Duration

// Seconds is the span as a floating-point number of seconds.
func (d Duration) Seconds() float64 { return time.Duration(d).Seconds() }

// String shows a span in at most two units: "2h30m", "45s", "1d4h", "0.3s".
func (d Duration) String() string {
	t := time.Duration(d)
	if t < 0 {
		return "-" + Duration(max(-t, 0)).String() // the least int64 has no opposite
	}
	if t < 10*time.Second && t%time.Second != 0 {
		return strings.TrimSuffix(strconv.FormatFloat(t.Seconds(), 'f', 1, 64), ".0") + "s"
	}
	t = t.Round(time.Second)
	days, h, m, s := t/(24*time.Hour), t/time.Hour%24, t/time.Minute%60, t/time.Second%60
	pair := func(a time.Duration, ua string, b time.Duration, ub string) string {
		if b == 0 {
			return fmt.Sprintf("%d%s", a, ua)
		}
		return fmt.Sprintf("%d%s%d%s", a, ua, b, ub)
	}
	switch {
	case days > 0:
		return pair(days, "d", h, "h")
	case h > 0:
		return pair(h, "h", m, "m")
	case m > 0:
		return pair(m, "m", s, "s")
	}
	return fmt.Sprintf("%ds", s)
}

// MarshalJSON writes seconds, with as many decimals as the span needs.
func (d Duration) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, d.Seconds(), 'f', -1, 64), nil
}

// UnmarshalJSON reads seconds.
func (d *Duration) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) >= math.MaxInt64/1e9 {
		return fmt.Errorf("bad number of seconds %q", b)
	}
	*d = Duration(math.Round(f * 1e9))
	return nil
}

// ParseDuration reads a time as people write it: 90m, 2h30m, 45s, 1d, 1d12h, 1:30:00 (hours,
// minutes, seconds), 1-00:00:00 (days first). A bare number is refused with what it might have meant.
func ParseDuration(s string) (Duration, error) {
	const forms = "write 90m, 2h30m, 45s, 1d, 1:30:00 or 1-00:00:00"
	t := strings.TrimSpace(s)
	if t == "" {
		return 0, fmt.Errorf("bad time %q: %s", s, forms)
	}
	if strings.Contains(t, ":") {
		return parseColons(s, t, forms)
	}
	var total float64
	rest, last := t, math.Inf(1)
	for rest != "" {
		i := 0
		for i < len(rest) && (rest[i] >= '0' && rest[i] <= '9' || rest[i] == '.') {
			i++
		}
		v, err := strconv.ParseFloat(rest[:i], 64)
		if err != nil {
			return 0, fmt.Errorf("bad time %q: %s", s, forms)
		}
		j := i
		for j < len(rest) && rest[j] >= 'a' && rest[j] <= 'z' {
			j++
		}
		var unit float64
		switch rest[i:j] {
		case "":
			if i == len(t) {
				return 0, BadWord(fmt.Sprintf("%ss, %sm or %sh?", t, t, t), "bad time %q: a time needs a unit", s)
			}
			return 0, fmt.Errorf("bad time %q: %s", s, forms)
		case "ms":
			unit = 1e-3
		case "s", "sec":
			unit = 1
		case "m", "min":
			unit = 60
		case "h":
			unit = 3600
		case "d":
			unit = 86400
		case "w":
			unit = 7 * 86400
		default:
			return 0, BadWord(forms, "bad time %q: unknown unit %q", s, rest[i:j])
		}
		if unit >= last {
			return 0, BadWord(forms, "bad time %q: units go from large to small", s)
		}
		total, last, rest = total+v*unit, unit, rest[j:]
	}
	return seconds(s, total)
}

func parseColons(s, t, forms string) (Duration, error) {
	bad := fmt.Errorf("bad time %q: %s", s, forms)
	days := 0.0
	if d, rest, ok := strings.Cut(t, "-"); ok {
		n, err := strconv.ParseUint(d, 10, 32)
		if err != nil {
			return 0, bad
		}
		days, t = float64(n), rest
	}
	parts := strings.Split(t, ":")
	if len(parts) != 3 {
		return 0, BadWord(forms, "bad time %q: %q could be minutes or hours", s, t)
	}
	var n [3]float64
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 10, 32)
		if err != nil || i > 0 && v > 59 {
			return 0, bad
		}
		n[i] = float64(v)
	}
	return seconds(s, days*86400+n[0]*3600+n[1]*60+n[2])
}

func seconds(s string, total float64) (Duration, error) {
	if total > 100*365*86400 {
		return 0, fmt.Errorf("bad time %q: longer than 100 years", s)
	}
	return Duration(math.Round(total * 1e9)), nil
}

// An Arg is one argument, variable or path exactly as the system has it: any bytes but NUL.
// In JSON it is a string when it is valid UTF-8, else {"base64": "…"}.
type Arg string

// MarshalJSON keeps every byte.
func (a Arg) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(a)) {
		return json.Marshal(string(a))
	}
	return json.Marshal(struct {
		B []byte `json:"base64"`
	}{[]byte(a)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (a *Arg) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var v struct {
			B string `json:"base64"`
		}
		if err := json.Unmarshal(b, &v); err != nil {
			return err
		}
		raw, err := base64.StdEncoding.DecodeString(v.B)
		if err != nil {
			return fmt.Errorf("bad base64 argument: %w", err)
		}
		*a = Arg(raw)
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	*a = Arg(s)
	return nil
}

// Args converts plain strings.
func Args(ss []string) []Arg {
	out := make([]Arg, len(ss))
	for i, s := range ss {
		out[i] = Arg(s)
	}
	return out
}

// Strings converts back to plain strings.
func Strings(as []Arg) []string {
	out := make([]string, len(as))
	for i, a := range as {
		out[i] = string(a)
	}
	return out
}

// Clean makes foreign text safe to show on one line: control characters, bidirectional
// overrides and invalid UTF-8 become visible escapes such as \x1b, \n or \u202e.
func Clean(s string) string {
	if plainASCII(s) || !strings.ContainsFunc(s, unsafeRune) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case !unsafeRune(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}

// plainASCII reports whether s is printable ASCII, as nearly everything is.
func plainASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Unseen reports whether a character takes no room and can hide text, or change how other text is seen: format
// characters of Unicode (Cf), among them bidirectional overrides and tags, and line separators. The two joiners that scripts are
// written with (U+200C, U+200D) are none.
func Unseen(r rune) bool {
	return r >= 0x80 && r != 0x200c && r != 0x200d && (unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r))
}

func unsafeRune(r rune) bool {
	return r == utf8.RuneError || unicode.IsControl(r) || Unseen(r)
}

// Quote shows an argument vector as a shell would have to be given it, cleaned for one line.
func Quote(argv []Arg) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = quoteWord(string(a))
	}
	return strings.Join(words, " ")
}

// wordASCII reports whether s is only of ASCII characters that mean nothing to a shell.
func wordASCII(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(plainPunctuation, c) >= 0) {
			return false
		}
	}
	return true
}

// plainPunctuation means nothing to a shell inside a word.
const plainPunctuation = "%+,-./:=@_^"

func quoteWord(s string) string {
	if s == "" {
		return "''"
	}
	if wordASCII(s) {
		return s
	}
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(plainPunctuation, r)
	}
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	if Clean(s) != s {
		return "$'" + Clean(strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s)) + "'"
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

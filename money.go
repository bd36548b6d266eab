package pasar

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Money is an amount of US dollars, in millionths. In JSON it is a number of dollars.
type Money int64

// Dollar is one US dollar.
const Dollar Money = 1_000_000

// maxMoney bounds amounts that are read: up to there a float64 tells each millionth apart.
const maxMoney = 1_000_000_000 // dollars

// String is an amount as people write it, to the cent: "$12.50". An amount below a cent that isn't nothing has as many
// digits as it needs: "$0.0004".
func (m Money) String() string {
	sign, n := "", uint64(m)
	if m < 0 {
		sign, n = "-", -n
	}
	if n > 0 && n < uint64(Dollar/100) {
		return sign + "$" + strings.TrimRight(fmt.Sprintf("0.%06d", n), "0")
	}
	cents := (n + 5_000) / 10_000
	return fmt.Sprintf("%s$%d.%02d", sign, cents/100, cents%100)
}

// ParseMoney reads an amount such as "12.50", "$12.50" or "0.75": dollars with at most six digits behind the point. It
// is never negative.
func ParseMoney(s string) (Money, error) {
	text := strings.TrimPrefix(strings.TrimSpace(s), "$")
	whole, part, point := strings.Cut(text, ".")
	digits := func(s string) bool { return strings.Trim(s, "0123456789") == "" }
	if whole == "" && part == "" || !digits(whole) || !digits(part) || point && part == "" || len(part) > 6 || len(whole) > 10 {
		return 0, BadWord("write 12.50", "%q is no amount of dollars", Clean(s))
	}
	n, _ := strconv.ParseInt(whole+part+strings.Repeat("0", 6-len(part)), 10, 64)
	if n > maxMoney*int64(Dollar) {
		return 0, fmt.Errorf("%q is more dollars than anybody has here", Clean(s))
	}
	return Money(n), nil
}

// MarshalJSON writes dollars.
func (m Money) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(m)/float64(Dollar), 'f', -1, 64), nil
}

// UnmarshalJSON reads dollars; null changes nothing.
func (m *Money) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	var f float64
	if err := json.Unmarshal(b, &f); err != nil {
		return fmt.Errorf("decode dollars: %w", err)
	}
	if math.Abs(f) > maxMoney {
		return fmt.Errorf("decode dollars: %g is out of range", f)
	}
	*m = Money(math.Round(f * float64(Dollar)))
	return nil
}

package pasar

import (
	"encoding/json"
	"math"
	"testing"
)

func TestMoneyIsWrittenToTheCentUnlessThatHidesIt(t *testing.T) {
	for m, want := range map[Money]string{
		0: "$0.00", Dollar: "$1.00", 12_500_000: "$12.50", 5: "$0.000005", 400: "$0.0004", 9_999: "$0.009999", 10_000: "$0.01",
		14_999: "$0.01", 15_000: "$0.02", 999_995_000: "$1000.00", -Dollar / 2: "-$0.50", -400: "-$0.0004",
		maxMoney * Dollar: "$1000000000.00", math.MaxInt64: "$9223372036854.78", math.MinInt64: "-$9223372036854.78",
	} {
		if got := m.String(); got != want {
			t.Errorf("%d is written %s, want %s", int64(m), got, want)
		}
	}
}

func TestAnAmountIsReadAsItIsWritten(t *testing.T) {
	for text, want := range map[string]Money{
		"12.50": 12_500_000, "$12.50": 12_500_000, " 0.75\n": 750_000, "7": 7 * Dollar, ".5": Dollar / 2, "0": 0, "$0.0004": 400,
		"0.000001": 1, "007": 7 * Dollar, "1000000000": maxMoney * Dollar,
	} {
		if got, err := ParseMoney(text); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "$", ".", "5.", "$.", "-1", "+1", "1e3", "1,000", "1.0000001", "$$1", "1 2", "$ 1", "0x1", "NaN", "１",
		"1000000000.000001", "1000000001", "99999999999", "9999999999.999999", "12.5.0", "1_000", "€5"} {
		if got, err := ParseMoney(text); err == nil {
			t.Errorf("%q is read as %d", text, got)
		}
	}
	for _, m := range []Money{0, 1, 9_999, Dollar / 100, Dollar, 123_450_000, maxMoney * Dollar} {
		if got, err := ParseMoney(m.String()); err != nil || got != m {
			t.Errorf("%s is read as %d, %v", m, got, err)
		}
	}
}

func TestMoneyInJSONIsDollarsToTheMillionth(t *testing.T) {
	for m, want := range map[Money]string{0: "0", 1: "0.000001", 12_500_000: "12.5", -400: "-0.0004", 100_000: "0.1",
		maxMoney*Dollar - 1: "999999999.999999", maxMoney * Dollar: "1000000000"} {
		b, err := json.Marshal(m)
		if err != nil || string(b) != want {
			t.Errorf("%d is %s in JSON, %v; want %s", int64(m), b, err, want)
		}
		var back Money
		if err := json.Unmarshal(b, &back); err != nil || back != m {
			t.Errorf("%s is read as %d, %v", b, int64(back), err)
		}
	}
	v := struct {
		Known   Money
		Unknown *Money
	}{Known: 7}
	if err := json.Unmarshal([]byte(`{"Known":null,"Unknown":null}`), &v); err != nil || v.Known != 7 || v.Unknown != nil {
		t.Errorf("null is %d and %v, %v", int64(v.Known), v.Unknown, err)
	}
	for _, text := range []string{`"12"`, "1e10", "-1e10", "1e999", "true", "{}"} {
		m := Money(7)
		if err := json.Unmarshal([]byte(text), &m); err == nil || m != 7 {
			t.Errorf("%s is read as %d, %v", text, int64(m), err)
		}
	}
}

package pasar

import (
	"encoding/json"
	"math"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestSizesAreReadAsPeopleWriteThem(t *testing.T) {
	for s, want := range map[string]Bytes{
		"24G": 24 * GiB, "24GB": 24 * GiB, "24GiB": 24 * GiB, "24gib": 24 * GiB, " 24 GiB ": 24 * GiB,
		"512M": 512 * MiB, "100K": 100 * KiB, "1.5T": 3 * TiB / 2, "0G": 0, "0.5k": 512,
	} {
		if got, err := ParseBytes(s); err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", s, got, err, want)
		}
	}
}

func TestABadSizeIsRefusedWithTheFormsThereAre(t *testing.T) {
	for s, want := range map[string]string{
		"":           "write 24G",
		"G":          "write 24G",
		"24":         "a size needs a unit; 24G, 24M?",
		"24X":        "unknown unit",
		"24GG":       "unknown unit",
		"-1G":        "write 24G",
		"1.2.3G":     "write 24G",
		"1e999G":     "write 24G",
		"nanG":       "write 24G",
		"infG":       "write 24G",
		"90000000T":  "too large",
		"24\x1b[31m": `\x1b`,
	} {
		got, err := ParseBytes(s)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseBytes(%q) = %d, %v; want an error with %q", s, got, err, want)
		}
	}
}

func TestASizeIsShownWithAtMostOneDecimal(t *testing.T) {
	for b, want := range map[Bytes]string{
		0: "0 B", 1023: "1023 B", KiB: "1 KiB", 3 * GiB / 2: "1.5 GiB", 24 * GiB: "24 GiB", 2 * TiB: "2 TiB",
		-512 * MiB: "-512 MiB", math.MinInt64: "-9223372036854775808 B",
	} {
		if got := b.String(); got != want {
			t.Errorf("%d is shown as %q; want %q", int64(b), got, want)
		}
	}
}

func TestTimesAreReadAsPeopleWriteThem(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"90m": 90 * time.Minute, "2h30m": 150 * time.Minute, "45s": 45 * time.Second, "1d": 24 * time.Hour,
		"1d12h": 36 * time.Hour, "1:30:00": 90 * time.Minute, "1-00:00:00": 24 * time.Hour, "100:00:00": 100 * time.Hour,
		"1.5h": 90 * time.Minute, "250ms": 250 * time.Millisecond, "1w": 7 * 24 * time.Hour, " 5min ": 5 * time.Minute, "0s": 0,
	} {
		if got, err := ParseDuration(s); err != nil || time.Duration(got) != want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", s, time.Duration(got), err, want)
		}
	}
}

func TestABadTimeIsRefusedWithWhatItMightHaveMeant(t *testing.T) {
	for s, want := range map[string]string{
		"":             "write 90m",
		"90":           "a time needs a unit; 90s, 90m or 90h?",
		"1:30":         `"1:30" could be minutes or hours`,
		"1h30":         "write 90m",
		"2 h":          "write 90m",
		"5x":           `unknown unit "x"`,
		"5m2h":         "units go from large to small",
		"5m5m":         "units go from large to small",
		"-5m":          "write 90m",
		"-1:00:00":     "write 90m",
		"1:60:00":      "write 90m",
		"1:00:60":      "write 90m",
		"1-1:2:3:4":    "could be minutes or hours",
		".m":           "write 90m",
		"40000d":       "longer than 100 years",
		"1e9d":         "write 90m",
		"99999-0:0:0":  "longer than 100 years",
		"9\u202eh":     `\u202e`,
		"99999999999w": "longer than 100 years",
	} {
		if got, err := ParseDuration(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseDuration(%q) = %v, %v; want an error with %q", s, got, err, want)
		}
	}
}

func TestATimeIsShownInAtMostTwoUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 300 * time.Millisecond: "0.3s", 45 * time.Second: "45s", 59600 * time.Millisecond: "1m",
		150 * time.Minute: "2h30m", 28 * time.Hour: "1d4h", 24 * time.Hour: "1d", 61 * time.Second: "1m1s",
		-90 * time.Second: "-1m30s",
	} {
		if got := Duration(d).String(); got != want {
			t.Errorf("%d is shown as %q; want %q", int64(d), got, want)
		}
	}
	if got := Duration(math.MinInt64).String(); got != "-0s" {
		t.Errorf("the least span is shown as %q", got)
	}
}

func TestATimeIsSecondsInJSON(t *testing.T) {
	for _, d := range []Duration{0, 1, 1500 * Duration(time.Millisecond), Duration(100 * 24 * time.Hour), -5e9} {
		b, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var got Duration
		if err := json.Unmarshal(b, &got); err != nil || got != d {
			t.Errorf("%d is %s, then %d, %v", d, b, got, err)
		}
	}
	for _, s := range []string{`"5s"`, `9223372036.854775808`, `-9223372036.854775808`, `1e300`, `true`} {
		var d Duration
		if err := json.Unmarshal([]byte(s), &d); err == nil {
			t.Errorf("%s was read as %d", s, int64(d))
		}
	}
}

func TestAnArgumentKeepsEveryByte(t *testing.T) {
	for _, a := range []Arg{"", "plain", "with \"quotes\" and\nnewline", "\xff\xfe", "a\xc3", "\u2028 é <&>", "{", "\ufffd"} {
		b, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var got Arg
		if err := json.Unmarshal(b, &got); err != nil || got != a {
			t.Errorf("%q is %s, then %q, %v", a, b, got, err)
		}
	}
	for _, s := range []string{`5`, `{"base64":"?"}`, `{"base64":5}`, `[]`} {
		var a Arg
		if err := json.Unmarshal([]byte(s), &a); err == nil {
			t.Errorf("%s was read as %q", s, a)
		}
	}
}

func TestForeignTextIsShownOnOneSafeLine(t *testing.T) {
	for s, want := range map[string]string{
		"plain é 漢":       "plain é 漢",
		"a\nb\rc\td":      `a\nb\rc\td`,
		"\x1b[31mred\x07": `\x1b[31mred\x07`,
		"x\u202ey":        `x\u202ey`,
		"x\u0085y":        `x\x85y`,
		"\xff":            `\xff`,
		"\u2028\ufeff":    `\u2028\ufeff`,
	} {
		if got := Clean(s); got != want || Clean(got) != got {
			t.Errorf("Clean(%q) = %q; want %q", s, got, want)
		}
	}
}

func TestAQuotedCommandIsWhatAShellWouldNeed(t *testing.T) {
	for _, c := range []struct {
		argv []Arg
		want string
	}{
		{[]Arg{"python3", "train.py", "--lr=3e-4"}, "python3 train.py --lr=3e-4"},
		{[]Arg{"sh", "-c", "echo $HOME; exit 3"}, "sh -c 'echo $HOME; exit 3'"},
		{[]Arg{"", "it's", "~"}, `'' 'it'\''s' '~'`},
		{[]Arg{"a\nb", `it's\n` + "\x1b", "\xff"}, `$'a\nb' $'it\'s\\n\x1b' $'\xff'`},
	} {
		if got := Quote(c.argv); got != c.want {
			t.Errorf("Quote(%q) = %s; want %s", c.argv, got, c.want)
		}
	}
}

func TestAShellReadsAQuotedCommandBack(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	argv := []Arg{"a b", "", "it's", `back\slash`, "new\nline", "tab\t'\\", "\x1b[0m", "$(x) `y` \"z\"", "*?[]{}~#!", "\xff\xfe"}
	out, err := exec.Command(bash, "-c", `printf '%s\0' `+Quote(argv)).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if strings.Join(got, "\x00") != strings.Join(Strings(argv), "\x00") {
		t.Errorf("bash read %q; want %q", got, argv)
	}
}

func FuzzParsers(f *testing.F) {
	for _, s := range []string{"24G", "1.5T", "90m", "2h30m", "1:30:00", "1-00:00:00", "", "5", "-1", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if b, err := ParseBytes(s); err == nil && b < 0 {
			t.Errorf("ParseBytes(%q) = %d", s, b)
		}
		if d, err := ParseDuration(s); err == nil && (d < 0 || d.Seconds() > 100*365*86400) {
			t.Errorf("ParseDuration(%q) = %v", s, d)
		}
		if c := Clean(s); Clean(c) != c || strings.ContainsFunc(c, unsafeRune) {
			t.Errorf("Clean(%q) = %q", s, c)
		}
		if q := Quote([]Arg{Arg(s)}); Clean(q) != q {
			t.Errorf("Quote(%q) = %q", s, q)
		}
	})
}

package remote

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pasar"
	"pasar/ipc"
)

func TestAURLNamesAMachineOrIsRefused(t *testing.T) {
	for raw, want := range map[string]string{
		"ssh://box":                     "box|pasar proxy",
		"ssh://ada@box:2022":            "-p 2022 -l ada -- box|pasar proxy",
		"ssh://box/":                    "box|pasar proxy",
		"ssh://box/opt/pa%20sar/pasar":  "box|'/opt/pa sar/pasar' proxy",
		"ssh://box/it's":                `box|'/it'\''s' proxy`,
		"ssh://box/~/bin/pasar":         "box|~/'bin/pasar' proxy",
		"ssh://[fe80::1]:22/x":          "-p 22 -- fe80::1|'/x' proxy",
		"ssh://ada.l+x@login.lab-1.edu": "-l ada.l+x -- login.lab-1.edu|pasar proxy",
	} {
		r, err := New(raw, Options{})
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if r.Name == "" {
			t.Errorf("%s: %+v", raw, r)
		}
		s := wayOf(t, raw)
		args := s.args(Errand{})
		i := slices.Index(args, "--")
		if got := strings.Join(args[i+1:], "|"); i < 0 || !strings.HasSuffix(want, got) || !strings.Contains(strings.Join(args[:len(args)-1], " "), strings.SplitN(want, "|", 2)[0]) {
			t.Errorf("%s: %q, want %q", raw, args, want)
		}
	}
	for _, raw := range []string{"", "x", "ssh:", "ssh://", "ssh:///x", "ssh://-x", "ssh://-l@box", "ssh://a b", "ssh://a;b", "ssh://a`b`", "ssh://u:p@h", "ssh://h?q", "ssh://h#f",
		"ssh://h:p", "ssh://h/%00", "https://h", "http://", "http://u@h", "http://h:8750/x", "http://h/%2f", "http://h//", "file:///x", "\x7f://"} {
		_, err := New(raw, Options{})
		var e *ipc.Error
		if !errors.As(err, &e) || e.Code != ipc.CodeUsage || e.Hint == "" {
			t.Errorf("%q: %v", raw, err)
		}
	}
	for raw, says := range map[string][2]string{ // what is wrong, in plain words, and what may have been meant
		"127.0.0.1:18751":        {"it begins with neither ssh:// nor http://", "did you mean http://127.0.0.1:18751? Else "},
		"[::1]:8750":             {"it begins with neither ssh:// nor http://", "did you mean http://[::1]:8750? Else "},
		"box:8750":               {"it begins with neither ssh:// nor http://", "did you mean http://box:8750? Else "},
		"box":                    {"it begins with neither ssh:// nor http://", "did you mean ssh://box? Else "},
		"ada@box":                {"it begins with neither ssh:// nor http://", "did you mean ssh://ada@box? Else "},
		"box:99999":              {"it begins with neither ssh:// nor http://", "did you mean ssh://box:99999? Else "},
		"://box":                 {"what stands for user, host and port can't be read", ""},
		"ftp://box":              {"it begins with neither ssh:// nor http://", ""},
		"http://127.0.0.1:99999": {"99999 is no port: those are 1 to 65535", ""},
		"ssh://box:0":            {"0 is no port: those are 1 to 65535", ""},
		"http://box:x":           {"what stands for user, host and port can't be read", ""},
		"http://[::1":            {"what stands for user, host and port can't be read", ""},
		"ssh://a%20b":            {`"%20" can't stand there: % begins a character's two hexadecimal digits, and a host has none`, ""},
		"ssh://box/%zz":          {`"%zz" can't stand there: % begins a character's two hexadecimal digits, and a host has none`, ""},
		"ssh://a b":              {`" " can't stand in a host`, ""},
		"http://box\n":           {"it has control characters", ""},
	} {
		_, err := New(raw, Options{})
		var e *ipc.Error
		if !errors.As(err, &e) || e.Message != "PASAR_URL "+strconv.Quote(pasar.Clean(raw))+": "+says[0] || e.Hint != says[1]+forms {
			t.Errorf("%s: %+v", raw, e)
		}
	}
	if _, err := New("ssh://ada:secret@box", Options{}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a password is shown: %v", err)
	}
}

// TestSSHAsksOnlyWhereSomebodyCanAnswer holds that a script never waits for a passphrase.
func TestSSHAsksOnlyWhereSomebodyCanAnswer(t *testing.T) {
	for _, ask := range []bool{false, true} {
		args := (&sshWay{host: "box", opt: Options{Ask: ask}}).args(Errand{Job: 7, Attempt: 2, NoStart: true})
		if slices.Contains(args, "BatchMode=yes") == ask || args[len(args)-1] != "pasar proxy --no-start --job 7 --attempt 2" {
			t.Errorf("ask is %v: %q", ask, args)
		}
	}
}

func wayOf(t *testing.T, raw string) *sshWay {
	t.Helper()
	u, err := parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSSH(u, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAGreetingIsFoundBehindChatterAndNothingAfterItIsLost(t *testing.T) {
	var greeted bytes.Buffer
	if err := Greet(&greeted, nil); err != nil {
		t.Fatal(err)
	}
	for _, before := range []string{"", "hello\n", "no newline", "pasar-proxy", "pasar-proxy 1 \x00", strings.Repeat("x", 70000), strings.Repeat("line\r\n", 3000)} {
		r := bufio.NewReaderSize(strings.NewReader(before+greeted.String()+"\x00\n\x01rest"), 4<<10)
		g, _, err := readGreeting(r)
		rest, _ := io.ReadAll(r)
		if err != nil || g.Error != nil || g.Version == "" || string(rest) != "\x00\n\x01rest" {
			t.Errorf("%.20q…: %+v, %v, %q", before, g, err, rest)
		}
	}
	greeted.Reset()
	if err := Greet(&greeted, &ipc.Error{Code: ipc.CodeNoDaemon, Message: "none\nat all", Hint: "look"}); err != nil {
		t.Fatal(err)
	}
	g, _, err := readGreeting(bufio.NewReader(&greeted))
	if err != nil || g.Error == nil || *g.Error != (ipc.Error{Code: ipc.CodeNoDaemon, Message: "none\nat all", Hint: "look"}) {
		t.Errorf("%+v, %v", g, err)
	}
	for text, want := range map[string]error{"": io.EOF, "hello\nyou": io.EOF, "pasar-proxy 1 {\n": io.EOF, "pasar-proxy 1": io.EOF, strings.Repeat("y\n", maxChatter): errNoGreeting} {
		if _, _, err := readGreeting(bufio.NewReader(strings.NewReader(text))); !errors.Is(err, want) {
			t.Errorf("%.20q…: %v", text, err)
		}
	}
	if _, said, _ := readGreeting(bufio.NewReader(strings.NewReader("hello\nyou\n\n"))); said != "you" {
		t.Errorf("%q", said)
	}
	var e *ipc.Error
	if _, _, err := readGreeting(bufio.NewReader(strings.NewReader("pasar-proxy 7 {}\n"))); !errors.As(err, &e) || e.Code != ipc.CodeVersion {
		t.Errorf("%v", err)
	}
}

func FuzzReadGreeting(f *testing.F) {
	f.Add("hello\npasar-proxy 1 {\"version\":\"1\",\"error\":null}\nrest")
	f.Fuzz(func(t *testing.T, s string) {
		_, _, _ = readGreeting(bufio.NewReader(strings.NewReader(s)))
	})
}

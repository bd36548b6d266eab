package vt

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func passed(in string) string {
	f := &Filter{}
	return string(f.Pass([]byte(in)))
}

func TestAProgramMayDrawAndNothingElse(t *testing.T) {
	for in, want := range map[string]string{
		"plain é 漢字\r\n\t\b\a":                           "plain é 漢字\r\n\t\b\a",
		"\x1b[31;1mred\x1b[0m":                           "\x1b[31;1mred\x1b[0m",
		"\x1b[38:2::1:2:3mrgb":                           "\x1b[38:2::1:2:3mrgb",
		"\x1b[2J\x1b[H\x1b[10;20H":                       "\x1b[2J\x1b[H\x1b[10;20H",
		"\x1b(0lqk\x1b(B":                                "\x1b(0lqk\x1b(B",
		"\x1b7\x1b8\x1bM":                                "\x1b7\x1b8\x1bM",
		"\x1b=\x1b>\x1b[?1h\x1b[?66h":                    "", // what the keys send: the display sets it
		"\x1b[?25l\x1b[?1049h":                           "\x1b[?25l\x1b[?1049h",
		"\x1b[?25;2026;1049h":                            "\x1b[?25;1049h",  // but not synchronized output
		"\x1b[?2004h\x1b[?1000;1006h\x1b[?1004h":         "",                // the mouse's and others' reports: the display sets them
		"\x1b[>4;2m\x1b[>1u\x1b[<u\x1b[=1u":              "",                // keyboard protocols: the display
		"\x1b[4h\x1b[20l\x1b[2h\x1b[12l\x1b[4;2h":        "\x1b[4h",         // mode 2 locks the keyboard
		"\x1b[?3h.":                                      ".",               // 132 columns: resizes windows
		"\x1b[2J\x1b[3J\x1b[?2J":                         "\x1b[2J\x1b[?2J", // the scrollback is the user's
		"\x1b[3T\x1b[1;2;3;4;5T":                         "\x1b[3T",         // mouse tracking in disguise
		"\x1b[s\x1b[u\x1b[1;5s":                          "\x1b[s\x1b[u",
		"\x1bH\x1b[3g\x1b[0g":                            "\x1bH\x1b[3g\x1b[0g", // tab stops
		"\x1b[9999b\x1b[10000b":                          "\x1b[9999b",          // a count that only costs time
		"\x1b]0;title\a.":                                ".",                   // title
		"\x1b]52;c;aGk=\x1b\\.\x1b]52;c;?\a\x1b]52;c;\a": ".",                   // clipboard: set, asked for, cleared
		"\x1b]10;?\a\x1b]11;?\a\x1b]4;1;rgb:0/0/0\a.":    ".",                   // colours
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\":       "link",                // hyperlink
		"\x1bPq#0;2\x1b\\.\x1bP+q544e\x1b\\":             ".",                   // sixel, termcap
		"\x1b_Gf=100\x1b\\.\x1b^pm\x1b\\.\x1bXs\x1b\\.":  "...",                 // APC PM SOS
		"\x1b[c\x1b[>c\x1b[=c\x1b[6n\x1b[5n\x1b[?6n\x1b[x\x1b[?u\x1b[>q\x1bZ": "", // queries
		"\x1b[?2026$p\x1b[4$p\x1b[21t\x1b[8;9;9t\x1b[5i\x1b[?5i":              "", // modes, window, printer
		"\x1b[99999999999A.":      ".",
		"\x1b[5 q":                "\x1b[5 q", // cursor shape
		"\x1b[!p":                 "\x1b[!p",  // soft reset
		"\x1bc":                   "",         // the reset of a terminal: the screen is painted instead
		"\x0ex\x0f":               "\x0ex\x0f",
		"\x05\x00\x7f.":           ".",         // answerback
		"\x1b#8\x1b%G\x1b(A.":     ".",         // nothing of them is left as text
		"\x1b]unterminated \x18.": ".",         // CAN ends a string
		"\x1b]a\x1b[31mb":         "\x1b[31mb", // so does a new sequence
		"\xc2\x9b31mx\xc2\x85y":   "31mxy",     // C1 as UTF-8
		"\x9b31m":                 "\ufffd31m", // C1 as a byte
		"\xff\xfea":               "\ufffd\ufffda",
		"\xe6\xbc":                "", // half a character, so far
	} {
		if got := passed(in); got != want {
			t.Errorf("%q passes as %q, want %q", in, got, want)
		}
	}
}

func TestOnOneScreenASwitchToTheOtherIsARepaint(t *testing.T) {
	for in, want := range map[string]string{"\x1b[?1049h": "", "\x1b[?25;47h": "\x1b[?25h", "\x1b[?1047l": "", "\x1bc": "", "\x1b#8": ""} {
		f := &Filter{Flat: true}
		if got := string(f.Pass([]byte(in))); got != want || !f.Broke {
			t.Errorf("%q passes as %q, and breaks the screen: %v", in, got, f.Broke)
		}
	}
	f := &Filter{Flat: true}
	if f.Pass([]byte("\x1b[?1048h\x1b[?7l\x1b[2;5r")); f.Broke {
		t.Error("modes of one screen break it")
	}
}

func TestOnATerminalOfItsOwnAProgramMayResetAndSayWhatKeysSend(t *testing.T) {
	for in, want := range map[string]string{
		"\x1bcx\x1b#8": "\x1bcx\x1b#8",
		"\x1b=\x1b>\x1b[?1h\x1b[?2004h\x1b[?1000;1006l":    "\x1b=\x1b>\x1b[?1h\x1b[?2004h\x1b[?1000;1006l",
		"\x1b[?1004h\x1b[?1004;25l":                        "\x1b[?25l", // a report would come at once
		"\x1b[c\x1b[6n\x1b]52;c;aGk=\a\x1b]0;t\a\x1b[>1u.": ".",
	} {
		f := &Filter{Own: true}
		if got := string(f.Pass([]byte(in))); got != want || f.Broke {
			t.Errorf("%q passes as %q, want %q; it breaks the screen: %v", in, got, want, f.Broke)
		}
	}
}

func TestWhereLinksAreWantedOnlyThoseToTheWebPass(t *testing.T) {
	long := "http://x/" + strings.Repeat("a", maxLink-9)
	const end = "\x1b]8;;\x1b\\"
	link := func(to string) string { return "\x1b]8;;" + to + "\x1b\\" }
	for in, want := range map[string]string{
		link("http://x") + "a" + end:                        link("http://x") + "a" + end,
		link("https://x.org:8080/p?q=1#f") + "a" + end:      link("https://x.org:8080/p?q=1#f") + "a" + end,
		"\x1b]8;id=7:a=b;HTTPS://[::1]/\aa\x1b]8;;\a":       link("HTTPS://[::1]/") + "a" + end, // ended by BEL, with parameters
		link(long) + "a":                                    link(long) + "a",
		link(long+"a") + "a":                                end + "a",
		link(long+long) + "a":                               end + "a",
		link("javascript:alert(1)") + "a":                   end + "a",
		link(" javascript:alert(1)") + "a":                  end + "a",
		link("file:///etc/passwd") + "a":                    end + "a",
		link("data:text/html,x") + "a":                      end + "a",
		link("ftp://x") + "a":                               end + "a",
		link("//x") + link("/x") + link("x"):                end + end + end,
		link("http:x") + link("http:///x") + link("http:"):  end + end + end, // without a host
		link("http://:80/"):                                 end,
		link("http://good.org@x/") + link("http://a:b@x"):   end + end,
		link("http://good.org\\@x/"):                        end,
		link("http://x/\r\nb") + link("http://x/\x01"):      end + end,
		link("http://x/ b") + link("http://x/\u202e"):       end + end,
		link("http://x/%zz") + link("http://x\x7f"):         end + end,
		link("http://x") + "a" + link("javascript:b") + "c": link("http://x") + "a" + end + "c", // which isn't the first one's
		"\x1b]8;;http://x\x18a\x1b]8;;http://y\x1b[31mb":    "a\x1b[31mb",                       // never ended
		"\x1b]8\a\x1b]88;;http://x\a\x1b]0;8;;http://x\aa":  "a",
		"\x1b]52;c;aGk=\a\x1bP8;;http://x\x1b\\a":           "a",
	} {
		f := &Filter{Own: true, Links: true}
		if got := string(f.Pass([]byte(in))); got != want {
			t.Errorf("%.100q passes as %.100q, want %.100q", in, got, want)
		}
		if got := passed(in); strings.Contains(got, "\x1b]") {
			t.Errorf("%.100q passes as %.100q where no links are wanted", in, got)
		}
	}
}

func FuzzFilter(f *testing.F) {
	for _, s := range []string{"a\x1b[31mb", "\x1b]0;t\a", "\x1bP\x1b\\", "\xe6\xbc\xa2", "\x1b[?1;2h", "\x1b[\x1b]\x1b", "\x1b(\x18(", "\x1b]8;;http://x\x1b\\a\x1b]8;;\a"} {
		f.Add([]byte(s), 1)
	}
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		whole := passed(string(b))
		split := &Filter{}
		if len(b) > 0 {
			cut = int(uint(cut) % uint(len(b)))
		} else {
			cut = 0
		}
		got := string(split.Pass(b[:cut]))
		got += string(split.Pass(b[cut:]))
		if got != whole {
			t.Fatalf("cut at %d: %q, whole: %q", cut, got, whole)
		}
		linked := &Filter{Links: true}
		links := string(linked.Pass(b[:cut]))
		links += string(linked.Pass(b[cut:]))
		for i, piece := range strings.Split(links, "\x1b]8;;") {
			if to, after, ok := strings.Cut(piece, "\x1b\\"); i > 0 && (!ok || to != "" && !mayLink(to) || strings.Contains(after, "\x1b]")) {
				t.Fatalf("%q passes %q", b, links)
			}
		}
		if plain := regexp.MustCompile("\x1b\\]8;;[!-~]*\x1b\\\\").ReplaceAllString(links, ""); plain != whole {
			t.Fatalf("%q with links is %q, without %q", b, links, whole)
		}
		if !utf8.ValidString(whole) || len(whole) > 3*len(b)+8 {
			t.Fatalf("%q became %q", b, whole)
		}
		for _, bad := range []string{"\x1b]", "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x05", "\u009b"} {
			if strings.Contains(whole, bad) {
				t.Fatalf("%q passes %q", b, bad)
			}
		}
		if again := passed(whole); again != whole && !bytes.Contains(b, []byte{0x1b}) {
			t.Fatalf("filtering twice changes %q to %q", whole, again)
		}
	})
}

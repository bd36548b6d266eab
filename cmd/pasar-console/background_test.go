package main

import (
	"os"
	"testing"
	"time"

	"github.com/creack/pty"
)

func TestABackgroundIsLightOrDarkAsTheTerminalSays(t *testing.T) {
	for answer, want := range map[string][2]bool{
		"\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?1;2c": {true, true}, "\x1b]11;rgb:1e1e/1e1e/1e1e\x07": {false, true}, "x\x1b]11;rgb:f/e/d\x07y": {true, true},
		"\x1b]11;rgb:00/00/ff\x1b\\": {false, true}, "\x1b[?62;c": {}, "": {}, "\x1b]11;rgb:ffff/ffff\x07": {}, "\x1b]11;rgb:xx/0/0\x07": {}, "\x1b]11;rgb:fffff/0/0\x07": {}, "\x1b]11;rgb:ff/ff/ff": {},
		"\x1b]11;rgb:///\x07": {}, "\x1b]11;rgb:\x07": {},
	} {
		if light, known := lightOf([]byte(answer)); light != want[0] || known != want[1] {
			t.Errorf("%q: light %v, known %v", answer, light, known)
		}
	}
}

func TestATerminalIsAskedForItsBackgroundAndLeftAsItWas(t *testing.T) {
	for _, tc := range []struct {
		answer string
		env    []string
		light  bool
	}{
		{"\x1b]11;rgb:fafa/fafa/fafa\x1b\\\x1b[?62;22c", nil, true},
		{"\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?62;22c", []string{"COLORFGBG=0;15"}, false},
		{"\x1b[?62;22c", []string{"COLORFGBG=0;15"}, true}, // it doesn't say
		{"\x1b[?62;22c", []string{"COLORFGBG=15;default;0"}, false},
		{"\x1b[?62;22c", nil, false},
	} {
		tty, side, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			buf := make([]byte, 64)
			for n := 0; n < len("\x1b]11;?\x1b\\\x1b[c"); {
				m, err := tty.Read(buf)
				if err != nil {
					return
				}
				n += m
			}
			_, _ = tty.WriteString(tc.answer)
		}()
		p := &program{env: append(tc.env, "TERM=xterm"), stdin: side, stdout: side}
		if got := p.isLight(); got != tc.light {
			t.Errorf("%q with %v: light %v", tc.answer, tc.env, got)
		}
		_, _ = tty.Close(), side.Close()
	}
}

func TestATerminalThatSaysNothingIsNotWaitedForLong(t *testing.T) {
	tty, side, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	defer side.Close()
	began := time.Now()
	p := &program{env: []string{"TERM=xterm"}, stdin: side, stdout: side}
	if p.isLight() || time.Since(began) > 20*backgroundTime {
		t.Errorf("light, or it took %v", time.Since(began))
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if (&program{env: []string{"TERM=xterm", "COLORFGBG=0;7"}, stdin: null, stdout: null}).isLight() != true {
		t.Error("without a terminal the environment says it")
	}
}

func TestALocaleSaysWhichCharactersThereAre(t *testing.T) {
	for _, tc := range []struct {
		env  []string
		utf8 bool
	}{{nil, false}, {[]string{"LANG=C.UTF-8"}, true}, {[]string{"LANG=de_DE.utf8"}, true}, {[]string{"LANG=C.UTF-8", "LC_ALL=C"}, false}, {[]string{"LANG=C", "LC_CTYPE=en_US.UTF-8"}, true}, {[]string{"LANG=ja_JP.eucJP"}, false}} {
		if got := (&program{env: tc.env}).isUTF8(); got != tc.utf8 {
			t.Errorf("%v: %v", tc.env, got)
		}
	}
}

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pasar"
	"pasar/ipc"
)

// sent runs a send against a double; what the supervisor does meanwhile is then.
func (d *double) sent(then func(*caller), stdin string, args ...string) result {
	d.t.Helper()
	in := filepath.Join(d.t.TempDir(), "in")
	if err := os.WriteFile(in, []byte(stdin), 0o600); err != nil {
		d.t.Fatal(err)
	}
	f, err := os.Open(in)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		then(d.next())
	}()
	cmd := d.h.command(append([]string{"send"}, args...)...)
	cmd.Stdin = f
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	<-done
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

func TestSendTypesAndSaysWhenItHasArrived(t *testing.T) {
	d := newDouble(t)
	for _, tc := range []struct {
		stdin string
		args  []string
		want  string
	}{
		{"", []string{"7", "hello", "there"}, "hello there"},
		{"", []string{"--enter", "7", "a\nb"}, "a\rb\r"},
		{"", []string{"--keys", "C-c,Enter", "7"}, "\x03\r"},
		{"", []string{"--enter", "--keys", "Tab", "7", "ls"}, "ls\t\r"},
		{"from\r\na pipe\n", []string{"7", "-"}, "from\ra pipe\r"},
		{"", []string{"--enter", "7"}, "\r"},
		{"", []string{"7", "--", "--enter"}, "--enter"},
	} {
		got := ""
		r := d.sent(func(c *caller) {
			if c.hello.Mode != ipc.ModeType || c.hello.Cols != 0 || c.hello.Take {
				t.Errorf("it said %+v", c.hello)
			}
			got = c.typed(1 << 30)
		}, tc.stdin, tc.args...)
		if r.code != 0 || got != tc.want || r.out != "typed "+count(len(tc.want), "byte")+" into #7 train\n" || r.stderr != "" {
			t.Errorf("%q: typed %q; %+v", tc.args, got, r)
		}
	}
	r := d.sent(func(c *caller) { c.typed(1 << 30) }, "", "--json", "7", "x")
	var v pasar.SentView
	if err := json.Unmarshal([]byte(r.out), &v); err != nil || v != (pasar.SentView{Schema: 1, ID: 7, Attempt: 1, Bytes: 1}) {
		t.Errorf("%q: %+v %v", r.out, v, err)
	}
}

func TestSendPressesCursorKeysAsTheProgramWantsThem(t *testing.T) {
	d := newDouble(t)
	for screen, want := range map[string]string{"vim\x1b[?1h": "\x1bOA", "sh": "\x1b[A"} {
		got := ""
		r := d.sent(func(c *caller) {
			c.screen(screen)
			got = c.typed(1 << 30)
		}, "", "--keys", "Up", "7")
		if r.code != 0 || got != want {
			t.Errorf("on %q: typed %q, %+v", screen, got, r)
		}
	}
}

func TestSendIsRefusedWithAReason(t *testing.T) {
	d := newDouble(t)
	holder := &ipc.Welcome{Version: 2, Key: "7.1", Cols: 80, Rows: 24, Who: "process\x1b 9"}
	for _, tc := range []struct {
		welcome any
		then    func(*caller)
		says    string
	}{
		{holder, func(c *caller) { c.typed(1) }, `pasar: job #7: process\x1b 9 holds the keyboard`},
		{&ipc.Welcome{Version: 2, Key: "7.1", State: ipc.AttemptEnded}, func(c *caller) { c.typed(1) }, "pasar: job #7 has ended"},
		{&ipc.Welcome{Version: 2, Key: "7.1", Holder: true}, func(c *caller) { _ = c.Close() }, "pasar: "},
		{&ipc.Welcome{Version: 2, Key: "7.1", Holder: true}, func(c *caller) {
			c.send(ipc.AttachHolder, &ipc.HolderNote{Who: "process 8"})
			c.typed(1 << 30)
		}, "pasar: job #7: process 8 holds the keyboard now; part of it may not have been typed"},
		{&ipc.Welcome{Version: 2, Key: "7.1", Holder: true}, func(c *caller) { c.exit(0); c.typed(1 << 30) }, "pasar: job #7 ended before everything was typed"},
	} {
		d.answers(func(ipc.Hello) any { return tc.welcome })
		r := d.sent(tc.then, strings.Repeat("much ", 100_000), "7", "-")
		if r.code != exitRefused || !strings.HasPrefix(r.stderr, tc.says) || r.out != "" {
			t.Errorf("%+v\nwant %q", r, tc.says)
		}
	}
	d.answers(func(h ipc.Hello) any { w := *holder; w.Holder = h.Take; return &w })
	if r := d.sent(func(c *caller) { c.typed(1 << 30) }, "", "--take", "7", "x"); r.code != 0 {
		t.Errorf("--take: %+v", r)
	}
}

func TestSendThatEndsTheJobHasTyped(t *testing.T) {
	d := newDouble(t)
	d.busy = true // with the job's end
	for typed, code := range map[int64]int{1: 0, 0: exitRefused} {
		r := d.sent(func(c *caller) {
			c.typed(1)
			c.send(ipc.AttachExit, &ipc.ExitFrame{Exit: pasar.Exit{Signal: 2}, Typed: typed})
		}, "", "--keys", "C-c", "7")
		if r.code != code || code == 0 && (r.out != "typed 1 byte into #7 train\n" || r.stderr != "") || code != 0 && !strings.Contains(r.stderr, "ended before everything was typed") {
			t.Errorf("%d bytes taken: %+v", typed, r)
		}
	}
}

func TestAScreenIsText(t *testing.T) {
	d := newDouble(t)
	serve := func() {
		c := d.next()
		if c.hello.Mode != ipc.ModeScreen {
			t.Errorf("it said %+v", c.hello)
		}
		f := ipc.ScreenFrame{Cols: 80, Rows: 4, CursorCol: 3, CursorRow: 1, CursorShown: true, Title: "a title", Offset: 99, More: true, Lines: []string{"first", "bad\x1b[31m\xff"}}
		c.send(ipc.AttachScreen, &f)
		f.Row, f.Lines, f.More = 2, []string{"", ""}, false
		c.send(ipc.AttachScreen, &f)
	}
	go serve()
	if r := d.daemon.run("screen", "7"); r.code != 0 || r.out != "first\nbad\\x1b[31m\\ufffd\n" || r.stderr != "" {
		t.Errorf("%+v", r)
	}
	go serve()
	r := d.daemon.run("screen", "--json", "7")
	const want = `{"schema":1,"id":7,"attempt":1,"cols":80,"rows":4,"cursor":{"col":3,"row":1,"shown":true},"alternate":false,"title":"a title","lines":["first","bad\u001b[31m�","",""],"offset":99}` + "\n"
	if r.out != want {
		t.Errorf("%s\nwant %s", r.out, want)
	}
	d.answers(func(ipc.Hello) any {
		return &ipc.RefusedFrame{Code: ipc.CodeUnsupported, Message: `unknown mode "screen"`}
	})
	if r := d.daemon.run("screen", "7"); r.code != exitRefused || !strings.Contains(r.stderr, "older than this pasar") || !strings.Contains(r.stderr, "hint: ") {
		t.Errorf("%+v", r)
	}
	d.answers(func(ipc.Hello) any {
		return &ipc.RefusedFrame{Code: ipc.CodeWrongState, Message: "the job runs without a terminal", Hint: "see its log"}
	})
	if r := d.daemon.run("screen", "7"); r.code != exitRefused || r.stderr != "pasar: the job runs without a terminal\nhint: see its log\n" {
		t.Errorf("%+v", r)
	}
}

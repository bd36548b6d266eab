package web

import (
	"context"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"pasar/ipc"
)

// keeps has a double answer with an output: chunks after the head, and that the attempt has ended unless it is asked for less
// often than times.
func (d *double) keeps(head, view string, times int, chunks ...string) {
	asked := 0
	d.reply[ipc.VerbLogs] = func(_ context.Context, c *ipc.Call) error {
		var r ipc.LogsRequest
		if err := c.Bind(&r); err != nil {
			return err
		}
		if head == "" {
			return &ipc.Error{Code: ipc.CodeWrongState, Message: "it was removed"}
		}
		_ = c.Chunk([]byte(head))
		end := int64(3 << 20)
		if r.Follow {
			return c.Answer(ipc.LogsAnswer{Attempt: 2, Offset: end, Ended: true})
		}
		for _, s := range chunks {
			_ = c.Chunk([]byte(s))
		}
		asked++
		return c.Answer(ipc.LogsAnswer{Attempt: 2, Offset: end, Ended: asked >= times})
	}
	d.reply[ipc.VerbShow] = func(_ context.Context, c *ipc.Call) error { return c.Answer(ipc.ViewAnswer{JSON: []byte(view)}) }
}

const (
	overNow  = `{"state":"failed","summary":"exit code 3","attempts":[{"attempt":1,"exit_code":9},{"attempt":2,"exit_code":3,"signal":null}]}`
	keptHead = `{"attempt":2,"offset":0,"marked":true,"cols":100,"rows":30}`
)

func TestWhoComesAfterTheEndSeesWhatWasKeptAndThenTheEnd(t *testing.T) {
	over := &ipc.RefusedFrame{Code: ipc.CodeWrongState, Message: "job #7 has ended"}
	greeting := `"welcome","job":7,"attempt":2,"cols":100,"rows":30,"holder":false,"who":null,"no_pty":false`
	exit := `"exit","job":7,"attempt":2,"state":"failed","summary":"exit code 3","code":3,"signal":null,"launch_error":null`
	for name, c := range map[string]struct {
		answer     any
		head, view string
		times      int
		chunks     []string
		wants      []string
	}{
		"all of it":                      {over, keptHead, overNow, 1, []string{"\x00one\r\n\x1b]52;c;aG", "\x00k=\x07\x1b[31mtwo"}, []string{"bytes one\r\n", "bytes \x1b[31mtwo", exit}},
		"a supervisor that is just gone": {nil, keptHead, overNow, 2, []string{"\x00one"}, []string{"bytes one", exit}},
		"its end": {over, `{"attempt":2,"offset":3000000,"marked":true,"cols":100,"rows":30}`, overNow, 1, []string{"\x00;5mof a line\nwhole"},
			[]string{"bytes whole", `"note","text":"this is the end of its output, 5 B of 3 MiB: ` + "`pasar logs 7`" + ` has what was kept"`, exit}},
		"a gap": {over, keptHead, overNow, 1, []string{"\x00one", "\x01" + `{"offset":2051,"gap":2048}`, "\x00two"},
			[]string{"bytes one", `"note","text":"2 KiB of output are not to be had"`, "bytes two", exit}},
		"a signal": {over, keptHead, `{"state":"queued","summary":null,"attempts":[{"attempt":2,"exit_code":null,"signal":9}]}`, 1, []string{"\x00one"},
			[]string{"bytes one", `"exit","job":7,"attempt":2,"state":"queued","summary":null,"code":0,"signal":9,"launch_error":null`}},
		"an end that nobody saw": {over, keptHead, `{"state":"failed","summary":"lost","attempts":[{"attempt":2,"exit_code":null,"signal":null}]}`, 1, []string{"\x00one"},
			[]string{"bytes one", `"exit","job":7,"attempt":2,"state":"failed","summary":"lost","code":null,"signal":null,"launch_error":null`}},
	} {
		t.Run(name, func(t *testing.T) {
			url, b, d, _ := attachServer(t)
			b.answers(func(ipc.Hello) any { return c.answer })
			d.keeps(c.head, c.view, c.times, c.chunks...)
			p := open(t, url+"/api/jobs/7/attach?attempt=2")
			p.wants(greeting, `"paint"`)
			p.wants(c.wants...)
			if status, last := p.ends(); status != websocket.StatusNormalClosure || last != "" {
				t.Errorf("%d %s", status, last)
			}
			var asked ipc.LogsRequest
			d.bound(t, ipc.VerbLogs, &asked)
			if asked.Attempt != 2 {
				t.Errorf("%+v", asked)
			}
		})
	}
}

func TestWhatLeftNoOutputToShowIsRefusedAsBefore(t *testing.T) {
	const message = `"message":"why there is none"`
	refused := func(code ipc.Code) any { return &ipc.RefusedFrame{Code: code, Message: "why there is none"} }
	for name, c := range map[string]struct {
		answer any
		head   string
		times  int
		chunks []string
		says   string
		asks   bool
	}{
		"it wrote nothing":        {refused(ipc.CodeWrongState), keptHead, 1, nil, message, true},
		"nothing is kept":         {refused(ipc.CodeWrongState), "", 1, nil, message, true},
		"it isn't over":           {refused(ipc.CodeWrongState), keptHead, 9, []string{"\x00one"}, message, true},
		"there are too many":      {refused(ipc.CodeOverLimit), keptHead, 1, []string{"\x00one"}, message, false},
		"it never had a terminal": {refused(ipc.CodeWrongState), `{"attempt":2,"offset":0,"marked":true,"no_pty":true}`, 1, []string{"\x00one"}, `"message":"job #7 has no terminal"`, true},
	} {
		url, b, d, _ := attachServer(t)
		b.answers(func(ipc.Hello) any { return c.answer })
		d.keeps(c.head, overNow, c.times, c.chunks...)
		status, last := open(t, url+"/api/jobs/7/attach?attempt=2").ends()
		if status < 4400 || !strings.Contains(last, c.says) {
			t.Errorf("%s: %d %s", name, status, last)
		}
		if asked := d.calls(ipc.VerbLogs) > 0; asked != c.asks {
			t.Errorf("%s: it asked for output: %v", name, asked)
		}
	}
}

func TestOfAFinishedJobNobodyTakesTheKeyboard(t *testing.T) {
	url, b, d, _ := attachServer(t)
	b.answers(func(ipc.Hello) any { return &ipc.RefusedFrame{Code: ipc.CodeWrongState, Message: "job #7 has ended"} })
	d.keeps(keptHead, overNow, 1, "\x00one")
	p := open(t, url+"/api/jobs/7/attach?attempt=2")
	p.orders(`{"take":true,"cols":80,"rows":24}`)
	p.types("x")
	for {
		s := p.read()
		if strings.Contains(s, `"holder":true`) || strings.Contains(s, `"error"`) {
			t.Fatal(s)
		}
		if strings.HasPrefix(s, `"exit"`) {
			return
		}
	}
}

func TestASupervisorThatIsGoneBeforeTheEndWasToldLeavesWhatWasKept(t *testing.T) {
	url, b, d, _ := attachServer(t)
	d.keeps(keptHead, overNow, 2, "\x00one two")
	p := open(t, url+"/api/jobs/7/attach")
	v := b.next()
	p.wants(welcome)
	v.send(ipc.AttachOut, &ipc.Out{Data: []byte("one")})
	p.wants("bytes one")
	_ = v.Close()
	p.wants(`"holder","holder":false,"who":null`, `"size","cols":100,"rows":30`, `"paint"`, "bytes one two",
		`"exit","job":7,"attempt":2,"state":"failed","summary":"exit code 3","code":3,"signal":null,"launch_error":null`)
	if status, _ := p.ends(); status != websocket.StatusNormalClosure {
		t.Error(status)
	}
}

package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"pasar"
	"pasar/ipc"
)

// A booth stands for the supervisor of job 7, attempt 2.
type booth struct {
	t    *testing.T
	came chan *visitor

	mu      sync.Mutex // guards the rest
	welcome func(ipc.Hello) any
}

// A visitor is a client that attached to a booth.
type visitor struct {
	*ipc.AttachConn
	t     *testing.T
	hello ipc.Hello
	got   chan frame // what it sent afterwards; closed when it left
}

// attachServer is a server whose jobs are at a booth, behind a door, with the requests ending when end is called.
func attachServer(t *testing.T) (url string, b *booth, d *double, end func()) {
	t.Helper()
	s, d := newServer(t)
	b = &booth{t: t, came: make(chan *visitor, 16)}
	b.answers(func(h ipc.Hello) any {
		return &ipc.Welcome{Version: 2, Key: "7.2", State: ipc.AttemptRunning, Cols: 80, Rows: 24, Holder: h.Mode == ipc.ModeType}
	})
	path := filepath.Join(t.TempDir(), "s.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go b.accept(l)
	s.Attach = func(_ context.Context, job pasar.JobID, attempt int) (net.Conn, error) {
		if job != 7 || attempt != 0 && attempt != 2 {
			t.Errorf("job %d, attempt %d", job, attempt)
		}
		return net.Dial("unix", path)
	}
	ctx, end := context.WithCancel(context.Background())
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ServeHTTP(w, r.WithContext(withPeer(r.Context(), &guest{peer: peer{ours: true}})))
	}))
	web.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	web.Start()
	t.Cleanup(func() { end(); s.taken.Wait(); web.Close() })
	return web.URL, b, d, end
}

func (b *booth) answers(f func(ipc.Hello) any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.welcome = f
}

func (b *booth) accept(l net.Listener) {
	for {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		go b.serve(&visitor{AttachConn: ipc.NewAttachConn(nc), t: b.t, got: make(chan frame, 1024)})
	}
}

func (b *booth) serve(v *visitor) {
	defer close(v.got)
	defer v.Close()
	_, body, err := v.Recv()
	if err != nil || ipc.DecodeBody(body, &v.hello) != nil {
		return
	}
	b.mu.Lock()
	answer := b.welcome(v.hello)
	b.mu.Unlock()
	switch w := answer.(type) {
	case *ipc.Welcome:
		_ = v.Send(ipc.AttachWelcome, w)
	case *ipc.RefusedFrame:
		_ = v.Send(ipc.AttachRefused, w)
		return
	default:
		return // it dies
	}
	b.came <- v
	for {
		typ, body, err := v.Recv()
		if err != nil {
			return
		}
		v.got <- frame{typ: typ, body: body}
	}
}

func (b *booth) next() *visitor {
	b.t.Helper()
	return take(b.t, b.came)
}

// take is what comes next, which must be soon.
func take[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came")
	}
	panic("not reached")
}

func (v *visitor) send(typ int, body any) {
	v.t.Helper()
	if err := v.Send(typ, body); err != nil {
		v.t.Error(err)
	}
}

// wants takes the next frame that was sent, which is of a type; its body goes into body.
func (v *visitor) wants(typ int, body any) {
	v.t.Helper()
	f := take(v.t, v.got)
	if f.typ != typ || ipc.DecodeBody(f.body, body) != nil {
		v.t.Fatalf("frame %d, want %d", f.typ, typ)
	}
}

// left waits for it to leave, and reports what it sent and nobody took.
func (v *visitor) left() (frames []int) {
	v.t.Helper()
	for {
		f := take(v.t, v.got)
		if f.typ == 0 {
			return frames
		}
		frames = append(frames, f.typ)
	}
}

// A page is a browser's end.
type page struct {
	*websocket.Conn
	t *testing.T
}

func open(t *testing.T, url string) page {
	t.Helper()
	ws, res, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{Subprotocols: []string{attachProtocol}})
	if err != nil {
		t.Fatal(err, res)
	}
	t.Cleanup(func() { _ = ws.CloseNow() })
	if ws.Subprotocol() != attachProtocol {
		t.Errorf("subprotocol %q", ws.Subprotocol())
	}
	ws.SetReadLimit(1 << 20)
	return page{ws, t}
}

// read is the next message: JSON, or bytes in quotes.
func (p page) read() string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 20*time.Second)
	defer cancel()
	typ, b, err := p.Read(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	if typ == websocket.MessageBinary {
		return "bytes " + string(b)
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(b), `{"schema":1,"event":`), "}\n")
}

func (p page) wants(messages ...string) {
	p.t.Helper()
	for _, want := range messages {
		if got := p.read(); got != want {
			p.t.Fatalf("%s\nwant %s", got, want)
		}
	}
}

func (p page) says(typ websocket.MessageType, text string) {
	p.t.Helper()
	if err := p.Write(p.t.Context(), typ, []byte(text)); err != nil {
		p.t.Fatal(err)
	}
}

func (p page) orders(text string) { p.t.Helper(); p.says(websocket.MessageText, text) }
func (p page) types(text string)  { p.t.Helper(); p.says(websocket.MessageBinary, text) }

// ends reads until the connection is closed, and returns with which status, and the last message.
func (p page) ends() (status websocket.StatusCode, last string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 20*time.Second)
	defer cancel()
	for {
		_, b, err := p.Read(ctx)
		if err != nil {
			return websocket.CloseStatus(err), last
		}
		last = string(b)
	}
}

const welcome = `"welcome","job":7,"attempt":2,"cols":80,"rows":24,"holder":false,"who":null,"no_pty":false`

func TestAPageWatchesUntilItTakesTheKeyboardAndGivesItBack(t *testing.T) {
	url, b, _, _ := attachServer(t)
	p := open(t, url+"/api/jobs/7/attach?attempt=2&cols=100&rows=30")
	watching := b.next()
	if h := watching.hello; h.Mode != ipc.ModeWatch || h.Take || !h.Paint || h.Cols != 0 {
		t.Errorf("it said %+v", h)
	}
	p.wants(welcome)
	watching.send(ipc.AttachSnap, &ipc.Snap{Cols: 80, Rows: 24, Data: []byte("one "), More: true})
	watching.send(ipc.AttachSnap, &ipc.Snap{Cols: 80, Rows: 24, Data: []byte("screen")})
	watching.send(ipc.AttachOut, &ipc.Out{Data: []byte("more")})
	p.wants(`"paint"`, "bytes one ", "bytes screen", "bytes more")
	p.types("rm -rf\r")
	p.wants(`"note","text":"you are watching: take control to type"`)
	p.orders(`{"resize":{"cols":90,"rows":31}}`) // of who watches: it counts later
	p.orders(`{"release":true}`)                 // of what it doesn't hold

	p.orders(`{"take":true}`)
	typing := b.next()
	if h := typing.hello; h.Mode != ipc.ModeType || !h.Take || !h.Paint || h.Cols != 90 || h.Rows != 31 || h.Who != "a browser" {
		t.Errorf("it said %+v", h)
	}
	if got := watching.left(); got != nil {
		t.Errorf("who watched sent %v", got)
	}
	p.wants(`"holder","holder":true,"who":null`)
	typing.send(ipc.AttachSize, &ipc.Size{Cols: 90, Rows: 31})
	typing.send(ipc.AttachSnap, &ipc.Snap{Cols: 90, Rows: 31, Data: []byte("again")})
	p.wants(`"size","cols":90,"rows":31`, `"paint"`, "bytes again")
	p.types("\x03")
	p.orders(`{"resize":{"cols":120,"rows":40}}`)
	p.orders(`{"resize":{"cols":0,"rows":40}}`) // no size
	p.types(strings.Repeat("x", maxMessage))
	var in ipc.In
	var size ipc.Size
	typing.wants(ipc.AttachIn, &in)
	if string(in.Data) != "\x03" {
		t.Errorf("%q", in.Data)
	}
	typing.wants(ipc.AttachResize, &size)
	if size.Cols != 120 || size.Rows != 40 {
		t.Errorf("%+v", size)
	}
	for n := 0; n < maxMessage; n += len(in.Data) {
		typing.wants(ipc.AttachIn, &in)
	}

	p.orders(`{"release":true}`)
	again := b.next()
	if again.hello.Mode != ipc.ModeWatch || again.hello.Take {
		t.Errorf("it said %+v", again.hello)
	}
	if got := typing.left(); got != nil {
		t.Errorf("it sent %v", got)
	}
	p.wants(`"note","text":"0 by 40 is no size of a terminal: it keeps the one it has"`, `"holder","holder":false,"who":null`, `"size","cols":80,"rows":24`)
	p.types("x")
	p.wants(`"note","text":"you are watching: take control to type"`)
	_ = p.Close(websocket.StatusNormalClosure, "")
	if got := again.left(); got != nil {
		t.Errorf("it sent %v", got)
	}
}

func TestAPageIsToldWhoTookTheKeyboardAndTakesItBack(t *testing.T) {
	url, b, _, _ := attachServer(t)
	p := open(t, url+"/api/jobs/7/attach")
	b.next()
	p.wants(welcome)
	p.orders(`{"take":true,"cols":100,"rows":30}`)
	v := b.next()
	p.wants(`"holder","holder":true,"who":null`)
	v.send(ipc.AttachHolder, &ipc.HolderNote{Who: "process\x1b 9"})
	p.wants(`"holder","holder":false,"who":"process\\x1b 9"`)
	p.types("lost")
	p.wants(`"note","text":"you are watching: take control to type"`)
	p.orders(`{"take":true,"cols":101,"rows":31}`)
	p.types("kept") // the supervisor takes it in order, behind TAKE
	var size ipc.Size
	v.wants(ipc.AttachResize, &size)
	v.wants(ipc.AttachTake, &ipc.Note{})
	var in ipc.In
	v.wants(ipc.AttachIn, &in)
	if size.Cols != 101 || string(in.Data) != "kept" {
		t.Errorf("%+v %q", size, in.Data)
	}
	v.send(ipc.AttachHolder, &ipc.HolderNote{You: true, Who: "process 1"})
	p.wants(`"holder","holder":true,"who":null`)
	b.answers(func(ipc.Hello) any { return &ipc.RefusedFrame{Code: ipc.CodeOverLimit, Message: "256 clients"} })
	p.orders(`{"release":true}`)
	p.wants(`"note","text":"256 clients"`) // and all is as before
	p.types("on")
	v.wants(ipc.AttachIn, &in)
}

func TestNothingThatATerminalWouldObeyOrAnswerReachesAPage(t *testing.T) {
	url, b, _, _ := attachServer(t)
	p := open(t, url+"/api/jobs/7/attach")
	v := b.next()
	p.wants(welcome)
	v.send(ipc.AttachSnap, &ipc.Snap{Cols: 80, Rows: 24, Data: []byte("\x1b]52;c;aGk=\x07s\x1b[c")})
	p.wants(`"paint"`, "bytes s")
	v.send(ipc.AttachOut, &ipc.Out{Data: []byte("a\x1b]52;c;aG")}) // it comes in two
	v.send(ipc.AttachOut, &ipc.Out{Data: []byte("k=\x1b\\\x1b[6n\x1b]0;title\x07\x1b[?1004h")})
	v.send(ipc.AttachOut, &ipc.Out{Data: []byte("\x1b[31mb<script>")})
	p.wants("bytes a", "bytes \x1b[31mb<script>")
	v.send(ipc.AttachOut, &ipc.Out{Data: []byte("\x1b]8;;https://x\ac\x1b]8;;javascript:x\ad\x1b]8;;\a")})
	p.wants("bytes \x1b]8;;https://x\x1b\\c\x1b]8;;\x1b\\d\x1b]8;;\x1b\\") // a page says where a link leads
	v.send(ipc.AttachNote, &ipc.Note{Text: "\x1b[2Jhi"})
	v.send(ipc.AttachSkip, &ipc.Skip{From: 0, To: 2048})
	v.send(ipc.AttachPing, &ipc.Note{})
	v.send(99, &ipc.Note{}) // of a newer supervisor
	p.wants(`"note","text":"\\x1b[2Jhi"`, `"note","text":"2 KiB of output are not to be had"`)
}

func TestAnEndIsToldWithWhatBecameOfTheJob(t *testing.T) {
	url, b, d, _ := attachServer(t)
	d.reply[ipc.VerbLogs] = func(_ context.Context, c *ipc.Call) error {
		_ = c.Chunk([]byte(`{"attempt":2,"offset":0}`))
		return c.Answer(ipc.LogsAnswer{Attempt: 2, Ended: true})
	}
	d.reply[ipc.VerbShow] = func(_ context.Context, c *ipc.Call) error {
		return c.Answer(ipc.ViewAnswer{JSON: []byte(`{"state":"queued","summary":null}`)})
	}
	p := open(t, url+"/api/jobs/7/attach")
	v := b.next()
	v.send(ipc.AttachOut, &ipc.Out{Data: []byte("last words")})
	v.send(ipc.AttachExit, &ipc.ExitFrame{Exit: pasar.Exit{Signal: 9}})
	p.wants(welcome, "bytes last words", `"exit","job":7,"attempt":2,"state":"queued","summary":null,"code":0,"signal":9,"launch_error":null`)
	if status, _ := p.ends(); status != websocket.StatusNormalClosure {
		t.Error(status)
	}
	var asked ipc.LogsRequest
	d.bound(t, ipc.VerbLogs, &asked)
	if !asked.Follow || asked.Attempt != 2 {
		t.Errorf("%+v", asked)
	}

	d.reply[ipc.VerbLogs] = func(context.Context, *ipc.Call) error { return errors.New("no") }
	p = open(t, url+"/api/jobs/7/attach")
	b.next().send(ipc.AttachExit, &ipc.ExitFrame{Exit: pasar.Exit{Code: 127}, Error: "no such file"})
	p.wants(welcome, `"exit","job":7,"attempt":2,"state":null,"summary":null,"code":127,"signal":null,"launch_error":"no such file"`)
}

func TestWhyThereIsNoTerminalIsToldAsAnEvent(t *testing.T) {
	url, b, _, _ := attachServer(t)
	for name, c := range map[string]struct {
		answer any
		status websocket.StatusCode
		says   string
	}{
		"no terminal":     {&ipc.Welcome{Version: 2, Key: "7.2", NoPTY: true}, 4409, `"code":"wrong_state","message":"job #7 has no terminal","hint":"it was submitted with --no-pty`},
		"refused":         {&ipc.RefusedFrame{Code: ipc.CodeOverLimit, Message: "256 clients are attached already"}, 4422, `"code":"over_limit","message":"256 clients`},
		"another attempt": {&ipc.Welcome{Version: 2, Key: "7.3"}, 4409, `"message":"job #7 is in attempt 3 by now"`},
		"gone":            {nil, 4503, `"code":"unavailable"`},
	} {
		b.answers(func(ipc.Hello) any { return c.answer })
		status, last := open(t, url+"/api/jobs/7/attach?attempt=2").ends()
		if status != c.status || !strings.HasPrefix(last, `{"schema":1,"event":"error","error":{`) || !strings.Contains(last, c.says) {
			t.Errorf("%s: %d %s", name, status, last)
		}
	}
}

func TestWhatCannotBecomeATerminalIsRefusedBeforeItIsOne(t *testing.T) {
	url, b, _, _ := attachServer(t)
	for name, c := range map[string]struct {
		path, origin, protocol string
		status                 int
		says                   string
	}{
		"a page elsewhere":      {"/api/jobs/7/attach", "http://evil.example", attachProtocol, 403, "evil.example"},
		"a page from nowhere":   {"/api/jobs/7/attach", "null", attachProtocol, 403, "of the origin"},
		"another port":          {"/api/jobs/7/attach", "http://127.0.0.1:1", attachProtocol, 403, "of the origin"},
		"no subprotocol":        {"/api/jobs/7/attach", "", "", 400, attachProtocol},
		"another subprotocol":   {"/api/jobs/7/attach", "", "chat", 400, attachProtocol},
		"a size that is none":   {"/api/jobs/7/attach?cols=x", "", attachProtocol, 400, "cols"},
		"an unknown key":        {"/api/jobs/7/attach?mode=type", "", attachProtocol, 400, "mode"},
		"a job that is no name": {"/api/jobs/x/attach", "", attachProtocol, 404, "no job"},
	} {
		o := &websocket.DialOptions{HTTPHeader: http.Header{}}
		if c.protocol != "" {
			o.Subprotocols = []string{c.protocol}
		}
		if c.origin != "" {
			o.HTTPHeader.Set("Origin", c.origin)
		}
		ws, res, err := websocket.Dial(t.Context(), url+c.path, o)
		if err == nil {
			_ = ws.CloseNow()
			t.Errorf("%s: it was let in", name)
			continue
		}
		body, _ := io.ReadAll(res.Body)
		if res.StatusCode != c.status || !json.Valid(body) || bytes.Count(body, []byte("\n")) != 1 || !bytes.Contains(body, []byte(c.says)) {
			t.Errorf("%s: %d %s", name, res.StatusCode, body)
		}
	}
	res, err := http.Get(url + "/api/jobs/7/attach")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusUpgradeRequired || res.Header.Get("Upgrade") != "websocket" {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	o := &websocket.DialOptions{Subprotocols: []string{attachProtocol}, HTTPHeader: http.Header{"Origin": {url}}}
	ws, _, err := websocket.Dial(t.Context(), url+"/api/jobs/7/attach", o)
	if err != nil {
		t.Fatalf("our own page: %v", err)
	}
	b.next()
	_ = ws.CloseNow()
}

func TestAPageElsewhereOrOfSomebodyElseReachesNoTerminal(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*http.Request)
		status int
	}{
		"a foreign origin": {func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, 403},
		"a foreign host":   {func(r *http.Request) { r.Host = "evil.example:8750" }, 403},
		"a foreign host whose page it is": {func(r *http.Request) {
			r.Host = "evil.example:8750"
			r.Header.Set("Origin", "http://evil.example:8750")
		}, 403},
		"no token": {stranger, 401},
	} {
		s, d := newServer(t)
		s.Attach = func(context.Context, pasar.JobID, int) (net.Conn, error) {
			t.Errorf("%s: it reached the job", name)
			return nil, errors.New("no")
		}
		w := ask(t, s, "GET", "/api/jobs/7/attach", "", func(r *http.Request) {
			for k, v := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==", "Sec-WebSocket-Protocol": attachProtocol} {
				r.Header.Set(k, v)
			}
			c.change(r)
		})
		if w.Code != c.status || d.calls(ipc.VerbAttach)+d.calls(ipc.VerbLogs) > 0 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestAMessageThatIsTooLargeOrMeansNothingEndsIt(t *testing.T) {
	url, b, _, _ := attachServer(t)
	p := open(t, url+"/api/jobs/7/attach")
	v := b.next()
	p.wants(welcome)
	p.types(strings.Repeat("x", maxMessage+1))
	if status, _ := p.ends(); status != websocket.StatusMessageTooBig {
		t.Error(status)
	}
	if got := v.left(); got != nil {
		t.Errorf("%v reached the job", got)
	}
	for order, says := range map[string]string{
		``:                            `JSON that ends too early"`,
		`{"take":`:                    `JSON that ends too early"`,
		`[{"take":true}]`:             `an object, not [{\"take\":true}]"`,
		`{"resize":[80,24]}`:          `resize: an object, not [80,24]"`,
		`{"resize":{"cols":80.5}}`:    `resize.cols: a whole number, not 80.5"`,
		`{"resize":{"colums":80}}`:    `resize: there is no key \"colums\"","hint":"did you mean \"cols\"?"`,
		`{"take":"yes"}`:              `take: true or false, not \"yes\""`,
		`{"take":true} {"take":true}`: `no JSON at line 1, column 14: something follows the value"`,
	} {
		p = open(t, url+"/api/jobs/7/attach")
		b.next()
		p.wants(welcome)
		p.orders(order)
		status, last := p.ends()
		if status != 4400 || !strings.Contains(last, `"message":"a message that is no order: `+says) || strings.Contains(last, "Go ") {
			t.Errorf("%s: %d %s", order, status, last)
		}
	}
}

func TestTheSizeOfATerminalIsRefusedByItsKeys(t *testing.T) {
	for body, says := range map[string]string{
		`"cols":-1`:                            `cols: 2 to 2000, not -1"`,
		`"cols":80`:                            `rows: 1 to 1000, not 0"`,
		`"rows":24`:                            `cols: 2 to 2000, not 0"`,
		`"cols":80,"rows":1001`:                `rows: 1 to 1000, not 1001"`,
		`"cols":80,"rows":24,"no_pty":true`:    `cols and rows are the size of a terminal; they can't go with no_pty"`,
		`"cols":80.5,"rows":24`:                `cols: a whole number, not 80.5"`,
		`"cols":"80","rows":24`:                `cols: a number, not \"80\""`,
		`"cols":80,"rows":24,"dry_run":"true"`: `dry_run: true or false, not \"true\""`,
	} {
		s, _ := newServer(t)
		w := ask(t, s, "POST", "/api/jobs", `{"command":["true"],`+body+`}`, nil)
		if w.Code != 400 || !strings.Contains(w.Body.String(), `"message":"`+says) || strings.Contains(w.Body.String(), "--") {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}

func TestAServerThatEndsSaysSo(t *testing.T) {
	url, b, _, end := attachServer(t)
	p := open(t, url+"/api/jobs/7/attach")
	v := b.next()
	p.wants(welcome)
	end()
	if status, _ := p.ends(); status != websocket.StatusGoingAway {
		t.Error(status)
	}
	v.left()
}

func TestOfASlowPageNoMoreIsReadThanIsOnItsWay(t *testing.T) {
	frames, said := make(chan frame, 1), make(chan message, 1)
	v := &viewer{out: newOutflow(nil), wire: &wire{frames: frames}}
	v.out.sent = mostOnTheWay
	frames <- frame{typ: ipc.AttachPing}
	for range 50 { // what the page asks for is done all the same
		said <- message{websocket.MessageText, []byte(`{}`)}
		if err := v.step(t.Context(), said, nil, nil); err != nil {
			t.Fatal(err)
		}
		if len(frames) == 0 {
			t.Fatal("more was read from the supervisor")
		}
	}
	v.out.heard = 1
	if err := v.step(t.Context(), said, nil, nil); err != nil || len(frames) != 0 {
		t.Errorf("it doesn't go on: %v", err)
	}
}

func TestAFloodArrivesWholeAtAPageThatTakesIt(t *testing.T) {
	url, b, _, _ := attachServer(t)
	p := open(t, url+"/api/jobs/7/attach")
	v := b.next()
	const frames = 256 // of 16 KiB: many pings
	data := bytes.Repeat([]byte("y"), 16<<10)
	go func() {
		for range frames {
			_ = v.Send(ipc.AttachOut, &ipc.Out{Data: data})
		}
		_ = v.Send(ipc.AttachExit, &ipc.ExitFrame{})
	}()
	p.wants(welcome)
	for got := 0; got < frames*len(data); {
		got += len(p.read()) - len("bytes ")
	}
	if last := p.read(); !strings.HasPrefix(last, `"exit"`) {
		t.Error(last)
	}
}

// pipes is a listener whose connections are in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func TestAPageThatIsGoneWithoutAWordIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		l := make(pipes, 1)
		ended := make(chan time.Duration)
		h := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ws, err := websocket.Accept(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			began := time.Now()
			o := newOutflow(ws)
			go func() { _, _, _ = ws.Read(context.Background()) }()
			if err := o.ask(context.Background()); err == nil {
				t.Error("no error")
			}
			ended <- time.Since(began)
			_ = ws.CloseNow()
		})}
		go func() { _ = h.Serve(l) }()
		l <- far
		client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil }}}
		ws, _, err := websocket.Dial(t.Context(), "http://x/", &websocket.DialOptions{HTTPClient: client})
		if err != nil {
			t.Fatal(err)
		}
		if took := <-ended; took > 30*time.Second { // nobody reads from ws, so there is no answer
			t.Errorf("after %s", took)
		}
		_ = ws.CloseNow()
		close(l)
		_ = h.Close()
	})
}

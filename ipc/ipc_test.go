package ipc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// start serves handler on a socket in a private directory and returns its path. Everything has ended
// when the test has.
func start(t *testing.T, handler Handler) string {
	t.Helper()
	dir := privateDir(t)
	path := filepath.Join(dir, "d.sock")
	serve(t, path, handler)
	return path
}

func privateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ipc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// serve listens on path and returns what ends the server and waits for it.
func serve(t *testing.T, path string, handler Handler) (stop func()) {
	t.Helper()
	l, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	s := &Server{Handler: handler, Log: slog.New(slog.DiscardHandler), Version: "9.9", UID: os.Geteuid()}
	go func() { done <- s.Serve(ctx, l) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("serve: %v", err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

func dial(t *testing.T, path string) *Client {
	t.Helper()
	c, err := Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// echo answers with the request's own bytes.
func echo(_ context.Context, c *Call) error {
	var m map[string]any
	if err := c.Bind(&m); err != nil {
		return err
	}
	return c.Answer(m)
}

func code(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestAClientLearnsWhoAnswers(t *testing.T) {
	c := dial(t, start(t, echo))
	if c.DaemonVersion != "9.9" || c.DaemonPid != os.Getpid() {
		t.Errorf("welcomed by %q, pid %d", c.DaemonVersion, c.DaemonPid)
	}
}

func TestManyRequestsAtOnceEachGetTheirOwnAnswer(t *testing.T) {
	c := dial(t, start(t, echo))
	var wg sync.WaitGroup
	for w := range MaxConcurrent / 2 {
		wg.Go(func() {
			for i := range 50 {
				want := fmt.Sprintf("%d/%d", w, i)
				var got map[string]string
				if err := c.Call(t.Context(), "echo", map[string]string{"v": want}, &got, nil); err != nil {
					t.Errorf("call: %v", err)
				} else if got["v"] != want {
					t.Errorf("got the answer %q to %q", got["v"], want)
				}
			}
		})
	}
	wg.Wait()
}

func TestTooManyRequestsAtOnceAreRefusedNotQueued(t *testing.T) {
	release := make(chan struct{})
	var under atomic.Int32
	c := dial(t, start(t, func(ctx context.Context, call *Call) error {
		under.Add(1)
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	}))
	errs := make(chan error, MaxConcurrent+1)
	for range MaxConcurrent + 1 {
		go func() { errs <- c.Call(t.Context(), "hold", Empty{}, nil, nil) }()
	}
	if err := <-errs; code(err) != CodeOverLimit { // nothing else can answer before release
		t.Errorf("the request over the limit was answered %v", err)
	}
	close(release)
	for range MaxConcurrent {
		if err := <-errs; err != nil {
			t.Errorf("a request within the limit: %v", err)
		}
	}
}

func TestAStreamComesInOrderAndThenItsAnswer(t *testing.T) {
	const n = 1000
	c := dial(t, start(t, func(_ context.Context, call *Call) error {
		for i := range n {
			if err := call.Chunk(fmt.Appendf(nil, "%d", i)); err != nil {
				return err
			}
		}
		return call.Answer(LogsAnswer{Offset: n})
	}))
	next := 0
	var a LogsAnswer
	err := c.Call(t.Context(), VerbLogs, Empty{}, &a, func(b []byte) error {
		if string(b) != fmt.Sprint(next) {
			t.Fatalf("chunk %q, want %d", b, next)
		}
		next++
		return nil
	})
	if err != nil || next != n || a.Offset != n {
		t.Errorf("%d chunks, answer %+v, error %v", next, a, err)
	}
}

func TestCancellingEndsTheRequestAtTheDaemon(t *testing.T) {
	began, ended := make(chan struct{}), make(chan error, 1)
	c := dial(t, start(t, func(ctx context.Context, call *Call) error {
		close(began)
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	}))
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-began; cancel(why) }()
	if err := c.Call(ctx, "hang", Empty{}, nil, nil); !errors.Is(err, why) {
		t.Errorf("cancelled call returned %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("handler ended with %v", err)
	}
}

func TestAConsumerThatHasEnoughEndsItsStreamOnly(t *testing.T) {
	handler := func(ctx context.Context, call *Call) error {
		if call.Verb != "flood" {
			return nil
		}
		for ctx.Err() == nil {
			if err := call.Chunk(make([]byte, 1000)); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	c := dial(t, start(t, handler))
	enough := errors.New("enough")
	for range 20 {
		if err := c.Call(t.Context(), "flood", Empty{}, nil, func([]byte) error { return enough }); !errors.Is(err, enough) {
			t.Fatalf("flood: %v", err)
		}
		if err := c.Call(t.Context(), "other", Empty{}, nil, nil); err != nil {
			t.Fatalf("call after a stream that was left: %v", err)
		}
	}
}

func TestErrorsCrossWithCodeMessageAndHint(t *testing.T) {
	want := &Error{Code: CodeWrongState, Message: "job 7 is over", Hint: "restart it"}
	c := dial(t, start(t, func(context.Context, *Call) error { return fmt.Errorf("handler: %w", want) }))
	err := c.Call(t.Context(), "x", Empty{}, nil, nil)
	var got *Error
	if !errors.As(err, &got) || *got != *want {
		t.Errorf("got %#v", err)
	}
}

func TestAPanicIsThatRequestsErrorAndNobodyElses(t *testing.T) {
	c := dial(t, start(t, func(_ context.Context, call *Call) error {
		if call.Verb == "panic" {
			panic("oh no")
		}
		return nil
	}))
	if err := c.Call(t.Context(), "panic", Empty{}, nil, nil); code(err) != CodeInternal {
		t.Errorf("panic was answered %v", err)
	}
	if err := c.Call(t.Context(), "fine", Empty{}, nil, nil); err != nil {
		t.Errorf("the next request: %v", err)
	}
}

func TestABadBodyIsAnErrorThatNamesTheRequest(t *testing.T) {
	c := dial(t, start(t, func(_ context.Context, call *Call) error {
		var r SubmitRequest
		return call.Bind(&r)
	}))
	err := c.Call(t.Context(), VerbSubmit, "not a struct", nil, nil)
	if code(err) != CodeBadRequest || !strings.Contains(err.Error(), "submit") {
		t.Errorf("got %v", err)
	}
}

func TestARequestOverTheFrameLimitFailsAtTheClientAndLeavesTheConnection(t *testing.T) {
	c := dial(t, start(t, func(context.Context, *Call) error { return nil }))
	if err := c.Call(t.Context(), "big", make([]byte, MaxFrame+1), nil, nil); code(err) != CodeOverLimit {
		t.Errorf("too large a request: %v", err)
	}
	if err := c.Call(t.Context(), "small", Empty{}, nil, nil); err != nil {
		t.Errorf("the next request: %v", err)
	}
}

func TestAnAnswerOverTheFrameLimitIsAnErrorNotAHang(t *testing.T) {
	c := dial(t, start(t, func(_ context.Context, call *Call) error { return call.Answer(make([]byte, MaxFrame+1)) }))
	if err := c.Call(t.Context(), "big", Empty{}, nil, nil); err == nil {
		t.Error("an answer that can't be sent was answered")
	}
}

// raw connects without a Client, to say things no Client says.
func raw(t *testing.T, path string) (net.Conn, *bufio.Reader) {
	t.Helper()
	nc, err := DialUnix(path, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	return nc, bufio.NewReader(nc)
}

func frameOf(t *testing.T, parts ...any) []byte {
	t.Helper()
	b, err := AppendFrame(nil, MaxFrame, parts...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// refusal reads what must be a REFUSED frame.
func refusal(t *testing.T, r *bufio.Reader) *Error {
	t.Helper()
	b, err := ReadFrame(r, MaxFrame)
	if err != nil {
		t.Fatalf("no refusal: %v", err)
	}
	if typ, err := FrameType(b); err != nil || typ != typeRefused {
		t.Fatalf("frame of type %d (%v), want a refusal", typ, err)
	}
	return decodeRefusal(b)
}

func TestTheOlderSideIsNamedWhenVersionsDontMeet(t *testing.T) {
	path := start(t, echo)
	for _, tc := range []struct {
		lo, hi int
		old    string
	}{{MaxVersion + 1, MaxVersion + 3, "daemon"}, {MinVersion - 1, MinVersion - 1, "client"}} {
		nc, r := raw(t, path)
		if _, err := nc.Write(frameOf(t, typeHello, tc.lo, tc.hi, "0.0")); err != nil {
			t.Fatal(err)
		}
		e := refusal(t, r)
		if e.Code != CodeVersion || !strings.Contains(e.Message, "the "+tc.old+" is too old") || e.Hint == "" {
			t.Errorf("versions %d to %d: %+v", tc.lo, tc.hi, e)
		}
	}
}

func TestAClientTakesARefusalAsItsError(t *testing.T) {
	path := filepath.Join(privateDir(t), "d.sock")
	l, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		_, _ = ReadFrame(bufio.NewReader(nc), MaxFrame)
		refuse(nc, &Error{Code: CodeVersion, Message: "the client is too old", Hint: "use the newer one"})
	}()
	if _, err := Dial(t.Context(), path); code(err) != CodeVersion {
		t.Errorf("dial: %v", err)
	}
}

func TestGarbageIsRefusedAndOthersAreServed(t *testing.T) {
	path := start(t, echo)
	oversized := binary.BigEndian.AppendUint32(nil, MaxFrame+1)
	for name, b := range map[string][]byte{
		"http":          []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"oversized":     oversized,
		"not msgpack":   {0, 0, 0, 1, 0xc1},
		"no greeting":   frameOf(t, typeRequest, 1, "list", []byte{0x80}),
		"huge map":      {0, 0, 0, 5, 0xdf, 0xff, 0xff, 0xff, 0xff},
		"huge string":   {0, 0, 0, 5, 0xdb, 0xff, 0xff, 0xff, 0xff},
		"empty frame":   {0, 0, 0, 0},
		"a bare number": {0, 0, 0, 1, 0x07},
	} {
		nc, r := raw(t, path)
		if _, err := nc.Write(b); err != nil {
			t.Fatal(err)
		}
		if e := refusal(t, r); e.Code != CodeBadRequest {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if err := dial(t, path).Call(t.Context(), "echo", map[string]string{}, nil, nil); err != nil {
		t.Errorf("after the garbage: %v", err)
	}
}

func TestGarbageAfterTheGreetingEndsThatConnectionWithAReason(t *testing.T) {
	path := start(t, echo)
	nc, r := raw(t, path)
	if _, err := nc.Write(frameOf(t, typeHello, MinVersion, MaxVersion, "x")); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFrame(r, MaxFrame); err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Write([]byte{0, 0, 0, 2, 0xdd, 0xff}); err != nil {
		t.Fatal(err)
	}
	if e := refusal(t, r); e.Code != CodeBadRequest {
		t.Errorf("%+v", e)
	}
}

func TestUnknownFramesAreIgnoredAndLongerOnesUnderstood(t *testing.T) {
	nc, r := raw(t, start(t, echo))
	for _, b := range [][]byte{
		frameOf(t, typeHello, MinVersion, MaxVersion, "x", "a field of the future"),
		frameOf(t, 40, 5, "y", []byte{}), // a type of the future
	} {
		if _, err := nc.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	body, err := Encode(map[string]string{"v": "1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Write(frameOf(t, typeRequest, 3, "echo", body, "another")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{typeWelcome, typeAnswer} {
		b, err := ReadFrame(r, MaxFrame)
		if err != nil {
			t.Fatal(err)
		}
		if typ, err := FrameType(b); err != nil || typ != want {
			t.Errorf("frame %d (%v), want %d", typ, err, want)
		}
	}
}

func TestANumberUnderWayCantBeUsedTwice(t *testing.T) {
	nc, r := raw(t, start(t, func(ctx context.Context, _ *Call) error { <-ctx.Done(); return ctx.Err() }))
	body := []byte{0x80}
	b := frameOf(t, typeHello, MinVersion, MaxVersion, "x")
	b = append(b, frameOf(t, typeRequest, 9, "hang", body)...)
	b = append(b, frameOf(t, typeRequest, 9, "hang", body)...)
	if _, err := nc.Write(b); err != nil {
		t.Fatal(err)
	}
	var typ int
	for typ != typeFault {
		f, err := ReadFrame(r, MaxFrame)
		if err != nil {
			t.Fatal(err)
		}
		if typ, err = FrameType(f); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAStoppedClientHoldsUpNobodyElse(t *testing.T) {
	path := start(t, func(ctx context.Context, call *Call) error {
		for call.Verb == "flood" && ctx.Err() == nil {
			if err := call.Chunk(make([]byte, MaxChunk)); err != nil {
				return err
			}
		}
		return nil
	})
	nc, _ := raw(t, path) // asks for a flood and reads none of it
	b := frameOf(t, typeHello, MinVersion, MaxVersion, "x")
	b = append(b, frameOf(t, typeRequest, 1, "flood", []byte{0x80})...)
	if _, err := nc.Write(b); err != nil {
		t.Fatal(err)
	}
	c := dial(t, path)
	for range 100 {
		if err := c.Call(t.Context(), "quick", Empty{}, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestACallFailsAtOnceWhenTheDaemonDies(t *testing.T) {
	path := filepath.Join(privateDir(t), "d.sock")
	l, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // greets, takes a request, and is gone
		nc, err := l.Accept()
		if err != nil {
			return
		}
		r := bufio.NewReader(nc)
		_, _ = ReadFrame(r, MaxFrame)
		_ = (&serverConn{conn: nc}).send(typeWelcome, MaxVersion, "x", 1)
		_, _ = ReadFrame(r, MaxFrame)
		_ = nc.Close()
	}()
	c := dial(t, path)
	if err := c.Call(t.Context(), "x", Empty{}, nil, nil); code(err) != CodeNoDaemon {
		t.Errorf("call: %v", err)
	}
	if err := c.Call(t.Context(), "x", Empty{}, nil, nil); code(err) != CodeNoDaemon {
		t.Errorf("the next call: %v", err)
	}
}

func TestADaemonThatEndsInterruptsItsCallsByCode(t *testing.T) {
	path := filepath.Join(privateDir(t), "d.sock")
	began := make(chan struct{})
	stop := serve(t, path, func(ctx context.Context, _ *Call) error {
		close(began)
		<-ctx.Done()
		return ctx.Err()
	})
	c := dial(t, path)
	errs := make(chan error, 1)
	go func() { errs <- c.Call(t.Context(), "hang", Empty{}, nil, nil) }()
	<-began
	stop()
	if err := <-errs; code(err) != CodeInterrupted {
		t.Errorf("call: %v", err)
	}
	if _, err := Dial(t.Context(), path); code(err) != CodeNoDaemon {
		t.Errorf("dial afterwards: %v", err)
	}
}

func TestNobodyListeningIsNoDaemon(t *testing.T) {
	dir := privateDir(t)
	if _, err := Dial(t.Context(), filepath.Join(dir, "none.sock")); code(err) != CodeNoDaemon {
		t.Errorf("no socket: %v", err)
	}
	path := filepath.Join(dir, "dead.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	if _, err := Dial(t.Context(), path); code(err) != CodeNoDaemon {
		t.Errorf("a dead socket: %v", err)
	}
}

func TestASilentDaemonIsGivenUp(t *testing.T) {
	path := filepath.Join(privateDir(t), "d.sock")
	l, err := ListenUnix(path) // never accepts
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if _, err := Dial(ctx, path); code(err) != CodeNoDaemon {
		t.Errorf("dial: %v", err)
	}
}

func TestPathsOver107BytesWork(t *testing.T) {
	dir := privateDir(t)
	for len(dir) < 200 {
		dir = filepath.Join(dir, "a-directory-with-a-name")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "pasard.sock")
	serve(t, path, echo)
	if err := dial(t, path).Call(t.Context(), "echo", map[string]string{}, nil, nil); err != nil {
		t.Error(err)
	}
}

func TestANameThatCantBeBoundSaysHowLongItMayBe(t *testing.T) {
	path := filepath.Join(privateDir(t), strings.Repeat("x", 120))
	if _, err := ListenUnix(path); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("listen: %v", err)
	}
}

func TestADirectoryThatOthersCanEnterIsRefused(t *testing.T) {
	for _, mode := range []os.FileMode{0o755, 0o770, 0o701} {
		dir := privateDir(t)
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		_, err := ListenUnix(filepath.Join(dir, "d.sock"))
		if err == nil || !strings.Contains(err.Error(), "chmod 700") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

func TestALinkToADirectoryIsRefused(t *testing.T) {
	dir := privateDir(t)
	link := filepath.Join(privateDir(t), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := CheckPrivateDir(link); err == nil {
		t.Error("a link passed for a private directory")
	}
}

func TestSomeoneElsesDirectoryAndSocketAreRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const other = 12345
	dir := privateDir(t)
	if err := os.Chown(dir, other, other); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenUnix(filepath.Join(dir, "d.sock")); err == nil || !strings.Contains(err.Error(), "uid 12345") {
		t.Errorf("their directory: %v", err)
	}
	path := start(t, echo)
	if err := os.Chown(path, other, other); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), path); code(err) != CodeNotAllowed {
		t.Errorf("their socket: %v", err)
	}
}

func TestAPeerOfAnotherUserIsRefused(t *testing.T) {
	path := filepath.Join(privateDir(t), "d.sock")
	l, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s := &Server{Handler: echo, Log: slog.New(slog.DiscardHandler), UID: os.Geteuid() + 1}
		_ = s.Serve(ctx, l)
	}()
	defer func() { cancel(); <-done }()
	if _, err := Dial(t.Context(), path); code(err) != CodeNotAllowed {
		t.Errorf("dial: %v", err)
	}
}

func TestTheSocketIsTheOwnersAlone(t *testing.T) {
	path := start(t, echo)
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %o", fi.Mode().Perm())
	}
}

func TestAFileInTheSocketsPlaceIsNotRemoved(t *testing.T) {
	path := filepath.Join(privateDir(t), "d.sock")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenUnix(path); err == nil {
		t.Fatal("listened over a file")
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "precious" {
		t.Errorf("the file is now %q, %v", b, err)
	}
}

func TestADescriptorShortageIsOverWhenItIsOver(t *testing.T) {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ECONNABORTED} {
		if !isTemporary(&net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", e)}) {
			t.Errorf("%v ends the server", e)
		}
	}
	if isTemporary(&net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EINVAL)}) {
		t.Error("a broken listener would be tried for ever")
	}
}

func TestEveryVerbHasOneRequest(t *testing.T) {
	seen := map[Verb]bool{}
	for _, r := range Requests {
		if seen[r.Verb] || r.Does == "" || r.Who == "" {
			t.Errorf("request %q is there twice, or says too little", r.Verb)
		}
		seen[r.Verb] = true
	}
}

func TestAttachFramesCross(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	x, y := NewAttachConn(a), NewAttachConn(b)
	go func() { _ = x.Send(AttachOut, &Out{Offset: 7, Data: []byte("hi")}) }()
	typ, body, err := y.Recv()
	var o Out
	if err == nil {
		err = DecodeBody(body, &o)
	}
	if err != nil || typ != AttachOut || o.Offset != 7 || !bytes.Equal(o.Data, []byte("hi")) {
		t.Errorf("got %d %+v, %v", typ, o, err)
	}
}

package ipc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
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

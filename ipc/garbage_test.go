package ipc

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

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

func TestAValueOfTheWrongKindIsMalformedAndNoPanic(t *testing.T) {
	kinds := []any{nil, true, 7, -1.5, "text", []byte("bytes"), []any{1, nil}, map[string]any{"a": nil}, map[string]any{}, time.Unix(1, 2)}
	bodies := map[string]func() any{
		"submit": func() any { return &SubmitRequest{} }, "list": func() any { return &ListRequest{} }, "restart": func() any { return &RestartRequest{} },
		"outcome": func() any { return &JobsAnswer{} }, "hello": func() any { return &Hello{} }, "status": func() any { return &Status{} },
		"stop": func() any { return &StopFrame{} }, "exit": func() any { return &ExitFrame{} }, "screen": func() any { return &ScreenFrame{} },
	}
	for name, body := range bodies {
		typ := reflect.TypeOf(body()).Elem()
		for _, kind := range kinds {
			whole, err := msgpack.Marshal(kind)
			if err != nil {
				t.Fatal(err)
			}
			_ = Decode(whole, body()) // a panic fails the test
			for i := range typ.NumField() {
				field, _, _ := strings.Cut(typ.Field(i).Tag.Get("msgpack"), ",")
				if field == "" {
					field = typ.Field(i).Name
				}
				b, err := msgpack.Marshal(map[string]any{field: kind})
				if err != nil {
					t.Fatal(err)
				}
				if err := Decode(b, body()); err != nil && !errors.Is(err, ErrMalformed) {
					t.Errorf("%s with %v for %s: %v", name, kind, field, err)
				}
				list := make([]any, i+1)
				list[i] = kind
				if b, err = msgpack.Marshal(list); err != nil {
					t.Fatal(err)
				}
				if err := DecodeBody(b, body()); err != nil && !errors.Is(err, ErrMalformed) {
					t.Errorf("%s with %v as number %d: %v", name, kind, i, err)
				}
			}
		}
	}
}

package ipc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"runtime"
	"testing"
	"time"

	"pasar"
)

func TestScanRefusesWhatTheDecoderWouldChokeOn(t *testing.T) {
	deep := bytes.Repeat([]byte{0x91}, MaxDepth+2)
	deep = append(deep, 0xc0)
	for name, b := range map[string][]byte{
		"nothing":                    {},
		"a map of 4 G":               {0xdf, 0xff, 0xff, 0xff, 0xff},
		"an array of 4 G":            {0xdd, 0xff, 0xff, 0xff, 0xff, 0xc0},
		"a string of 4 G":            {0xdb, 0xff, 0xff, 0xff, 0xff, 'x'},
		"bytes of 4 G":               {0xc6, 0xff, 0xff, 0xff, 0xff, 'x'},
		"an extension of 4 G":        {0xc9, 0xff, 0xff, 0xff, 0xff, 1},
		"a cut length":               {0xdd, 0xff, 0xff},
		"a cut number":               {0xcf, 1, 2},
		"the byte never used":        {0xc1},
		"two values":                 {0xc0, 0xc0},
		"a short map":                {0x82, 0x01, 0x02, 0x03},
		"deeper than it may":         deep,
		"a hundred thousand arrays":  bytes.Repeat([]byte{0x91}, 100_000),
		"a hundred thousand of maps": bytes.Repeat([]byte{0x81, 0x01}, 50_000),
	} {
		if err := Scan(b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestScanTakesAllThatWeSend(t *testing.T) {
	now := pasar.Known(pasar.Duration(math.MaxInt64))
	for _, v := range []any{nil, true, 1, -1, math.MaxInt64, math.MinInt64, 1.5, float32(2), "x", string(make([]byte, 70_000)),
		make([]byte, 300), []int{1, 2}, make([]int, 70_000), map[string]int{"a": 1}, SubmitRequest{}, ListRequest{Since: time.Unix(1, 2)},
		RestartRequest{Time: now}, JobsAnswer{Jobs: []JobOutcome{{Error: &Error{Code: CodeWrongState}}}}} {
		b, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := Scan(b); err != nil {
			t.Errorf("%T: %v", v, err)
		}
	}
}

func TestNestingIsAllowedToTheBoundAndNoFurther(t *testing.T) {
	nest := func(n int) []byte { return append(bytes.Repeat([]byte{0x91}, n), 0xc0) }
	if err := Scan(nest(MaxDepth)); err != nil {
		t.Errorf("%d deep: %v", MaxDepth, err)
	}
	if err := Scan(nest(MaxDepth + 1)); err == nil {
		t.Errorf("%d deep is taken", MaxDepth+1)
	}
}

func TestRequestsSurviveTheWire(t *testing.T) {
	bid, span := pasar.Bid(-5), pasar.Duration(90*time.Minute)
	want := SubmitRequest{Request: "r", Spec: pasar.Spec{Name: "n", Argv: []pasar.Arg{"a b", "\xff\x00'\n"}, Cwd: "/x", Bid: bid, Time: span,
		Claim: pasar.Claim{Kind: pasar.Slice, GPUs: 1, Mem: 24 * pasar.GiB}, Tags: []string{"t"}},
		Surroundings: pasar.Surroundings{Env: []pasar.Arg{"K=\xfe"}, Umask: 0o27, Nice: -3, Limits: []pasar.Rlimit{{Resource: 7, Soft: math.MaxUint64}}}}
	b, err := Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	var got SubmitRequest
	if err := Decode(b, &got); err != nil {
		t.Fatal(err)
	}
	if got.Spec.Argv[1] != want.Spec.Argv[1] || got.Surroundings.Env[0] != want.Surroundings.Env[0] || got.Spec.Time != span ||
		got.Spec.Claim.Mem != want.Spec.Claim.Mem || got.Surroundings.Limits[0] != want.Surroundings.Limits[0] || got.Surroundings.Umask != 0o27 {
		t.Errorf("got %+v", got)
	}
	rb, err := Encode(RestartRequest{Bid: &bid})
	if err != nil {
		t.Fatal(err)
	}
	var r RestartRequest
	if err := Decode(rb, &r); err != nil || r.Bid == nil || *r.Bid != bid || r.Claim != nil || r.Time != nil {
		t.Errorf("restart came as %+v, %v", r, err)
	}
}

func TestAnAnnouncedLengthIsNotAllocated(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		_, err := ReadFrame(bufio.NewReader(bytes.NewReader([]byte{0, 0x3f, 0xff, 0xff, 1})), MaxFrame)
		if !errors.Is(err, ErrMalformed) {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 100*(256<<10) {
		t.Errorf("100 frames that announce 4 MiB and bring a byte took %d bytes", got)
	}
}

func TestAClosedConnectionIsAnEndOnlyBetweenFrames(t *testing.T) {
	if _, err := ReadFrame(bufio.NewReader(bytes.NewReader(nil)), MaxFrame); !errors.Is(err, io.EOF) {
		t.Errorf("between frames: %v", err)
	}
	for _, b := range [][]byte{{0}, {0, 0, 0}, {0, 0, 0, 5, 0x91}} {
		if _, err := ReadFrame(bufio.NewReader(bytes.NewReader(b)), MaxFrame); !errors.Is(err, ErrMalformed) {
			t.Errorf("%v: %v", b, err)
		}
	}
}

func seeds(f *testing.F) {
	f.Add([]byte{0x93, 66, 1, 0xc4, 1, 'x'})
	f.Add([]byte{0x94, 0xcc, 67, 0xcd, 1, 2, 0xc5, 0, 1, 'x', 0xc0})
	for _, v := range []any{nil, 1, "x", []int{1}, SubmitRequest{Spec: pasar.Spec{Argv: []pasar.Arg{"a"}}}, ListRequest{Since: time.Unix(1, 0)}} {
		b, err := Encode(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte{0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Add(bytes.Repeat([]byte{0x91}, 100))
	f.Add([]byte{0xc7, 12, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
}

func FuzzScan(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if Scan(b) != nil {
			return
		}
		var v any // what is well formed decodes, or is refused, within what it holds
		_ = Decode(b, &v)
	})
}

func FuzzDecode(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = Decode(b, &SubmitRequest{})
		_ = Decode(b, &ListRequest{})
		_ = Decode(b, &RestartRequest{})
		_ = Decode(b, &JobsAnswer{})
		if Scan(b) == nil {
			_ = DecodeBody(b, &Hello{})
			_ = DecodeBody(b, &Status{})
			_ = DecodeBody(b, &Out{})
		}
	})
}

func TestARepliesBodyIsFoundInPlace(t *testing.T) {
	for _, id := range []uint64{0, 127, 128, 255, 256, 65535, 65536, math.MaxUint32 + 1} {
		for _, n := range []int{0, 1, 255, 256, 65535, 65536, MaxChunk} {
			b, err := AppendFrame(nil, MaxFrame, typeChunk, id, make([]byte, n))
			if err != nil {
				t.Fatal(err)
			}
			typ, got, body, ok := splitReply(b[4:])
			if !ok || typ != typeChunk || got != id || len(body) != n {
				t.Errorf("id %d, %d bytes: type %d, id %d, %d bytes, %v", id, n, typ, got, len(body), ok)
			}
		}
	}
}

func FuzzUnpack(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if Scan(b) != nil {
			return
		}
		var typ int
		var id uint64
		var verb string
		var body []byte
		_ = Unpack(b, &typ, &id, &verb, &body)
		_, _ = FrameType(b)
		if st, sid, sbody, ok := splitReply(b); ok { // the short way agrees with the long one
			typ, id, body = 0, 0, nil
			if err := Unpack(b, &typ, &id, &body); err != nil || typ != st || id != sid || !bytes.Equal(body, sbody) {
				t.Fatalf("%x: %d %d %x, decoded %d %d %x, %v", b, st, sid, sbody, typ, id, body, err)
			}
		}
	})
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 0x90})
	f.Add([]byte{0, 0, 0, 2, 0x91, 0x07, 0, 0, 0, 1, 0x90})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bufio.NewReader(bytes.NewReader(b))
		read := 0
		for {
			body, err := ReadFrame(r, MaxAttachFrame)
			if err != nil {
				return
			}
			if read += 4 + len(body); read > len(b) {
				t.Fatalf("%d bytes read of %d", read, len(b))
			}
		}
	})
}

package web

import (
	"bytes"
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"pasar"
	"pasar/ipc"
	"pasar/submission"
	"pasar/ui"
)

// A taker is a type that reads JSON in its own way, and says in words what it takes: "a number of seconds, or …".
type taker interface{ takes() string }

// errKind is that a taker was given what isn't of a kind that it takes.
var errKind = errors.New("another kind of value")

// body reads a request's body into v, which points to a struct. No body is an empty object. A key that isn't known is
// refused, since whoever wrote it meant something by it; so is one that is there twice, and whatever a job would get
// otherwise than it was written.
func body(r *http.Request, v any) error {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return brokenOff(err)
	}
	if b = bytes.TrimSpace(b); len(b) == 0 {
		return nil
	}
	if err := wellFormed(b); err != nil {
		return err
	}
	return fill(reflect.ValueOf(v).Elem(), b, "")
}

// brokenOff is why a body couldn't be read, in our words where it is the client's doing.
func brokenOff(err error) error {
	var large *http.MaxBytesError
	var refused *ipc.Error
	switch {
	case errors.As(err, &large), errors.As(err, &refused), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return refuse(ipc.CodeBadRequest, "", "the body didn't come within %s", bodyTime)
	}
	return refuse(ipc.CodeBadRequest, "", "the body can't be read: it ends too early, or its chunks are broken")
}

// wellFormed says where JSON is broken.
func wellFormed(b []byte) error {
	bad := func(at int, why string) error {
		before := b[:max(0, min(at, len(b)))]
		line := 1 + bytes.Count(before, []byte("\n"))
		column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
		return refuse(ipc.CodeBadRequest, "", "the body: no JSON at line %d, column %d: %s", line, column, why)
	}
	if bytes.HasPrefix(b, []byte("\ufeff")) {
		return bad(0, "it begins with a byte order mark")
	}
	if !utf8.Valid(b) {
		return bad(invalidAt(b), "it is no UTF-8")
	}
	var one json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(b))
	err := dec.Decode(&one)
	if err == nil {
		if at := int(dec.InputOffset()); len(bytes.TrimSpace(b[at:])) > 0 {
			return bad(at, "something follows the value")
		}
		if at := loneSurrogate(b); at >= 0 {
			return bad(at, "half a character")
		}
		return nil
	}
	var broken *json.SyntaxError
	if !errors.As(err, &broken) {
		return refuse(ipc.CodeBadRequest, "", "the body: JSON that ends too early")
	}
	why := pasar.Clean(broken.Error())
	if strings.Contains(why, "max depth") {
		why = "it is nested too deep"
	}
	return bad(int(broken.Offset)-1, why)
}

// invalidAt is where the first byte is that isn't of UTF-8.
func invalidAt(b []byte) int {
	for at := 0; at < len(b); {
		r, n := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return len(b)
}

// loneSurrogate is where an escape such as \ud800 stands without its other half, which would be read as U+FFFD; -1 if
// there is none. The JSON is well-formed.
func loneSurrogate(b []byte) int {
	unit := func(at int) rune { // of an escape
		if at+6 > len(b) || b[at] != '\\' || b[at+1] != 'u' {
			return -1
		}
		u, err := strconv.ParseUint(string(b[at+2:at+6]), 16, 16)
		if err != nil {
			return -1
		}
		return rune(u)
	}
	for at := bytes.IndexByte(b, '\\'); at >= 0 && at < len(b); {
		step := 2
		if u := unit(at); utf16.IsSurrogate(u) {
			if utf16.DecodeRune(u, unit(at+6)) == utf8.RuneError {
				return at
			}
			step = 12
		}
		next := bytes.IndexByte(b[min(at+step, len(b)):], '\\')
		if next < 0 {
			return -1
		}
		at += step + next
	}
	return -1
}

// fill reads JSON into v as encoding/json does, and says of what it can't read which key takes what. The path names what
// is read; empty is the body.
func fill(v reflect.Value, b []byte, path string) error {
	t := v.Type()
	b = bytes.TrimSpace(b)
	wrong := func() error {
		where := path
		if where == "" {
			where = "the body"
		}
		return refuse(ipc.CodeBadRequest, guideKeys, "%s: %s, not %s", where, taken(t, b), excerpt(b))
	}
	if t.Kind() == reflect.Pointer {
		if string(b) == "null" {
			v.SetZero()
			return nil
		}
		v.Set(reflect.New(t.Elem()))
		return fill(v.Elem(), b, path)
	}
	if own(t) {
		return leaf(v, b, path, wrong)
	}
	switch {
	case path != "" && string(b) == "null": // nothing was said
		return nil
	case t.Kind() == reflect.Struct:
		if b[0] != '{' {
			return wrong()
		}
		return keyed(b, path, func(key string, value json.RawMessage) error {
			f, ok := field(t, key)
			if !ok {
				return unknownKey(t, path, key)
			}
			return fill(v.FieldByIndex(f.Index), value, join(path, key))
		})
	case t.Kind() == reflect.Slice:
		var list []json.RawMessage
		if b[0] != '[' || json.Unmarshal(b, &list) != nil {
			return wrong()
		}
		if len(list) > maxItems {
			return refuse(ipc.CodeOverLimit, "", "%s: a list of %d; at most %d", path, len(list), maxItems)
		}
		v.Set(reflect.MakeSlice(t, len(list), len(list)))
		for i := range list {
			at := path + "[" + strconv.Itoa(i) + "]"
			if err := something(t.Elem(), list[i], at); err != nil {
				return err
			}
			if err := fill(v.Index(i), list[i], at); err != nil {
				return err
			}
		}
		return nil
	case t.Kind() == reflect.Map:
		if b[0] != '{' {
			return wrong()
		}
		v.Set(reflect.MakeMap(t))
		return keyed(b, path, func(key string, value json.RawMessage) error {
			e := reflect.New(t.Elem()).Elem()
			if err := something(t.Elem(), value, join(path, key)); err != nil {
				return err
			}
			if err := fill(e, value, join(path, key)); err != nil {
				return err
			}
			v.SetMapIndex(reflect.ValueOf(key).Convert(t.Key()), e)
			return nil
		})
	}
	return leaf(v, b, path, wrong)
}

// something refuses null in a list or a map: left out is one thing, and nothing among others another.
func something(t reflect.Type, b []byte, path string) error {
	if string(b) == "null" && t.Kind() != reflect.Pointer && !own(t) {
		return refuse(ipc.CodeBadRequest, guideKeys, "%s: %s, not null", path, taken(t, b))
	}
	return nil
}

// leaf has encoding/json read what is nothing of a list or an object, or what reads itself.
func leaf(v reflect.Value, b []byte, path string, wrong func() error) error {
	err := json.Unmarshal(b, v.Addr().Interface())
	var refused *ipc.Error
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, errKind) || errors.As(err, &kind):
		return wrong()
	}
	what, hint := submission.Explain(err)
	what, hint = ofKeys(what), ofKeys(hint)
	if hint == "" {
		hint = guideKeys
	}
	if !strings.HasPrefix(what, path) { // some say themselves what they are about
		what = path + ": " + what
	}
	return refuse(ipc.CodeBadRequest, hint, "%s", what)
}

// maxItems bounds a list: the longest command lines have less.
const maxItems = 100_000

// guideKeys is the hint where there is no better one.
const guideKeys = "`pasar guide api` lists the keys"

// own reports whether a type reads JSON itself.
func own(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// taken says in words what a type takes; b is what it was given.
func taken(t reflect.Type, b []byte) string {
	if w, ok := reflect.New(t).Interface().(taker); ok {
		return w.takes()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return taken(t.Elem(), b)
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64:
		if b[0] == '-' || b[0] >= '0' && b[0] <= '9' {
			return "a whole number"
		}
		return "a number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list, each " + taken(t.Elem(), []byte{0})
	case reflect.Map:
		return "an object, each value " + taken(t.Elem(), []byte{0})
	case reflect.Struct:
		return "an object"
	}
	return "another value"
}

// excerpt is the beginning of a value, as it was written.
func excerpt(b []byte) string {
	const most = 40 // characters
	var buf bytes.Buffer
	if json.Compact(&buf, b) != nil {
		buf.Write(b)
	}
	s := []rune(pasar.Clean(buf.String()))
	if len(s) > most {
		return string(s[:most]) + "…"
	}
	return string(s)
}

// field is the field of a struct that has a key.
func field(t reflect.Type, key string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(t) {
		if name := keyOf(f); name != "" && name == key {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// keyOf is the key of a field; empty: it has none.
func keyOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if f.Anonymous || !f.IsExported() {
		return ""
	}
	return name
}

func keysOf(t reflect.Type) (keys []string) {
	for _, f := range reflect.VisibleFields(t) {
		if name := keyOf(f); name != "" {
			keys = append(keys, name)
		}
	}
	return keys
}

// aFewKeys is how many keys a refusal names.
const aFewKeys = 6

func unknownKey(t reflect.Type, path, key string) error {
	keys, hint := keysOf(t), guideKeys
	if near := ui.Nearest(key, keys); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	} else if len(keys) <= aFewKeys {
		hint = "it takes " + strings.Join(keys, ", ")
	}
	if path == "" {
		path = "the body"
	}
	return refuse(ipc.CodeBadRequest, hint, "%s: there is no key %q", path, pasar.Clean(key))
}

func join(path, key string) string {
	if path == "" {
		return pasar.Clean(key)
	}
	return path + "." + pasar.Clean(key)
}

// keyed calls f with what an object has, and says of an object that has a key twice where it is.
func keyed(b []byte, path string, f func(key string, value json.RawMessage) error) error {
	err := eachKey(b, f)
	var refused *ipc.Error
	if err == nil || errors.As(err, &refused) {
		return err
	}
	if path == "" {
		path = "the body"
	}
	return refuse(ipc.CodeBadRequest, "", "%s: %v", path, err)
}

package web

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"

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
// refused, since whoever wrote it meant something by it; so is one that is there twice.
func body(r *http.Request, v any) error {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if b = bytes.TrimSpace(b); len(b) == 0 {
		return nil
	}
	if err := wellFormed(b); err != nil {
		return err
	}
	return fill(reflect.ValueOf(v).Elem(), b, "")
}

// wellFormed says where JSON is broken.
func wellFormed(b []byte) error {
	var one json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(b))
	err := dec.Decode(&one)
	if err == nil {
		if dec.More() {
			return refuse(ipc.CodeBadRequest, "", "the body: more than one value")
		}
		return nil
	}
	var broken *json.SyntaxError
	if !errors.As(err, &broken) {
		return refuse(ipc.CodeBadRequest, "", "the body: JSON that ends too early")
	}
	at := b[:max(0, min(int(broken.Offset)-1, len(b)))]
	line := 1 + bytes.Count(at, []byte("\n"))
	column := len([]rune(string(at[bytes.LastIndexByte(at, '\n')+1:]))) + 1
	return refuse(ipc.CodeBadRequest, "", "the body: no JSON at line %d, column %d: %s", line, column, pasar.Clean(broken.Error()))
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
		v.Set(reflect.MakeSlice(t, len(list), len(list)))
		for i := range list {
			if err := fill(v.Index(i), list[i], path+"["+strconv.Itoa(i)+"]"); err != nil {
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
			if err := fill(e, value, join(path, key)); err != nil {
				return err
			}
			v.SetMapIndex(reflect.ValueOf(key).Convert(t.Key()), e)
			return nil
		})
	}
	return leaf(v, b, path, wrong)
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

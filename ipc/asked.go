package ipc

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"reflect"
	"slices"
	"strings"
	"time"
)

// maxAsked bounds what a client says of what it asks.
const maxAsked = 64 // bytes

// Asked is in short what requests ask, to know a repeat by: equal for those that ask the same, under whatever id. What is
// zero is left out, so that a repeat stays one when a newer version knows more fields. It is a hash (SHA-256, of which 64
// bits are kept), since it is only ever compared with that of a request with the same id.
func Asked(requests ...any) string {
	h := sha256.New()
	for _, r := range requests {
		writeAsked(h, reflect.ValueOf(r))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

var momentType = reflect.TypeFor[time.Time]()

// writeAsked writes a value so that no two others are written alike.
func writeAsked(h hash.Hash, v reflect.Value) {
	switch {
	case !v.IsValid():
		fmt.Fprint(h, "n;")
	case v.Type() == momentType:
		fmt.Fprintf(h, "m%d;", v.Interface().(time.Time).UnixNano())
	case v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface:
		fmt.Fprint(h, "p")
		writeAsked(h, v.Elem())
	case v.Kind() == reflect.Struct:
		fmt.Fprint(h, "{")
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Name != "Request" && !v.Field(i).IsZero() {
				fmt.Fprintf(h, "%s=", f.Name)
				writeAsked(h, v.Field(i))
			}
		}
		fmt.Fprint(h, "};")
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
		fmt.Fprintf(h, "%d[", v.Len())
		for i := range v.Len() {
			writeAsked(h, v.Index(i))
		}
	case v.Kind() == reflect.Map:
		fmt.Fprintf(h, "%dm", v.Len())
		for _, k := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
			writeAsked(h, k)
			writeAsked(h, v.MapIndex(k))
		}
	case v.Kind() == reflect.String:
		fmt.Fprintf(h, "%d:%s;", v.Len(), v.String())
	default:
		fmt.Fprintf(h, "%v;", v)
	}
}

// CheckAsked says what is wrong with what a client says of what it asks.
func CheckAsked(asked string) error {
	if len(asked) > maxAsked {
		return &Error{Code: CodeBadRequest, Message: fmt.Sprintf("what a request asks, in short, has at most %d bytes", maxAsked)}
	}
	return nil
}

package jobfile

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/BurntSushi/toml"
)

// errHere is what asks the TOML reader for a line: it knows the line of whatever is refused.
var errHere = errors.New("here")

type refuse struct{}

// UnmarshalTOML implements toml.Unmarshaler.
func (refuse) UnmarshalTOML(any) error { return errHere }

func parseTOML(text []byte) ([]key, error) {
	var values map[string]toml.Primitive
	meta, err := toml.Decode(string(text), &values)
	if err != nil {
		return nil, tomlError(err)
	}
	var keys []key
	var order []string // in the file's order, and the parts of tables in theirs
	parts := map[string][]string{}
	for _, path := range meta.Keys() {
		if !slices.Contains(order, path[0]) {
			order = append(order, path[0])
		}
		if len(path) == 2 && !slices.Contains(parts[path[0]], path[1]) {
			parts[path[0]] = append(parts[path[0]], path[1])
		}
	}
	for _, name := range order {
		k := key{name: name}
		var pe toml.ParseError
		if errors.As(meta.PrimitiveDecode(values[name], &refuse{}), &pe) {
			k.line = pe.Position.Line
		}
		var v any
		if err := meta.PrimitiveDecode(values[name], &v); err != nil {
			return nil, tomlError(err)
		}
		if err := k.take(v, parts[name]); err != nil {
			return nil, &Error{Line: k.line, What: name + ": " + err.Error()}
		}
		keys = append(keys, k)
	}
	return keys, nil
}

func (k *key) take(v any, parts []string) error {
	switch v := v.(type) {
	case map[string]any:
		k.pairs = []pair{}
		for _, name := range parts {
			part := key{}
			if _, deep := v[name].(map[string]any); deep {
				return errors.New("a table within a table")
			}
			if err := part.take(v[name], nil); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			k.pairs = append(k.pairs, pair{name, part.values})
		}
		return nil
	case []map[string]any:
		return errors.New("a list of tables")
	case []any:
		k.list = true
		for _, e := range v {
			s, err := scalar(e)
			if err != nil {
				return err
			}
			k.values = append(k.values, s)
		}
		return nil
	}
	s, err := scalar(v)
	k.values = []string{s}
	return err
}

// scalar is a value as it would stand on a command line.
func scalar(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case bool:
		return strconv.FormatBool(v), nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case time.Time:
		switch v.Location().String() { // as the reader names what has no zone
		case "datetime-local":
			return v.Format("2006-01-02T15:04:05"), nil
		case "date-local":
			return v.Format("2006-01-02"), nil
		case "time-local":
			return v.Format("15:04:05"), nil
		}
		return v.Format(time.RFC3339), nil
	}
	return "", errors.New("a list may have numbers, texts, true and false in it")
}

func tomlError(err error) error {
	var pe toml.ParseError
	if errors.As(err, &pe) {
		return &Error{Line: pe.Position.Line, What: pe.Message}
	}
	return &Error{What: err.Error()}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"pasar"
)

// parseFields reads a list of keys of a job's JSON: id,state,claim.mem.
func parseFields(s string) ([]string, error) {
	var fields []string
	for f := range strings.SplitSeq(s, ",") {
		f = strings.TrimSpace(f)
		if err := checkField(f); err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// checkField reports whether a job's JSON has a key, a dot before each that is within another.
func checkField(field string) error {
	t := reflect.TypeFor[pasar.JobView]()
	for key := range strings.SplitSeq(field, ".") {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() == reflect.Map {
			t = t.Elem()
			continue
		}
		var names []string
		found := false
		if t.Kind() == reflect.Struct {
			for i := range t.NumField() {
				name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
				names = append(names, name)
				if name == key && key != "" {
					t, found = t.Field(i).Type, true
					break
				}
			}
		}
		if found {
			continue
		}
		hint := "`pasar show --json` has the keys"
		if n := nearest(key, names); n != "" {
			hint = "did you mean " + strings.TrimSuffix(field, key) + n + "?"
		}
		return pasar.BadWord(hint, "a job has no %q", field)
	}
	return nil
}

// formatted is a line for each job, with tabs between the fields; what isn't known is a dash.
func formatted(chunks [][]byte, fields []string) (string, error) {
	var b strings.Builder
	for _, chunk := range chunks {
		for line := range bytes.Lines(chunk) {
			dec := json.NewDecoder(bytes.NewReader(line))
			dec.UseNumber()
			var v map[string]any
			if err := dec.Decode(&v); err != nil {
				return "", fmt.Errorf("read list of jobs: %w", err)
			}
			for i, f := range fields {
				if i > 0 {
					b.WriteByte('\t')
				}
				b.WriteString(fieldText(fieldOf(v, f)))
			}
			b.WriteByte('\n')
		}
	}
	return b.String(), nil
}

func fieldOf(v any, field string) any {
	for key := range strings.SplitSeq(field, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

// fieldText is a value on one line: texts cleaned, lists of plain values with commas, anything else as JSON.
func fieldText(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case string:
		return pasar.Clean(v)
	case []any:
		words := make([]string, len(v))
		for i, e := range v {
			words[i] = fieldText(e)
		}
		if len(words) == 0 {
			return "-"
		}
		return strings.Join(words, ",")
	case map[string]any:
		b, err := json.Marshal(v)
		if err != nil {
			return "-"
		}
		return pasar.Clean(string(b))
	}
	return fmt.Sprint(v)
}

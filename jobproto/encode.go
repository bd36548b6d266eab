package jobproto

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"

	"pasar"
)

// Encode writes an event as one line with its newline. It refuses what Decode would refuse, so that a
// mistake is told to whoever makes it.
func Encode(e pasar.Event) ([]byte, error) {
	b := []byte{'{'}
	put := func(key string, v any) error {
		val, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("key %s: %w", show(key), err)
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(appendKey(b, key), ':'), val...)
		return nil
	}
	if err := put(keyEvent, e.Kind); err != nil {
		return nil, err
	}
	for _, c := range []struct {
		key string
		v   *float64
	}{{keyStep, e.Step}, {keyTotal, e.TotalSteps}} {
		if c.v == nil {
			continue
		}
		if err := put(c.key, *c.v); err != nil {
			return nil, err
		}
	}
	for _, c := range []struct{ key, v string }{{keyPath, e.Path}, {keyText, e.Text}} {
		if c.v == "" {
			continue
		}
		if err := put(c.key, c.v); err != nil {
			return nil, err
		}
	}
	names := make([]string, 0, len(e.Metrics))
	for name := range e.Metrics {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if err := put(name, e.Metrics[name]); err != nil {
			return nil, err
		}
	}
	b = append(b, '}', '\n')
	if _, err := Decode(b); err != nil {
		return nil, err
	}
	return b, nil
}

func appendKey(b []byte, key string) []byte {
	k, err := json.Marshal(key)
	if err != nil { // a string always encodes
		panic(err)
	}
	return append(b, k...)
}

// Append appends an event to an events file in one write, so that lines of several processes never
// mix. It makes the file, private, if it isn't there; it never makes a directory.
func Append(path string, e pasar.Event) error {
	line, err := Encode(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("append event: %w", err)
	}
	_, err = f.Write(line)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("append event: %w", err)
	}
	return nil
}

package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"pasar"
)

// Readers of values: each sets a field, or says what is allowed instead of what was given.

func boolean(field func(*Config) *bool) func(*Config, any) error {
	return func(c *Config, v any) error {
		if err := isBool(v); err != nil {
			return err
		}
		*field(c) = v.(bool)
		return nil
	}
}

func size(field func(*Config) *pasar.Bytes) func(*Config, any) error {
	return func(c *Config, v any) error {
		n, err := readSize(v)
		if err == nil {
			*field(c) = n
		}
		return err
	}
}

func span(field func(*Config) *pasar.Duration) func(*Config, any) error {
	return func(c *Config, v any) error {
		d, err := readSpan(v)
		if err == nil {
			*field(c) = d
		}
		return err
	}
}

func fraction(field func(*Config) *float64) func(*Config, any) error {
	return func(c *Config, v any) error {
		f, err := readFraction(v)
		if err == nil {
			*field(c) = f
		}
		return err
	}
}

func integer(least, most int64, set func(*Config, int64)) func(*Config, any) error {
	return func(c *Config, v any) error {
		n, ok := v.(int64)
		if !ok || n < least || n > most {
			return refuse(v, fmt.Sprintf("a whole number from %d to %d", least, most))
		}
		set(c, n)
		return nil
	}
}

func absolute(field func(*Config) *string) func(*Config, any) error {
	return func(c *Config, v any) error {
		if err := isAbsolute(v); err != nil {
			return err
		}
		*field(c) = filepath.Clean(v.(string))
		return nil
	}
}

// word takes one of some words.
func word(allowed []string, set func(*Config, string)) func(*Config, any) error {
	check := oneOf(allowed...)
	return func(c *Config, v any) error {
		if err := check(v); err != nil {
			return err
		}
		set(c, v.(string))
		return nil
	}
}

// gpuNames takes a list of GPUs.
func gpuNames(field func(*Config) *[]string) func(*Config, any) error {
	return func(c *Config, v any) error {
		if err := isGPUs(v); err != nil {
			return err
		}
		list := []string{}
		for _, w := range v.([]any) {
			list = append(list, fmt.Sprint(w))
		}
		*field(c) = list
		return nil
	}
}

// words is a list as a value; null when it wasn't set.
func words(list []string) any {
	if list == nil {
		return nil
	}
	return list
}

func readSize(v any) (pasar.Bytes, error) {
	s, ok := v.(string)
	if n, zero := v.(int64); zero && n == 0 || s == "0" {
		return 0, nil
	}
	if !ok {
		return 0, refuse(v, `a size in quotes, such as "16G" or "512M"`)
	}
	return pasar.ParseBytes(s)
}

func readSpan(v any) (pasar.Duration, error) {
	s, ok := v.(string)
	if n, zero := v.(int64); zero && n == 0 || s == "0" {
		return 0, nil
	}
	if !ok {
		return 0, refuse(v, `a time in quotes, such as "90s" or "2h30m"`)
	}
	return pasar.ParseDuration(s)
}

func readFraction(v any) (float64, error) {
	f, ok := v.(float64)
	if n, whole := v.(int64); whole {
		f, ok = float64(n), true
	}
	if !ok || math.IsNaN(f) || f < 0 || f > 1 {
		return 0, refuse(v, "a number from 0 to 1")
	}
	return f, nil
}

// Checks of values.

func isBool(v any) error {
	if _, ok := v.(bool); !ok {
		return refuse(v, "true or false")
	}
	return nil
}

func isAbsolute(v any) error {
	s, ok := v.(string)
	if !ok || !filepath.IsAbs(s) || strings.IndexByte(s, 0) >= 0 {
		return refuse(v, "an absolute path, or one that starts with ~/")
	}
	return nil
}

func isCount(v any) error {
	if n, ok := v.(int64); !ok || n < 0 {
		return refuse(v, "a whole number, 0 or more")
	}
	return nil
}

func isSize(v any) error { _, err := readSize(v); return err }

func isWords(v any) error {
	list, ok := v.([]any)
	for _, w := range list {
		_, str := w.(string)
		ok = ok && str
	}
	if !ok {
		return refuse(v, `a list of strings, such as ["a", "b"]`)
	}
	return nil
}

func isGPUs(v any) error {
	list, ok := v.([]any)
	for _, w := range list {
		switch w := w.(type) {
		case string:
			ok = ok && (strings.HasPrefix(w, "GPU-") || strings.HasPrefix(w, "MIG-"))
		case int64:
			ok = ok && w >= 0
		default:
			ok = false
		}
	}
	if !ok {
		return refuse(v, `a list of GPUs, by index or UUID, such as [0, "GPU-5d1a…"]`)
	}
	return nil
}

func isTable(v any) error {
	if _, ok := v.(map[string]any); !ok {
		return refuse(v, "a table")
	}
	return nil
}

func isHooks(v any) error {
	table, ok := v.(map[string]any)
	if !ok {
		return refuse(v, "a table")
	}
	known := []string{"on_finish", "on_fail", "on_start", "on_awaiting", "on_incident"}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if !slices.Contains(known, name) {
			return fmt.Errorf("unknown hook %q; there are %s", name, strings.Join(known, ", "))
		}
		list, _ := table[name].([]any)
		if err := isWords(table[name]); err != nil || len(list) == 0 || list[0] == "" {
			return fmt.Errorf(`%s: want a command as a list of strings, such as ["notify-send", "done"]`, name)
		}
	}
	return nil
}

func oneOf(words ...string) func(any) error {
	return func(v any) error {
		if s, ok := v.(string); !ok || !slices.Contains(words, s) {
			return refuse(v, "one of "+strings.Join(words, ", "))
		}
		return nil
	}
}

// refuse words "bad value X: want Y" with a value that is cut short.
func refuse(v any, want string) error {
	const most = 60
	s := fmt.Sprint(v)
	switch v.(type) {
	case string:
		s = fmt.Sprintf("%q", v)
	case []any:
		if b, err := json.Marshal(v); err == nil {
			s = string(b) // as it is written, more or less
		}
	case map[string]any, []map[string]any:
		s = "a table"
	}
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return fmt.Errorf("bad value %s: want %s", s, want)
}

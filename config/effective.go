package config

import (
	"fmt"
	"reflect"
	"strconv"

	"pasar"
)

// A Setting is one effective value: in JSON, bytes are integers and times are seconds.
type Setting struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Source Source `json:"source"`
}

// Text is the value as people read it.
func (s Setting) Text() string { return text(s.Value) }

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case string:
		return pasar.Clean(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return pasar.Clean(fmt.Sprint(v))
}

// Effective lists what is in force and where it came from: the paths, then the keys. A key of a part
// that isn't built yet is listed only if it was set.
func (c *Config) Effective() []Setting {
	out := []Setting{
		{"config", c.Paths.Config, c.Source("config")},
		{"socket", c.Paths.Socket, c.Source("socket")},
	}
	for _, k := range keys {
		if k.late && c.later[k.name] == nil {
			continue
		}
		out = append(out, Setting{k.name, k.get(c), c.Source(k.name)})
	}
	return out
}

// A Change is a key whose value differs between two configurations.
type Change struct {
	Key      string
	Old, New string
	Live     bool // applies to a running daemon; otherwise at its next start
}

// Diff lists what changes from old to new, in the order of the keys.
func Diff(old, new *Config) []Change {
	var out []Change
	for _, k := range keys {
		a, b := k.get(old), k.get(new)
		if !reflect.DeepEqual(a, b) {
			out = append(out, Change{k.name, text(a), text(b), k.live})
		}
	}
	if old.Paths.Socket != new.Paths.Socket {
		out = append(out, Change{"socket", text(old.Paths.Socket), text(new.Paths.Socket), false})
	}
	return out
}

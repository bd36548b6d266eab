package config

import (
	"fmt"
	"reflect"
	"strconv"

	"pasar"
)

// A Setting is one effective value: in JSON, bytes are integers and times are seconds.
type Setting struct {
	Key     string  `json:"key"`
	Value   any     `json:"value"`
	Source  Source  `json:"source"`
	Applies Applies `json:"applies"`
	About   string  `json:"about"`

	bound string // what else holds of the value, for people
}

// Text is the value as people read it.
func (s Setting) Text() string { return text(s.Value) + s.bound }

// Applies says when a change of the file takes effect.
type Applies string

// When a change takes effect.
const (
	AtOnce    Applies = "at once"
	AtReload  Applies = "at reload"
	AtRestart Applies = "at restart"
	NotYet    Applies = "not yet" // belongs to a part that isn't built yet
)

func (k *key) applies() Applies {
	switch {
	case k.late:
		return NotYet
	case k.clients:
		return AtOnce
	case k.live:
		return AtReload
	}
	return AtRestart
}

// A Description says what a key is for.
type Description struct {
	Key     string  `json:"key"`
	Default string  `json:"default"`
	Applies Applies `json:"applies"`
	About   string  `json:"about"`
}

// Describe lists every key that can be set, in the order of the table.
func Describe() []Description {
	c := defaults()
	var out []Description
	for i := range keys {
		k := &keys[i]
		usual := k.usual
		if usual == "" {
			usual = text(k.get(c))
		}
		out = append(out, Description{k.name, usual, k.applies(), k.about})
	}
	return out
}

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
		{Key: "config", Value: c.Paths.Config, Source: c.Source("config"), Applies: AtOnce, About: "this file; PASAR_CONFIG names another"},
		{Key: "socket", Value: c.Paths.Socket, Source: c.Source("socket"), Applies: AtRestart, About: "where the daemon listens; PASAR_SOCKET names another"},
	}
	for i := range keys {
		k := &keys[i]
		if k.late && c.later[k.name] == nil {
			continue
		}
		s := Setting{Key: k.name, Value: k.get(c), Source: c.Source(k.name), Applies: k.applies(), About: k.about}
		if k.name == "system_reserve" && s.Source == Default {
			s.bound = ", at most a quarter of RAM" // see Reserve
		}
		out = append(out, s)
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

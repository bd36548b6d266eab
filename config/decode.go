package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"

	"pasar"
)

// A FileError says what is wrong with a configuration file, in one line.
type FileError struct {
	File string
	Line int    // from 1; 0 when it isn't known
	Key  string // empty: the file isn't TOML
	Err  error  // what is wrong and what is allowed
}

func (e *FileError) Error() string {
	s := pasar.Clean(e.File)
	if e.Line > 0 {
		s = fmt.Sprintf("%s:%d", s, e.Line)
	}
	if e.Key != "" {
		s += ": " + pasar.Clean(e.Key)
	}
	return s + ": " + pasar.Clean(e.Err.Error())
}

func (e *FileError) Unwrap() error { return e.Err }

// errUnknownKey marks a key that isn't in the table.
var errUnknownKey = errors.New("unknown key")

// A probe is handed to the TOML reader in place of a value: the reader knows the line of whatever the
// probe's function refuses.
type probe func(v any) error

// UnmarshalTOML implements toml.Unmarshaler.
func (p probe) UnmarshalTOML(v any) error { return p(v) }

// decode applies a file's keys, in their order, and stops at the first that is wrong.
func (c *Config) decode(file string, text []byte, home string) error {
	var values map[string]toml.Primitive
	meta, err := toml.Decode(string(text), &values)
	if err != nil {
		return fileError(file, "", err)
	}
	done := map[string]bool{}
	for _, path := range meta.Keys() {
		name := path[0] // the parts of a table come with its own key
		if done[name] {
			continue
		}
		done[name] = true
		if err := c.decodeKey(&meta, values[name], file, name, home); err != nil {
			return fileError(file, name, err)
		}
	}
	return nil
}

func (c *Config) decodeKey(meta *toml.MetaData, value toml.Primitive, file, name, home string) error {
	k, known := keysByName()[name]
	var apply probe = func(v any) error {
		if !known {
			return unknownKey(name)
		}
		if s, ok := v.(string); ok && k.path {
			v = expandHome(s, home)
		}
		return k.set(c, v)
	}
	if err := meta.PrimitiveDecode(value, &apply); err != nil {
		return err
	}
	line := 0
	var where probe = func(any) error { return errors.New("line") }
	if pe := (toml.ParseError{}); errors.As(meta.PrimitiveDecode(value, &where), &pe) {
		line = pe.Position.Line
	}
	c.sources[name] = Source(file)
	if line > 0 {
		c.sources[name] = Source(fmt.Sprintf("%s:%d", file, line))
	}
	return nil
}

func fileError(file, key string, err error) error {
	fe := &FileError{File: file, Key: key, Err: err}
	if pe := (toml.ParseError{}); errors.As(err, &pe) {
		fe.Line = pe.Position.Line
		fe.Err = errors.New(pe.Message)
		if inner := errors.Unwrap(err); inner != nil {
			fe.Err = inner
		}
	}
	return fe
}

func unknownKey(name string) error {
	if near := nearest(name); near != "" {
		return fmt.Errorf("%w; did you mean %s?", errUnknownKey, near)
	}
	return fmt.Errorf("%w; `pasar config` lists the keys there are", errUnknownKey)
}

func expandHome(path, home string) string {
	if path == "~" {
		return home
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return home + "/" + rest
	}
	return path
}

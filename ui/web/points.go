package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pasar"
	"pasar/ipc"
	"pasar/submission"
)

// groupWords make an array or sweep of a submit: a job for each combination of indices and values, or for each point.
type groupWords struct {
	Array         indices `json:"array"`          // a list of numbers, or a word as of --array
	Param         axes    `json:"param"`          // an object: name → list of values; or words as of --param
	Points        points  `json:"points"`         // instead of those: a list of {"index": 0, "params": {"lr": "1e-5"}}
	MaxConcurrent *int    `json:"max_concurrent"` // of the group's jobs
}

// points are those that the words make together, and how many may run at once (0: no bound).
func (g *groupWords) points() ([]pasar.Point, int, error) {
	if g.Points != nil && (g.Array.Indices != nil || g.Param != nil) {
		return nil, 0, refuse(ipc.CodeBadRequest, "give the points of an array or sweep, or what makes them", "points exclude array and param")
	}
	all, err := submission.Points(g.Array.Indices, nil, g.Param)
	if err != nil {
		return nil, 0, understood(err)
	}
	if g.Points != nil {
		all = g.Points
	}
	most := g.Array.AtOnce
	put(&most, g.MaxConcurrent)
	if most > 0 && len(all) == 0 {
		return nil, 0, refuse(ipc.CodeBadRequest, "give it with array, param or points", "max_concurrent is about the jobs of an array or sweep")
	}
	return all, most, nil
}

// indices are those of an array: a list, or a word such as "0-9%4".
type indices submission.Array

// UnmarshalJSON reads either.
func (a *indices) UnmarshalJSON(b []byte) error {
	var word string
	if string(b) == "null" {
		return nil
	}
	if b[0] == '[' {
		var list []int64
		if err := json.Unmarshal(b, &list); err != nil {
			return err
		}
		words := make([]string, len(list))
		for i, n := range list {
			words[i] = strconv.FormatInt(n, 10)
		}
		word = strings.Join(words, ",")
	} else if err := json.Unmarshal(b, &word); err != nil {
		return err
	}
	v, err := submission.ParseArray(word)
	*a = indices(v)
	return err
}

func (*indices) takes() string { return `a list of numbers, or a string such as "0-9%4"` }

// axes are the parameters of a sweep, in the order in which they were written: the last changes fastest.
type axes []submission.Param

// UnmarshalJSON reads {"lr": ["1e-5", 3e-5]} or ["lr=1e-5,3e-5"].
func (a *axes) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	if b[0] == '[' {
		var words []string
		if err := listOf(b, &words); err != nil {
			return err
		}
		params, err := submission.ParseParams(words)
		*a = params
		return err
	}
	if b[0] != '{' {
		return errKind
	}
	*a = axes{}
	return eachKey(b, func(name string, value json.RawMessage) error {
		if err := submission.ParamName("param", name); err != nil {
			return err
		}
		var list []json.RawMessage
		if err := json.Unmarshal(value, &list); err != nil || len(list) == 0 {
			return fmt.Errorf("param %s: it takes a list of values", name)
		}
		p := submission.Param{Name: name}
		for _, v := range list {
			text, err := textOf(v)
			if err != nil {
				return fmt.Errorf("param %s: %w", name, err)
			}
			p.Values = append(p.Values, text)
		}
		*a = append(*a, p)
		return nil
	})
}

func (*axes) takes() string { return `an object of lists, or a list of strings such as "lr=1e-5,3e-5"` }

// points are the jobs of a group one by one.
type points []pasar.Point

// UnmarshalJSON reads [{"index": 0, "params": {"lr": "1e-5"}}]; either key may be left out.
func (p *points) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	if b[0] != '[' {
		return errKind
	}
	var list []json.RawMessage
	if err := json.Unmarshal(b, &list); err != nil || len(list) == 0 {
		return errors.New("points: it is a list of at least one")
	}
	if len(list) > pasar.MaxPoints {
		return &ipc.Error{Code: ipc.CodeOverLimit, Message: fmt.Sprintf("%d jobs at once; at most %d", len(list), pasar.MaxPoints), Hint: "submit them in parts"}
	}
	*p = make(points, len(list))
	indices := map[int]bool{}
	for i, raw := range list {
		if err := readPoint(raw, &(*p)[i]); err != nil {
			return fmt.Errorf("point %d: %w", i+1, err)
		}
		if n := (*p)[i].Index; n != nil {
			if indices[*n] {
				return fmt.Errorf("points: index %d is there twice", *n)
			}
			indices[*n] = true
		}
		if !alike(&(*p)[0], &(*p)[i]) {
			return fmt.Errorf("point %d has other parameters than the first", i+1)
		}
	}
	return nil
}

func (*points) takes() string {
	return `a list of objects such as {"index": 0, "params": {"lr": "1e-5"}}`
}

// alike reports whether two points have the same things to fill in.
func alike(a, b *pasar.Point) bool {
	same := len(a.Params) == len(b.Params) && (a.Index == nil) == (b.Index == nil)
	for i := range a.Params {
		same = same && slices.ContainsFunc(b.Params, func(p pasar.Param) bool { return p.Name == a.Params[i].Name })
	}
	return same
}

func readPoint(b []byte, p *pasar.Point) error {
	return eachKey(b, func(key string, value json.RawMessage) error {
		switch key {
		case "index":
			if err := json.Unmarshal(value, &p.Index); err != nil || p.Index != nil && (*p.Index < 0 || *p.Index > submission.MaxArrayIndex) {
				return fmt.Errorf("index: it is a whole number from 0 to %d", submission.MaxArrayIndex)
			}
			return nil
		case "params":
			if string(value) == "null" {
				return nil
			}
			return eachKey(value, func(name string, value json.RawMessage) error {
				if err := submission.ParamName("params", name); err != nil {
					return err
				}
				text, err := textOf(value)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				p.Params = append(p.Params, pasar.Param{Name: name, Value: text})
				return nil
			})
		}
		return fmt.Errorf("it takes index and params, not %s", quoted(key))
	})
}

// maxKeys bounds an object: what has the most is an environment.
const maxKeys = 20_000

// eachKey calls f with what an object has, in the order in which it was written, and each key once.
func eachKey(b []byte, f func(key string, value json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return errors.New("it isn't an object")
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		key, _ := t.(string) // an object has no other keys
		if seen[key] {
			return fmt.Errorf("%s is there twice", quoted(key))
		}
		seen[key] = true
		if len(seen) > maxKeys {
			return fmt.Errorf("it has more than %d keys", maxKeys)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		if err := f(key, value); err != nil {
			return err
		}
	}
	return nil
}

// textOf is a parameter's value: a string, or a number or truth value as it was written.
func textOf(b json.RawMessage) (string, error) {
	switch b[0] {
	case '"':
		var s string
		err := json.Unmarshal(b, &s)
		return s, err
	case '{', '[', 'n':
		return "", errors.New("a value is a string or a number")
	}
	return string(b), nil
}

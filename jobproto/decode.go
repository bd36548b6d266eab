package jobproto

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"pasar"
)

// Decode reads one line. Event.At is left zero for the caller to stamp. Null stands for a value that
// isn't known and is skipped; everything else that a kind doesn't have is an error, which names the
// key and is safe to show.
func Decode(line []byte) (pasar.Event, error) {
	if len(line) > MaxLine {
		return pasar.Event{}, fmt.Errorf("event line of %d bytes: at most %d", len(line), MaxLine)
	}
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return pasar.Event{}, errors.New("event line is empty")
	}
	if !utf8.Valid(line) {
		return pasar.Event{}, errors.New("event line is not UTF-8")
	}
	fields, err := scan(line)
	if err != nil {
		return pasar.Event{}, err
	}
	return build(fields)
}

// scan reads one flat JSON object: strings, json.Numbers, bools; null is left out. encoding/json
// would take the last of several equal keys without a word, hence the tokens.
func scan(line []byte) (map[string]json.Token, error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil {
		return nil, syntax(line, err)
	} else if t != json.Delim('{') {
		return nil, errors.New("event line is not a JSON object")
	}
	fields, seen := map[string]json.Token{}, map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, syntax(line, err)
		}
		key, ok := t.(string)
		if !ok {
			return nil, errors.New("event line is not a JSON object")
		}
		if seen[key] {
			return nil, fmt.Errorf("key %s is given twice", show(key))
		}
		seen[key] = true
		v, err := dec.Token()
		if err != nil {
			return nil, syntax(line, err)
		}
		if _, nested := v.(json.Delim); nested {
			return nil, fmt.Errorf("key %s: an event has no nested values", show(key))
		}
		if v != nil {
			fields[key] = v
		}
	}
	if _, err := dec.Token(); err != nil { // the closing brace
		return nil, syntax(line, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("more than one JSON value in a line")
	}
	return fields, nil
}

// syntax words an error of the JSON reader. Python's json writes NaN and Infinity, which no JSON has.
func syntax(line []byte, err error) error {
	if bytes.Contains(line, []byte("NaN")) || bytes.Contains(line, []byte("Infinity")) {
		return fmt.Errorf("event line is not JSON: %w (NaN and Infinity don't exist in JSON: leave such a value out)", err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("event line is not JSON: it ends too early")
	}
	return fmt.Errorf("event line is not JSON: %w", err)
}

func build(fields map[string]json.Token) (pasar.Event, error) {
	var e pasar.Event
	kind, err := text(fields, keyEvent, pasar.MaxName)
	if err != nil {
		return e, err
	}
	allowed := map[string]bool{keyEvent: true}
	for _, k := range keysOf[pasar.EventKind(kind)] {
		allowed[k] = true
	}
	switch e.Kind = pasar.EventKind(kind); e.Kind {
	case pasar.EventCheckpoint, pasar.EventResumed, pasar.EventProgress, pasar.EventNote:
	case "":
		return e, fmt.Errorf("key %q is missing: it says which kind of event this is", keyEvent)
	default:
		return e, fmt.Errorf("unknown event %s: there are checkpoint, resumed, progress and note", show(kind))
	}
	names := make([]string, 0, len(fields))
	for k := range fields {
		names = append(names, k)
	}
	sort.Strings(names) // the first key at fault is always the same one
	for _, k := range names {
		if allowed[k] {
			continue
		}
		if e.Kind != pasar.EventProgress {
			return e, fmt.Errorf("key %s: a %s has no such key", show(k), e.Kind)
		}
		if err := metric(&e, k, fields[k]); err != nil {
			return e, err
		}
	}
	if e.Step, err = count(fields, keyStep); err != nil {
		return e, err
	}
	if e.Kind == pasar.EventProgress {
		if e.TotalSteps, err = count(fields, keyTotal); err != nil {
			return e, err
		}
		if e.Step == nil && e.TotalSteps == nil && len(e.Metrics) == 0 {
			return e, errors.New("a progress with neither a step nor a number says nothing")
		}
	}
	if allowed[keyPath] {
		if e.Path, err = text(fields, keyPath, MaxPath); err != nil {
			return e, err
		}
	}
	if allowed[keyText] {
		if e.Text, err = text(fields, keyText, MaxNote); err != nil {
			return e, err
		}
	}
	if e.Kind == pasar.EventNote && e.Text == "" {
		return e, fmt.Errorf("a note needs %q", keyText)
	}
	return e, nil
}

var keysOf = map[pasar.EventKind][]string{
	pasar.EventCheckpoint: {keyStep, keyPath},
	pasar.EventResumed:    {keyStep},
	pasar.EventProgress:   {keyStep, keyTotal},
	pasar.EventNote:       {keyText},
}

func metric(e *pasar.Event, name string, v json.Token) error {
	switch {
	case name == "" || len(name) > MaxMetricName:
		return fmt.Errorf("a metric's name has 1 to %d bytes; %s has %d", MaxMetricName, show(name), len(name))
	case pasar.Clean(name) != name:
		return fmt.Errorf("metric %s: a name has no control characters", show(name))
	case len(e.Metrics) == MaxMetrics:
		return fmt.Errorf("more than %d metrics in one progress", MaxMetrics)
	}
	f, err := number(name, v)
	if err != nil {
		return err
	}
	if e.Metrics == nil {
		e.Metrics = map[string]float64{}
	}
	e.Metrics[name] = f
	return nil
}

// count reads a number that is finite and not negative; nil when the key isn't there.
func count(fields map[string]json.Token, key string) (*float64, error) {
	v, ok := fields[key]
	if !ok {
		return nil, nil
	}
	f, err := number(key, v)
	if err != nil {
		return nil, err
	}
	if f < 0 {
		return nil, fmt.Errorf("key %q: %v is negative", key, f)
	}
	return &f, nil
}

func number(key string, v json.Token) (float64, error) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, fmt.Errorf("key %s: want a number, not %s", show(key), typeName(v))
	}
	f, err := strconv.ParseFloat(n.String(), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return 0, fmt.Errorf("key %s: %s is not a finite number", show(key), short(n.String()))
	}
	return f, nil
}

func text(fields map[string]json.Token, key string, limit int) (string, error) {
	v, ok := fields[key]
	if !ok {
		return "", nil
	}
	s, ok := v.(string)
	switch {
	case !ok:
		return "", fmt.Errorf("key %q: want a string, not %s", key, typeName(v))
	case len(s) > limit:
		return "", fmt.Errorf("key %q: %d bytes, at most %d", key, len(s), limit)
	case strings.IndexByte(s, 0) >= 0:
		return "", fmt.Errorf("key %q: holds a NUL", key)
	}
	return s, nil
}

func typeName(v json.Token) string {
	switch v.(type) {
	case string:
		return "a string"
	case bool:
		return "true or false"
	}
	return "a number"
}

// show quotes a foreign word for an error: one line, no control characters, short.
func show(s string) string { return strconv.Quote(short(s)) }

func short(s string) string {
	const most = 60
	s = pasar.Clean(s)
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

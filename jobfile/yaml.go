package jobfile

import (
	"errors"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// parseYAML reads the part of YAML that a job file needs: one document, a mapping of texts, numbers, true and
// false, lists of them, and mappings of those. Anchors, tags and merges are refused rather than guessed at.
func parseYAML(text []byte) (keys []key, err error) {
	if deep(text) {
		return nil, &Error{What: "it is nested too deeply"}
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, yamlError(err)
	}
	var body ast.Node
	for _, d := range file.Docs {
		if d.Body == nil {
			continue
		}
		if body != nil {
			return nil, &Error{Line: lineOf(d.Body), What: "a second document"}
		}
		body = d.Body
	}
	if body == nil {
		return nil, nil
	}
	entries, ok := mapping(body)
	if !ok {
		return nil, &Error{Line: lineOf(body), What: "it isn't a mapping of names to values"}
	}
	for _, e := range entries {
		name, err := scalarNode(e.Key)
		if err != nil {
			return nil, err
		}
		k := key{name: name, line: lineOf(e.Key)}
		if parts, ok := mapping(e.Value); ok {
			k.pairs = []pair{}
			for _, p := range parts {
				part, err := scalarNode(p.Key)
				if err != nil {
					return nil, err
				}
				values, _, err := valueNode(p.Value)
				if err != nil {
					return nil, err
				}
				k.pairs = append(k.pairs, pair{part, values})
			}
		} else if k.values, k.list, err = valueNode(e.Value); err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// mapping is the entries of a mapping.
func mapping(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

func valueNode(n ast.Node) (values []string, list bool, err error) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		s, err := scalarNode(n)
		return []string{s}, false, err
	}
	for _, v := range seq.Values {
		s, err := scalarNode(v)
		if err != nil {
			return nil, true, err
		}
		values = append(values, s)
	}
	return values, true, nil
}

// scalarNode is a value as it would stand on a command line: a number as it was written.
func scalarNode(n ast.Node) (string, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		if n.Value != nil {
			return strings.TrimSuffix(n.Value.Value, "\n"), nil
		}
	case *ast.IntegerNode, *ast.FloatNode:
		return strings.TrimSpace(n.GetToken().Value), nil
	case *ast.BoolNode:
		if n.Value {
			return "true", nil
		}
		return "false", nil
	case nil, *ast.NullNode:
		return "", &Error{Line: lineOf(n), What: "a name without a value"}
	}
	return "", &Error{Line: lineOf(n), What: "a value is a text, a number, true, false, or a list of them"}
}

func lineOf(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}

// yamlError takes the line and the first sentence out of the reader's message, which shows source too.
func yamlError(err error) error {
	e := &Error{What: err.Error()}
	var se interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if errors.As(err, &se) {
		if t := se.GetToken(); t != nil && t.Position != nil {
			e.Line = t.Position.Line
		}
		e.What = se.GetMessage()
	}
	e.What, _, _ = strings.Cut(e.What, "\n")
	return e
}

// deep reports whether brackets or indentation nest further than any job file does. The reader works
// recursively, and its input is somebody's file.
func deep(text []byte) bool {
	const most = 64
	depth := 0
	for _, c := range text {
		switch c {
		case '[', '{':
			if depth++; depth > most {
				return true
			}
		case ']', '}':
			depth = max(0, depth-1)
		}
	}
	for line := range strings.Lines(string(text)) {
		if indent := len(line) - len(strings.TrimLeft(line, " -?\t")); indent > 4*most {
			return true
		}
	}
	return false
}

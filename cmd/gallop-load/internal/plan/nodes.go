package plan

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// lineError is a mistake in a scenario file.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// at adds the line of a node to an error.
func at(n ast.Node, err error) error {
	if err == nil {
		return nil
	}
	var known *lineError
	if errors.As(err, &known) || n.GetToken() == nil {
		return err
	}
	return &lineError{n.GetToken().Position.Line, err}
}

// unmarshal sets a value from a scalar.
func unmarshal(v interface{ Set(string) error }, n ast.Node) error {
	text, err := scalar(n)
	if err == nil {
		err = v.Set(text)
	}
	return at(n, err)
}

// scalar returns a scalar as it is written.
func scalar(n ast.Node) (string, error) {
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value, nil
	case *ast.LiteralNode:
		return v.Value.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, nil
	case *ast.AnchorNode:
		return scalar(v.Value)
	}
	return "", errors.New("must be a single value")
}

// items returns the items of a list, or the node itself if it is no list.
func items(n ast.Node) []ast.Node {
	if list, ok := n.(*ast.SequenceNode); ok {
		return list.Values
	}
	return []ast.Node{n}
}

// entries returns the entries of a map.
func entries(n ast.Node) ([]*ast.MappingValueNode, error) {
	switch v := n.(type) {
	case *ast.MappingNode:
		return v.Values, nil
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{v}, nil
	}
	return nil, at(n, errors.New("must be names with values"))
}

// UnmarshalYAML takes a list of texts or of objects with duration and target, as k6 has them.
func (s *Stages) UnmarshalYAML(n ast.Node) error {
	for _, item := range items(n) {
		if _, err := entries(item); err == nil {
			st, err := stage(item)
			if err != nil {
				return at(item, err)
			}
			*s = append(*s, st)
		} else if err := unmarshal(s, item); err != nil {
			return err
		}
	}
	return nil
}

func stage(n ast.Node) (st Stage, err error) {
	all, err := entries(n)
	if err != nil {
		return st, err
	}
	hasTarget := false
	for _, e := range all {
		switch key := e.Key.String(); key {
		case "duration":
			err = unmarshal(&st.Duration, e.Value)
		case "target":
			hasTarget, err = true, unmarshal(&st.Target, e.Value)
		default:
			err = fmt.Errorf("a stage has duration and target, but not %q; put quotes around texts such as \"30s:100\"", key)
		}
		if err != nil {
			return st, err
		}
	}
	if !st.Duration.Given || !hasTarget {
		return st, errors.New("a stage needs duration and target")
	}
	return st, nil
}

// UnmarshalYAML takes a text or a list of texts.
func (l *Strings) UnmarshalYAML(n ast.Node) error {
	for _, item := range items(n) {
		if err := unmarshal(l, item); err != nil {
			return err
		}
	}
	return nil
}

// UnmarshalYAML takes names with values, or a list of texts such as "name: value". A name with a list of values repeats.
func (p *Pairs) UnmarshalYAML(n ast.Node) error {
	if list, ok := n.(*ast.SequenceNode); ok {
		for _, item := range list.Values {
			if err := p.UnmarshalYAML(item); err != nil {
				return err
			}
		}
		return nil
	}
	all, err := entries(n)
	if err != nil {
		return unmarshal(p, n)
	}
	for _, e := range all {
		name, err := key(e)
		if err != nil {
			return err
		}
		for _, item := range items(e.Value) {
			value, err := scalar(item)
			if err != nil {
				return at(item, err)
			}
			*p = append(*p, Pair{name, value})
		}
	}
	return nil
}

// key returns the key of an entry.
func key(e *ast.MappingValueNode) (string, error) {
	n, ok := e.Key.(ast.Node)
	if !ok {
		return e.Key.String(), nil
	}
	name, err := scalar(n)
	return name, at(n, err)
}

// Body is the body of a request: text, or in a scenario file an object or a list, which becomes JSON.
type Body struct {
	Text  string
	Given bool
	JSON  bool
}

func (b *Body) String() string { return b.Text }

// Set takes the text.
func (b *Body) Set(s string) error { *b = Body{Text: s, Given: true}; return nil }

func (b *Body) UnmarshalYAML(n ast.Node) error {
	text, err := scalar(n)
	if err == nil {
		return b.Set(text)
	}
	var value any
	if err := yaml.NodeToValue(n, &value); err != nil {
		return at(n, err)
	}
	data, err := json.Marshal(value)
	*b = Body{string(data), true, true}
	return at(n, err)
}

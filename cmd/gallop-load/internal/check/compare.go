package check

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// textTest compiles a comparison of texts. Equality ignores no case.
func textTest(op, text string) (func(string) bool, error) {
	switch strings.TrimSpace(op) {
	case "=", "==":
		return func(s string) bool { return s == text }, nil
	case "!=":
		return func(s string) bool { return s != text }, nil
	case "contains":
		return func(s string) bool { return strings.Contains(s, text) }, nil
	case "matches":
		re, err := regexp.Compile(text)
		if err != nil {
			return nil, err
		}
		return re.MatchString, nil
	}
	return nil, fmt.Errorf("the operator %s does not compare texts", op)
}

// valueTest compiles a comparison of a JSON value. The other side is JSON, or text without quotes.
func valueTest(op, source string) (func(any) bool, error) {
	if op == "contains" || op == "matches" {
		text, ok := unquote(source)
		if !ok {
			return nil, fmt.Errorf("the text %s has a quote without an end", source)
		}
		test, err := textTest(op, text)
		if err != nil {
			return nil, err
		}
		return func(value any) bool { return test(Text(value)) }, nil
	}
	var want any
	if source = strings.TrimSpace(source); source == "" {
		return nil, fmt.Errorf("the operator %s needs a value", op)
	}
	if err := json.Unmarshal([]byte(source), &want); err != nil {
		want = source
	}
	switch op {
	case "==":
		return func(value any) bool { return reflect.DeepEqual(value, want) }, nil
	case "!=":
		return func(value any) bool { return !reflect.DeepEqual(value, want) }, nil
	}
	limit, ok := want.(float64)
	if !ok {
		return nil, fmt.Errorf("the operator %s compares numbers, and %s is no number", op, source)
	}
	return func(value any) bool {
		n, ok := value.(float64)
		return ok && ordered(op, n, limit)
	}, nil
}

// ordered compares two numbers.
func ordered(op string, a, b float64) bool {
	switch op {
	case "==":
		return a == b
	case "!=":
		return a != b
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	}
	return a >= b
}

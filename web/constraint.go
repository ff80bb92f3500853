package web

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Constraint returns the function that checks the values of a path parameter. The argument is the text in parentheses after the
// constraint's name, for example "3" in {id<atLeast(3)>}. Without parentheses in the pattern, the argument is "". The name of the
// constraint is its key in Config.Constraints.
//
// The App calls the Constraint whenever a route with this constraint is registered or mounted. If the Constraint returns an
// error or a nil function, the route is not registered.
//
// The function match reports whether a value is allowed. If match returns false, the route does not match the request. The App
// calls match for each request whose path matches the route up to the parameter. The function match must be safe for concurrent
// use, and may keep the value.
type Constraint func(argument string) (match func(value string) bool, err error)

// knownConstraints are the constraints of Config.Constraints by name. Two Apps may use one name for different constraints, and one
// App may mount the other. Equal pointers identify the same constraint.
type knownConstraints map[string]*Constraint

func newKnownConstraints(own map[string]Constraint) knownConstraints {
	known := make(knownConstraints, len(own))
	for name, c := range own {
		if c != nil {
			known[name] = &c
		}
	}
	return known
}

// constraint checks a value. The value is a view, so that built-in constraints need no copy.
type constraint func(value []byte) bool

// parseConstraints reads constraints that are separated by semicolons, such as "int;min(1)". own are the ones among them that known
// has.
func parseConstraints(s string, known knownConstraints) (list []constraint, own []*Constraint, err error) {
	for s != "" {
		var one string
		one, s = cutConstraint(s)
		name, argument, hasArgument := strings.Cut(one, "(")
		if hasArgument && !strings.HasSuffix(argument, ")") {
			return nil, nil, fmt.Errorf("constraint %q has no closing parenthesis: end it with )", one)
		}
		c, err := newConstraint(name, strings.TrimSuffix(argument, ")"), known)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, c)
		if c := known[name]; c != nil {
			own = append(own, c)
		}
	}
	return list, own, nil
}

// cutConstraint cuts off the first constraint. Semicolons in parentheses do not separate constraints.
func cutConstraint(s string) (first, rest string) {
	open := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			open++
		case ')':
			open--
		case ';':
			if open == 0 {
				return s[:i], s[i+1:]
			}
		}
	}
	return s, ""
}

// newConstraint returns the constraint of this name.
func newConstraint(name, argument string, known knownConstraints) (constraint, error) {
	if c := known[name]; c != nil {
		return ownConstraint(*c, name, argument)
	}
	if c := plainConstraints[name]; c != nil {
		if argument != "" {
			return nil, fmt.Errorf("constraint %q takes no argument: remove the parentheses", name)
		}
		return c, nil
	}
	switch name {
	case "regex":
		return wholeMatch(argument)
	case "datetime":
		return timeOf(argument)
	}
	if compare := comparisons[name]; compare != nil {
		n, err := strconv.ParseInt(argument, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("constraint %s wants a number, not %q", name, argument)
		}
		return func(value []byte) bool { return compare(value, n) }, nil
	}
	return nil, fmt.Errorf("there is no constraint %q: see Router.Add for the built-in ones, or add it to Config.Constraints", name)
}

// ownConstraint returns a constraint of Config.Constraints.
func ownConstraint(c Constraint, name, argument string) (constraint, error) {
	match, err := c(argument)
	if err != nil {
		return nil, fmt.Errorf("constraint %s(%s): %w", name, argument, err)
	}
	if match == nil {
		return nil, fmt.Errorf("constraint %s(%s): the Constraint returned a nil function", name, argument)
	}
	return func(value []byte) bool { return match(string(value)) }, nil
}

// timeOf returns a constraint for times of one layout.
func timeOf(layout string) (constraint, error) {
	if someday := time.Date(1999, 12, 31, 23, 58, 57, 123456789, time.UTC); someday.Format(layout) == layout {
		return nil, fmt.Errorf("constraint datetime wants a layout of package time, such as 2006-01-02, not %q", layout)
	}
	return func(value []byte) bool { _, err := time.Parse(layout, string(value)); return err == nil }, nil
}

// wholeMatch returns a constraint for values that an expression matches from start to end.
func wholeMatch(expression string) (constraint, error) {
	if expression == "" {
		return nil, fmt.Errorf("constraint regex wants an expression in parentheses")
	}
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("constraint regex: %w", err)
	}
	whole, err := regexp.Compile(`\A(?:` + parsed.String() + `)\z`) // parsed.String closes an open \Q
	if err != nil {
		return nil, fmt.Errorf("constraint regex: %w", err)
	}
	return whole.Match, nil
}

// plainConstraints are the built-in constraints without an argument.
var plainConstraints = map[string]constraint{
	"int":   func(value []byte) bool { _, ok := parseInt(value); return ok },
	"bool":  func(value []byte) bool { return string(value) == "true" || string(value) == "false" },
	"float": func(value []byte) bool { _, err := parseFloat(value, 64); return err == nil },
	"alpha": func(value []byte) bool { return all(value, isLetter) },
	"alnum": func(value []byte) bool { return all(value, func(c byte) bool { return isLetter(c) || isDigit(c) }) },
	"hex":   func(value []byte) bool { return all(value, isHex) },
	"uuid":  isUUID,
}

// comparisons are the built-in constraints with a number as argument. Lengths are in characters.
var comparisons = map[string]func(value []byte, n int64) bool{
	"min":    func(value []byte, n int64) bool { v, ok := parseInt(value); return ok && v >= n },
	"max":    func(value []byte, n int64) bool { v, ok := parseInt(value); return ok && v <= n },
	"len":    func(value []byte, n int64) bool { return int64(utf8.RuneCount(value)) == n },
	"minLen": func(value []byte, n int64) bool { return int64(utf8.RuneCount(value)) >= n },
	"maxLen": func(value []byte, n int64) bool { return int64(utf8.RuneCount(value)) <= n },
}

// parseInt reads a decimal integer of 64 bits. It allows a minus sign but no plus sign.
func parseInt(value []byte) (n int64, ok bool) {
	if len(value) > len("-9223372036854775808") || len(value) > 0 && value[0] == '+' {
		return 0, false
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	return n, err == nil
}

// parseFloat reads a finite decimal number, with or without a fraction and an exponent. It refuses infinities, NaN and hexadecimal
// numbers, which strconv accepts, because programs do not expect them from a client.
func parseFloat(value []byte, bits int) (float64, error) {
	if !all(value, isDecimal) {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(string(value), bits)
}

func all(value []byte, is func(c byte) bool) bool {
	for _, c := range value {
		if !is(c) {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool  { return c-'0' <= 9 }
func isLetter(c byte) bool { return c|0x20-'a' < 26 }
func isDecimal(c byte) bool {
	return isDigit(c) || c == '.' || c == '-' || c == '+' || c|0x20 == 'e'
}
func isHex(c byte) bool { return isDigit(c) || c|0x20-'a' < 6 }

// isUUID reports whether value has the form of RFC 9562 §4, in either case.
func isUUID(value []byte) bool {
	if len(value) != len("00000000-0000-0000-0000-000000000000") {
		return false
	}
	for i, c := range value {
		if hyphen := i == 8 || i == 13 || i == 18 || i == 23; hyphen != (c == '-') || !hyphen && !isHex(c) {
			return false
		}
	}
	return true
}

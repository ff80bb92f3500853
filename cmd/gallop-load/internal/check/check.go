// Package check has what a scenario examines in responses: checks, which pass or fail, and captures, which take a value out
// of a response.
//
//	check.go     the short forms of checks
//	compare.go   operators
//	expr.go      checks that are expressions
//	capture.go   captures
//	path.go      paths into JSON documents
//	reply.go     the response that they examine
package check

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/gallop-http/gallop/internal/load/script"
)

// Check is a condition for responses. It is immutable.
type Check struct {
	Name     string
	NeedHead bool // it examines headers
	NeedBody bool // it examines the body
	pass     func(*Reply) bool
}

// Pass reports whether a response meets the condition.
func (c *Check) Pass(r *Reply) bool { return c.pass(r) }

// Parse parses a check:
//
//	status=2xx                              ParseStatuses says which sets there are
//	body contains ok                        also: matches REGEXP, = TEXT
//	header:content-type=application/json    parameters such as charset do not matter; also: contains, matches, or nothing
//	json .items[0].id == 7                  also: != < <= > >= contains matches, or nothing
//	size < 1000                             of the whole body in bytes
//	expr status == 200 && json.id > 7       an expression of expr-lang.org; the word expr may be left out
func Parse(source string) (*Check, error) {
	source = strings.TrimSpace(source)
	for _, form := range forms {
		if m := form.shape.FindStringSubmatch(source); m != nil {
			c, err := form.parse(m[1:])
			if err != nil {
				return nil, fmt.Errorf("check %q: %w", source, err)
			}
			c.Name = source
			return c, nil
		}
	}
	c, err := parseExpr(strings.TrimPrefix(source, "expr "))
	if err != nil {
		return nil, fmt.Errorf("check %q: %w", source, err)
	}
	c.Name = source
	return c, nil
}

// quotedKey matches a step of a JSON path that may contain spaces.
const quotedKey = `\["(?:[^"\\]|\\.)*"\]`

// forms are the short forms.
var forms = []struct {
	shape *regexp.Regexp
	parse func(parts []string) (*Check, error)
}{
	{regexp.MustCompile(`^status\s*=\s*([^=\s].*)$`), parseStatus},
	{regexp.MustCompile(`^body\s*(contains|matches|=)\s*([^=\s].*)$`), parseBody},
	{regexp.MustCompile(`^header:\s*([#$%&'*+.^_` + "`" + `|~0-9A-Za-z-]+)\s*(?:(==|!=|=|contains\s|matches\s)\s*(.*))?$`), parseHeader},
	{regexp.MustCompile(`^json\s+((?:` + quotedKey + `|[.$\[])(?:` + quotedKey + `|[^\s=!<>])*)\s*(?:(==|!=|<=|>=|<|>|contains\s|matches\s)\s*(.*))?$`), parseJSON},
	{regexp.MustCompile(`^size\s*(==|!=|<=|>=|<|>)\s*(\d+)$`), parseSize},
}

func parseStatus(parts []string) (*Check, error) {
	set, err := ParseStatuses(parts[0])
	if err != nil {
		return nil, err
	}
	return &Check{pass: func(r *Reply) bool { return set.Has(r.Status) }}, nil
}

func parseBody(parts []string) (*Check, error) {
	text, ok := unquote(parts[1])
	if !ok {
		if c, err := parseExpr("body " + parts[0] + " " + parts[1]); err == nil {
			return c, nil
		}
		text = parts[1]
	}
	test, err := textTest(parts[0], text)
	if err != nil {
		return nil, err
	}
	return &Check{NeedBody: true, pass: func(r *Reply) bool { return test(string(r.Body)) }}, nil
}

func parseHeader(parts []string) (*Check, error) {
	name, op := parts[0], strings.TrimSpace(parts[1])
	if op == "" {
		return &Check{NeedHead: true, pass: func(r *Reply) bool { _, ok := r.header(name); return ok }}, nil
	}
	text, ok := unquote(parts[2])
	if !ok {
		return nil, fmt.Errorf("the text %s has a quote without an end", parts[2])
	}
	test, err := textTest(op, text)
	if err != nil {
		return nil, err
	}
	parameters := !strings.Contains(text, ";")
	return &Check{NeedHead: true, pass: func(r *Reply) bool {
		value, ok := r.header(name)
		if op == "=" && parameters {
			value, _, _ = strings.Cut(value, ";")
			value = strings.TrimRight(value, " \t")
		}
		return (ok || op == "!=") && test(value)
	}}, nil
}

func parseJSON(parts []string) (*Check, error) {
	path, err := parsePath(parts[0])
	if err != nil {
		return nil, err
	}
	op := strings.TrimSpace(parts[1])
	if op == "" {
		return &Check{NeedBody: true, pass: func(r *Reply) bool { _, ok := path.find(r.JSON()); return ok }}, nil
	}
	test, err := valueTest(op, parts[2])
	if err != nil {
		return nil, err
	}
	return &Check{NeedBody: true, pass: func(r *Reply) bool {
		value, ok := path.find(r.JSON())
		return ok && test(value)
	}}, nil
}

func parseSize(parts []string) (*Check, error) {
	size, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return nil, err
	}
	return &Check{pass: func(r *Reply) bool { return ordered(parts[0], float64(r.Size), float64(size)) }}, nil
}

// unquote returns a text without the quotes around it, if it has them. It reports false if a quote is inside, so the text is
// part of an expression.
func unquote(s string) (string, bool) {
	s = strings.TrimSpace(s)
	if s == "" || s[0] != '"' {
		return s, true
	}
	text, err := strconv.Unquote(s)
	return text, err == nil
}

// ParseStatuses parses a set of statuses: codes, classes and ranges, separated by commas, such as "2xx,301,400-404".
func ParseStatuses(source string) (set script.Statuses, err error) {
	for part := range strings.SplitSeq(source, ",") {
		part = strings.ToLower(strings.TrimSpace(part))
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			low, high = strings.ReplaceAll(part, "x", "0"), strings.ReplaceAll(part, "x", "9")
		}
		from, err1 := strconv.Atoi(low)
		to, err2 := strconv.Atoi(high)
		if err1 != nil || err2 != nil || len(low) != 3 || len(high) != 3 || from < 100 || to > 599 || from > to || strings.HasPrefix(part, "x") {
			return set, fmt.Errorf("%q is no set of statuses; write codes, classes or ranges from 100 to 599, such as 2xx,301,400-404", source)
		}
		set.Add(from, to)
	}
	return set, nil
}

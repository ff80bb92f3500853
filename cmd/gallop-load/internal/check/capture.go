package check

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Capture takes a value out of a response. It is immutable.
type Capture struct {
	NeedHead bool
	NeedBody bool
	take     func(*Reply) (string, bool)
}

// Take returns the value, or false if the response does not have it.
func (c *Capture) Take(r *Reply) (string, bool) { return c.take(r) }

// ParseCapture parses a capture:
//
//	json .token             a value of the body; strings without quotes
//	header:location         the first header with this name
//	cookie:session          the value of a cookie that the response sets
//	regexp id=(\d+)         the first group, or the whole match, in the body
//	status                  the status code
func ParseCapture(source string) (*Capture, error) {
	source = strings.TrimSpace(source)
	kind, rest, _ := strings.Cut(source, " ")
	kind, name, _ := strings.Cut(kind, ":")
	if name == "" {
		name = strings.TrimSpace(rest)
	}
	c, err := parseCapture(kind, name, rest)
	if err != nil {
		return nil, fmt.Errorf("capture %q: %w", source, err)
	}
	return c, nil
}

func parseCapture(kind, name, rest string) (*Capture, error) {
	switch {
	case kind == "json":
		path, err := parsePath(strings.TrimSpace(rest))
		return &Capture{NeedBody: true, take: func(r *Reply) (string, bool) {
			value, ok := path.find(r.JSON())
			return Text(value), ok
		}}, err
	case kind == "regexp":
		re, err := regexp.Compile(strings.TrimSpace(rest))
		return &Capture{NeedBody: true, take: func(r *Reply) (string, bool) { return firstGroup(re, r.Body) }}, err
	case kind == "header" && name != "":
		return &Capture{NeedHead: true, take: func(r *Reply) (string, bool) { return r.header(name) }}, nil
	case kind == "cookie" && name != "":
		return &Capture{NeedHead: true, take: func(r *Reply) (string, bool) { return r.cookie(name) }}, nil
	case kind == "status":
		return &Capture{take: func(r *Reply) (string, bool) { return strconv.Itoa(r.Status), true }}, nil
	}
	return nil, fmt.Errorf("it begins with json, header:NAME, cookie:NAME, regexp or status")
}

// firstGroup returns the first group of the first match, or the whole match if there is no group.
func firstGroup(re *regexp.Regexp, body []byte) (string, bool) {
	m := re.FindSubmatch(body)
	if m == nil {
		return "", false
	}
	return string(m[min(1, len(m)-1)]), true
}

// cookie returns the value of a cookie that the response sets.
func (r *Reply) cookie(name string) (string, bool) {
	for _, f := range r.Header {
		if !strings.EqualFold(f.Name, "set-cookie") {
			continue
		}
		pair, _, _ := strings.Cut(f.Value, ";")
		if key, value, ok := strings.Cut(pair, "="); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}

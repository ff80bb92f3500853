package web

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// hostPattern is the labels of a host. The one of any host has none.
type hostPattern []hostLabel

type hostLabel struct {
	text  string // of a parameter its name
	param bool
}

// parseHost reads the pattern of a host.
func parseHost(s string) (p hostPattern, err error) {
	if s == "" {
		return nil, nil
	}
	for label := range strings.SplitSeq(s, ".") {
		name, isParam, err := parseLabel(label)
		if err != nil {
			return nil, fmt.Errorf("host %q: %w", s, err)
		}
		p = append(p, hostLabel{name, isParam})
	}
	return p, nil
}

// parseLabel reads a label: text, or a parameter as :name or {name}.
func parseLabel(label string) (name string, isParam bool, err error) {
	if inside, ok := strings.CutPrefix(label, "{"); ok && strings.HasSuffix(inside, "}") {
		name, isParam = inside[:len(inside)-1], true
	} else {
		name, isParam = strings.CutPrefix(label, ":")
	}
	if isParam && !isName(name) || !isParam && (label == "" || strings.ContainsAny(label, ":/*{}")) {
		return "", false, fmt.Errorf("%q is neither a label nor a parameter: a parameter is a whole label, as {name}, without constraints", label)
	}
	if !isParam {
		name = strings.ToLower(name)
	}
	return name, isParam, nil
}

// names returns the names of the parameters, in order.
func (p hostPattern) names() (names []string) {
	for _, label := range p {
		if label.param {
			names = append(names, label.text)
		}
	}
	return names
}

// matchesAs reports whether other matches the same hosts. Names of parameters may differ.
func (p hostPattern) matchesAs(other hostPattern) bool {
	return slices.EqualFunc(p, other, func(a, b hostLabel) bool {
		return a.param == b.param && (a.param || a.text == b.text)
	})
}

// match reports whether the host, in lower case and without port, matches, and how many
// values were put at the beginning of values.
func (p hostPattern) match(host []byte, values *spans) (n int, ok bool) {
	at := 0
	for i, label := range p {
		text, _, more := bytes.Cut(host[at:], []byte("."))
		if more != (i+1 < len(p)) || len(text) == 0 {
			return 0, false
		}
		end := at + len(text)
		switch {
		case label.param:
			values[n] = span{int32(at), int32(end)}
			n++
		case string(text) != label.text:
			return 0, false
		}
		at = end + 1
	}
	return n, true
}

// withoutPort returns a Host field without its port, and without the dot that may end a
// name.
func withoutPort(host []byte) []byte {
	if i := bytes.LastIndexByte(host, ':'); i >= 0 && bytes.IndexByte(host[i:], ']') < 0 {
		host = host[:i]
	}
	return bytes.TrimSuffix(host, []byte("."))
}

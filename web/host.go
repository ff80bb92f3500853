package web

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// hostPattern is the labels of a host. It is empty for a route of any host.
type hostPattern []hostLabel

type hostLabel struct {
	text  string // the label in lower case, or the name of the parameter
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

// parseLabel reads a label, which is text or a parameter, :name or {name}.
func parseLabel(label string) (name string, isParam bool, err error) {
	if inside, ok := strings.CutPrefix(label, "{"); ok && strings.HasSuffix(inside, "}") {
		name, isParam = inside[:len(inside)-1], true
	} else {
		name, isParam = strings.CutPrefix(label, ":")
	}
	if isParam && !isName(name) || !isParam && (label == "" || strings.ContainsAny(label, ":/*{}")) {
		return "", false, fmt.Errorf("%q is neither a label nor a parameter: a parameter is a whole label, such as {name}, without constraints", label)
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

// matchesAs reports whether other matches the same hosts. The names of parameters may differ.
func (p hostPattern) matchesAs(other hostPattern) bool {
	return slices.EqualFunc(p, other, func(a, b hostLabel) bool {
		return a.param == b.param && (a.param || a.text == b.text)
	})
}

// match reports whether the host matches, which is in lower case and has no port. It stores the parameters in values and returns how
// many there are.
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

// withoutPort returns a host without its port and without a final dot.
func withoutPort(host []byte) []byte {
	if i := bytes.LastIndexByte(host, ':'); i >= 0 && bytes.IndexByte(host[i:], ']') < 0 {
		host = host[:i]
	}
	return bytes.TrimSuffix(host, []byte("."))
}

// Package template fills in the parts of requests that differ from request to request, such as "/users/{{.row.id}}".
//
// A template is text with actions in double braces:
//
//	{{.row.name}}      a column of the row that the iteration drew from the data file
//	{{.token}}         a variable: a captured value, or one that the scenario file sets
//	{{seq}}            1, 2, 3, … over all users; {{seq 100}} begins at 100
//	{{user}}           the number of the user, from 1
//	{{iteration}}      the number of the user's iteration, from 1
//	{{uuid}}           a random UUID (version 4)
//	{{rand 1 100}}     a random integer from 1 to 100
//	{{randhex 8}}      8 random hexadecimal digits
//	{{choice a b "c d"}}  one of the words
//	{{now}}            the time in milliseconds since 1970
//	{{"text"}}         the text itself, for text with braces
//
// Filters may follow: {{.row.name | url}} percent-encodes the value, {{.row.name | json}} escapes it for a JSON string, and
// base64 encodes it.
//
//	template.go   compiling and rendering
//	action.go     the actions
//	filter.go     filters, and what keeps values inside a path or a header
package template

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
)

// Scope has the names that a template may use.
type Scope struct {
	Columns []string // of the data file
	Vars    []string // variables
}

// Values are what a template is rendered with. They belong to one user.
type Values struct {
	Row       []string // by index in Scope.Columns
	Vars      []string // by index in Scope.Vars
	User      int
	Iteration int64
	Seq       *atomic.Int64 // shared by all users of a scenario
	Rand      *rand.Rand
}

// Place says where the rendered text goes. Values, unlike the text around them, cannot leave their place.
type Place int

const (
	Body   Place = iota // values are inserted unchanged
	Path                // bytes that a request target cannot have are percent-encoded
	Header              // line breaks become spaces
)

// Template is a compiled template. It is immutable.
type Template struct {
	spans []span
	place Place
	reads reads
}

// span is text or, if value is set, an action.
type span struct {
	text    string
	value   action
	filters []filter
}

// action appends its value.
type action func(dst []byte, v *Values) []byte

// reads says what a template depends on.
type reads struct{ row, vars, user bool }

// Compile compiles a template.
func Compile(text string, scope *Scope, place Place) (*Template, error) {
	t := &Template{place: place}
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, "{{")
		t.text(before)
		if !found {
			break
		}
		end := actionEnd(after)
		if end < 0 {
			return nil, fmt.Errorf("%q: {{ without }}", text)
		}
		if err := t.action(after[:end], scope); err != nil {
			return nil, fmt.Errorf("{{%s}}: %w", after[:end], err)
		}
		rest = after[end+2:]
	}
	return t, nil
}

// actionEnd returns the index of the first }} outside quotes.
func actionEnd(s string) int {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(s[i:], "}}"):
			return i
		}
	}
	return -1
}

// text adds text, joined with the text before it.
func (t *Template) text(s string) {
	if s == "" {
		return
	}
	if n := len(t.spans); n > 0 && t.spans[n-1].value == nil {
		t.spans[n-1].text += s
		return
	}
	t.spans = append(t.spans, span{text: s})
}

// Constant returns the text if the template has no actions.
func (t *Template) Constant() (string, bool) {
	switch {
	case len(t.spans) == 0:
		return "", true
	case len(t.spans) == 1 && t.spans[0].value == nil:
		return t.spans[0].text, true
	}
	return "", false
}

// ReadsVars reports whether the template depends on variables.
func (t *Template) ReadsVars() bool { return t.reads.vars }

// ReadsRow reports whether the template depends on the data file.
func (t *Template) ReadsRow() bool { return t.reads.row }

// ReadsUser reports whether the template depends on which user sends the request.
func (t *Template) ReadsUser() bool { return t.reads.user }

// Append appends the rendered template to dst.
func (t *Template) Append(dst []byte, v *Values) []byte {
	for i := range t.spans {
		s := &t.spans[i]
		if s.value == nil {
			dst = append(dst, s.text...)
			continue
		}
		start := len(dst)
		dst = s.value(dst, v)
		for _, f := range s.filters {
			dst = append(dst[:start], f(string(dst[start:]))...)
		}
		dst = t.place.contain(dst, start)
	}
	return dst
}

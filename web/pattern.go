package web

import (
	"fmt"
	"slices"
	"strings"
)

// maxParams is how many parameters the host and the path of a route may have together.
const maxParams = 16

// A pattern is a sequence of text and parameters.
type pattern []part

// part is text, or a parameter and the text behind it.
type part struct {
	kind        partKind
	text        string // text of the path, or the text that has to follow a parameter within its segment
	name        string // the name of a parameter
	constraints []constraint
	own         []*Constraint // the ones among constraints that Config.Constraints has
	spelled     string        // the constraints as they were written
}

type partKind uint8

const (
	textPart  partKind = iota
	paramPart          // {name} or :name
	restPart           // {name...} or *name
)

// parsePattern reads a path pattern, which begins with a slash. A backslash makes the byte behind it text.
func parsePattern(s string, known knownConstraints) (p pattern, err error) {
	for rest := s; rest != ""; {
		var next part
		switch rest[0] {
		case ':':
			next, rest, err = parseParam(rest, known)
		case '{':
			next, rest, err = parseBraces(rest, known)
		case '}':
			err = fmt.Errorf(`a closing brace has no opening brace: write \} for a brace in the path`)
		case '*':
			next, err = parseRest(rest)
			rest = ""
		default:
			next.text, rest, err = parseText(rest)
		}
		if err != nil {
			return nil, fmt.Errorf("path %q: %w", s, err)
		}
		p = append(p, next)
	}
	return p, p.check(s)
}

func (p pattern) check(s string) error {
	names := p.names()
	slices.Sort(names)
	switch {
	case !strings.HasPrefix(s, "/"):
		return fmt.Errorf("path %q does not begin with a slash: put one in front; for a method or a host, see Router.Add and Router.Host", s)
	case len(names) > maxParams:
		return fmt.Errorf("path %q has more than %d parameters: use {name...} and split its value", s, maxParams)
	case len(slices.Compact(slices.Clone(names))) < len(names):
		return fmt.Errorf("path %q has two parameters of the same name: rename one", s)
	}
	for _, part := range p {
		if part.kind == textPart && strings.Contains(part.text, "//") {
			return fmt.Errorf("path %q has an empty segment, which no request path keeps: write one slash instead of two", s)
		}
	}
	for i := 1; i < len(p); i++ {
		if p[i].kind != textPart && p[i-1].kind == paramPart && p[i-1].text == "" {
			return fmt.Errorf("path %q: nothing separates the parameters %q and %q: put text or a slash between them", s, p[i-1].name, p[i].name)
		}
	}
	return nil
}

// parseRest reads *name, or * alone, at the end of a pattern.
func parseRest(s string) (p part, err error) {
	p = part{kind: restPart, name: s[1:]}
	switch {
	case p.name == "":
		p.name = "*"
	case p.name[0] == '*':
		return p, fmt.Errorf("one * matches the rest of the path: write * or {name...} instead of %q", s)
	case !isName(p.name):
		return p, fmt.Errorf("%q is not a name, and nothing may follow the rest of a path: use {name} for one segment, or end the path behind *", p.name)
	}
	return p, nil
}

// parseText cuts off the text up to the next parameter and removes backslashes.
func parseText(s string) (text, rest string, err error) {
	var b strings.Builder
	i := 0
	for ; i < len(s) && !strings.Contains(":*{}", s[i:i+1]); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		} else if err := checkByte(s, i); err != nil {
			return "", "", err
		}
		b.WriteByte(s[i])
	}
	return b.String(), s[i:], nil
}

// checkByte returns an error if the byte at i has a meaning in the patterns of other routers.
func checkByte(s string, i int) error {
	switch c := s[i]; c {
	case '+':
		return fmt.Errorf(`+ is not a wildcard here: write {name...} for the rest of the path and a second route if it must not be empty, or \+ for a plus`)
	case '?':
		return fmt.Errorf(`? makes nothing optional here: register a second route, read the query with Ctx.Query, or write \? for a question mark`)
	case '(', ')':
		return fmt.Errorf(`parentheses are not syntax here: write {name<regex([0-9]+)>} for an expression, register a second route for an optional part, or write \%c`, c)
	case '<', '>':
		return fmt.Errorf(`angle brackets stand only behind the name of a parameter: write {name<int>}, or \%c for the character`, c)
	case '[', ']', '^', '|':
		return fmt.Errorf(`%c is not syntax here: write {name} for a parameter, {name<regex(a|b)>} for an expression, or \%[1]c for the character`, c)
	case '%':
		if i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) && !strings.EqualFold(s[i:i+3], "%2F") {
			return fmt.Errorf(`paths are decoded before they are matched: write the character that %s stands for, or \%% for a percent sign`, s[i:i+3])
		}
	}
	return nil
}

// parseParam cuts off a parameter that begins with a colon, with its constraints and the text behind it in the same segment.
func parseParam(s string, known knownConstraints) (p part, rest string, err error) {
	if p, rest, err = parseName(s, known); err != nil {
		return p, "", err
	}
	if p.name == "" {
		return p, "", fmt.Errorf(`a parameter without a name: write :name, or \: for a colon`)
	}
	return p.withText(rest)
}

// parseBraces cuts off a parameter in braces, which may also be the rest of the path. See parseParam.
func parseBraces(s string, known knownConstraints) (p part, rest string, err error) {
	if p, rest, err = parseName(s, known); err != nil {
		return p, "", err
	}
	inside, rest, closed := strings.Cut(rest, "}")
	switch {
	case !closed:
		return p, "", fmt.Errorf(`the brace of %q is not closed: write \{ for a brace in the path`, s)
	case p.name == "" && inside == "$":
		return p, "", fmt.Errorf("leave {$} out: a pattern matches the whole path anyway")
	case p.name == "" && (inside == "" || inside == "..."):
		return p, "", fmt.Errorf("a parameter without a name: write {name} or {name...}")
	case inside == "?":
		return p, "", fmt.Errorf("parameter %q cannot be left out: register a second route without it", p.name)
	case strings.HasPrefix(inside, ":"):
		return p, "", fmt.Errorf("constraints stand in angle brackets: write {%s<int>}, or {%[1]s<regex([0-9]+)>} for an expression", p.name)
	case inside == "...":
		return p.rest(rest)
	case inside != "":
		return p, "", fmt.Errorf(`%q is not a parameter: write {name}, {name<constraints>} or {name...}, and \{ for a brace in the path`, s)
	case strings.HasPrefix(rest, "<"):
		return p, "", fmt.Errorf(`constraints stand within the braces: write {%s<int>}, and \< for the character`, p.name)
	}
	return p.withText(rest)
}

// parseName cuts off the first byte of a parameter, its name, which may be empty, and its constraints.
func parseName(s string, known knownConstraints) (p part, rest string, err error) {
	end := 1
	for end < len(s) && isNameByte(s[end]) {
		end++
	}
	p = part{kind: paramPart, name: s[1:end]}
	if rest = s[end:]; p.name == "" || !strings.HasPrefix(rest, "<") {
		return p, rest, nil
	}
	if p.spelled, rest, err = cutConstraints(rest); err == nil {
		p.constraints, p.own, err = parseConstraints(p.spelled, known)
	}
	return p, rest, err
}

// withText cuts off the text behind p in the same segment and adds it to p.
func (p part) withText(s string) (with part, rest string, err error) {
	if strings.HasPrefix(s, "?") { // an optional parameter in other routers
		return p, "", fmt.Errorf("parameter %q cannot be left out: register a second route without it", p.name)
	}
	if strings.HasPrefix(s, "(") {
		return p, "", fmt.Errorf("constraints stand in angle brackets: write {%s<int>}, or {%[1]s<regex([0-9]+)>} for an expression", p.name)
	}
	segment := s
	if slash := strings.IndexByte(s, '/'); slash >= 0 {
		segment = s[:slash]
	}
	var behind string
	p.text, behind, err = parseText(segment)
	return p, behind + s[len(segment):], err
}

// rest returns p as the rest of a path, behind which nothing may follow.
func (p part) rest(behind string) (all part, rest string, err error) {
	switch {
	case p.spelled != "":
		return p, "", fmt.Errorf("{%s...} is the rest of the path, which has no constraints: check the value in the handler", p.name)
	case behind != "":
		return p, "", fmt.Errorf("nothing may follow {%s...}, the rest of the path: use {%[1]s} for one segment, or end the path there", p.name)
	}
	p.kind = restPart
	return p, "", nil
}

// cutConstraints cuts off the text in angle brackets. Brackets within it have to be in pairs.
func cutConstraints(s string) (inside, rest string, err error) {
	for i, open := 0, 0; i < len(s); i++ {
		switch s[i] {
		case '<':
			open++
		case '>':
			if open--; open == 0 {
				return s[1:i], s[i+1:], nil
			}
		}
	}
	return "", "", fmt.Errorf("constraints %q do not end: close them with >", s)
}

// names returns the names of the parameters, in order.
func (p pattern) names() (names []string) {
	for _, part := range p {
		if part.kind != textPart {
			names = append(names, part.name)
		}
	}
	return names
}

func isName(s string) bool {
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func isNameByte(c byte) bool {
	return c == '_' || isDigit(c) || isLetter(c)
}

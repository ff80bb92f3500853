package check

import (
	"errors"
	"strconv"
	"strings"
)

// path leads to a value in a JSON document. Its steps are keys of objects and indices of arrays.
type path []step

// step is a key, or an index if isIndex. Negative indices count from the end.
type step struct {
	key     string
	index   int
	isIndex bool
}

var errPath = errors.New(`a JSON path looks like .items[0].name, .items[-1], .["a key"], or . for the whole document`)

// parsePath parses a path. It may begin with a dollar sign, as in JSONPath.
func parsePath(source string) (p path, err error) {
	rest := strings.TrimPrefix(source, "$")
	if rest == "." || rest == "" {
		return nil, nil
	}
	for rest != "" {
		var s step
		switch {
		case strings.HasPrefix(rest, "[") || strings.HasPrefix(rest, ".["):
			s, rest, err = parseBracket(strings.TrimPrefix(rest, "."))
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:], ".[") + 1
			if end == 0 {
				end = len(rest)
			}
			s, rest = step{key: rest[1:end]}, rest[end:]
			if s.key == "" {
				err = errPath
			}
		default:
			err = errPath
		}
		if err != nil {
			return nil, err
		}
		p = append(p, s)
	}
	return p, nil
}

// parseBracket parses [0] or ["key"], and returns what follows.
func parseBracket(source string) (s step, rest string, err error) {
	inside := source[1:]
	if strings.HasPrefix(inside, `"`) {
		quoted, err := strconv.QuotedPrefix(inside)
		rest, closed := strings.CutPrefix(inside[len(quoted):], "]")
		if err != nil || !closed {
			return s, "", errPath
		}
		s.key, err = strconv.Unquote(quoted)
		return s, rest, err
	}
	number, rest, closed := strings.Cut(inside, "]")
	n, err := strconv.Atoi(number)
	if err != nil || !closed {
		return s, "", errPath
	}
	return step{index: n, isIndex: true}, rest, nil
}

// find returns the value at the end of the path.
func (p path) find(value any) (any, bool) {
	for _, s := range p {
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[s.key]
			if s.isIndex || !ok {
				return nil, false
			}
			value = next
		case []any:
			i := s.index
			if i < 0 {
				i += len(v)
			}
			if !s.isIndex || i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, value != nil || len(p) > 0
}

package template

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// action compiles what stands between braces.
func (t *Template) action(source string, scope *Scope) error {
	parts, err := pipeline(source)
	if err != nil {
		return err
	}
	words := parts[0]
	if len(words) == 0 {
		return errors.New("there is no action between the braces")
	}
	s := span{}
	if s.value, err = t.compile(words, scope); err != nil {
		return err
	}
	for _, f := range parts[1:] {
		if len(f) != 1 || filters[f[0].text] == nil {
			return fmt.Errorf("a filter is one of %s", names(filters))
		}
		s.filters = append(s.filters, filters[f[0].text])
	}
	t.spans = append(t.spans, s)
	return nil
}

// word is a word of an action.
type word struct {
	text   string
	quoted bool
}

// pipeline splits an action at bars, and its parts into words. Words may be quoted as in Go.
func pipeline(source string) ([][]word, error) {
	parts := [][]word{nil}
	for rest := strings.TrimSpace(source); rest != ""; rest = strings.TrimLeft(rest, " \t") {
		last := &parts[len(parts)-1]
		switch rest[0] {
		case '|':
			parts, rest = append(parts, nil), rest[1:]
		case '"':
			prefix, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, errors.New("a quoted word has no end")
			}
			text, err := strconv.Unquote(prefix)
			if err != nil {
				return nil, err
			}
			*last, rest = append(*last, word{text, true}), rest[len(prefix):]
		default:
			end := strings.IndexAny(rest, " \t|\"")
			if end < 0 {
				end = len(rest)
			}
			*last, rest = append(*last, word{rest[:end], false}), rest[end:]
		}
	}
	return parts, nil
}

func (t *Template) compile(words []word, scope *Scope) (action, error) {
	first, args := words[0], words[1:]
	switch {
	case first.quoted && len(args) == 0:
		return func(dst []byte, _ *Values) []byte { return append(dst, first.text...) }, nil
	case strings.HasPrefix(first.text, ".") && len(args) == 0:
		return t.lookup(first.text[1:], scope)
	case first.text == "user" || first.text == "iteration":
		t.reads.user = true
	}
	f := functions[first.text]
	if f == nil || first.quoted {
		return nil, fmt.Errorf("there is no function %q; there are %s", first.text, names(functions))
	}
	return f(args)
}

// lookup compiles the name of a column or a variable.
func (t *Template) lookup(name string, scope *Scope) (action, error) {
	if column, ok := strings.CutPrefix(name, "row."); ok {
		i := slices.Index(scope.Columns, column)
		switch {
		case i >= 0:
			t.reads.row = true
			return func(dst []byte, v *Values) []byte { return append(dst, v.Row[i]...) }, nil
		case len(scope.Columns) == 0:
			return nil, errors.New("the scenario has no data file")
		}
		return nil, fmt.Errorf("the data file has no column %q; its columns are %s", column, strings.Join(scope.Columns, ", "))
	}
	i := slices.Index(scope.Vars, name)
	if i < 0 {
		return nil, fmt.Errorf("there is no variable %q: set it under vars, or capture it from a response", name)
	}
	t.reads.vars = true
	return func(dst []byte, v *Values) []byte { return append(dst, v.Vars[i]...) }, nil
}

// functions compile the actions that are neither names nor texts.
var functions = map[string]func(args []word) (action, error){
	"seq": func(args []word) (action, error) {
		first := []int64{1}
		if len(args) > 0 {
			var err error
			if first, err = integers(args, 1); err != nil {
				return nil, errors.New("seq takes the first number, such as {{seq 100}}")
			}
		}
		return func(dst []byte, v *Values) []byte { return strconv.AppendInt(dst, first[0]-1+v.Seq.Add(1), 10) }, nil
	},
	"user": plain(func(dst []byte, v *Values) []byte { return strconv.AppendInt(dst, int64(v.User), 10) }),
	"iteration": plain(func(dst []byte, v *Values) []byte {
		return strconv.AppendInt(dst, v.Iteration, 10)
	}),
	"now":  plain(func(dst []byte, _ *Values) []byte { return strconv.AppendInt(dst, time.Now().UnixMilli(), 10) }),
	"uuid": plain(appendUUID),
	"rand": func(args []word) (action, error) {
		n, err := integers(args, 2)
		if err != nil || n[0] > n[1] || uint64(n[1]-n[0]) == 1<<64-1 {
			return nil, errors.New("rand takes two integers, the smaller one first, such as {{rand 1 100}}")
		}
		return func(dst []byte, v *Values) []byte {
			return strconv.AppendInt(dst, n[0]+int64(v.Rand.Uint64N(uint64(n[1]-n[0])+1)), 10)
		}, nil
	},
	"randhex": func(args []word) (action, error) {
		n, err := integers(args, 1)
		if err != nil || n[0] < 1 || n[0] > 1<<20 {
			return nil, errors.New("randhex takes a number of digits, such as {{randhex 8}}")
		}
		return func(dst []byte, v *Values) []byte { return appendHex(dst, v, int(n[0])) }, nil
	},
	"choice": func(args []word) (action, error) {
		if len(args) == 0 {
			return nil, errors.New("choice takes the words to choose from, such as {{choice red green}}")
		}
		return func(dst []byte, v *Values) []byte { return append(dst, args[v.Rand.IntN(len(args))].text...) }, nil
	},
}

// plain is a function without arguments.
func plain(a action) func(args []word) (action, error) {
	return func(args []word) (action, error) {
		if len(args) > 0 {
			return nil, errors.New("the function takes no arguments")
		}
		return a, nil
	}
}

func integers(args []word, n int) ([]int64, error) {
	if len(args) != n {
		return nil, errors.New("wrong number of arguments")
	}
	all := make([]int64, n)
	for i, a := range args {
		var err error
		if all[i], err = strconv.ParseInt(a.text, 10, 64); err != nil {
			return nil, err
		}
	}
	return all, nil
}

const hexDigits = "0123456789abcdef"

func appendHex(dst []byte, v *Values, n int) []byte {
	for range n {
		dst = append(dst, hexDigits[v.Rand.IntN(16)])
	}
	return dst
}

// appendUUID appends a random UUID (RFC 9562 §5.4).
func appendUUID(dst []byte, v *Values) []byte {
	high, low := v.Rand.Uint64(), v.Rand.Uint64()
	high = high&^0xf000 | 0x4000
	low = low&^(3<<62) | 2<<62
	return fmt.Appendf(dst, "%08x-%04x-%04x-%04x-%012x", high>>32, high>>16&0xffff, high&0xffff, low>>48, low&(1<<48-1))
}

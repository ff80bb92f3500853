package gallop

import (
	"bytes"
	"io"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/target"
)

// Args is an ordered list of keys and values, such as a query or a body of type application/x-www-form-urlencoded. A
// key may occur several times. Keys are case sensitive.
//
// The zero value is an empty list, ready to use. Do not copy an Args; use CopyTo. Several goroutines may call Peek,
// Has, All and the Get methods at the same time. No other method of an Args is safe for concurrent use.
//
// The methods of an Args return slices that point into the list's memory. A returned slice is valid until the list is
// changed or released.
type Args struct {
	_ noCopy

	// arena holds all keys and values, decoded. garbage counts the bytes that no element of list refers to any more.
	arena   []byte
	list    []arg
	garbage int

	query   []byte // result of QueryString
	changed bool   // the list was changed since this was last set to false
	tooMany bool   // Parse stopped at its limit
}

// arg is a key and a value, both spans of the arena.
type arg struct {
	key, value span
	noValue    bool // written "key" instead of "key="; value is empty
}

type span struct{ start, length uint32 }

func (a *Args) bytes(s span) []byte {
	end := s.start + s.length
	return a.arena[s.start:end:end]
}

func (a *Args) key(i int) []byte   { return a.bytes(a.list[i].key) }
func (a *Args) value(i int) []byte { return a.bytes(a.list[i].value) }

var argsPool = sync.Pool{New: func() any { return new(Args) }}

// AcquireArgs returns an empty Args from a pool.
func AcquireArgs() *Args { return argsPool.Get().(*Args) }

// ReleaseArgs resets the Args and returns it to the pool. Afterwards, do not use the Args or anything that its methods
// returned. In builds with the race detector, ReleaseArgs overwrites the memory of the list.
func ReleaseArgs(a *Args) {
	if bufpool.Poisons {
		a.poison()
	}
	a.Reset()
	argsPool.Put(a)
}

// Reset removes all arguments.
func (a *Args) Reset() {
	a.changed = a.changed || len(a.list) > 0
	a.arena, a.query = emptied(a.arena), emptied(a.query)
	if cap(a.list) > maxKeptBuffer/32 {
		a.list = nil
	}
	a.list, a.garbage, a.tooMany = a.list[:0], 0, false
}

// poison overwrites what views of a refer to. The contents of a are invalid afterwards, so call Reset.
func (a *Args) poison() {
	bufpool.PoisonBytes(a.arena)
	bufpool.PoisonBytes(a.query)
}

// CopyTo replaces the contents of dst with a copy of the list.
func (a *Args) CopyTo(dst *Args) {
	if a == dst {
		return
	}
	dst.changed = dst.changed || len(dst.list) > 0 || len(a.list) > 0
	dst.arena = append(dst.arena[:0], a.arena...)
	dst.list = append(dst.list[:0], a.list...)
	dst.garbage, dst.tooMany = a.garbage, a.tooMany
}

// Len returns the number of arguments. If a key occurs twice, Len counts two arguments.
func (a *Args) Len() int { return len(a.list) }

// All returns an iterator over the keys and values, in the order of the list. Do not change the list while you iterate
// over it.
func (a *Args) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for i := range a.list {
			if !yield(a.key(i), a.value(i)) {
				return
			}
		}
	}
}

// Parse replaces the list with the arguments in s, which are separated by '&'. Parse decodes '+' to a space and decodes
// percent escapes. Malformed percent escapes stay unchanged. Parse skips arguments that have neither a key nor a value.
func (a *Args) Parse(s string) { a.ParseBytes(UnsafeBytes(s)) }

// ParseBytes does the same as [Args.Parse], but takes a []byte.
func (a *Args) ParseBytes(b []byte) {
	if uint64(len(b)) > math.MaxUint32 {
		panic("gallop: Args of more than 4 GiB")
	}
	a.list, a.garbage, a.changed, a.tooMany = a.list[:0], 0, true, false
	a.arena = append(a.arena[:0], b...) // b may be a view of the arena
	start, equals, coded := 0, -1, false
	for i, c := range a.arena {
		switch c {
		case '&':
			a.parsed(start, equals, i, coded)
			start, equals, coded = i+1, -1, false
		case '=':
			if equals < 0 {
				equals = i
			}
		case '+', '%':
			coded = true
		}
	}
	a.parsed(start, equals, len(a.arena), coded)
}

// ParseAtMost does the same as ParseBytes, but stops after n arguments. If b contains more than n arguments, the list
// holds the first n arguments, and ParseAtMost and Err return ErrTooManyArgs. If n is zero or negative, there is no
// limit.
func (a *Args) ParseAtMost(b []byte, n int) error {
	if n <= 0 || len(b) <= 2*n { // each argument has at least one byte and a separator
		a.ParseBytes(b)
		return nil
	}
	end := endOfArgs(b, n)
	if end < len(b) {
		a.list = slices.Grow(a.list[:0], n)
	}
	a.ParseBytes(b[:end])
	a.tooMany = end < len(b)
	return a.Err()
}

// endOfArgs returns the offset where the first n arguments in b end. It returns len(b) if there are no more than n.
func endOfArgs(b []byte, n int) int {
	start := 0
	for i := 0; i <= len(b); i++ {
		if i < len(b) && b[i] != '&' {
			continue
		}
		if size := i - start; size > 1 || size == 1 && b[start] != '=' {
			if n--; n < 0 {
				return start - len("&")
			}
		}
		start = i + 1
	}
	return len(b)
}

// Err returns ErrTooManyArgs if the parsed query or form had more arguments than the limit. The limit is
// Server.MaxFormArgs, or the limit that was passed to ParseAtMost. After ErrTooManyArgs, the list holds only the
// arguments up to the limit.
func (a *Args) Err() error {
	if a.tooMany {
		return ErrTooManyArgs
	}
	return nil
}

// parsed adds the argument at arena[start:end]. equals is the index of its first equals sign, or negative without
// one. If coded is true, the argument is decoded in place.
func (a *Args) parsed(start, equals, end int, coded bool) {
	last := arg{key: span{uint32(start), uint32(end - start)}, noValue: true}
	if equals >= 0 {
		last.key.length = uint32(equals - start)
		last.value = span{uint32(equals + 1), uint32(end - equals - 1)}
		last.noValue = false
	}
	if last.key.length+last.value.length == 0 {
		return
	}
	if coded {
		a.decode(&last.key)
		a.decode(&last.value)
	}
	a.list = append(a.list, last)
}

// cutByte does the same as bytes.Cut for a separator of one byte.
func cutByte(b []byte, sep byte) (before, after []byte) {
	if i := bytes.IndexByte(b, sep); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}

// decode decodes the text at s in place. The result is never longer than the text.
func (a *Args) decode(s *span) {
	text := a.bytes(*s)
	s.length = uint32(len(target.AppendUnescapeArgument(text[:0], text)))
}

// store appends b to the arena.
func (a *Args) store(b []byte) span {
	start := len(a.arena)
	a.arena = append(a.arena, b...)
	return a.spanFrom(start)
}

func (a *Args) spanFrom(start int) span {
	if uint64(len(a.arena)) > math.MaxUint32 {
		panic("gallop: Args of more than 4 GiB")
	}
	return span{uint32(start), uint32(len(a.arena) - start)}
}

// index returns the index of the first argument with this key, or -1.
func (a *Args) index(key []byte) int {
	for i := range a.list {
		if bytes.Equal(a.key(i), key) {
			return i
		}
	}
	return -1
}

func (a *Args) add(key, value []byte, noValue bool) {
	a.changed = true
	a.list = append(a.list, arg{a.store(key), a.store(value), noValue})
}

func (a *Args) set(key, value []byte, noValue bool) {
	i := a.index(key)
	if i < 0 {
		a.add(key, value, noValue)
		return
	}
	a.changed = true
	a.garbage += int(a.list[i].value.length)
	a.list[i].value, a.list[i].noValue = a.store(value), noValue
	a.compact()
}

func (a *Args) del(key []byte) {
	kept := a.list[:0]
	for i, arg := range a.list {
		if bytes.Equal(a.key(i), key) {
			a.garbage += int(arg.key.length + arg.value.length)
			a.changed = true
		} else {
			kept = append(kept, arg)
		}
	}
	a.list = kept
	a.compact()
}

// compact rebuilds the arena when most of it is garbage.
func (a *Args) compact() {
	if a.garbage < 1024 || a.garbage < len(a.arena)/2 {
		return
	}
	arena := make([]byte, 0, len(a.arena)-a.garbage)
	for i := range a.list {
		key, value := a.key(i), a.value(i)
		a.list[i].key.start = uint32(len(arena))
		arena = append(arena, key...)
		a.list[i].value.start = uint32(len(arena))
		arena = append(arena, value...)
	}
	a.arena, a.garbage = arena, 0
}

// Add appends key=value.
func (a *Args) Add(key, value string) { a.add(UnsafeBytes(key), UnsafeBytes(value), false) }

// AddNoValue appends the key without an equals sign.
func (a *Args) AddNoValue(key string) { a.add(UnsafeBytes(key), nil, true) }

// Set sets the value of the first argument with this key, or appends key=value if there is no such argument. If several
// arguments have this key, Set changes only the first of these arguments.
func (a *Args) Set(key, value string) { a.set(UnsafeBytes(key), UnsafeBytes(value), false) }

// SetNoValue removes the value and the equals sign of the first argument with this key. If there is no such argument,
// SetNoValue appends the key without a value.
func (a *Args) SetNoValue(key string) { a.set(UnsafeBytes(key), nil, true) }

// SetUint sets the value of the key to a decimal number. If the value is negative, SetUint panics. See [Args.Set].
func (a *Args) SetUint(key string, value int) {
	var buf [20]byte
	a.set(UnsafeBytes(key), AppendUint(buf[:0], value), false)
}

// Del removes all arguments with this key.
func (a *Args) Del(key string) { a.del(UnsafeBytes(key)) }

// Has reports whether there is an argument with this key.
func (a *Args) Has(key string) bool { return a.index(UnsafeBytes(key)) >= 0 }

// Peek returns the first value of the key. If the argument has no value, the result is empty. If there is no such key,
// the result is nil.
func (a *Args) Peek(key string) []byte { return a.peek(UnsafeBytes(key)) }

func (a *Args) peek(key []byte) []byte {
	if i := a.index(key); i >= 0 {
		return a.value(i)
	}
	return nil
}

// PeekMulti returns all values of the key in a new slice. An empty value is nil in this slice. If there is no such key,
// the result is nil.
func (a *Args) PeekMulti(key string) [][]byte { return a.peekMulti(UnsafeBytes(key)) }

func (a *Args) peekMulti(key []byte) (values [][]byte) {
	for i := range a.list {
		if bytes.Equal(a.key(i), key) {
			if a.list[i].value.length == 0 {
				values = append(values, nil)
			} else {
				values = append(values, a.value(i))
			}
		}
	}
	return values
}

// GetUint returns the first value of the key as a decimal number. If the key is missing or its value is empty, the
// error is ErrNoArgValue. On any error, the number is -1.
func (a *Args) GetUint(key string) (int, error) {
	value := a.Peek(key)
	if len(value) == 0 {
		return -1, ErrNoArgValue
	}
	return ParseUint(value)
}

// GetUintOrZero returns the first value of the key as a decimal number. If the value is missing or invalid, the result
// is 0. See [Args.GetUint].
func (a *Args) GetUintOrZero(key string) int {
	n, err := a.GetUint(key)
	if err != nil {
		return 0
	}
	return n
}

// GetUfloat returns the first value of the key as a non-negative number. If the key is missing or its value is empty,
// the error is ErrNoArgValue. On any error, the number is -1.
func (a *Args) GetUfloat(key string) (float64, error) {
	value := a.Peek(key)
	if len(value) == 0 {
		return -1, ErrNoArgValue
	}
	return ParseUfloat(value)
}

// GetUfloatOrZero returns the first value of the key as a non-negative number. If the value is missing or invalid, the
// result is 0. See [Args.GetUfloat].
func (a *Args) GetUfloatOrZero(key string) float64 {
	f, err := a.GetUfloat(key)
	if err != nil {
		return 0
	}
	return f
}

// GetBool reports whether the first value of the key is one of "1", "t", "T", "true", "TRUE", "True", "y", "Y", "yes",
// "YES" or "Yes".
func (a *Args) GetBool(key string) bool {
	switch string(a.Peek(key)) {
	case "1", "t", "T", "true", "TRUE", "True", "y", "Y", "yes", "YES", "Yes":
		return true
	}
	return false
}

// Sort sorts the arguments by key. Arguments with the same key are sorted by value. f compares two keys or two values.
// Like bytes.Compare, f returns a negative number, zero or a positive number.
func (a *Args) Sort(f func(x, y []byte) int) {
	a.changed = true
	slices.SortStableFunc(a.list, func(x, y arg) int {
		if n := f(a.bytes(x.key), a.bytes(y.key)); n != 0 {
			return n
		}
		return f(a.bytes(x.value), a.bytes(y.value))
	})
}

// SortKeys sorts the arguments by key. Arguments with the same key keep their order. f compares two keys. Like
// bytes.Compare, f returns a negative number, zero or a positive number.
func (a *Args) SortKeys(f func(x, y []byte) int) {
	a.changed = true
	slices.SortStableFunc(a.list, func(x, y arg) int { return f(a.bytes(x.key), a.bytes(y.key)) })
}

// AppendBytes appends the arguments to dst as an encoded query.
func (a *Args) AppendBytes(dst []byte) []byte {
	for i := range a.list {
		if i > 0 {
			dst = append(dst, '&')
		}
		if dst = target.AppendEscapeArgument(dst, a.key(i)); !a.list[i].noValue {
			dst = append(dst, '=')
			dst = target.AppendEscapeArgument(dst, a.value(i))
		}
	}
	return dst
}

// QueryString returns the arguments as an encoded query.
func (a *Args) QueryString() []byte {
	a.query = a.AppendBytes(a.query[:0])
	return a.query
}

// String returns the arguments as an encoded query.
func (a *Args) String() string { return string(a.QueryString()) }

// WriteTo writes the arguments to w as an encoded query.
func (a *Args) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(a.QueryString())
	return int64(n), err
}

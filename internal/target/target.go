// Package target reads request targets, authorities, paths and percent coding
// (RFC 3986, RFC 9112 §3.2). It is functions over bytes: what it returns are
// views of what it was given, and it does no I/O.
//
//	target.go   the four forms of a request target
//	host.go     uri-host [":" port], strictly for servers and as broadly as RFC 3986 for URIs
//	path.go     dot segments, the decoded path and the path as it is sent
//	percent.go  percent decoding and encoding
package target

import (
	"bytes"
	"errors"

	"github.com/gallop-http/gallop/internal/ascii"
)

// Form is one of the four forms a request target can have (RFC 9112 §3.2).
type Form uint8

const (
	Origin    Form = iota // /path?query
	Absolute              // http://host/path?query
	Authority             // host:port, only for CONNECT
	Asterisk              // *, only for OPTIONS
)

// What can be wrong with a target. A server answers each of them with 400.
var (
	ErrEmpty     = errors.New("request target is empty")
	ErrForm      = errors.New("request target has a form its method does not allow")
	ErrByte      = errors.New("request target holds a byte that no URI has")
	ErrEscape    = errors.New("percent sign is not followed by two hexadecimal digits")
	ErrFragment  = errors.New("request target has a fragment")
	ErrScheme    = errors.New("request target has a scheme other than http and https")
	ErrAuthority = errors.New("request target has an invalid authority")
)

// Target is a request target cut into its parts. They are views of the bytes given to Parse.
type Target struct {
	Scheme    []byte // as received; Absolute only
	Authority []byte // host and port as received; Absolute and Authority only
	Path      []byte // as received; empty for Authority and for an absolute form without path
	Query     []byte // what follows the first '?', as received
	Form      Form
	HasQuery  bool // tells "/a?" from "/a"

	// Plain is set if Path holds no escape, no empty segment and no segment that begins
	// with a dot. AppendPath would return such a path as it is.
	Plain bool
}

// Parse reads b as the target of a request with the given method (RFC 9112 §3.2).
//
// The path has to follow RFC 3986 §3.3, but for '[', ']' and '|', which browsers
// leave bare; escapes in it have to be well-formed. The query is opaque: it may
// hold any visible ASCII character but '"', '<', '>' and '#', and a '%' that escapes nothing.
func Parse(method, b []byte) (t Target, err error) {
	switch {
	case len(b) == 0:
		return t, ErrEmpty
	case string(method) == "CONNECT":
		return parseAuthorityForm(b)
	case b[0] == '/':
		err = t.parsePath(b)
		return t, err
	case len(b) == 1 && b[0] == '*' && string(method) == "OPTIONS":
		return Target{Form: Asterisk, Path: b}, nil
	}
	return parseAbsolute(b)
}

// Check returns what Parse would say about b, but only its form: for a server that
// has to refuse a bad target before it knows whether anybody wants its parts.
func Check(method, b []byte) (Form, error) {
	if len(b) == 0 || b[0] != '/' || string(method) == "CONNECT" {
		t, err := Parse(method, b)
		return t.Form, err
	}
	end, _, err := scanPath(b)
	if err == nil && end < len(b) {
		err = checkQuery(b[end+1:])
	}
	return Origin, err
}

// Usual returns where the target ends that begins at b[i], if it is a path without
// escapes, perhaps with a query, of which Check has nothing to say but that it is of the
// origin form: at the first byte that is not of it, or at len(b). Otherwise it returns 0.
// It is for parsers, which look for that end anyway.
func Usual(b []byte, i int) int {
	if i >= len(b) || b[i] != '/' {
		return 0
	}
	class := pathByte
	for ; ; i++ {
		for ; i+4 <= len(b); i += 4 {
			w := b[i : i+4]
			if targetClasses[w[0]]&targetClasses[w[1]]&targetClasses[w[2]]&targetClasses[w[3]]&class == 0 {
				break
			}
		}
		for i < len(b) && targetClasses[b[i]]&class != 0 {
			i++
		}
		if class == queryByte || i == len(b) || b[i] != '?' {
			return i
		}
		class = queryByte
	}
}

// SplitUsual is Parse of a target that Usual has found.
func SplitUsual(b []byte) (t Target) {
	t.Path = b
	if end := bytes.IndexByte(b, '?'); end >= 0 {
		t.Path, t.Query, t.HasQuery = b[:end], b[end+1:], true
	}
	t.Plain = isClean(t.Path)
	return t
}

// isClean reports whether no segment of the path begins with a dot, and none is empty.
//
// It looks at eight bytes a step, of which the last is the first of the next step. The
// subtraction marks slashes with the high bit of their byte. It borrows from the byte above
// a slash, which marks a dot there, since '.' is '/'^1, and nothing else.
func isClean(path []byte) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(path); i += 7 {
		w := ascii.Word(path, i) ^ ones*'/'
		if m := (w - ones) &^ w & highs; m&(m<<8) != 0 {
			return false
		}
	}
	for i++; i < len(path); i++ {
		if path[i-1] == '/' && path[i]|1 == '/' { // '.' or '/'
			return false
		}
	}
	return true
}

func parseAuthorityForm(b []byte) (t Target, err error) {
	if _, port, ok := ParseAuthority(b); !ok || len(port) == 0 {
		return t, ErrAuthority
	}
	return Target{Form: Authority, Authority: b}, nil
}

func parseAbsolute(b []byte) (t Target, err error) {
	colon := bytes.IndexByte(b, ':')
	if colon < 0 || !IsScheme(b[:colon]) || !bytes.HasPrefix(b[colon:], []byte("://")) {
		return t, ErrForm
	}
	t.Form, t.Scheme = Absolute, b[:colon]
	if !ascii.EqualFold(t.Scheme, "http") && !ascii.EqualFold(t.Scheme, "https") {
		return t, ErrScheme
	}
	rest := b[colon+3:]
	end := authorityEnd(rest)
	t.Authority = rest[:end]
	if !ValidHost(t.Authority) {
		return t, ErrAuthority
	}
	err = t.parsePath(rest[end:])
	return t, err
}

// authorityEnd returns where the authority at the start of b ends: RFC 3986 §3.2.
func authorityEnd(b []byte) int {
	for i, c := range b {
		if c == '/' || c == '?' || c == '#' {
			return i
		}
	}
	return len(b)
}

// parsePath reads b as path ["?" query].
func (t *Target) parsePath(b []byte) error {
	end, escapes, err := scanPath(b)
	if err != nil {
		return err
	}
	t.Path = b[:end]
	t.Plain = !escapes && isClean(t.Path)
	if end == len(b) {
		return nil
	}
	t.Query, t.HasQuery = b[end+1:], true
	return checkQuery(t.Query)
}

// scanPath returns where the path at the start of b ends: at len(b) or at a '?'.
func scanPath(b []byte) (end int, escapes bool, err error) {
	end = run(b, pathByte)
	for end < len(b) && b[end] == '%' {
		if !isEscape(b[end:]) {
			return end, true, ErrEscape
		}
		escapes = true
		end += 3
		end += run(b[end:], pathByte)
	}
	if end < len(b) && b[end] != '?' {
		return end, escapes, badByte(b[end])
	}
	return end, escapes, nil
}

func checkQuery(b []byte) error {
	if n := run(b, queryByte); n < len(b) {
		return badByte(b[n])
	}
	return nil
}

// run returns how many bytes at the start of b are of the class.
func run(b []byte, class uint8) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := b[i : i+8 : i+8]
		if targetClasses[w[0]]&targetClasses[w[1]]&targetClasses[w[2]]&targetClasses[w[3]]&
			targetClasses[w[4]]&targetClasses[w[5]]&targetClasses[w[6]]&targetClasses[w[7]]&class == 0 {
			break
		}
	}
	for i < len(b) && targetClasses[b[i]]&class != 0 {
		i++
	}
	return i
}

func badByte(c byte) error {
	if c == '#' {
		return ErrFragment
	}
	return ErrByte
}

// Classes of a byte in a target.
const (
	pathByte  uint8 = 1 << iota // pchar without '%', and '/', '[', ']', '|'
	queryByte                   // VCHAR without '"', '<', '>', '#'
	unreserved
	subDelim
	hostByte // what a name in a Host field is made of: RFC 3986's unreserved
)

var targetClasses = buildTargetClasses()

func buildTargetClasses() (t [256]uint8) {
	for c := 0x21; c < 0x7f; c++ {
		t[c] |= queryByte
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			t[c] |= pathByte | unreserved | hostByte
		}
	}
	for _, c := range []byte(`"<>#`) {
		t[c] &^= queryByte
	}
	for _, c := range []byte("-._~") {
		t[c] |= pathByte | unreserved | hostByte
	}
	for _, c := range []byte("!$&'()*+,;=") {
		t[c] |= pathByte | subDelim
	}
	for _, c := range []byte(":@/[]|") {
		t[c] |= pathByte
	}
	return t
}

// IsScheme reports whether b is a scheme by RFC 3986 §3.1.
func IsScheme(b []byte) bool {
	for i, c := range b {
		letter := ascii.Lower(c)-'a' <= 'z'-'a'
		if !letter && (i == 0 || !ascii.IsDigit(c) && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return len(b) > 0
}

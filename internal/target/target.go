// Package target parses request targets, authorities, paths and percent-encoding (RFC 3986, RFC 9112 §3.2). [Parse]
// splits a request target, [ParseAuthority] a host and port, and [AppendPath] computes the path that an application
// sees. All functions work on bytes, return views of their input or append to a buffer, and do no I/O.
//
//	target.go   the four forms of a request target
//	host.go     uri-host [":" port], strict for servers and as broad as RFC 3986 for URIs
//	idna.go     hosts with characters beyond ASCII, converted to ASCII
//	path.go     dot segments, the decoded path and the path in a request
//	percent.go  percent-decoding and encoding
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

// Errors of targets. A server responds to each of them with 400.
var (
	ErrEmpty     = errors.New("request target is empty")
	ErrForm      = errors.New("request target has a form its method does not allow")
	ErrByte      = errors.New("request target holds a byte that no URI has")
	ErrEscape    = errors.New("percent sign is not followed by two hexadecimal digits")
	ErrFragment  = errors.New("request target has a fragment")
	ErrScheme    = errors.New("request target has a scheme other than http and https")
	ErrAuthority = errors.New("request target has an invalid authority")
)

// Target is a request target split into its parts. The parts are views of the bytes given to Parse.
type Target struct {
	Scheme    []byte // as received; Absolute only
	Authority []byte // host and port as received; Absolute and Authority only
	Path      []byte // as received; empty for Authority, and for Absolute without a path
	Query     []byte // everything after the first '?', as received
	Form      Form
	HasQuery  bool // distinguishes "/a?" from "/a"

	// Plain means that Path has no escape, no empty segment and no segment that begins with a dot. AppendPath returns
	// such a path unchanged.
	Plain bool
}

// Parse parses b as the target of a request with the given method (RFC 9112 §3.2).
//
// The path must follow RFC 3986 §3.3, except that '[', ']' and '|' are allowed, because browsers do not escape them.
// Its escapes must be well-formed. The query is opaque: it may contain any visible ASCII character except '"', '<',
// '>' and '#', and a '%' does not have to start an escape.
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

// Check returns the errors of Parse, and the form. A server uses it to refuse a bad target before it knows whether
// its parts are needed.
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

// Usual finds the end of the target at b[i] if the target is in origin form and has the usual shape: a path without
// escapes, perhaps with a query, that Check accepts. It returns the index of the first byte that does not belong to
// the target, or len(b). For any other target it returns 0. It is for parsers, which need the end anyway.
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

// SplitUsual is a fast Parse for a target that Usual has found.
func SplitUsual(b []byte) (t Target) {
	t.Path = b
	if end := bytes.IndexByte(b, '?'); end >= 0 {
		t.Path, t.Query, t.HasQuery = b[:end], b[end+1:], true
	}
	t.Plain = isClean(t.Path)
	return t
}

// isClean reports whether no segment of the path is empty or begins with a dot.
//
// It processes eight bytes at a time; the last byte of a step is also the first of the next one. The subtraction
// marks slashes with the high bit of their byte. It borrows from the byte above a slash, which also marks a dot there
// ('.' is '/'^1), and no other byte.
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

// authorityEnd returns the end of the authority at the start of b (RFC 3986 §3.2).
func authorityEnd(b []byte) int {
	for i, c := range b {
		if c == '/' || c == '?' || c == '#' {
			return i
		}
	}
	return len(b)
}

// parsePath parses b as path ["?" query].
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

// scanPath returns the end of the path at the start of b, which is at a '?' or at len(b).
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

// run returns how many bytes at the start of b belong to the class.
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

// Classes of bytes in a target.
const (
	pathByte  uint8 = 1 << iota // pchar without '%', and '/', '[', ']', '|'
	queryByte                   // VCHAR without '"', '<', '>', '#'
	unreserved
	subDelim
	hostByte // bytes of a name in a Host field: unreserved characters of RFC 3986
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

// IsScheme reports whether b is a scheme according to RFC 3986 §3.1.
func IsScheme(b []byte) bool {
	for i, c := range b {
		letter := ascii.Lower(c)-'a' <= 'z'-'a'
		if !letter && (i == 0 || !ascii.IsDigit(c) && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return len(b) > 0
}

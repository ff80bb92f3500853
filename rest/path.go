package rest

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// target is the destination of a request.
type target struct {
	origin string // scheme://host, with the port if it is not the scheme's: what credentials are bound to
	path   string // escaped, beginning with a slash
	query  string // without the question mark
}

func (t *target) String() string {
	if t.query == "" {
		return t.origin + t.path
	}
	return t.origin + t.path + "?" + t.query
}

// originOf returns the origin of u (RFC 6454 §4).
func originOf(u *url.URL) (string, error) {
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	host, zone, zoned := strings.Cut(u.Hostname(), "%")
	if host = strings.ToLower(host); zoned && strings.Contains(host, ":") { // the name of an interface, as URLs have it (RFC 6874 §2)
		host += "%25" + url.PathEscape(zone)
	} else if zoned {
		host += "%" + strings.ToLower(zone)
	}
	switch {
	case scheme != "http" && scheme != "https" || u.Opaque != "":
		if suggestion := withScheme(u.String()); suggestion != "" {
			return "", fmt.Errorf("%w: it has no scheme; use %q", ErrURL, suggestion)
		}
		return "", fmt.Errorf("%w: unsupported scheme %q; use http or https", ErrURL, scheme)
	case host == "":
		return "", fmt.Errorf("%w: it has no host; use a URL such as \"https://api.example.com/\"", ErrURL)
	case u.User != nil:
		return "", fmt.Errorf("%w: credentials belong in WithAuth", ErrURL)
	}
	if port != "" && !(scheme == "http" && port == "80") && !(scheme == "https" && port == "443") {
		return scheme + "://" + net.JoinHostPort(host, port), nil
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return scheme + "://" + host, nil
}

// withScheme returns raw with a scheme in front and without its query, if raw begins with a host: a name with a dot or
// a port, or localhost. It returns "" for any other text.
func withScheme(raw string) string {
	raw, _, _ = strings.Cut(raw, "?")
	authority, _, _ := strings.Cut(raw, "/")
	u, err := url.Parse("http://" + authority)
	if err != nil || u.User != nil || u.Hostname() == "" || strings.Contains(raw, "//") {
		return ""
	}
	if u.Port() == "" && u.Host != "localhost" && !strings.Contains(strings.Trim(u.Host, "."), ".") {
		return ""
	}
	return "http://" + raw
}

// parseBase parses the base URL of a client. The path of the result ends in a slash.
func parseBase(base string) (target, error) {
	u, err := url.Parse(base)
	if err != nil {
		if suggestion := withScheme(base); suggestion != "" {
			return target{}, fmt.Errorf("%w: it has no scheme; use %q", ErrURL, suggestion)
		}
		return target{}, fmt.Errorf("%w: %w", ErrURL, hideURL(err))
	}
	if climbs(u.EscapedPath()) {
		return target{}, ErrPathForbidden
	}
	origin, err := originOf(u)
	if err != nil {
		return target{}, err
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return target{}, fmt.Errorf("%w: a base URL must not have a query or a fragment", ErrURL)
	}
	return target{origin: origin, path: strings.TrimSuffix(u.EscapedPath(), "/") + "/"}, nil
}

// hideURL returns err with the secrets in its URL redacted. err may be, or may wrap, an error of url.Parse or an
// http.Client.
func hideURL(err error) error {
	var e *url.Error
	if !errors.As(err, &e) || e.Err == nil {
		return err
	}
	hidden := &url.Error{Op: e.Op, URL: redacted(e.URL), Err: hideURL(e.Err)}
	if err == error(e) {
		return hidden
	}
	if text := err.Error(); hidden.Error() != e.Error() {
		return &redactedError{strings.ReplaceAll(text, e.Error(), hidden.Error()), err}
	}
	return err
}

// redactedError is an error with a different text.
type redactedError struct {
	text string
	err  error
}

// Error returns the text without secrets.
func (e *redactedError) Error() string { return e.text }

// Unwrap returns the error.
func (e *redactedError) Unwrap() error { return e.err }

// climbs reports whether an escaped path has a segment "..", or one that a server or proxy may interpret as "..".
func climbs(path string) bool {
	if !strings.Contains(path, ".") && !strings.Contains(path, "%") {
		return false
	}
	for segment := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' || r == '\\' }) {
		if plain, err := url.PathUnescape(segment); err == nil {
			for part := range strings.FieldsFuncSeq(plain, func(r rune) bool { return r == '/' || r == '\\' }) {
				if part, _, _ = strings.Cut(part, ";"); part == ".." { // what some servers take out before they look (RFC 3986 §3.3)
					return true
				}
			}
		}
	}
	return false
}

// resolve returns the target for path, relative to the base t, with the values of its parameters. A leading slash
// makes no difference. path may also be a URL. defaults holds values that the path need not use, and may be nil.
func (t *target) resolve(path string, params, defaults *fields) (target, error) {
	path, _, _ = strings.Cut(path, "#")
	path, query, _ := strings.Cut(path, "?")
	template, used := path, 0
	literal, _, isTemplate := strings.Cut(path, "{")
	if isTemplate || len(params.names) > 0 {
		var err error
		if path, used, err = expand(path, params, defaults); err != nil {
			return target{}, err
		}
	}
	if used < len(params.names) {
		return target{}, fmt.Errorf("%w: there is a value for {%s}, but the path has no such parameter", ErrPath, unusedValue(template, params))
	}
	if climbs(path) {
		return target{}, ErrPathForbidden
	}
	if !isQuery(query) {
		return target{}, fmt.Errorf("%w: a query with blanks or control characters", ErrURL)
	}
	query = escapedQuery(query)
	if isPlainPath(path) {
		return target{t.origin, t.path + strings.TrimPrefix(path, "/"), query}, nil
	}
	if isTemplate && !strings.Contains(literal, "://") {
		return t.below(path, query) // whatever values make it look like
	}
	return t.resolveURL(path, query)
}

// below resolves a path that is not a URL.
func (t *target) below(path, query string) (target, error) {
	u, err := url.Parse(t.origin + "/" + strings.TrimPrefix(path, "/"))
	if err != nil {
		return target{}, hideURL(err)
	}
	return target{t.origin, t.path + strings.TrimPrefix(u.EscapedPath(), "/"), query}, nil
}

// resolveURL is resolve for paths that must be parsed.
func (t *target) resolveURL(path, query string) (target, error) {
	u, err := url.Parse(path)
	if err != nil {
		return target{}, hideURL(err)
	}
	if u.Scheme == "" && u.Host == "" && u.User == nil && !strings.HasPrefix(path, "//") {
		return target{t.origin, t.path + strings.TrimPrefix(u.EscapedPath(), "/"), query}, nil
	}
	origin, err := originOf(u)
	if err != nil {
		return target{}, err
	}
	if path = u.EscapedPath(); path == "" {
		path = "/"
	}
	return target{origin, path, query}, nil
}

// isPlainPath reports whether a path needs no escaping and cannot be a URL: it has letters, digits, and / - _ . ~
// only.
func isPlainPath(path string) bool {
	if strings.HasPrefix(path, "//") {
		return false
	}
	for i := range len(path) {
		switch c := path[i]; {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9':
		case c == '/' || c == '-' || c == '_' || c == '.' || c == '~':
		default:
			return false
		}
	}
	return true
}

func isQuery(query string) bool {
	for i := range len(query) {
		if query[i] <= ' ' || query[i] == 0x7f {
			return false
		}
	}
	return true
}

// escapedQuery escapes what browsers escape in a query: quotes, angle brackets and non-ASCII bytes.
func escapedQuery(query string) string {
	odd := func(r rune) bool { return r >= utf8.RuneSelf || r == '"' || r == '<' || r == '>' }
	if strings.IndexFunc(query, odd) < 0 {
		return query
	}
	var b strings.Builder
	for i := range len(query) {
		if c := query[i]; odd(rune(c)) {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// expand puts the values of the parameters into a path: {name} is one segment, in which
// slashes are escaped, {name...} any number of them. It returns how many of params it has used.
func expand(template string, params, defaults *fields) (path string, used int, err error) {
	var b strings.Builder
	b.Grow(len(template) + 32)
	whole := template
	for {
		before, rest, found := strings.Cut(template, "{")
		b.WriteString(before)
		if !found {
			return b.String(), used, nil
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", 0, fmt.Errorf("%w: { without }", ErrPath)
		}
		name, many := strings.CutSuffix(name, "...")
		value, ok := params.get(name, sameName)
		if ok {
			if !hasParameter(whole[:len(whole)-len(rest)], name) {
				used++
			}
		} else if defaults != nil {
			value, ok = defaults.get(name, sameName)
		}
		if !ok || value == "" {
			return "", 0, fmt.Errorf("%w: {%s} has no value", ErrPath, name)
		}
		if err := writeSegments(&b, value, many); err != nil {
			return "", 0, err
		}
		template = after
	}
}

// unusedValue returns the name of a value that the template has no parameter for.
func unusedValue(template string, params *fields) string {
	for _, name := range params.names {
		if !hasParameter(template, name) {
			return name
		}
	}
	return ""
}

func hasParameter(template, name string) bool {
	return strings.Contains(template, "{"+name+"}") || strings.Contains(template, "{"+name+"...}")
}

func writeSegments(b *strings.Builder, value string, many bool) error {
	if !many {
		if value == "." || value == ".." {
			return ErrPathForbidden
		}
		b.WriteString(url.PathEscape(value))
		return nil
	}
	for i, segment := range strings.Split(value, "/") {
		if i > 0 {
			b.WriteByte('/')
		}
		if err := writeSegments(b, segment, false); err != nil {
			return err
		}
	}
	return nil
}

// appendQuery appends the parameters to a query.
func appendQuery(query string, f *fields) string {
	if len(f.names) == 0 {
		return query
	}
	var b strings.Builder
	b.Grow(len(query) + 32*len(f.names))
	b.WriteString(query)
	for i, name := range f.names {
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(url.QueryEscape(name))
		b.WriteByte('=')
		b.WriteString(url.QueryEscape(f.values[i]))
	}
	return b.String()
}

// hasParam reports whether a query has a parameter with the name.
func hasParam(query, name string) bool {
	for pair := range strings.SplitSeq(query, "&") {
		if isParam(pair, name) {
			return true
		}
	}
	return false
}

// isParam reports whether a part of a query is a parameter with the name.
func isParam(pair, name string) bool {
	key, _, _ := strings.Cut(pair, "=")
	plain, err := url.QueryUnescape(key)
	return err == nil && plain == name
}

// withoutParam returns a path as it may be set for a request, without a parameter that its query may have.
func withoutParam(path, name string) string {
	whole := path
	path, _, _ = strings.Cut(path, "#")
	path, query, _ := strings.Cut(path, "?")
	if query == "" || !hasParam(query, name) {
		return whole
	}
	left := slices.DeleteFunc(strings.Split(query, "&"), func(pair string) bool { return isParam(pair, name) })
	if len(left) == 0 {
		return path
	}
	return path + "?" + strings.Join(left, "&")
}

// secret lists the query parameters whose values are redacted.
var secret = []string{
	"client_secret", "access_token", "refresh_token", "id_token", "token", "api_key", "apikey", "key", "secret", "password", "passwd",
	"signature", "sig", "code", "assertion", "client_assertion", "private_token", "x-amz-signature", "x-amz-credential", "x-amz-security-token",
	"x-goog-signature",
}

// redacted returns a URL without its userinfo, its fragment and the values of secret parameters.
func redacted(u string) string {
	u, fragment, hasFragment := strings.Cut(u, "#")
	u, query, hasQuery := strings.Cut(u, "?")
	if scheme, rest, ok := strings.Cut(u, "://"); ok {
		authority, path, slash := strings.Cut(rest, "/")
		if i := strings.LastIndexByte(authority, '@'); i >= 0 {
			authority = "REDACTED" + authority[i:]
		}
		if u = scheme + "://" + authority; slash {
			u += "/" + path
		}
	}
	if hasQuery {
		pairs := strings.Split(query, "&")
		for i, pair := range pairs {
			name, value, _ := strings.Cut(pair, "=")
			if plain, err := url.QueryUnescape(name); value != "" && (err != nil || isSecret(plain)) {
				pairs[i] = name + "=REDACTED"
			}
		}
		u += "?" + strings.Join(pairs, "&")
	}
	if hasFragment && fragment != "" {
		u += "#REDACTED"
	}
	return u
}

func isSecret(name string) bool {
	for _, s := range secret {
		if strings.EqualFold(s, name) {
			return true
		}
	}
	return false
}

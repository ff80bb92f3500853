package web

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"strings"
)

// Rewrite changes the path of requests before routing. The argument from is a pattern: see [Router.Add]. If the whole path of a request
// matches from, the request is routed as if it had asked for the path "to". In "to", a parameter such as {id} stands for the
// value that the parameter of the same name has in from:
//
//	app.Rewrite("/old/{path...}", "/new/{path...}")
//	app.Rewrite("/users/{id<int>}/photo", "/photos/{id}.jpg")
//
// If several rules match, the most specific one applies, regardless of the order of registration, as with routes. A path is rewritten
// at most once, so rules cannot form a loop. The query and the host stay the same. Middleware that compares paths sees only
// the new path.
//
// Values of parameters are inserted as the client sent them, including percent-encoding. A value can therefore not add a segment or
// a query to the path. If a dot segment would result, the request keeps its path.
//
// [Ctx.Path], [Ctx.Params] and package middleware's Proxy use the new path. [Ctx.OriginalURL] and [Ctx.FullURL] return what the client
// sent. To make clients use a new path themselves, redirect them instead: see [Ctx.Redirect].
//
// Rewrite panics if a pattern is malformed, if "to" has a constraint or a parameter that from does not have, or if another rule
// matches the same paths. If you mount an App in another App, the rules of the mounted App have no effect.
func (a *App) Rewrite(from, to string) {
	a.made()
	rule, err := a.newRewrite(from, to)
	if err != nil {
		panic("web: Rewrite: " + err.Error())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	next := rewrites{to: map[*Route][]rewritePart{rule.from: rule.to}}
	if a.rewrites != nil {
		maps.Copy(next.to, a.rewrites.to)
	}
	for route := range next.to {
		if other := next.root.add(route.pattern, route); other != nil {
			panic(fmt.Sprintf("web: Rewrite: %s and %s match the same paths: remove one of the rules", other.spelled, route.spelled))
		}
	}
	a.rewrites = &next
	a.table.Store(nil)
}

// rewriteRule is a rule of Rewrite.
type rewriteRule struct {
	from *Route
	to   []rewritePart
}

// rewritePart is a part of a new path: the value of a parameter, and the text behind it. param is -1 for text without a parameter.
type rewritePart struct {
	param int
	text  string // percent-encoded
}

// rewrites are all rules. They do not change once they are in use.
type rewrites struct {
	root node
	to   map[*Route][]rewritePart
}

// newRewrite reads the patterns of a rule.
func (a *App) newRewrite(from, to string) (rule rewriteRule, err error) {
	rule.from = &Route{app: a, spelled: from, known: a.known}
	if err = rule.from.parse(); err != nil {
		return rule, err
	}
	parts, err := parsePattern(to, a.known)
	if err != nil {
		return rule, err
	}
	for _, p := range parts {
		param := -1
		switch {
		case p.kind == textPart:
		case len(p.constraints) > 0:
			return rule, fmt.Errorf("the path %q has a constraint: move it to %q", to, from)
		default:
			if param = rule.from.param(p.name); param < 0 {
				return rule, fmt.Errorf("the path %q has the parameter %q, which %q does not have", to, p.name, from)
			}
		}
		text := (&url.URL{Path: "/" + p.text}).EscapedPath()[1:]
		rule.to = append(rule.to, rewritePart{param, text})
	}
	return rule, nil
}

// apply changes the target of the request if a rule matches.
func (w *rewrites) apply(c *Ctx) {
	path := c.request.Path()
	var values spans
	from := w.root.find(path, &values, 0)
	if from == nil || c.request.IsConnect() {
		return
	}
	sent, _, _ := bytes.Cut(c.request.URI().RequestURI(), []byte("?"))
	c.original = append(c.original[:0], c.request.RequestURI()...)
	fresh := append([]byte(nil), c.original[:pathStart(c.original)]...)
	fresh, ok := appendRewritten(fresh, w.to[from], withoutDoubleSlashes(sent), path, &values)
	if !ok {
		c.original = c.original[:0]
		return
	}
	if i := bytes.IndexByte(c.original, '?'); i >= 0 {
		fresh = append(fresh, c.original[i:]...)
	}
	c.request.Request.SetRequestURIBytes(fresh)
}

// pathStart returns where the path of a request target begins. Only an absolute target has a scheme and a host in front of it (RFC 9112
// §3.2.2).
func pathStart(target []byte) int {
	i := bytes.Index(target, []byte("://"))
	if i < 0 || target[0] == '/' {
		return 0
	}
	i += len("://")
	if end := bytes.IndexAny(target[i:], "/?"); end >= 0 {
		return i + end
	}
	return len(target)
}

// withoutDoubleSlashes merges repeated slashes, as in the paths that are routed.
func withoutDoubleSlashes(path []byte) []byte {
	if !bytes.Contains(path, []byte("//")) {
		return path
	}
	merged := make([]byte, 0, len(path))
	for i, b := range path {
		if b != '/' || i == 0 || path[i-1] != '/' {
			merged = append(merged, b)
		}
	}
	return merged
}

// appendRewritten appends the new path, percent-encoded. sent is the old path in encoded form, path is the same path decoded, and values
// are positions in path.
func appendRewritten(dst []byte, to []rewritePart, sent, path []byte, values *spans) (_ []byte, ok bool) {
	start := len(dst)
	for _, part := range to {
		if part.param >= 0 {
			value, ok := encodedAt(sent, path, values[part.param])
			if !ok {
				return nil, false
			}
			dst = append(dst, value...)
		}
		dst = append(dst, part.text...)
	}
	fresh := dst[start:]
	return dst, !hasEncodedDots(fresh) && !bytes.Contains(fresh, []byte("//"))
}

// encodedAt returns the part of sent that became the span of the decoded path. If path is not the decoded form of sent, ok is false. The
// only encoding that stays in decoded paths is %2F.
func encodedAt(sent, path []byte, s span) (value []byte, ok bool) {
	start, at := 0, 0
	for i := 0; ; {
		if at == int(s.start) {
			start = i
		}
		if at >= int(s.end) {
			return sent[start:i], at == int(s.end)
		}
		if i == len(sent) {
			return nil, false
		}
		decoded, width := sent[i:i+1], 1
		if sent[i] == '%' && i+3 <= len(sent) && !bytes.EqualFold(sent[i:i+3], []byte("%2F")) {
			b, err := hex.DecodeString(string(sent[i+1 : i+3]))
			if err == nil {
				decoded, width = b, 3
			}
		}
		if !bytes.EqualFold(decoded, path[at:at+1]) && decoded[0] != path[at] { // %2f is %2F in path
			return nil, false
		}
		i, at = i+width, at+1
	}
}

// hasEncodedDots reports whether a path has a dot segment once %2E is decoded.
func hasEncodedDots(path []byte) bool {
	if bytes.IndexByte(path, '.') < 0 && !bytes.Contains(path, []byte("%2")) {
		return false
	}
	return hasDotSegment(dotsDecoded.Replace(string(path)))
}

var dotsDecoded = strings.NewReplacer("%2e", ".", "%2E", ".")

// originalTarget returns the request target before Rewrite.
func (c *Ctx) originalTarget() []byte {
	if len(c.original) > 0 {
		return c.original
	}
	return c.request.RequestURI()
}

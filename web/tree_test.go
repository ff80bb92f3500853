package web

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// newTree returns a tree of routes with these patterns.
func newTree(t *testing.T, patterns []string) (root *node, routes []*Route) {
	t.Helper()
	root = &node{}
	for _, s := range patterns {
		r := &Route{spelled: s}
		if err := r.parse(); err != nil {
			t.Fatal(err)
		}
		if other := root.add(r.pattern, r); other != nil {
			t.Fatalf("%s is in the way of %s", other.spelled, s)
		}
		routes = append(routes, r)
	}
	return root, routes
}

func found(r *Route, path string, values *spans) string {
	if r == nil {
		return ""
	}
	text := r.spelled
	for i, name := range r.params {
		text += fmt.Sprintf(" %s=%s", name, values[i].in([]byte(path)))
	}
	return text
}

func TestTree(t *testing.T) {
	for _, tc := range []struct {
		name, patterns string
		want           map[string]string // by path; "" is no match
	}{
		{"text", "/ /a /ab /abc /b/c /ba", map[string]string{
			"/": "/", "/a": "/a", "/ab": "/ab", "/abc": "/abc", "/b/c": "/b/c", "/ba": "/ba",
			"": "", "/b": "", "/abcd": "", "/b/": "", "/a/": "", "//": "", "*": "",
		}},
		{"long text", "/abcdefg /abcdefgh /abcdefghi /abcdefghX /abcdefghijklmnop /abcdefghijklmnopq/:x /abcdefghijklmnoX", map[string]string{
			"/abcdefg": "/abcdefg", "/abcdefgh": "/abcdefgh", "/abcdefghi": "/abcdefghi", "/abcdefghX": "/abcdefghX",
			"/abcdefghijklmnop": "/abcdefghijklmnop", "/abcdefghijklmnoX": "/abcdefghijklmnoX",
			"/abcdefghijklmnopq/a-long-segment": "/abcdefghijklmnopq/:x x=a-long-segment",
			"/abcdef":                           "", "/abcdefgX": "", "/abcdefghij": "", "/abcdefghijklmno": "", "/abcdefghijklmnopq": "", "/abcdefg\x00": "",
		}},
		{"bytes that are 0", "/a\x00 /a /b\x00\x00c", map[string]string{
			"/a": "/a", "/a\x00": "/a\x00", "/a\x00\x00": "", "/b": "", "/b\x00\x00c": "/b\x00\x00c",
		}},
		{"a segment", "/users/:id /users/:id/posts/:post", map[string]string{
			"/users/7": "/users/:id id=7", "/users/7/posts/x y": "/users/:id/posts/:post id=7 post=x y",
			"/users/": "", "/users": "", "/users/7/": "", "/users//posts/1": "", "/users/7/posts/": "",
		}},
		{"text comes before parameters", "/users/:id /users/me /users/:id/edit /users/me/too", map[string]string{
			"/users/me": "/users/me", "/users/mee": "/users/:id id=mee", "/users/m": "/users/:id id=m",
			"/users/me/edit": "/users/:id/edit id=me", "/users/me/too": "/users/me/too", "/users/you/too": "",
		}},
		{"the rest", "/files/*path /files/a/b /files/:name/x", map[string]string{
			"/files/": "/files/*path path=", "/files/a/b": "/files/a/b", "/files/a/c": "/files/*path path=a/c",
			"/files/q/x": "/files/:name/x name=q", "/files/q/x/": "/files/*path path=q/x/", "/files": "",
		}},
		{"the rest without a name", "/*", map[string]string{"/": "/* *=", "/x/y": "/* *=x/y", "": ""}},
		{"nothing left before the rest", "/a/*x /a/", map[string]string{"/a/": "/a/", "/a/b": "/a/*x x=b"}},
		{"text behind a parameter", "/:name.json /:name.jpg /:name /:from-:to", map[string]string{
			"/a.json": "/:name.json name=a", "/a.jpg": "/:name.jpg name=a", "/a.js": "/:name name=a.js",
			"/a.b.json": "/:name.json name=a.b", "/.json": "/:name name=.json", "/a.json.x": "/:name name=a.json.x",
			"/ab-cd": "/:from-:to from=ab to=cd", "/ab-": "/:name name=ab-", "/a-b.json": "/:name.json name=a-b", "/a-b-c": "/:from-:to from=a to=b-c",
		}},
		{"text behind a parameter and segments", "/v:major.:minor/x/:id<int>.txt", map[string]string{
			"/v1.2/x/3.txt": "/v:major.:minor/x/:id<int>.txt major=1 minor=2 id=3", "/v1.2/x/a.txt": "", "/v1/x/3.txt": "",
		}},
		{"constraints come before none", "/u/:name /u/:id<int> /u/:id<int>/x /u/:name/y", map[string]string{
			"/u/12": "/u/:id<int> id=12", "/u/ab": "/u/:name name=ab", "/u/12/x": "/u/:id<int>/x id=12",
			"/u/12/y": "/u/:name/y name=12", "/u/ab/x": "", "/u/+1": "/u/:name name=+1",
		}},
		{"escapes", `/a\:b /a\*c /a\\d/:x`, map[string]string{"/a:b": `/a\:b`, "/a*c": `/a\*c`, `/a\d/1`: `/a\\d/:x x=1`, "/ab": ""}},
		{"bytes", "/é/:x", map[string]string{"/é/ü": "/é/:x x=ü", "/\xc3/x": ""}},
		{"braces", "/u/{id} /u/{id<int>}/x /u/me /{file}.json /v{major}.{minor} /f/{path...} /f/{name}/:x /a/{n<len(1);alpha>}z", map[string]string{
			"/u/7": "/u/{id} id=7", "/u/7/x": "/u/{id<int>}/x id=7", "/u/a/x": "", "/u/me": "/u/me", "/u/": "",
			"/a.json": "/{file}.json file=a", "/v1.2": "/v{major}.{minor} major=1 minor=2", "/f/": "/f/{path...} path=",
			"/f/a": "/f/{path...} path=a", "/f/a/b": "/f/{name}/:x name=a x=b", "/f/a/b/c": "/f/{path...} path=a/b/c", "/f": "",
			"/a/bz": "/a/{n<len(1);alpha>}z n=b", "/a/1z": "", "/u/{id}": "/u/{id} id={id}",
		}},
		{"braces that are text", `/a\{b\} /x/\{{y}\} /z/:y\}`, map[string]string{
			"/a{b}": `/a\{b\}`, "/x/{1}": `/x/\{{y}\} y=1`, "/x/1": "", "/z/1}": `/z/:y\} y=1`,
		}},
		{"never a slash", "/:a/:b", map[string]string{"/a%2Fb/c": "/:a/:b a=a%2Fb b=c", "/a/b/c": "", "/a//": ""}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root, _ := newTree(t, strings.Fields(tc.patterns))
			for path, want := range tc.want {
				var values spans
				if got := found(root.find([]byte(path), &values, 0), path, &values); got != want {
					t.Errorf("%q: %q, want %q", path, got, want)
				}
			}
		})
	}
}

func TestConstraints(t *testing.T) {
	for _, tc := range []struct{ constraint, yes, no string }{
		{"int", "0 7 -12 007 9223372036854775807", "+1 1.0 1e3 0x1 _1 1_0 9223372036854775808 a -"},
		{"bool", "true false", "1 True t"},
		{"float", "1 1.5 -2e3 +1 .5 5. 1E-3 1e308", "x 1,5 NaN nan -NaN Inf inf +Inf -inf Infinity infinity 0x1p-2 0X1P4 -0x1 0x1 1_000 0x_1p2 1e 1e1_0 1e999 -1e999 1f e + - . ١"},
		{"alpha", "abc XYZ", "a1 é -"},
		{"alnum", "a1 Z9", "a-b é"},
		{"hex", "0aF", "g 0x1"},
		{"uuid", "123e4567-e89b-12d3-a456-426614174000 123E4567-E89B-12D3-A456-426614174000", "123e4567e89b12d3a456426614174000 123e4567-e89b-12d3-a456-42661417400g x"},
		{"min(3)", "3 10", "2 -3 x"},
		{"max(3)", "3 -10", "4 x"},
		{"int;min(1);max(5)", "1 5", "0 6 a"},
		{"len(2)", "ab éé", "a abc"},
		{"minLen(2)", "ab abc", "é"},
		{"maxLen(2)", "é éé", "abc"},
		{`regex(^[a-c]{2};?$)`, "ab ab;", "abc ad"},
		{`regex([0-9]+)`, "1 123", "a1 1a a1a x"},
		{`regex(a|b)`, "a b", "ab xa bx ax xb"},
		{`regex(^a|b$)`, "a b", "ax xb"},
		{`regex((?i)admin)`, "admin ADMIN", "admins xadmin"},
		{`regex((?m)^a$)`, "a", "ab ba"},
		{`regex(a?)`, "a", "b aa ba"},
		{`regex(a??)`, "a", "b aa"},
		{`regex(a+?)`, "a aa", "ab"},
		{`regex(\Qa.b)`, "a.b", "axb a.bc xa.b"},
		{`regex((?:a|ab)c?)`, "a ab abc", "abcd"},
		{"datetime(2006-01-02)", "2026-08-22", "2026-13-01 x"},
		{"even", "2 44", "3"},
		{"starts(x)", "x xy", "y"},
	} {
		known := newKnownConstraints(map[string]Constraint{
			"even": without(func(v string) bool { return (v[len(v)-1]-'0')%2 == 0 }),
			"starts": func(argument string) (func(string) bool, error) {
				return func(v string) bool { return strings.HasPrefix(v, argument) }, nil
			},
		})
		for _, spelled := range []string{"/:p<" + tc.constraint + ">", "/{p<" + tc.constraint + ">}"} {
			r := &Route{spelled: spelled, known: known}
			if err := r.parse(); err != nil {
				t.Error(err)
				continue
			}
			var root node
			root.add(r.pattern, r)
			for value := range strings.FieldsSeq(tc.yes) {
				if root.find([]byte("/"+value), new(spans), 0) == nil {
					t.Errorf("%s does not take %q", spelled, value)
				}
			}
			for value := range strings.FieldsSeq(tc.no) {
				if root.find([]byte("/"+value), new(spans), 0) != nil {
					t.Errorf("%s takes %q", spelled, value)
				}
			}
		}
	}
}

// A built-in constraint looks at the path itself; only one of the program gets a copy, which it may keep.
func TestConstraintsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	var kept []string
	keep := func(v string) bool { kept = append(kept, v); return true }
	root, _ := newTree(t, []string{`/{a<int;min(1);max(9);len(1)>}/{b<alpha;minLen(2);maxLen(3)>}/{c<uuid>}/{d<hex>}/{e<float>}/{f<bool>}/{g<regex([a-z]+)>}`})
	path := []byte("/7/abc/123e4567-e89b-12d3-a456-426614174000/ff/1.5/true/abc")
	var values spans
	if n := testing.AllocsPerRun(100, func() {
		if root.find(path, &values, 0) == nil {
			t.Fatal("not found")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	r := &Route{spelled: "/{p<keep>}", known: newKnownConstraints(map[string]Constraint{"keep": without(keep)})}
	if err := r.parse(); err != nil {
		t.Fatal(err)
	}
	root = &node{}
	root.add(r.pattern, r)
	path = []byte("/first")
	root.find(path, &values, 0)
	copy(path, "/other")
	if len(kept) != 1 || kept[0] != "first" {
		t.Errorf("%q was kept", kept)
	}
}

// Constraints of the program are made when a route is registered, and one that cannot be made is refused then.
func TestConstraintsAreMadeOnce(t *testing.T) {
	made, asked := 0, 0
	app := New(Config{Constraints: map[string]Constraint{
		"atLeast": func(argument string) (func(string) bool, error) {
			made++
			n, err := strconv.Atoi(argument)
			return func(v string) bool { asked++; return len(v) >= n }, err
		},
		"nothing": func(string) (func(string) bool, error) { return nil, nil },
		"int":     without(func(v string) bool { return v == "ours" }),
	}})
	app.Get("/a/{x<atLeast(3)>}", says("a"))
	for range 3 {
		serve(app, "/a/abc")
	}
	if made != 1 || asked != 3 {
		t.Errorf("made %d times, asked %d times", made, asked)
	}
	mustPanic(t, `route GET /b/{x<atLeast(three)>}: path "/b/{x<atLeast(three)>}": constraint atLeast(three): strconv.Atoi`, func() { app.Get("/b/{x<atLeast(three)>}", says("")) })
	mustPanic(t, "constraint nothing(): the Constraint returned a nil function", func() { app.Get("/b/{x<nothing>}", says("")) })
	app.Get("/own/{x<int>}", says("own"))
	for value, want := range map[string]int{"ours": 200, "1": 404} {
		if status, _, _ := ask(t, app, "GET", "/own/"+value); status != want {
			t.Errorf("%s: %d, want %d", value, status, want)
		}
	}
	if n := len(app.Routes()); n != 2 {
		t.Errorf("%d routes", n)
	}
}

// Lines are nothing to a constraint: what is behind the end of one is a part of the value, too.
func TestRegexConstraintMatchesAllLines(t *testing.T) {
	for _, expression := range []string{"a", "^a$", "(?m)^a$", "(?m:a$)"} {
		is, err := wholeMatch(expression)
		if err != nil {
			t.Fatal(err)
		}
		for value, want := range map[string]bool{"a": true, "a\n": false, "\na": false, "a\nb": false, "b\na": false, "": false} {
			if is([]byte(value)) != want {
				t.Errorf("%s, %q: %v", expression, value, !want)
			}
		}
	}
}

func TestPatternsThatAreNone(t *testing.T) {
	for s, want := range map[string]string{
		"":                       "begin with a slash",
		"a":                      "begin with a slash",
		":a":                     "begin with a slash",
		"/:":                     "without a name",
		"/:/x":                   "without a name",
		"/:a?":                   "register a second route",
		"/:a<int>?/b":            "register a second route",
		"/:a:b":                  "nothing separates",
		"/a//b":                  "empty segment",
		"//":                     "empty segment",
		`/a/\/b`:                 "empty segment",
		"/:a//b":                 "empty segment",
		"/:a*b":                  "nothing separates",
		"/:a/:a":                 "same name",
		"/*a/b":                  "nothing may follow",
		"/*a*b":                  "nothing may follow",
		"/:a<int":                "do not end",
		"/:a<nonsense>":          "no constraint",
		"/:a<int(3)>":            "takes no argument",
		"/:a<min(x)>":            "wants a number",
		"/:a<min>":               "wants a number",
		"/:a<min(3>":             "parenthesis",
		"/:a<regex(()>":          "regex",
		"/:a<regex>":             "wants an expression",
		"/:a<datetime>":          "wants a layout",
		"/:a<datetime(yyyy-mm)>": "wants a layout",
		"GET /a":                 "for a method or a host, see",
		"/{$}":                   "leave {$} out",
		"/a/{$}":                 "leave {$} out",
		"/{}":                    "without a name",
		"/{...}":                 "without a name",
		"/{a":                    "is not closed",
		"/{a/b}":                 "is not a parameter",
		"/{a b}":                 "is not a parameter",
		"/{ü}":                   "is not a parameter",
		"/{a..}":                 "is not a parameter",
		"/{a:int}":               "write {a<int>}, or {a<regex([0-9]+)>}",
		"/{a:[0-9]{2}}":          "write {a<int>}",
		"/{a}<int>":              "write {a<int>}",
		"/{a}?":                  "register a second route",
		"/{a<int}":               "do not end",
		"/{a<int>":               "is not closed",
		"/{a<nonsense>}":         "no constraint",
		"/{a<int>...}":           "has no constraints",
		"/{a...}/b":              "nothing may follow",
		"/{a...}/":               "nothing may follow",
		"/{a}{b}":                "nothing separates",
		"/{a}:b":                 "nothing separates",
		"/{a}{b...}":             "nothing separates",
		"/{a}/:a":                "same name",
		"/a}":                    "no opening brace",
		"/:a}":                   "no opening brace",
		"{a}":                    "begin with a slash",
		strings.Repeat("/:a", 3): "same name",
		"/:a/:b/:c/:d/:e/:f/:g/:h/:i/:j/:k/:l/:m/:n/:o/:p/:q": "more than 16",
	} {
		if _, err := parsePattern(s, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", s, err, want)
		}
	}
}

// slowMatch matches one pattern, whatever others there are, by its definition.
func slowMatch(p pattern, path string) (values []string, ok bool) {
	for _, part := range p {
		switch part.kind {
		case textPart:
			if path, ok = strings.CutPrefix(path, part.text); !ok {
				return nil, false
			}
		case restPart:
			return append(values, path), true
		case paramPart:
			segment, _, _ := strings.Cut(path, "/")
			value, _, ok := strings.Cut(segment, part.text)
			if part.text == "" {
				value, ok = segment, true
			}
			if !ok || value == "" || slices.ContainsFunc(part.constraints, func(c constraint) bool { return !c([]byte(value)) }) {
				return nil, false
			}
			values, path = append(values, value), path[len(value)+len(part.text):]
		}
	}
	return values, path == ""
}

// places takes a pattern apart into what is chosen between at each place: bytes of text, parameters, the rest.
func places(p pattern) (list []string) {
	for _, part := range p {
		switch part.kind {
		case textPart:
			for i := range len(part.text) {
				list = append(list, part.text[i:i+1])
			}
		case paramPart:
			list = append(list, fmt.Sprintf(":%02d<%s>%s", 99-len(part.text), part.spelled, part.text))
		case restPart:
			list = append(list, "*rest")
		}
	}
	return list
}

// rank orders what is at one place: the end, text, parameters with longer text behind them, with
// constraints, the rest.
func rank(place string, end bool) string {
	switch {
	case end:
		return "0"
	case len(place) == 1:
		return "1"
	case place[0] == '*':
		return "3"
	case strings.Contains(place, "<>"):
		return "2" + place[1:3] + "b"
	}
	return "2" + place[1:3] + "a"
}

// slowFind returns the route for a path by trying all of them.
func slowFind(routes []*Route, path string) string {
	var best *Route
	var bestValues []string
	for _, r := range routes {
		if values, ok := slowMatch(r.pattern, path); ok && (best == nil || comesBefore(routes, r, best)) {
			best, bestValues = r, values
		}
	}
	if best == nil {
		return ""
	}
	text := best.spelled
	for i, name := range best.params {
		text += fmt.Sprintf(" %s=%s", name, bestValues[i])
	}
	return text
}

func comesBefore(routes []*Route, r, other *Route) bool {
	a, b := places(r.pattern), places(other.pattern)
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	at := func(list []string) (place string, end bool) {
		if i < len(list) {
			return list[i], false
		}
		return "", true
	}
	if x, y := rank(at(a)), rank(at(b)); x != y {
		return x < y
	}
	// Two parameters with different constraints: the one that was there first.
	first := func(list []string) int {
		return slices.IndexFunc(routes, func(r *Route) bool {
			p := places(r.pattern)
			return len(p) > i && slices.Equal(p[:i+1], list[:i+1])
		})
	}
	return first(a) < first(b)
}

func TestTreeAgreesWithItsDefinition(t *testing.T) {
	parts := strings.Fields("/a /b /ab /:x /:x<int> /:x<alpha> /:x.t /:x<int>.t /:x-:y /a:x /1 /")
	segments := append(strings.Fields("a b ab 1 12 a1 x.t 1.t a-b 1-2 .t - c %2F a-b.t 1-2.t"), "")
	r := rand.New(rand.NewPCG(20, 3))
	matched := 0
	for range 3000 {
		var root node
		var routes []*Route
		for range 1 + r.IntN(12) {
			route := &Route{}
			for i := range 1 + r.IntN(4) {
				p := parts[r.IntN(len(parts))]
				route.spelled += strings.NewReplacer(":x", fmt.Sprintf(":x%d", i), ":y", fmt.Sprintf(":y%d", i)).Replace(p)
			}
			if r.IntN(6) == 0 {
				route.spelled += "/*rest"
			}
			if route.parse() == nil && root.add(route.pattern, route) == nil {
				routes = append(routes, route)
			}
		}
		for range 20 {
			var path string
			for range 1 + r.IntN(4) {
				path += "/" + segments[r.IntN(len(segments))]
			}
			if r.IntN(8) == 0 {
				path += "/"
			}
			var values spans
			got, want := found(root.find([]byte(path), &values, 0), path, &values), slowFind(routes, path)
			if got != want {
				var spelled []string
				for _, r := range routes {
					spelled = append(spelled, r.spelled)
				}
				t.Fatalf("%q of %q: %q, want %q", path, spelled, got, want)
			}
			if got != "" {
				matched++
			}
		}
	}
	if matched < 3000 {
		t.Errorf("only %d paths matched anything", matched)
	}
}

// A path that leads into every corner of a tree is not looked at more often than there are nodes.
func TestHostilePaths(t *testing.T) {
	var patterns []string
	for i := range 1 << 12 { // all ways through twelve segments
		var b strings.Builder
		for bit := range 12 {
			if i>>bit&1 == 0 {
				b.WriteString("/a")
			} else {
				fmt.Fprintf(&b, "/:p%d", bit)
			}
		}
		patterns = append(patterns, b.String()+"/end")
	}
	root, _ := newTree(t, patterns)
	for _, path := range []string{strings.Repeat("/a", 12) + "/no", strings.Repeat("/a", 1<<15), strings.Repeat("/", 1<<16), "/" + strings.Repeat("a", 1<<16)} {
		for range 10 {
			if r := root.find([]byte(path), new(spans), 0); r != nil {
				t.Errorf("%.40q matched %s", path, r.spelled)
			}
		}
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("/a/:b<int;min(3)>.x/*c", "/a/3.x/d")
	f.Add(`/:a-:b/\:c`, "/x-y/:c")
	f.Add(`/{a<int>}.x/\{{b}\}/{c...}`, "/3.x/{d}/e")
	f.Fuzz(func(t *testing.T, spelled, path string) {
		r := &Route{spelled: spelled}
		if r.parse() != nil {
			return
		}
		var root node
		root.add(r.pattern, r)
		before := []byte(path)
		var values spans
		got := found(root.find(before, &values, 0), path, &values)
		if want := slowFind([]*Route{r}, path); got != want {
			t.Errorf("%q of %q: %q, want %q", path, spelled, got, want)
		}
		if !bytes.Equal(before, []byte(path)) {
			t.Errorf("the path became %q", before)
		}
	})
}

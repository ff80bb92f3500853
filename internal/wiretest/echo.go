package wiretest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Echo is the JSON body with which the server under test responds to a request. A byte from 0x80 is represented by
// the code point of the same value.
type Echo struct {
	Method  string `json:"method"`
	URI     string `json:"uri"`  // the request target as received
	Path    string `json:"path"` // percent-decoded
	Host    string `json:"host"` // the authority, if the target has absolute-form
	Headers []Pair `json:"headers"`
	Body    []byte `json:"body_b64"`
}

// Latin1 maps each byte of b to the code point of the same value.
func Latin1(b []byte) string {
	runes := make([]rune, len(b))
	for i, c := range b {
		runes[i] = rune(c)
	}
	return string(runes)
}

// ParseEcho decodes an Echo. It returns nil if b does not contain one.
func ParseEcho(b []byte) *Echo {
	var e Echo
	if json.Unmarshal(b, &e) != nil || e.Path == "" && !strings.Contains(string(b), `"path"`) {
		return nil
	}
	return &e
}

// checkContent checks the contents of the responses. The caller holds p.mu.
func (p *player) checkContent() {
	x := &p.Expect
	for _, r := range p.finals {
		if e := ParseEcho(r.Body); e != nil && x.NeverPath != "" && e.Path == x.NeverPath {
			p.fail("SMUGGLED: %s was executed", x.NeverPath)
		}
		if slices.Contains(x.NeverStatus, r.Status) {
			p.fail("status %d must not be sent", r.Status)
		}
	}
	if x.InterimForbidden && len(p.interims) > 0 {
		p.fail("1xx %v must not be sent", p.interims)
	}
	for _, s := range x.Interim {
		if !slices.Contains(p.interims, s) && !p.rejected() {
			p.fail("interim %d missing", s)
		}
	}
	p.checkMessage(p.finals[0])
	for i, statuses := range x.Seq {
		if !p.rejected() && i < len(p.finals) && !slices.Contains(statuses, p.finals[i].Status) {
			p.fail("response %d status %d, want %v", i+1, p.finals[i].Status, statuses)
		}
	}
	if p.finals[0].Status < 300 && !p.rejected() {
		p.checkPaths()
		if !x.SkipEcho {
			p.checkEcho(ParseEcho(p.finals[0].Body))
		}
	}
}

// checkMessage checks the first response, apart from its echo.
func (p *player) checkMessage(r *Response) {
	x := &p.Expect
	absent := x.HeadersAbsentOut
	if r.Status >= 200 && r.Status < 300 {
		absent = slices.Concat(absent, x.HeadersAbsentOut2x)
	}
	for _, name := range absent {
		if len(r.Values(name)) > 0 {
			p.fail("response must not have %s", name)
		}
	}
	for _, f := range x.HeadersContain {
		if !containsFold(r.Values(f[0]), f[1]) {
			p.fail("response lacks %s: %s", f[0], f[1])
		}
	}
	if x.BodyEmpty && len(r.Body) > 0 {
		p.fail("response has a body")
	}
	if x.Body != nil && r.Status < 400 && string(r.Body) != *x.Body {
		p.fail("response body %.40q", r.Body)
	}
	if _, err := time.Parse("Mon, 02 Jan 2006 15:04:05 GMT", r.Get("Date")); x.Date && err != nil {
		p.fail("Date missing or no IMF-fixdate")
	}
}

func (p *player) checkPaths() {
	x, n := &p.Expect, len(p.finals)
	for i, want := range x.Paths {
		if want == nil || i >= n {
			continue
		}
		if e := ParseEcho(p.finals[i].Body); e == nil || e.Path != *want {
			p.fail("response %d is %.60q, want the echo of %q", i+1, p.finals[i].Body, *want)
		}
	}
	if n > 1 && len(x.PathsTailAny) > 0 {
		if e := ParseEcho(p.finals[n-1].Body); e == nil || !slices.Contains(x.PathsTailAny, e.Path) {
			p.fail("DESYNC: last response %d %.60q", p.finals[n-1].Status, p.finals[n-1].Body)
		}
	}
}

// checkEcho compares what the handler saw with the expected values.
func (p *player) checkEcho(e *Echo) {
	if e == nil {
		p.fail("response body is no echo")
		return
	}
	x := &p.Expect
	p.wantOne("path", e.Path, x.PathSeen)
	p.wantOne("uri", e.URI, x.URISeen)
	p.wantOne("host", e.Host, x.HostSeen)
	p.wantOne("method", e.Method, x.MethodSeen)
	if x.BodySeen != nil && Latin1(e.Body) != *x.BodySeen {
		p.fail("body seen %.40q, want %.40q", e.Body, *x.BodySeen)
	}
	if sum := sha256.Sum256(e.Body); x.BodySHA256 != "" && hex.EncodeToString(sum[:]) != x.BodySHA256 {
		p.fail("body of %d bytes differs, want %d", len(e.Body), x.BodyLen)
	}
	p.checkFields(e)
}

func (p *player) wantOne(what, got string, want Alternatives) {
	if want != nil && !slices.Contains(want, got) {
		p.fail("%s seen %q, want %q", what, got, want)
	}
}

func (p *player) checkFields(e *Echo) {
	got := func(name string) (vs []string) {
		for _, h := range e.Headers {
			if strings.EqualFold(h[0], name) {
				vs = append(vs, h[1])
			}
		}
		return vs
	}
	x := &p.Expect
	for _, f := range x.HeadersSeen {
		if !slices.Contains(got(f[0]), f[1]) {
			p.fail("header %s seen %q, want %q", f[0], got(f[0]), f[1])
		}
	}
	for _, f := range x.HeadersSeenWS {
		same := func(v string) bool { return oneBlank(v) == oneBlank(f[1]) }
		if !slices.ContainsFunc(got(f[0]), same) {
			p.fail("header %s seen %q, want about %q", f[0], got(f[0]), f[1])
		}
	}
	for _, f := range x.HeadersJoined {
		if v := strings.Join(got(f[0]), ", "); v != f[1] {
			p.fail("header %s joined %q, want %q", f[0], v, f[1])
		}
	}
	for _, f := range x.HeadersNot {
		if slices.Contains(got(f[0]), f[1]) {
			p.fail("header %s: %s must not be seen", f[0], f[1])
		}
	}
	for _, name := range x.HeadersAbsent {
		if len(got(name)) > 0 {
			p.fail("header %s must not be seen", name)
		}
	}
}

// oneBlank collapses each run of blanks to one space and trims both ends.
func oneBlank(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\t' }), " ")
}

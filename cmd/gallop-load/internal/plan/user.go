package plan

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gallop-http/gallop"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/check"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/template"
	"github.com/gallop-http/gallop/internal/load/script"
)

// user is a virtual user. Its variables and its cookies last as long as the user.
type user struct {
	script *Script
	values template.Values
	steps  []*request // of the current iteration; nil between iterations
	at     int        // index of the next step
	asked  *request   // the last request
	jar    *gallop.CookieJar

	random *rand.Rand
	next   script.Request // the last request, unless it was ready
	header []script.Field
	buf    []byte
}

// NewUser creates a user. Users with the same number and the same seed send the same requests.
func (s *Script) NewUser(number int) script.User {
	u := &user{script: s, random: rand.New(rand.NewPCG(s.seed, uint64(number)))}
	u.values = template.Values{User: number, Seq: &s.seq, Rand: u.random, Vars: slices.Clone(s.vars)}
	if s.jars {
		u.jar = &gallop.CookieJar{}
	}
	return u
}

// Next returns the next request.
func (u *user) Next() (*script.Request, bool) {
	if u.steps == nil {
		u.begin()
	}
	if u.at >= len(u.steps) {
		u.steps = nil
		return nil, false
	}
	u.asked = u.steps[u.at]
	u.at++
	return u.render(u.asked), true
}

// begin begins an iteration.
func (u *user) begin() {
	s := u.script
	u.at, u.steps = 0, s.choices[0].steps
	if len(s.choices) > 1 {
		x := u.random.Float64() * s.total
		i := 0
		for i < len(s.choices)-1 && x >= s.choices[i].upTo {
			i++
		}
		u.steps = s.choices[i].steps
	}
	u.values.Iteration++
	if s.feed != nil {
		u.values.Row = s.feed.Row(u.values.User, u.random)
	}
}

// render returns a request with its templates filled in. The bytes of one request share one string.
func (u *user) render(r *request) *script.Request {
	if r.ready != nil && (r.pause == Span{}) {
		return r.ready
	}
	q := &u.next
	if r.ready != nil {
		*q = *r.ready
		q.Pause = r.wait(u.random.Int64N)
		return q
	}
	*q = r.shape
	q.Pause = r.wait(u.random.Int64N)
	u.buf = r.path.Append(u.buf[:0], &u.values)
	path := len(u.buf)
	u.header = u.header[:0]
	ends := make([]int, 0, 16)
	for _, h := range r.header {
		u.buf = h.value.Append(u.buf, &u.values)
		ends = append(ends, len(u.buf))
	}
	text, from := string(u.buf), path
	q.Path = text[:path]
	for i, h := range r.header {
		u.header = append(u.header, script.Field{Name: h.name, Value: text[from:ends[i]]})
		from = ends[i]
	}
	u.addCookies(r, q.Path)
	q.Header = u.header
	u.buf = r.body.Append(u.buf[:0], &u.values)
	q.Body = u.buf
	return q
}

// Done takes the response.
func (u *user) Done(resp *script.Response) {
	r := u.asked
	if r == nil {
		return
	}
	if u.jar != nil && resp.Err == nil {
		u.keepCookies(r, resp)
	}
	if !r.responded(u, resp) {
		u.at = len(u.steps) // the rest of the iteration depends on this response
	}
}

// examine counts the checks and takes the captured values. It reports whether all values were there.
func (r *request) examine(u *user, resp *script.Response) bool {
	reply := &check.Reply{Response: resp, Vars: u.vars}
	example := reply.Example
	if resp.Err != nil {
		example = resp.Err.Error
	}
	for i, c := range r.checks {
		r.tallies[i].count(resp.Err == nil && c.Pass(reply), example)
	}
	ok := resp.Err == nil
	for i, c := range r.captures {
		value, found := "", false
		if resp.Err == nil {
			value, found = c.Take(reply)
		}
		r.tallies[len(r.checks)+i].count(found, example)
		if found {
			u.values.Vars[c.variable] = value
		}
		ok = ok && found
	}
	return ok
}

// vars returns the variables for expressions.
func (u *user) vars() map[string]string {
	m := make(map[string]string, len(u.values.Vars))
	for i, name := range u.script.varKeys {
		m[name] = u.values.Vars[i]
	}
	return m
}

// uri returns the URI of a request, for the cookie jar.
func (u *user) uri(r *request, path string) *gallop.URI {
	scheme, authority := r.shape.Scheme, r.shape.Authority
	if scheme == "" {
		scheme = u.script.target.scheme
	}
	if authority == "" {
		authority = u.script.target.authority
	}
	uri := &gallop.URI{}
	if uri.Parse(nil, []byte(scheme+"://"+authority+path)) != nil {
		return nil
	}
	return uri
}

// addCookies adds the cookies of the jar to the headers.
func (u *user) addCookies(r *request, path string) {
	if u.jar == nil || u.jar.Len() == 0 {
		return
	}
	if uri := u.uri(r, path); uri != nil {
		if cookies := u.jar.AppendCookies(nil, uri); len(cookies) > 0 {
			u.header = append(u.header, script.Field{Name: "Cookie", Value: string(cookies)})
		}
	}
}

// keepCookies stores the cookies that a response sets.
func (u *user) keepCookies(r *request, resp *script.Response) {
	var h gallop.ResponseHeader
	set := false
	for _, f := range resp.Header {
		if strings.EqualFold(f.Name, "set-cookie") {
			h.Add("Set-Cookie", f.Value)
			set = true
		}
	}
	if !set {
		return
	}
	if uri := u.uri(r, u.next.Path); uri != nil {
		u.jar.SetCookies(uri, &h)
	}
}

package plan

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/check"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/template"
	"github.com/gallop-http/gallop/internal/load/script"
)

// request is a compiled request. It is immutable.
type request struct {
	name   string
	kind   int
	tags   map[string]string
	ready  *script.Request // for a request that is the same each time; its Pause is not set
	shape  script.Request  // what does not depend on templates
	path   *template.Template
	header []headerTemplate
	body   *template.Template
	pause  Span

	checks   []*check.Check
	tallies  []*tally // by index of checks, then of captures
	captures []capture
}

type headerTemplate struct {
	name  string
	value *template.Template
}

// capture sets a variable from a response.
type capture struct {
	variable int
	*check.Capture
}

// userAgent is sent unless a request has a User-Agent.
const userAgent = "gallop-load"

// compiler compiles the requests of one scenario.
type compiler struct {
	target target
	scope  template.Scope
	dir    string // for files of bodies
	script *Script
	usage  usage
}

// usage is what the requests of a scenario need.
type usage struct{ row, user, responses, elsewhere bool }

// inherit returns a request with the values that it lacks taken from the level above. Headers and tags with other names, and all
// checks, are added.
func inherit(r, above Request) Request {
	var headers, tags Pairs
	for _, h := range above.Headers {
		if !slices.ContainsFunc(r.Headers, func(own Pair) bool { return strings.EqualFold(own.Name, h.Name) }) {
			headers = append(headers, h)
		}
	}
	for _, t := range above.Tags {
		if !slices.ContainsFunc(r.Tags, func(own Pair) bool { return own.Name == t.Name }) {
			tags = append(tags, t)
		}
	}
	r.Headers, r.Tags = append(headers, r.Headers...), append(tags, r.Tags...)
	r.Checks = append(slices.Clone(above.Checks), r.Checks...)
	if r.Expect == nil {
		r.Expect = above.Expect
	}
	if (r.Pause == Span{}) {
		r.Pause = above.Pause
	}
	if !r.Timeout.Given {
		r.Timeout = above.Timeout
	}
	return r
}

// compile compiles a request.
func (c *compiler) compile(item Item) (*request, error) {
	r := &request{pause: item.Pause, tags: item.Tags.Map()}
	r.shape = script.Request{Method: item.Method, Timeout: item.Timeout.Duration, KeepHead: c.script.jars}
	if err := errors.Join(c.url(r, item.URL), c.method(r, item), c.content(r, item), c.headers(r, item)); err != nil {
		return nil, err
	}
	if r.name = item.Name; r.name == "" {
		path, _, _ := strings.Cut(item.URL, "?")
		r.name = r.shape.Method + " " + cmpString(path, cutQuery(c.target.path))
	}
	if err := c.expectations(r, item); err != nil {
		return nil, err
	}
	c.register(r)
	c.prepare(r)
	return r, nil
}

func cutQuery(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return path
}

func (c *compiler) url(r *request, source string) (err error) {
	var scheme, authority string
	path := c.target.path
	if source != "" {
		if scheme, authority, path, err = splitURL(source); err != nil {
			return err
		}
	}
	if authority != "" && (scheme != c.target.scheme || authority != c.target.authority) {
		r.shape.Scheme, r.shape.Authority = scheme, authority
		c.usage.elsewhere = true
	}
	if r.path, err = c.template(path, template.Path); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	if text, ok := r.path.Constant(); ok && strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		return fmt.Errorf("url %q: it must be percent-encoded", source)
	}
	return nil
}

func (c *compiler) method(r *request, item Item) error {
	if item.Method == "" {
		r.shape.Method = "GET"
		if item.Body.Given || item.BodyFile != "" {
			r.shape.Method = "POST"
		}
	}
	if strings.ContainsFunc(r.shape.Method, func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", c) }) {
		return fmt.Errorf("method %q is no method", r.shape.Method)
	}
	return nil
}

// content compiles the body.
func (c *compiler) content(r *request, item Item) (err error) {
	text := item.Body.Text
	switch {
	case item.BodyFile != "" && item.Body.Given:
		return errors.New("a request has either body or body-file")
	case item.BodyFile != "":
		data, err := os.ReadFile(c.file(item.BodyFile))
		if err != nil {
			return fmt.Errorf("body-file: %w", err)
		}
		text = string(data)
	}
	if r.body, err = c.template(text, template.Body); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	return nil
}

// file returns the path of a file that a scenario file names.
func (c *compiler) file(name string) string { return join(c.dir, name) }

func join(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// headers compiles the headers, and adds User-Agent and Content-Type.
func (c *compiler) headers(r *request, item Item) error {
	all := item.Headers
	has := func(name string) bool {
		return slices.ContainsFunc(all, func(h Pair) bool { return strings.EqualFold(h.Name, name) })
	}
	if !has("user-agent") {
		all = append(slices.Clone(all), Pair{"User-Agent", userAgent})
	}
	if item.Body.JSON && !has("content-type") {
		all = append(slices.Clone(all), Pair{"Content-Type", "application/json"})
	}
	for _, h := range all {
		switch strings.ToLower(h.Name) {
		case "host":
			r.shape.Authority = h.Value
			continue
		case "content-length", "transfer-encoding":
			return fmt.Errorf("header %s: it follows from the body", h.Name)
		}
		if h.Name == "" || strings.ContainsFunc(h.Name, func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", c) }) {
			return fmt.Errorf("header %q: that is no name of a header", h.Name)
		}
		if strings.ContainsAny(h.Value, "\r\n\x00") {
			return fmt.Errorf("header %s: its value has a line break", h.Name)
		}
		value, err := c.template(h.Value, template.Header)
		if err != nil {
			return fmt.Errorf("header %s: %w", h.Name, err)
		}
		r.header = append(r.header, headerTemplate{h.Name, value})
	}
	return nil
}

// template compiles a template and notes what it depends on.
func (c *compiler) template(source string, place template.Place) (*template.Template, error) {
	t, err := template.Compile(source, &c.scope, place)
	if err != nil {
		return nil, err
	}
	c.usage.row = c.usage.row || t.ReadsRow()
	c.usage.user = c.usage.user || t.ReadsUser()
	return t, nil
}

// expectations compiles expected statuses, checks and captures.
func (c *compiler) expectations(r *request, item Item) error {
	if len(item.Expect) > 0 {
		set, err := check.ParseStatuses(strings.Join(item.Expect, ","))
		if err != nil {
			return fmt.Errorf("expect: %w", err)
		}
		r.shape.Expect = set
	}
	need := func(head, body bool) {
		r.shape.KeepHead = r.shape.KeepHead || head
		if body {
			r.shape.KeepBody = -1
		}
	}
	for _, source := range item.Checks {
		one, err := check.Parse(source)
		if err != nil {
			return err
		}
		r.checks = append(r.checks, one)
		need(one.NeedHead, one.NeedBody)
	}
	for _, pair := range item.Capture {
		one, err := check.ParseCapture(pair.Value)
		if err != nil {
			return err
		}
		r.captures = append(r.captures, capture{slices.Index(c.scope.Vars, pair.Name), one})
		need(one.NeedHead, one.NeedBody)
		c.usage.responses = true
	}
	return nil
}

// prepare builds the request once if it is the same each time.
func (c *compiler) prepare(r *request) {
	constant := []*template.Template{r.path, r.body}
	for _, h := range r.header {
		constant = append(constant, h.value)
	}
	for _, t := range constant {
		if _, ok := t.Constant(); !ok {
			return
		}
	}
	if c.script.jars {
		return
	}
	ready := r.shape
	ready.Kind = r.kind
	ready.Path, _ = r.path.Constant()
	text, _ := r.body.Constant()
	ready.Body = []byte(text)
	for _, h := range r.header {
		value, _ := h.value.Constant()
		ready.Header = append(ready.Header, script.Field{Name: h.name, Value: value})
	}
	if ready.Scheme == "" {
		ready.Wire = wire(&ready, cmpString(ready.Authority, c.target.authority))
	}
	r.ready = &ready
}

// wire returns a request as bytes of HTTP/1.1.
func wire(r *script.Request, authority string) []byte {
	b := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.Method, r.Path, authority)
	for _, h := range r.Header {
		b = append(b, h.Name+": "+h.Value+"\r\n"...)
	}
	if len(r.Body) > 0 || r.Method == "POST" || r.Method == "PUT" || r.Method == "PATCH" {
		b = append(b, "Content-Length: "+strconv.Itoa(len(r.Body))+"\r\n"...)
	}
	b = append(b, "\r\n"...)
	return append(b, r.Body...)
}

// wait returns how long the user waits before the request.
func (r *request) wait(random func(n int64) int64) time.Duration {
	if r.pause.Max == r.pause.Min {
		return r.pause.Min
	}
	return r.pause.Min + time.Duration(random(int64(r.pause.Max-r.pause.Min)+1))
}

package nethttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gallop-http/gallop"
	"golang.org/x/net/http/httpguts"
)

// userAgent is the User-Agent of net/http, which servers expect from its programs.
const userAgent = "Go-http-client/1.1"

// maxWholeBody is the maximum size of a body in memory that is sent without a stream.
const maxWholeBody = 64 << 10

// checkRequest returns an error for invalid parts of r, which gallop would leave out silently.
func checkRequest(r *http.Request) error {
	if r.Method != "" && !httpguts.ValidHeaderFieldName(r.Method) { // a token as well
		return fmt.Errorf("nethttp: invalid method %q", r.Method)
	}
	return cmp.Or(checkFields(r.Header), checkFields(r.Trailer))
}

// fill sets the gallop request from the request of the call. If proxy is not nil, it gets the whole URI.
func (c *call) fill(t *Transport, proxy *url.URL) error {
	r, h := c.r, &c.request.Header
	h.SetNoDefaultContentType(true)
	h.SetMethod(r.Method)
	host, err := sentHost(cmp.Or(r.Host, r.URL.Host))
	if err == nil {
		err = c.setTarget(host, proxy)
	}
	if err != nil {
		closeBody(r)
		return err
	}
	h.SetHost(host)
	c.setFields(t)
	return c.setBody()
}

// sentHost returns a host in the form that is sent to servers: in ASCII (RFC 5891) and without an empty port. The zone of
// an IPv6 address is removed, because it has a meaning on this machine only (RFC 6874 §4).
func sentHost(host string) (string, error) {
	host, err := httpguts.PunycodeHostPort(host)
	if err != nil {
		return "", fmt.Errorf("nethttp: invalid host: %w", err)
	}
	if end := strings.LastIndexByte(host, ']'); end > 0 && host[0] == '[' {
		if zone := strings.IndexByte(host[:end], '%'); zone > 0 {
			host = host[:zone] + host[end:]
		}
	}
	return strings.TrimSuffix(host, ":"), nil
}

func (c *call) setTarget(host string, proxy *url.URL) error {
	r, h := c.r, &c.request.Header
	target := r.URL.RequestURI()
	switch {
	case r.Method == http.MethodConnect && r.URL.Path == "":
		target = cmp.Or(r.URL.Opaque, host)
	case proxy != nil && r.URL.Opaque == "":
		asked, err := sentHost(r.URL.Host)
		if err != nil {
			return err
		}
		target = r.URL.Scheme + "://" + asked + target
		if user := proxy.User; user != nil && r.Header.Get("Proxy-Authorization") == "" {
			password, _ := user.Password()
			h.Set("Proxy-Authorization", basicAuth(user.Username(), password))
		}
	}
	target, err := sentTarget(target)
	if err != nil {
		return err
	}
	h.SetRequestURI(target)
	return nil
}

var errControlInURL = errors.New("nethttp: control character in Request.URL")

// sentTarget escapes the bytes in a target that a URI must not contain (RFC 3986 §2), such as spaces in a query.
func sentTarget(target string) (string, error) {
	odd := 0
	for i := range len(target) {
		switch c := target[i]; {
		case c < ' ' || c == 0x7f:
			return "", errControlInURL
		case isOddInTarget(c):
			odd++
		}
	}
	if odd == 0 {
		return target, nil
	}
	var b strings.Builder
	b.Grow(len(target) + 2*odd)
	for i := range len(target) {
		if c := target[i]; isOddInTarget(c) {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

func isOddInTarget(c byte) bool {
	return c >= 0x80 || c == '"' || c == '<' || c == '>' || c == '#'
}

// basicAuth returns the value of an Authorization header with credentials (RFC 7617).
func basicAuth(user, password string) string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(user, password)
	return r.Header.Get("Authorization")
}

func (c *call) setFields(t *Transport) {
	r, h := c.r, &c.request.Header
	if agent, set := r.Header["User-Agent"]; !set {
		h.SetUserAgent(userAgent)
	} else if len(agent) > 0 {
		h.SetUserAgent(agent[0])
	}
	var room [16]string
	for _, name := range sortedNames(room[:0], r.Header) {
		key := textproto.CanonicalMIMEHeaderKey(name)
		switch key {
		case "Host", "Content-Length", "Transfer-Encoding", "Trailer": // r has fields for them
			continue
		}
		if name == "User-Agent" {
			continue
		}
		if name != key { // set by assignment to the map: keep the spelling
			h.DisableNormalizing()
		}
		for _, value := range r.Header[name] {
			h.Add(name, value)
		}
	}
	if c.unzip = !t.DisableCompression && r.Method != http.MethodHead &&
		r.Header.Get("Accept-Encoding") == "" && r.Header.Get("Range") == ""; c.unzip {
		h.Set("Accept-Encoding", "gzip")
	}
	if r.Close || t.keepsNone() && !switches(r.Header) {
		h.SetConnectionClose()
	}
}

// switches reports whether the header asks for an upgrade of the connection.
func switches(h http.Header) bool {
	return h.Get("Upgrade") != "" && httpguts.HeaderValuesContainsToken(h["Connection"], "Upgrade")
}

// setBody sets the body of the gallop request.
func (c *call) setBody() error {
	r, req := c.r, c.request
	switch {
	case r.Body == http.NoBody:
		return r.Body.Close()
	case r.Body == nil && r.ContentLength > 0:
		return fmt.Errorf("nethttp: ContentLength=%d with nil Body", r.ContentLength)
	case r.Body == nil:
		return nil
	case r.Method == http.MethodConnect: // has no content (RFC 9110 §9.3.6)
		c.feeds = r.Body
		return nil
	}
	length, body := r.ContentLength, r.Body
	chunked := len(r.TransferEncoding) > 0 && r.TransferEncoding[0] == "chunked"
	if length <= 0 || chunked {
		length = -1
		if !chunked && usuallyLacksBody(r.Method) {
			some, err := probe(c.ctx, body)
			if err != nil || some == nil {
				closeBody(r)
				return err
			}
			body = some
		}
	}
	if r.GetBody != nil && length >= 0 && length <= maxWholeBody && len(r.Trailer) == 0 {
		return c.setWholeBody(body, int(length))
	}
	if len(r.Trailer) > 0 {
		if err := c.announceTrailers(); err != nil {
			closeBody(r)
			return err
		}
		length = -1
		c.sends = &sentTrailers{ReadCloser: body, r: r, to: &req.Header}
		body = c.sends
	}
	c.length = length
	req.SetBodyStream(body, int(length))
	req.FullDuplex = true
	return nil
}

// setWholeBody sets a body that is already in memory.
func (c *call) setWholeBody(body io.ReadCloser, length int) error {
	defer body.Close()
	buf := make([]byte, length)
	if n, err := io.ReadFull(body, buf); err != nil {
		return fmt.Errorf("nethttp: ContentLength=%d with Body length %d: %w", length, n, err)
	}
	if n, _ := io.ReadFull(body, make([]byte, 1)); n > 0 {
		return fmt.Errorf("nethttp: ContentLength=%d with a longer Body", length)
	}
	c.request.SetBodyRaw(buf)
	c.length = int64(length)
	return nil
}

// usuallyLacksBody reports whether servers do not expect a body with this method.
func usuallyLacksBody(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodOptions, "PROPFIND", "SEARCH":
		return true
	}
	return false
}

// maxProbe is how long a request waits for the first byte of a body that may be empty.
const maxProbe = 200 * time.Millisecond

// probe returns nil if body is empty, and otherwise a reader with all bytes of body. If body does not return its first byte
// within maxProbe, or before ctx is done, it counts as not empty.
func probe(ctx context.Context, body io.ReadCloser) (io.ReadCloser, error) {
	b := &probedBody{ReadCloser: body, done: make(chan struct{})}
	go b.readFirst()
	timer := time.NewTimer(maxProbe)
	defer timer.Stop()
	select {
	case <-b.done:
	case <-timer.C:
		return b, nil
	case <-ctx.Done():
		return b, nil
	}
	switch {
	case b.panicked != nil:
		panic(b.panicked)
	case b.n == 1:
		return b, nil
	case b.err == io.EOF:
		return nil, nil
	}
	return nil, b.err
}

// probedBody is a body whose first byte another goroutine reads.
type probedBody struct {
	io.ReadCloser
	done chan struct{} // closed when the fields below are set

	first    [1]byte
	n        int // 1 until Read returns first
	err      error
	panicked any // value of a panic in Read
}

func (b *probedBody) readFirst() {
	defer close(b.done)
	defer func() { b.panicked = recover() }()
	b.err = io.ErrUnexpectedEOF // if Read ends the goroutine
	b.n, b.err = io.ReadFull(b.ReadCloser, b.first[:])
}

// Read implements io.Reader.
func (b *probedBody) Read(p []byte) (int, error) {
	<-b.done
	switch {
	case b.panicked != nil:
		panic(b.panicked)
	case b.err != nil:
		return 0, b.err
	case b.n == 1 && len(p) > 0:
		b.n = 0
		return copy(p, b.first[:]), nil
	}
	return b.ReadCloser.Read(p)
}

func (c *call) announceTrailers() error {
	for name := range c.r.Trailer {
		if err := c.request.Header.AddTrailer(name); err != nil {
			return fmt.Errorf("nethttp: trailer %q: %w", name, err)
		}
	}
	return nil
}

// sentTrailers is the body of r. At its end, r.Trailer is complete. It may still be read after the call has ended, when
// another request uses the header.
type sentTrailers struct {
	io.ReadCloser
	r *http.Request

	mu sync.Mutex
	to *gallop.RequestHeader // nil once the trailers are set, or the call has ended
}

// Read implements io.Reader.
func (b *sentTrailers) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.send()
	}
	return n, err
}

func (b *sentTrailers) send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.to == nil {
		return
	}
	for name, values := range b.r.Trailer {
		for _, value := range values {
			b.to.Add(name, value)
		}
	}
	b.to = nil
}

// end is called when the call has ended.
func (b *sentTrailers) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.to = nil
}

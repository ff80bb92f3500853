package gallop

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"mime/multipart"
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/target"
)

// Request is an HTTP request.
//
// The zero value is a GET request for "/", ready to use. A Request must not be copied
// (CopyTo does it), and belongs to one goroutine at a time. Slices that its methods
// return are views: they hold until the request is changed, reset or released, or the
// handler that got it returns.
type Request struct {
	_ noCopy

	// Header is the request line and the fields.
	Header RequestHeader

	body

	uri       URI
	uriParsed bool // uri holds what Header says, or what it was set to
	uriUsed   bool // uri is not empty
	uriErr    error
	uriShown  bool     // by URI: whoever called it may change uri at any time
	uriProof  uriProof // what is known of uri since it was last changed

	postArgs       Args
	postArgsParsed bool

	form *multipart.Form

	values  userValues
	timeout time.Duration
	sent    *sentHead       // nil until a client has sent the request
	ctx     context.Context // of the call in flight, see Context
	isTLS   bool
	maxArgs int // in the query and in a form; 0: no limit

	// UseHostHeader makes Write send the Host field as it is in Header, even if the
	// URI has another host.
	UseHostHeader bool

	// FullDuplex makes a client go on sending a body that is a stream while the caller
	// reads the answer, if that is one as well. Until that is read to its end or closed the
	// request is in use.
	//
	// On a server, a handler sets it before it streams a response to say that it reads the
	// rest of the request body meanwhile. See [RequestCtx.StreamResponse].
	FullDuplex bool

	// DisableRedirectPathNormalizing makes DoRedirects take the paths in Location as
	// they are. By default dot segments are left out and special characters escaped.
	DisableRedirectPathNormalizing bool
}

// Reset makes the request empty, closes its stream and its user values, and removes
// the temporary files of its form.
func (req *Request) Reset() {
	req.values.reset() // first: what is closed may look at the request
	req.resetButValues()
}

// resetButValues is Reset that leaves the user values alone.
func (req *Request) resetButValues() {
	req.Header.Reset()
	req.resetContent()
}

// poison overwrites what views of the request refer to, but for what it borrowed. What it
// says does not count any more: Reset it.
func (req *Request) poison() {
	req.Header.poison()
	req.body.poison()
	req.uri.poison()
	req.postArgs.poison()
}

func (req *Request) resetContent() {
	req.ResetBody()
	req.shrink(int(requestBodyKeep.Load()))
	req.forgetSent()
	req.RemoveMultipartFormFiles()
	req.resetParsed()
}

// resetParsed resets what was made of header and body, and the options.
func (req *Request) resetParsed() {
	req.uriParsed, req.uriErr, req.uriProof = false, nil, uriUnproven
	if req.uriUsed {
		req.uri.Reset()
		req.uriUsed = false
	}
	if req.postArgsParsed {
		req.postArgs.Reset()
		req.postArgsParsed = false
	}
	req.timeout, req.isTLS, req.maxArgs = 0, false, 0
	req.UseHostHeader, req.DisableRedirectPathNormalizing, req.FullDuplex = false, false, false
}

// CopyTo makes dst a copy of the request, except for a stream, a parsed form and the
// user values.
func (req *Request) CopyTo(dst *Request) {
	if req == dst {
		return
	}
	dst.Reset()
	req.Header.CopyTo(&dst.Header)
	req.copyBody(&dst.body)
	if req.uriParsed {
		req.uri.CopyTo(&dst.uri)
		dst.uriParsed, dst.uriUsed, dst.uriErr = true, true, req.uriErr
	}
	req.postArgs.CopyTo(&dst.postArgs)
	dst.postArgsParsed = req.postArgsParsed
	dst.timeout, dst.isTLS, dst.maxArgs = req.timeout, req.isTLS, req.maxArgs
	dst.UseHostHeader, dst.FullDuplex = req.UseHostHeader, req.FullDuplex
	dst.DisableRedirectPathNormalizing = req.DisableRedirectPathNormalizing
}

// URI returns the URI of the request: its target, and Host if that has none. What is
// changed in it is what Write sends. A target that is no URI is an empty one.
func (req *Request) URI() *URI {
	req.parseURI()
	req.uriShown, req.uriProof = true, uriUnproven
	req.uri.maxArgs = req.maxArgs
	return &req.uri
}

// SetURI sets the URI of the request to a copy of uri; nil stands for what the
// header says.
func (req *Request) SetURI(uri *URI) {
	req.uriParsed, req.uriErr, req.uriProof = uri != nil, nil, uriUnproven
	if uri == nil {
		req.uri.Reset()
		return
	}
	req.uriUsed = true
	uri.CopyTo(&req.uri)
}

func (req *Request) parseURI() error {
	if !req.uriParsed {
		req.uriParsed, req.uriUsed, req.uriProof = true, true, uriUnproven
		req.uriErr = req.readURI(&req.uri)
	}
	return req.uriErr
}

// readURI sets uri to what the header says.
func (req *Request) readURI(uri *URI) error {
	host, uriBytes := req.Header.Host(), req.Header.RequestURI()
	if req.Header.head.TargetChecked {
		t := target.SplitUsual(uriBytes)
		uri.setTarget(&t, host, req.isTLS)
		return nil
	}
	if t, err := target.Parse(req.Header.Method(), uriBytes); err == nil {
		uri.setTarget(&t, host, req.isTLS)
		return nil
	}
	// What was set on a client may be less strict than what a server accepts.
	if err := uri.Parse(host, uriBytes); err != nil {
		return err
	}
	if req.isTLS {
		uri.SetSchemeBytes(schemeHTTPS)
	}
	return nil
}

// SetRequestURI sets the target: a path with its query, or a whole URI.
func (req *Request) SetRequestURI(requestURI string) {
	req.Header.SetRequestURI(requestURI)
	req.uriParsed, req.uriErr, req.uriProof = false, nil, uriUnproven
}

// RequestURI returns the target as Write would send it.
func (req *Request) RequestURI() []byte {
	if req.uriParsed {
		req.updateTarget()
	}
	return req.Header.RequestURI()
}

// Host returns the host of the URI, in lower case, with the port if there is one.
func (req *Request) Host() []byte { return req.URI().Host() }

// SetHost sets the host of the URI.
func (req *Request) SetHost(host string) { req.URI().SetHost(host) }

// uriProof is what is known of a request's URI. It holds as long as nobody could have
// changed that, which URI gives everybody leave to do for ever.
type uriProof uint8

const (
	uriUnproven uriProof = iota
	uriSettled           // uri.requestURI is what uri.RequestURI would return
	uriChecked           // and is what target.Check accepts, if the method is not CONNECT
)

// updateTarget makes the target in the header that of the URI. A path that nobody
// changed stays byte for byte what it was.
func (req *Request) updateTarget() {
	if req.uriProof != uriUnproven && bytes.Equal(req.uri.requestURI, req.Header.RequestURI()) {
		return
	}
	req.uriProof = uriUnproven
	if bytes.Equal(req.uri.RequestURI(), req.Header.RequestURI()) {
		if !req.uriShown {
			req.uriProof = uriSettled
		}
		return
	}
	was := AcquireURI()
	defer ReleaseURI(was)
	was.DisablePathNormalizing = req.uri.DisablePathNormalizing
	old := req.Header.RequestURI()
	if len(old) > 0 && (old[0] == '/' || string(old) == "*" || req.Header.IsConnect()) &&
		req.readURI(was) == nil && bytes.Equal(was.RequestURI(), req.uri.RequestURI()) {
		return
	}
	req.Header.SetRequestURIBytes(req.uri.RequestURI())
}

// checkTarget reports what is wrong with the target, which updateHeader has made what it
// is. The header is looked at in any case: views of it may have been written to.
func (req *Request) checkTarget() error {
	to := req.Header.RequestURI()
	if req.uriProof == uriChecked && req.uriParsed && !req.Header.IsConnect() && bytes.Equal(req.uri.requestURI, to) {
		return nil
	}
	_, err := target.Check(req.Header.Method(), to)
	if err == nil && req.uriProof == uriSettled && !req.Header.IsConnect() && bytes.Equal(req.uri.requestURI, to) {
		req.uriProof = uriChecked
	}
	return err
}

// updateHeader brings the header up to date with the URI.
func (req *Request) updateHeader() error {
	if len(req.Header.Host()) > 0 && !req.uriParsed {
		return nil
	}
	if err := req.parseURI(); err != nil {
		return err
	}
	host := withoutZone(req.uri.Host())
	switch has := req.Header.Host(); {
	case len(has) == 0 && len(host) == 0:
		return errNoHost
	case len(has) == 0, !req.UseHostHeader && len(host) > 0 && !bytes.Equal(has, host) && !ascii.EqualFold(has, host):
		req.Header.SetHostBytes(host)
	}
	req.updateTarget()
	if len(req.uri.Username())+len(req.uri.Password()) > 0 {
		req.setBasicAuth()
	}
	return nil
}

// withoutZone returns host without the zone of an IPv6 address, which means something on this
// machine only and is not sent (RFC 6874 §4).
func withoutZone(host []byte) []byte {
	zone, end := bytes.IndexByte(host, '%'), bytes.IndexByte(host, ']')
	if zone < 0 || end < zone {
		return host
	}
	return append(bytes.Clone(host[:zone]), host[end:]...)
}

// setBasicAuth sends the userinfo of the URI as RFC 7617 has it, with its escapes decoded
// (RFC 3986 §2.4).
func (req *Request) setBasicAuth() {
	var pairRoom, valueRoom [128]byte
	pair := append(target.AppendUnescape(pairRoom[:0], req.uri.Username()), ':')
	pair = target.AppendUnescape(pair, req.uri.Password())
	value := base64.StdEncoding.AppendEncode(append(valueRoom[:0], "Basic "...), pair)
	req.Header.SetBytesV(HeaderAuthorization, value)
}

const mediaTypeForm = "application/x-www-form-urlencoded"

// PostArgs returns the arguments in a body of type application/x-www-form-urlencoded.
// If the body is empty, Write sends what was added to them. On a server, Args.Err says whether the
// form has more arguments than Server.MaxFormArgs.
func (req *Request) PostArgs() *Args {
	if !req.postArgsParsed {
		req.postArgsParsed = true
		mediaType, _ := ascii.Cut(req.Header.ContentType(), ';')
		if ascii.EqualFold(ascii.TrimOWS(mediaType), mediaTypeForm) {
			_ = req.postArgs.ParseAtMost(req.Body(), req.maxArgs) // Err returns it
		}
	}
	return &req.postArgs
}

// SetBodyStream makes what r yields the body. A size ≥ 0 is announced in
// Content-Length, and r has to yield exactly that many bytes; a negative one sends the
// body in chunks as they come. If r is an io.Closer it is closed exactly once, when it
// is not needed any more.
func (req *Request) SetBodyStream(r io.Reader, size int) {
	req.setStream(r, size)
	req.Header.SetContentLength(max(size, -1))
}

// SetBodyStreamWriter makes what sw writes the body, sent in chunks. sw runs when the
// request is written, on the goroutine that writes it.
func (req *Request) SetBodyStreamWriter(sw StreamWriter) {
	req.setStreamWriter(sw)
	req.Header.SetContentLength(-1)
}

// ConnectionClose reports whether the connection ends with this request.
func (req *Request) ConnectionClose() bool { return req.Header.ConnectionClose() }

// SetConnectionClose makes this request the last on its connection.
func (req *Request) SetConnectionClose() { req.Header.SetConnectionClose() }

// MayContinue reports whether the client waits for a 100 (Continue) before it sends
// the body, RFC 9110 §10.1.1. Answer it, with 100 or otherwise, or close the connection. One of
// HTTP/1.0, which knows no 100, does not wait whatever it says.
func (req *Request) MayContinue() bool {
	return req.Header.head.Flags&http1.ExpectContinue != 0 && req.Header.IsHTTP11()
}

// SetTimeout sets how long a client may take for the request, until the end of
// the response body. Zero means that only the client's own limits hold.
func (req *Request) SetTimeout(t time.Duration) { req.timeout = t }

// Context returns the context of the call that req is sent with: the argument of DoContext, in a
// RoundTripper, in RetryIfErr, and in LBClient.HealthCheck. It is context.Background if DoContext
// was not used, if no call is in flight, and on a server, where RequestCtx is the context. It is
// never nil.
//
// The deadline of a call may be earlier than that of its context: a RoundTripper also respects
// GetTimeOut.
func (req *Request) Context() context.Context {
	if req.ctx == nil {
		return context.Background()
	}
	return req.ctx
}

// GetTimeOut returns what SetTimeout set. In a RoundTripper it returns how much time is left for
// the attempt, or 0 if there is no limit.
func (req *Request) GetTimeOut() time.Duration { return req.timeout }

// SetUserValue keeps value under key, which must be comparable, for as long as the
// request lives. A []byte is the same key as the string. When the values are reset,
// those that are an io.Closer are closed.
func (req *Request) SetUserValue(key, value any) { req.values.set(key, value) }

// UserValue returns the value kept under key, or nil.
func (req *Request) UserValue(key any) any { return req.values.get(key) }

// RemoveUserValue removes the value kept under key, without closing it.
func (req *Request) RemoveUserValue(key any) { req.values.remove(req.values.index(textKey(key))) }

// ResetUserValues removes all values and closes those that are an io.Closer.
func (req *Request) ResetUserValues() { req.values.reset() }

// VisitUserValuesAll calls visitor for each value, in the order they were first set.
func (req *Request) VisitUserValuesAll(visitor func(key, value any)) { req.values.visit(visitor) }

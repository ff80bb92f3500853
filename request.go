package gallop

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"mime/multipart"
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/message"
	"github.com/gallop-http/gallop/internal/target"
)

// Request is an HTTP request.
//
// The zero value is a GET request for "/", ready to use. Do not copy a Request; use CopyTo. Only one goroutine at a
// time may use a Request. The methods of a Request return slices that point into the request's buffers. A returned
// slice is valid until the request is changed, reset or released. In a handler, a returned slice is valid only until
// the handler returns.
type Request struct {
	_ noCopy

	// Header is the request line and the headers.
	Header RequestHeader

	body

	uri       URI
	uriParsed bool // uri was parsed from Header or set
	uriUsed   bool // uri is not empty
	uriErr    error
	uriShown  bool     // URI was called, so the program may change uri at any time
	uriProof  uriProof // what is known about uri since its last change

	postArgs       Args
	postArgsParsed bool

	form *multipart.Form

	values  userValues
	timeout time.Duration
	sent    *sentHead       // nil until a client has sent the request
	ctx     context.Context // context of the call in flight, see Context
	isTLS   bool
	maxArgs int // limit for the query and for a form; 0 means no limit

	// UseHostHeader makes Write send the Host header that is set in Header, even if the URI has a different host.
	UseHostHeader bool

	// FullDuplex lets a client keep sending a streamed request body while the caller reads a streamed response. Do not
	// reuse the request until the response body is read to its end or closed.
	//
	// On a server, FullDuplex lets a handler read the rest of the request body while it writes the response. Set
	// FullDuplex before calling StreamResponse. See [RequestCtx.StreamResponse].
	FullDuplex bool

	// DisableRedirectPathNormalizing makes a client use the path in a Location header unchanged when it follows a
	// redirect. By default, the client removes dot segments from the path and escapes special characters.
	DisableRedirectPathNormalizing bool
}

// Reset makes the request empty. Reset closes the body stream and the user values, and removes the form's temporary
// files.
func (req *Request) Reset() {
	req.values.reset() // first, because closing a value may look at the request
	req.resetButValues()
}

// resetButValues does the same as Reset, but keeps the user values.
func (req *Request) resetButValues() {
	req.Header.Reset()
	req.resetContent()
}

// poison overwrites the memory that views of the request refer to, except borrowed memory. The contents are
// invalid afterwards, so call Reset.
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

// resetParsed resets everything that was parsed from header and body, and the options.
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

// CopyTo makes dst a copy of the request, without its body stream, its parsed form and its user values.
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

// URI returns the request's URI, which is parsed from the request target. If the target has no host, the host comes
// from the Host header. If you change the returned URI, Write sends the changed URI. If the target is not a valid URI,
// the returned URI is empty.
func (req *Request) URI() *URI {
	req.parseURI()
	req.uriShown, req.uriProof = true, uriUnproven
	req.uri.maxArgs = req.maxArgs
	return &req.uri
}

// SetURI sets the URI of the request to a copy of uri. If uri is nil, the URI comes from the request target and the
// Host header.
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

// settleURI parses the URI and converts its host to ASCII.
func (req *Request) settleURI() error {
	if err := req.parseURI(); err != nil {
		return err
	}
	return req.uri.toASCII()
}

// readURI sets uri to the URI in the header.
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
	// A target that a client has set may be less strict than a target that a server accepts.
	if err := uri.Parse(host, uriBytes); err != nil {
		return err
	}
	if req.isTLS {
		uri.setScheme(schemeHTTPS)
	}
	return nil
}

// SetRequestURI sets the request target: a path with an optional query, or a full URI.
func (req *Request) SetRequestURI(requestURI string) {
	req.Header.SetRequestURI(requestURI)
	req.uriParsed, req.uriErr, req.uriProof = false, nil, uriUnproven
}

// RequestURI returns the request target that Write sends.
func (req *Request) RequestURI() []byte {
	if req.uriParsed {
		req.updateTarget()
	}
	return req.Header.RequestURI()
}

// Host returns the host of the URI in lower case, including the port if there is one.
func (req *Request) Host() []byte { return req.URI().Host() }

// SetHost sets the host of the URI.
func (req *Request) SetHost(host string) { req.URI().SetHost(host) }

// uriProof says what is known about the URI of a request. It is reset whenever the URI may have changed. After
// a call of the method URI, the program may change the URI at any time.
type uriProof uint8

const (
	uriUnproven uriProof = iota
	uriSettled           // uri.requestURI equals what uri.RequestURI would return
	uriChecked           // and target.Check accepts it, if the method is not CONNECT
)

// updateTarget writes the target of the URI into the header. A path that was not changed stays the same, byte
// for byte.
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

// checkTarget returns what is wrong with the target in the header. Call updateHeader first. It always looks at
// the header, because the program may have written to a view of it.
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

// updateHeader writes changes of the URI into the header.
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
		req.Header.setKnown(field.Host, host)
	}
	req.updateTarget()
	if len(req.uri.Username())+len(req.uri.Password()) > 0 {
		req.setBasicAuth()
	}
	return nil
}

// withoutZone returns host without the zone of an IPv6 address. A zone has a meaning on this machine only and
// is not sent (RFC 6874 §4).
func withoutZone(host []byte) []byte {
	zone, end := bytes.IndexByte(host, '%'), bytes.IndexByte(host, ']')
	if zone < 0 || end < zone {
		return host
	}
	return append(bytes.Clone(host[:zone]), host[end:]...)
}

// setBasicAuth sends the userinfo of the URI as Basic credentials (RFC 7617). Its percent escapes are decoded
// first (RFC 3986 §2.4).
func (req *Request) setBasicAuth() {
	var pairRoom, valueRoom [128]byte
	pair := append(target.AppendUnescape(pairRoom[:0], req.uri.Username()), ':')
	pair = target.AppendUnescape(pair, req.uri.Password())
	value := base64.StdEncoding.AppendEncode(append(valueRoom[:0], "Basic "...), pair)
	req.Header.set(UnsafeBytes(HeaderAuthorization), value)
}

const mediaTypeForm = "application/x-www-form-urlencoded"

// PostArgs returns the arguments of a body of type application/x-www-form-urlencoded. If the body is empty, Write
// sends the arguments that you add to the returned Args. On a server, Args.Err reports whether the form has more
// arguments than Server.MaxFormArgs allows.
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

// SetBodyStream sets the body to the data in r. If the argument size is 0 or more, r must yield exactly this number of
// bytes, and the size is sent as Content-Length. If the argument size is negative, the body is sent in chunks. If r
// implements io.Closer, r is closed exactly once, when the stream is no longer needed.
func (req *Request) SetBodyStream(r io.Reader, size int) {
	req.setStream(r, size)
	req.Header.SetContentLength(max(size, -1))
}

// SetBodyStreamWriter sets the body to the data that sw writes. The body is sent in chunks. The function sw runs on the
// goroutine that writes the request.
func (req *Request) SetBodyStreamWriter(sw StreamWriter) {
	req.setStreamWriter(sw)
	req.Header.SetContentLength(-1)
}

// ConnectionClose reports whether the connection is closed after this request.
func (req *Request) ConnectionClose() bool { return req.Header.ConnectionClose() }

// SetConnectionClose makes this request the last one on its connection.
func (req *Request) SetConnectionClose() { req.Header.SetConnectionClose() }

// MayContinue reports whether the client waits for a 100 (Continue) response before it sends the body (RFC 9110
// §10.1.1). If MayContinue returns true, send a 100 response or a final response, or close the connection. HTTP/1.0
// has no 100 response, so the result is false for an HTTP/1.0 client.
func (req *Request) MayContinue() bool {
	return req.Header.head.Flags&message.ExpectContinue != 0 && req.Header.IsHTTP11()
}

// SetTimeout limits the duration of a client call, up to the end of the response body. Zero means that only the
// client's own limits apply.
func (req *Request) SetTimeout(t time.Duration) { req.timeout = t }

// Context returns the context of the DoContext call that is sending the request. Use the context in a RoundTripper, in
// RetryIfErr and in LBClient.HealthCheck.
//
// If DoContext was not used, or if no call is in flight, the result is context.Background(). On a server, the result is
// always context.Background(), so use the RequestCtx as the context in a handler. The result is never nil.
//
// The deadline of a call can be earlier than the deadline of its context, so a RoundTripper must also respect
// GetTimeOut.
func (req *Request) Context() context.Context {
	if req.ctx == nil {
		return context.Background()
	}
	return req.ctx
}

// GetTimeOut returns the limit that SetTimeout set. In a RoundTripper, GetTimeOut returns the time left for the
// attempt. The result is 0 if there is no limit.
func (req *Request) GetTimeOut() time.Duration { return req.timeout }

// SetUserValue stores a value under a key until the request is reset. The key must be comparable or a []byte. A []byte
// and a string with the same bytes are the same key. When the request is reset, values that implement io.Closer are
// closed.
func (req *Request) SetUserValue(key, value any) { req.values.set(key, value) }

// UserValue returns the value stored under the key, or nil.
func (req *Request) UserValue(key any) any { return req.values.get(key) }

// RemoveUserValue removes the value stored under the key without closing it.
func (req *Request) RemoveUserValue(key any) { req.values.remove(req.values.index(textKey(key))) }

// ResetUserValues removes all values and closes the values that implement io.Closer.
func (req *Request) ResetUserValues() { req.values.reset() }

// BodyUncompressed decompresses the body according to Content-Encoding, and returns the result. The limits are the
// same as for BodyGunzip. If there is no Content-Encoding, BodyUncompressed returns the same bytes as Body. If a
// content coding is unknown, the error is ErrContentEncodingUnsupported.
func (req *Request) BodyUncompressed() ([]byte, error) {
	return req.uncompressed(&req.Header.header, coding.Limits{})
}

// BodyUncompressedWithLimit does the same as BodyUncompressed, but limits the result to maxBodySize bytes. See
// BodyGunzipWithLimit.
func (req *Request) BodyUncompressedWithLimit(maxBodySize int) ([]byte, error) {
	return req.uncompressed(&req.Header.header, decodeLimits(maxBodySize))
}

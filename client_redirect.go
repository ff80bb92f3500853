package gallop

import (
	"bytes"
	"context"
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/target"
)

// redirectRules limit which redirects are followed.
type redirectRules struct {
	max        int  // how many to follow; one redirect more is an error
	allowPlain bool // allow redirects from https to http
	detailed   bool // DetailedErrors of the client
}

// doRedirects calls do with req and follows redirects as RFC 9110 §15.4 describes. Afterwards req is the
// request that was sent last, and resp is the response to it. If a redirect is not followed, resp is that
// redirect and the error gives the reason. resp may be nil.
//
// A timeout of req covers all requests together.
func doRedirects(ctx context.Context, req *Request, resp *Response, rules redirectRules,
	do func(context.Context, *Request, *Response) error) error {
	if resp == nil {
		resp = AcquireResponse()
		defer ReleaseResponse(resp)
	}
	if timeout := req.timeout; timeout > 0 {
		until := time.Now().Add(timeout)
		once := do
		do = func(ctx context.Context, req *Request, resp *Response) error {
			req.timeout = max(time.Until(until), 1)
			return once(ctx, req, resp)
		}
		defer func() { req.timeout = timeout }()
	}
	streamed := req.IsBodyStream() // and not afterwards
	for followed := 0; ; followed++ {
		if err := do(ctx, req, resp); err != nil {
			return err
		}
		if !StatusCodeIsRedirect(resp.StatusCode()) {
			return nil
		}
		if followed >= rules.max {
			return redirectFailed(ctx, req, rules, ErrTooManyRedirects)
		}
		if err := req.redirect(resp, rules, &streamed); err != nil {
			return redirectFailed(ctx, req, rules, err)
		}
		if err := resp.CloseBodyStream(); err != nil {
			return redirectFailed(ctx, req, rules, err)
		}
	}
}

// redirectFailed returns the error for the redirect in the response to req.
func redirectFailed(ctx context.Context, req *Request, rules redirectRules, err error) error {
	call := describe(req, "http", inPhase(err, phaseRedirect, ""))
	traceFrom(ctx).callFailed(call)
	return call.returned(err, rules.detailed)
}

// redirect makes req the request that follows the redirect resp. It changes nothing if
// that is refused. streamed is whether the body was a stream, which is spent.
func (req *Request) redirect(resp *Response, rules redirectRules, streamed *bool) error {
	next := AcquireURI()
	defer ReleaseURI(next)
	from := req.URI()
	if err := redirectTarget(next, from, &resp.Header, req.DisableRedirectPathNormalizing); err != nil {
		return err
	}
	if from.isHTTPS() && !next.isHTTPS() && !rules.allowPlain {
		return ErrRedirectToPlain
	}
	method, withBody := redirectMethod(resp.StatusCode(), req.Header.Method())
	if withBody && *streamed {
		return ErrRedirectBodyStream
	}
	if !withBody {
		req.Header.SetMethodBytes(method)
		req.dropContent()
		*streamed = false
	}
	if !sameOrigin(from, next) {
		req.dropCredentials()
	}
	req.SetURI(next)
	return nil
}

// redirectMethod returns the method of the request that follows a redirect, and
// whether it has the body of the one before (RFC 9110 §15.4.2 to §15.4.9).
func redirectMethod(status int, method []byte) (next []byte, withBody bool) {
	isHead := string(method) == MethodHead
	isPost := string(method) == MethodPost
	switch {
	case status == StatusSeeOther && isHead:
		return method, false
	case status == StatusSeeOther, isPost && (status == StatusMovedPermanently || status == StatusFound):
		return defaultMethod, false
	}
	return method, true
}

// redirectTarget sets next to the target of the redirect h, which responds to a request for from (RFC 9110
// §10.2.2). It leaves out user information. verbatim keeps dot segments in the path.
func redirectTarget(next, from *URI, h *ResponseHeader, verbatim bool) error {
	location, err := redirectLocation(h)
	if err != nil {
		return err
	}
	ref := target.SplitReference(location)
	if checkReference(&ref, location) != nil || hasOtherScheme(&ref, location) {
		return ErrInvalidLocation
	}
	from.CopyTo(next)
	if next.resolve(&ref) != nil || next.toASCII() != nil {
		return ErrInvalidLocation
	}
	if !ref.HasFragment {
		next.hash = append(next.hash[:0], from.hash...)
	}
	next.username, next.password = next.username[:0], next.password[:0]
	if next.DisablePathNormalizing = verbatim; verbatim && len(ref.Path) > 0 && ref.Path[0] == '/' {
		next.setPathOriginal(ref.Path)
	}
	return nil
}

// redirectLocation returns the one Location there is. With two that differ, this and
// another recipient could go to different places.
func redirectLocation(h *ResponseHeader) ([]byte, error) {
	l := &h.head.Fields
	first := l.FindID(field.Location)
	if first < 0 || len(l.Value(first)) == 0 {
		return nil, ErrMissingLocation
	}
	location := l.Value(first)
	for i := field.Next(l, first, field.Location, ""); i >= 0; i = field.Next(l, i, field.Location, "") {
		if !bytes.Equal(l.Value(i), location) {
			return nil, ErrInvalidLocation
		}
	}
	return location, nil
}

// hasOtherScheme reports whether a reference leads out of http and https, as
// "ftp://host/" and "mailto:me" do.
func hasOtherScheme(ref *target.Reference, location []byte) bool {
	if ref.HasScheme {
		return !ascii.EqualFold(ref.Scheme, "http") && !ascii.EqualFold(ref.Scheme, "https")
	}
	i := bytes.IndexAny(location, ":/?#")
	return i >= 0 && location[i] == ':' && target.IsScheme(location[:i])
}

// sameOrigin reports whether two URIs have scheme, host and port in common (RFC 6454 §5).
func sameOrigin(a, b *URI) bool {
	return bytes.Equal(a.Scheme(), b.Scheme()) && bytes.Equal(withoutDefaultPort(a), withoutDefaultPort(b))
}

func withoutDefaultPort(u *URI) []byte {
	port := ":80"
	if u.isHTTPS() {
		port = ":443"
	}
	host := bytes.TrimSuffix(u.Host(), UnsafeBytes(port))
	return bytes.TrimSuffix(host, []byte(":"))
}

// contentFields are the headers that describe the body. A request loses them together with its body when a
// redirect changes its method to GET, or answers a HEAD request with 303 (RFC 9110 §15.4).
var contentFields = []string{
	HeaderContentLength, HeaderTransferEncoding, HeaderTrailer, HeaderExpect,
	HeaderContentType, HeaderContentEncoding, HeaderContentLanguage, HeaderContentLocation,
	HeaderContentDisposition, HeaderContentRange, HeaderLastModified,
	"Content-Digest", "Repr-Digest", "Digest", "Content-MD5",
}

func (req *Request) dropContent() {
	req.ResetBody()
	req.postArgs.Reset()
	req.postArgsParsed = false
	req.RemoveMultipartFormFiles()
	for _, name := range contentFields {
		req.Header.Del(name)
	}
}

// credentialFields are the headers that the program set for the first origin only. A request loses them when a
// redirect leads to another origin. A later redirect back to the first origin does not restore them.
var credentialFields = []string{
	HeaderAuthorization, HeaderProxyAuthorization, HeaderWWWAuthenticate, HeaderProxyAuthenticate,
	HeaderCookie, HeaderCookie2, HeaderReferer, HeaderOrigin,
}

func (req *Request) dropCredentials() {
	for _, name := range credentialFields {
		req.Header.Del(name)
	}
	req.UseHostHeader = false
}

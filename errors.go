package gallop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/http1"
)

// Errors of Args.
var (
	// ErrNoArgValue is returned by Args.GetUint and Args.GetUfloat for a key that
	// is missing or has an empty value.
	ErrNoArgValue = errors.New("gallop: no args value for the given key")
)

// Errors of decompression.
var (
	// ErrDecompressedTooLarge is the error for a body that decompresses to more than
	// its limit.
	ErrDecompressedTooLarge = coding.ErrTooLarge

	// ErrDecompressionRatio is the error for a body that expands so much that it has
	// to be a decompression bomb.
	ErrDecompressionRatio = coding.ErrRatio
)

// Errors of Cookie.
var (
	// ErrInvalidCookieValue is returned for a Set-Cookie value that holds control
	// characters, or bytes where no cookie may have them.
	ErrInvalidCookieValue = errors.New("gallop: invalid cookie value")

	// ErrNoCookies is returned for a Set-Cookie value without a name and a value.
	ErrNoCookies = errors.New("gallop: no cookies found")
)

// Errors of URI.
var (
	// ErrInvalidURI is returned by URI.Parse and URI.Resolve for a URI with control characters, an invalid scheme or an invalid
	// authority. EscapeError and InvalidHostError are ErrInvalidURI to errors.Is.
	ErrInvalidURI = errors.New("gallop: invalid uri")

	// ErrorInvalidURI is ErrInvalidURI.
	//
	// Deprecated: use ErrInvalidURI.
	ErrorInvalidURI = ErrInvalidURI
)

// EscapeError is returned by URI.Parse and URI.Resolve for an escape in the host that is not
// one, or that hides an ASCII character. Its text is the escape, at most three bytes.
type EscapeError string

// Is reports whether target is ErrInvalidURI.
func (e EscapeError) Is(target error) bool { return target == ErrInvalidURI }

// Error implements error.
func (e EscapeError) Error() string {
	return "invalid url escape " + strconv.Quote(string(e))
}

// InvalidHostError is returned by URI.Parse and URI.Resolve for a host with a character that no
// host has. Its text is that character.
type InvalidHostError string

// Is reports whether target is ErrInvalidURI.
func (e InvalidHostError) Is(target error) bool { return target == ErrInvalidURI }

// Error implements error.
func (e InvalidHostError) Error() string {
	return "invalid character " + strconv.Quote(string(e)) + " in host name"
}

// Errors of RequestHeader and ResponseHeader.
var (
	// ErrInvalidHeader is returned by TrySet and TryAdd for a header field that they refuse. The text of the returned error says why.
	ErrInvalidHeader = errors.New("gallop: invalid header field")

	// ErrBadTrailer is returned for the name of a trailer that is none, or that must
	// not stand behind a body (RFC 9110 §6.5.1).
	ErrBadTrailer = errors.New("gallop: field must not be a trailer")

	// ErrSmallReadBuffer is an *ErrSmallBuffer to errors.Is.
	ErrSmallReadBuffer = errors.New("gallop: head is too large")

	// ErrReadingResponseHeaders and ErrReadingResponseTrailer are returned, together
	// with the reason, if the connection breaks off in the middle.
	ErrReadingResponseHeaders = errors.New("gallop: response head breaks off")
	ErrReadingResponseTrailer = errors.New("gallop: trailer section breaks off")
	errReadingRequest         = errors.New("gallop: request head breaks off")
)

// What a ParseError is, to errors.Is, besides itself. New code asks for its StatusCode.
var (
	ErrMissingRequestMethod          = errors.New("gallop: request method is missing")
	ErrUnsupportedRequestMethod      = errors.New("gallop: request method is not supported")
	ErrEmptyRequestURI               = errors.New("gallop: request target is empty")
	ErrExtraWhitespaceInRequestLine  = errors.New("gallop: too many blanks in the request line")
	ErrResponseFirstLineMissingSpace = errors.New("gallop: no blank in the status line")
	ErrUnexpectedStatusCodeChar      = errors.New("gallop: status code has more than three digits")
	ErrDuplicateContentLength        = errors.New("gallop: more than one Content-Length")
	ErrNonNumericChars               = errors.New("gallop: Content-Length is not a number")
	ErrUnsupportedTransferEncoding   = errors.New("gallop: transfer coding is not supported")
)

// ErrSmallBuffer is the error for a head, a request target or a trailer section that is larger
// than its limit, or has more lines. Code for fasthttp finds it with a type assertion. To errors.Is
// it is ErrSmallReadBuffer, and where a Server refuses a request, errors.As finds a *ParseError
// with the status.
type ErrSmallBuffer struct{ error }

// Unwrap returns the reason.
func (e *ErrSmallBuffer) Unwrap() error { return e.error }

// ErrNothingRead says that reading failed before the first byte of a message, as it
// does on a connection that was kept for another one and timed out. An end at that
// place is io.EOF instead.
type ErrNothingRead struct{ error }

// Unwrap returns what the connection said.
func (e ErrNothingRead) Unwrap() error { return e.error }

// ParseError says why a message is refused. It holds no bytes of it.
type ParseError struct {
	StatusCode int    // what a server answers: 400, 413, 414, 431, 501 or 505
	Reason     string // what was wrong, and the RFC that says so

	also []error // what else it is
}

// Error returns the reason.
func (e *ParseError) Error() string { return "gallop: " + e.Reason }

// Unwrap returns the errors that fasthttp has for this reason, such as ErrDuplicateContentLength.
func (e *ParseError) Unwrap() []error { return e.also }

// parseError turns an *http1.Error into a *ParseError, which is in an *ErrSmallBuffer if something
// was too large. It returns other errors unchanged.
func parseError(err error) error {
	e, ok := err.(*http1.Error)
	if !ok {
		return err
	}
	p := &ParseError{StatusCode: e.Status, Reason: e.Reason, also: otherNames[e]}
	if errors.Is(p, ErrSmallReadBuffer) {
		return &ErrSmallBuffer{p}
	}
	return p
}

// slowError is the *ParseError of a request that came too slowly. Its Timeout method makes the
// *net.OpError around it a timeout.
type slowError struct{ *ParseError }

func (e slowError) Timeout() bool   { return true }
func (e slowError) Unwrap() []error { return []error{e.ParseError, os.ErrDeadlineExceeded} }

var otherNames = map[*http1.Error][]error{
	http1.ErrMethod:             {ErrMissingRequestMethod, ErrUnsupportedRequestMethod},
	http1.ErrMethodTooLong:      {ErrUnsupportedRequestMethod},
	http1.ErrTarget:             {ErrEmptyRequestURI, ErrExtraWhitespaceInRequestLine},
	http1.ErrRequestLine:        {ErrExtraWhitespaceInRequestLine},
	http1.ErrStatusLine:         {ErrResponseFirstLineMissingSpace, ErrUnexpectedStatusCodeChar},
	http1.ErrTargetTooLong:      {ErrSmallReadBuffer},
	http1.ErrHeadTooLarge:       {ErrSmallReadBuffer},
	http1.ErrTooManyFields:      {ErrSmallReadBuffer},
	http1.ErrTrailerTooLarge:    {ErrSmallReadBuffer},
	http1.ErrContentLength:      {ErrNonNumericChars},
	http1.ErrTwoContentLengths:  {ErrDuplicateContentLength},
	http1.ErrUnknownCoding:      {ErrUnsupportedTransferEncoding},
	http1.ErrTransferEncoding:   {ErrUnsupportedTransferEncoding},
	http1.ErrTransferEncoding10: {ErrUnsupportedTransferEncoding},
	http1.ErrLengthAndEncoding:  {ErrUnsupportedTransferEncoding},
}

// Errors of bodies.
var (
	// ErrBodyTooLarge is returned for a body, as received or decoded, that is over
	// the limit there is for it.
	ErrBodyTooLarge = errors.New("gallop: body is over the size limit")

	// ErrTooManyArgs is returned for a query or form with more arguments than Server.MaxFormArgs
	// allows. A handler that sees it answers 400 (Bad Request).
	ErrTooManyArgs = errors.New("gallop: query or form has too many arguments (see Server.MaxFormArgs)")

	errBodyShort = errors.New("gallop: body stream ended before the announced size")
	errBodyLong  = errors.New("gallop: body stream has more than the announced size")

	errBodyUnread = errors.New("gallop: body was not read to its end, and is too long to be skipped")
	errNoHost     = errors.New("gallop: request has no host")
	errInterim    = errors.New("gallop: too many interim responses")
	errNotRegular = errors.New("not a regular file")
)

// Errors of multipart bodies.
var (
	// ErrNoMultipartForm is returned for a request whose Content-Type is not
	// multipart/form-data with one valid boundary.
	ErrNoMultipartForm = errors.New("gallop: Content-Type is not multipart/form-data with a valid boundary")

	errMultipartDelimiter = errors.New("gallop: multipart boundary is missing or not followed by a line end (RFC 2046 §5.1.1)")
	errMultipartHeader    = errors.New("gallop: header of a part is malformed (RFC 2046 §5.1)")
	errMultipartTooLarge  = errors.New("gallop: header of a part is too large")
	errMultipartParts     = errors.New("gallop: too many parts")
)

// Errors of redirects.
var (
	// ErrTooManyRedirects is returned when one more redirect came than was allowed.
	ErrTooManyRedirects = errors.New("gallop: too many redirects")

	// ErrMissingLocation is returned for a redirect without Location.
	ErrMissingLocation = errors.New("gallop: redirect without Location")

	// ErrInvalidLocation is returned for a redirect whose Location is not a
	// reference to something on http or https, or that has two that differ.
	ErrInvalidLocation = errors.New("gallop: Location is no http or https URI, or not only one (RFC 9110 §10.2.2)")

	// ErrRedirectBodyStream is returned for a redirect that asks for the body again
	// when that was a stream. Give the request a body in bytes.
	ErrRedirectBodyStream = errors.New("gallop: redirect asks for a body again that was a stream")

	// ErrRedirectToPlain is returned for a redirect from https to http.
	ErrRedirectToPlain = errors.New("gallop: redirect from https to http")

	// ErrHostClientRedirectToDifferentScheme is returned by a HostClient for a request,
	// often one that follows a redirect, for https if it speaks plain text, and for http
	// if it speaks TLS. A Client can do both.
	ErrHostClientRedirectToDifferentScheme = errors.New("gallop: HostClient cannot change the scheme; use Client")

	// ErrHostClientRedirectToDifferentHost is returned for a redirect to a host other
	// than that of the request: a HostClient has connections to one only.
	ErrHostClientRedirectToDifferentHost = errors.New("gallop: HostClient follows no redirect to another host")
)

// Errors of PipelineClient.
var (
	// ErrPipelineOverflow is returned by PipelineClient.Do if there are as many calls as
	// MaxConns and MaxPendingRequests allow. Raise them, or give the call a deadline.
	ErrPipelineOverflow = errors.New("gallop: too many calls for MaxConns and MaxPendingRequests")

	errPipelineUpgrade = errors.New("gallop: CONNECT and upgrades cannot be pipelined")
	errPipelineUnasked = errors.New("gallop: the server sent an answer that nobody had asked for")
	errPipelineBefore  = errors.New("gallop: the answer before this one broke off")
	errPipelineIdle    = errors.New("gallop: the connection was closed after it was idle")
)

// Errors of LBClient.
var (
	// ErrNoAvailableClients is returned by an LBClient that has no clients.
	ErrNoAvailableClients = errors.New("gallop: LBClient has no clients")
)

// Errors of content codings.
var (
	// ErrContentEncodingUnsupported is returned for a body with a content coding that
	// is not known, or with more of them than anybody honest uses.
	ErrContentEncodingUnsupported = errors.New("gallop: unsupported content encoding")
)

// Errors of dialing.
var (
	// ErrDialTimeout is why a dial failed for which there was no more time. It is also
	// a context.DeadlineExceeded, and its Timeout method reports true.
	ErrDialTimeout error = &dialTimeout{"gallop: dialing timed out"}

	// ErrTLSHandshakeTimeout is why a connection failed whose TLS handshake took too
	// long. It is also what ErrDialTimeout is also.
	ErrTLSHandshakeTimeout error = &dialTimeout{"gallop: TLS handshake timed out"}

	errDialAddr  error = &net.AddrError{Err: "not a host:port, with a port from 1 to 65535 and IPv6 addresses in brackets"}
	errNoAddress error = &net.AddrError{Err: "the name has no address that can be dialed from here"}
	errNoTLSName       = errors.New("no host:port to check the certificate against; set ServerName in the TLS config")
)

// Errors of proxies.
var (
	errProxyScheme      = errors.New("the scheme of a proxy is http, https, socks5 or socks5h")
	errProxyURL         = errors.New("the URL of a proxy is malformed")
	errProxyTarget      = errors.New("not a host:port that a proxy can be asked for")
	errProxyCredentials = errors.New("the credentials for the proxy cannot be sent: too long, or with a character that is not allowed")
	errProxyRejects     = errors.New("credentials are missing or wrong")
	errSocksReply       = errors.New("does not speak SOCKS 5 (RFC 1928)")
)

// ErrDialWithUpstream says which address could not be dialed. Unwrap returns why.
type ErrDialWithUpstream struct {
	wrapErr  error
	Upstream string // as given to the dialer
}

// Error names the address and the reason.
func (e *ErrDialWithUpstream) Error() string {
	return "gallop: dialing " + strconv.Quote(e.Upstream) + ": " + e.wrapErr.Error()
}

// Unwrap returns why the dial failed.
func (e *ErrDialWithUpstream) Unwrap() error { return e.wrapErr }

// dialTimeout is a net.Error.
type dialTimeout struct{ text string }

func (e *dialTimeout) Error() string        { return e.text }
func (e *dialTimeout) Timeout() bool        { return true }
func (e *dialTimeout) Temporary() bool      { return true }
func (e *dialTimeout) Is(target error) bool { return target == context.DeadlineExceeded }

// Errors of Protocols.
var (
	// ErrProtocols is returned by the Serve and Listen methods of Server, and by calls of clients, if their Protocols
	// field contains a protocol that this version does not support, or does not contain HTTP/1. The text of the returned
	// error has the set. To errors.Is it is also errors.ErrUnsupported.
	ErrProtocols = fmt.Errorf("gallop: this version supports HTTP/1 only: %w", errors.ErrUnsupported)
)

// Errors of Server and RequestCtx.
var (
	// ErrConcurrencyLimit is why a connection beyond Server.Concurrency is turned away.
	ErrConcurrencyLimit = errors.New("gallop: all of Server.Concurrency is in use")

	// ErrPerIPConnLimit is why a connection beyond Server.MaxConnsPerIP is turned away.
	ErrPerIPConnLimit = errors.New("gallop: too many connections from this address")

	// ErrRequestLimit is why a request beyond Server.MaxConcurrentRequests is answered 503.
	ErrRequestLimit = errors.New("gallop: all of Server.MaxConcurrentRequests is in use")

	// ErrGetOnly is the error for a method that Server.GetOnly refuses.
	ErrGetOnly = errors.New("gallop: only GET and HEAD are allowed")

	// ErrMissingFile is returned by RequestCtx.FormFile for a form without that file.
	ErrMissingFile = errors.New("gallop: the form has no such file")

	// ErrBodyClosed is returned for reads from a request body after its handler has
	// returned.
	ErrBodyClosed = errors.New("gallop: the request whose body is read is over")

	// ErrAlreadyServing is never returned.
	//
	// Deprecated: a Server may serve several listeners.
	ErrAlreadyServing = errors.New("gallop: the server is serving already")

	// ErrAbortHandler is what a handler panics with to end its connection without an
	// answer, or in the middle of one, and without a line in the log.
	ErrAbortHandler = errors.New("gallop: the handler has aborted the response")

	errNotServed     = fmt.Errorf("gallop: the request is not served by a Server: %w", errors.ErrUnsupported)
	errNoUpgrade     = errors.New("gallop: the request asks for no stream: it is neither a CONNECT nor an upgrade")
	errTaken         = errors.New("gallop: the handler has taken the connection")
	errStreamOther   = errors.New("gallop: the response is a stream, an upgrade, or begun already")
	errStreamOver    = errors.New("gallop: the response that is written to is over")
	errTimedOutLate  = errors.New("gallop: the request timed out when its response had begun")
	errNoHandler     = errors.New("gallop: Server.Handler is nil")
	errPanic         = errors.New("gallop: a hook of the Server has panicked")
	errInterimStatus = errors.New("gallop: an interim response has a status of 100, or from 102 to 199")
)

// Errors of Client and HostClient.
var (
	// ErrTimeout is returned when a call took too long: because of its deadline, that of its
	// context, ReadTimeout or WriteTimeout. To errors.Is it is also context.DeadlineExceeded
	// and os.ErrDeadlineExceeded.
	ErrTimeout net.Error = &timeoutError{}

	// ErrNoFreeConns is returned for a call that did not get a connection, since all
	// that are allowed to a host were in use for too long.
	ErrNoFreeConns = errors.New("gallop: all connections to the host are in use")

	// ErrConnectionClosed is returned for a call whose connection the server closed before the first byte of
	// the response. With DetailedErrors it is a *ClosedError instead, which is ErrConnectionClosed to errors.Is.
	ErrConnectionClosed = errors.New("gallop: the connection ended before the first byte of the answer")

	// ErrConnPoolStrategyNotImpl is returned for a ConnPoolStrategy that there is not.
	ErrConnPoolStrategyNotImpl = errors.New("gallop: unknown ConnPoolStrategy")

	errSentHost    = errors.New("gallop: the Host of the request is none (RFC 9112 §3.2)")
	errIDN         = errors.New("gallop: the host is no internationalized domain name (RFC 5891, UTS 46)")
	errUnasked101  = errors.New("gallop: the server switched protocols unasked")
	errScheme      = errors.New("gallop: the scheme of the request is neither http nor https")
	errDialNothing = errors.New("gallop: the Dial function returned no connection")
	errGoexit      = errors.New("gallop: a function of the program ended its goroutine (runtime.Goexit)")
	errNoAddr      = errors.New("gallop: HostClient.Addr is empty")
)

// ClosedError says that a connection ended, or could not be written to, before the
// first byte of an answer came: the server closed it, or was not there any more. To
// errors.Is it is ErrConnectionClosed.
//
// Calls return it if the client has DetailedErrors. Calls also return it if the request could not be written, and from a
// PipelineClient if other responses were due first.
//
// NotProcessed reports whether the server has certainly not acted on the request. If it
// returns false and Reused is set, the server most likely closed the idle connection at the
// moment when it was used again.
type ClosedError struct {
	Addr    string // of the server, as it was dialed
	Reused  bool   // whether the connection had been used for another request before
	Written int64  // how many bytes of the request were written to the connection
	Err     error  // what the connection said: io.EOF, a reset, a broken pipe

	writing bool // Err is from writing
}

// Error says how the connection had been used.
func (e *ClosedError) Error() string {
	which := "a new connection"
	if e.Reused {
		which = "a connection that had been used before"
	}
	return "gallop: " + e.Addr + " ended " + which + " before the first byte of the answer: " + e.Err.Error()
}

// NotProcessed reports whether the server has certainly not acted on the request, so that any
// request may be sent again. False means that nobody knows. See [SafeToRetry].
func (e *ClosedError) NotProcessed() bool { return e.Written == 0 }

// Unwrap returns ErrConnectionClosed and Err.
func (e *ClosedError) Unwrap() []error { return []error{ErrConnectionClosed, e.Err} }

type timeoutError struct{}

func (e *timeoutError) Error() string { return "gallop: timeout" }

// Timeout returns true, as of a net.Error.
func (e *timeoutError) Timeout() bool { return true }

// Temporary returns true, as of a net.Error.
func (e *timeoutError) Temporary() bool { return true }

func (e *timeoutError) Is(target error) bool {
	return target == context.DeadlineExceeded || target == os.ErrDeadlineExceeded
}

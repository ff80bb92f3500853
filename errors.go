// All exported errors of the package are in this file, so it is longer than other files.

package gallop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/cookie"
	"github.com/gallop-http/gallop/internal/http1"
)

// Errors of Args.
var (
	// ErrNoArgValue is returned by Args.GetUint and Args.GetUfloat if the key is missing or its value is empty.
	ErrNoArgValue = errors.New("gallop: no args value for the given key")
)

// Errors of decompression.
var (
	// ErrDecompressedTooLarge is returned if the decompressed body exceeds the size limit.
	ErrDecompressedTooLarge = coding.ErrTooLarge

	// ErrDecompressionRatio is returned for a suspected decompression bomb. The decompressed body is many times larger
	// than the compressed body.
	ErrDecompressionRatio = coding.ErrRatio
)

// Errors of Cookie.
var (
	// ErrInvalidCookieValue is returned if a Set-Cookie value contains bytes that are forbidden in cookies, such as
	// control characters.
	ErrInvalidCookieValue = cookie.ErrInvalid

	// ErrNoCookies is returned for a Set-Cookie value that has neither a name nor a value.
	ErrNoCookies = cookie.ErrEmpty
)

// Errors of URI.
var (
	// ErrInvalidURI is returned by URI.Parse and URI.Resolve for a URI with control characters, an invalid scheme or
	// an invalid authority. errors.Is(err, ErrInvalidURI) is also true for an EscapeError and an InvalidHostError.
	ErrInvalidURI = errors.New("gallop: invalid uri")

	// ErrorInvalidURI is another name for ErrInvalidURI.
	//
	// Deprecated: use ErrInvalidURI.
	ErrorInvalidURI = ErrInvalidURI
)

// EscapeError is returned by URI.Parse and URI.Resolve if a percent escape in the host is malformed or encodes an ASCII
// character. The value of an EscapeError is the invalid escape, at most three bytes long.
type EscapeError string

// Is reports whether target is ErrInvalidURI.
func (e EscapeError) Is(target error) bool { return target == ErrInvalidURI }

// Error implements error.
func (e EscapeError) Error() string {
	return "invalid url escape " + strconv.Quote(string(e))
}

// InvalidHostError is returned by URI.Parse and URI.Resolve if the host contains a character that is not allowed in
// hosts. The value of an InvalidHostError is the forbidden character.
type InvalidHostError string

// Is reports whether target is ErrInvalidURI.
func (e InvalidHostError) Is(target error) bool { return target == ErrInvalidURI }

// Error implements error.
func (e InvalidHostError) Error() string {
	return "invalid character " + strconv.Quote(string(e)) + " in host name"
}

// Errors of RequestHeader and ResponseHeader.
var (
	// ErrInvalidHeader means that TrySet or TryAdd has refused a header. The returned error wraps ErrInvalidHeader, and
	// its text says why the header was refused.
	ErrInvalidHeader = errors.New("gallop: invalid header field")

	// ErrBadTrailer is returned for a trailer whose name is malformed or is not allowed in trailers (RFC 9110 §6.5.1).
	ErrBadTrailer = errors.New("gallop: name is invalid or not allowed as a trailer (RFC 9110 §6.5.1)")

	// ErrSmallReadBuffer is a target for errors.Is. errors.Is(err, ErrSmallReadBuffer) is true for every *ErrSmallBuffer.
	ErrSmallReadBuffer = errors.New("gallop: head is too large")

	// ErrReadingResponseHeaders is returned if the connection fails in the middle of the response header.
	// ErrReadingResponseTrailer is returned if the connection fails in the middle of the trailers. The returned errors
	// also wrap the connection's error.
	ErrReadingResponseHeaders = errors.New("gallop: response head breaks off")
	ErrReadingResponseTrailer = errors.New("gallop: trailer section breaks off")
	errReadingRequest         = errors.New("gallop: request head breaks off")
)

// Errors that a ParseError wraps, so that errors.Is finds them.
var (
	// ErrMissingRequestMethod and the following errors exist for programs written for fasthttp that compare errors. A
	// ParseError wraps the error that matches the reason for the refusal. New code should check ParseError.StatusCode
	// instead.
	ErrMissingRequestMethod          = errors.New("gallop: request method is missing")
	ErrUnsupportedRequestMethod      = errors.New("gallop: request method is not supported")
	ErrEmptyRequestURI               = errors.New("gallop: request target is empty")
	ErrExtraWhitespaceInRequestLine  = errors.New("gallop: too many spaces in the request line")
	ErrResponseFirstLineMissingSpace = errors.New("gallop: no space in the status line")
	ErrUnexpectedStatusCodeChar      = errors.New("gallop: status code has more than three digits")
	ErrDuplicateContentLength        = errors.New("gallop: more than one Content-Length")
	ErrNonNumericChars               = errors.New("gallop: Content-Length is not a number")
	ErrUnsupportedTransferEncoding   = errors.New("gallop: transfer coding is not supported")
)

// ErrSmallBuffer is returned if a header, a request target or a trailer section exceeds its size limit or has too many
// lines. Programs written for fasthttp use a type assertion to recognize an *ErrSmallBuffer. For every *ErrSmallBuffer,
// errors.Is(err, ErrSmallReadBuffer) is true. If a Server refuses a request with an *ErrSmallBuffer, errors.As also
// finds a *ParseError. The *ParseError has the status of the response.
type ErrSmallBuffer struct{ error }

// Unwrap returns the underlying error.
func (e *ErrSmallBuffer) Unwrap() error { return e.error }

// ErrNothingRead is returned if reading failed before the first byte of a message, for example because an idle
// keep-alive connection timed out. If the peer closed the connection, the error is io.EOF, not ErrNothingRead.
type ErrNothingRead struct{ error }

// Unwrap returns the connection's error.
func (e ErrNothingRead) Unwrap() error { return e.error }

// ParseError says why a message was refused. A ParseError contains no bytes of the message.
type ParseError struct {
	// StatusCode is the status with which a server refuses the message, such as 400, 413 or 431.
	StatusCode int

	// Reason says what is wrong with the message, and which section of an RFC the message violates.
	Reason string

	also []error // further errors that errors.Is and errors.As find in it
}

// Error returns the reason.
func (e *ParseError) Error() string { return "gallop: " + e.Reason }

// HTTPStatus returns StatusCode, the status with which a server refuses the message. If your handler gets a ParseError
// from a call to another server, do not respond with the result of HTTPStatus. A ParseError from a client call
// describes the other server's response, and not the request that your handler serves.
func (e *ParseError) HTTPStatus() int { return e.StatusCode }

// Unwrap returns the errors that fasthttp returns in the same situation, such as ErrDuplicateContentLength.
func (e *ParseError) Unwrap() []error { return e.also }

// parseError converts an *http1.Error into a *ParseError, and wraps it in an *ErrSmallBuffer if something was too
// large. It returns other errors unchanged.
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

// slowError is the *ParseError of a request that arrived too slowly. Its Timeout method makes the *net.OpError around
// it report a timeout.
type slowError struct{ *ParseError }

func (e slowError) Timeout() bool   { return true }
func (e slowError) Unwrap() []error { return []error{e.ParseError, os.ErrDeadlineExceeded} }

var otherNames = map[*http1.Error][]error{
	http1.ErrMethod:             {ErrMissingRequestMethod, ErrUnsupportedRequestMethod},
	http1.ErrTLS:                {ErrMissingRequestMethod, ErrUnsupportedRequestMethod},
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
	// ErrBodyTooLarge is returned for a body that exceeds the limit, either before or after decoding.
	ErrBodyTooLarge = errors.New("gallop: body is over the size limit")

	// ErrTooManyArgs is returned for a query or form with more arguments than Server.MaxFormArgs allows. Handlers
	// should respond with 400 (Bad Request).
	ErrTooManyArgs = errors.New("gallop: query or form has too many arguments (see Server.MaxFormArgs)")

	errBodyShort = errors.New("gallop: body stream ended before the announced size")
	errBodyLong  = errors.New("gallop: body stream has more than the announced size")

	errBodyUnread = errors.New("gallop: body was not read to its end, and is too long to be skipped")
	errNoHost     = errors.New("gallop: the request has no host; set a URL such as http://example.com/")
	errInterim    = errors.New("gallop: too many interim responses")
	errNotRegular = errors.New("not a regular file")
)

// Errors of multipart bodies.
var (
	// ErrNoMultipartForm is returned if the Content-Type of a request is not multipart/form-data with exactly one
	// valid boundary.
	ErrNoMultipartForm = errors.New("gallop: Content-Type is not multipart/form-data with a valid boundary")
)

// Errors of redirects.
var (
	// ErrTooManyRedirects is returned if a call exceeds the limit on redirects.
	ErrTooManyRedirects = errors.New("gallop: too many redirects")

	// ErrMissingLocation is returned for a redirect without a Location header.
	ErrMissingLocation = errors.New("gallop: redirect without Location")

	// ErrInvalidLocation is returned for a redirect whose Location header is not an http or https URI. A redirect with
	// two different Location headers also causes ErrInvalidLocation.
	ErrInvalidLocation = errors.New("gallop: the Location header is not a single http or https URL (RFC 9110 §10.2.2)")

	// ErrRedirectBodyStream is returned if a redirect requires the client to resend a streamed request body. If you want
	// the client to follow redirects, set the request body as bytes instead of a stream.
	ErrRedirectBodyStream = errors.New("gallop: the redirect needs the body again, but it was a stream; set the body as bytes")

	// ErrRedirectToPlain is returned for a redirect from https to http.
	ErrRedirectToPlain = errors.New("gallop: redirect from https to http refused; see Client.AllowRedirectToPlain")

	// ErrHostClientRedirectToDifferentScheme is returned by a HostClient if the scheme of a request does not match
	// HostClient.IsTLS. The cause is often a redirect. A Client supports both http and https.
	ErrHostClientRedirectToDifferentScheme = errors.New("gallop: HostClient cannot change the scheme; use Client")

	// ErrHostClientRedirectToDifferentHost is returned by a HostClient for a redirect to another host. A HostClient
	// connects to one host only.
	ErrHostClientRedirectToDifferentHost = errors.New("gallop: HostClient does not follow redirects to another host; use Client")
)

// Errors of PipelineClient.
var (
	// ErrPipelineOverflow is returned by PipelineClient.Do if MaxConns connections are open and each connection has
	// MaxPendingRequests calls in flight. To avoid ErrPipelineOverflow, raise one of the limits or give each call a
	// deadline. A call with a deadline waits until the client can send the request.
	ErrPipelineOverflow = errors.New("gallop: too many calls in flight; raise MaxConns or MaxPendingRequests, or set a deadline")

	errPipelineUpgrade = errors.New("gallop: CONNECT and upgrades cannot be pipelined; use HostClient")
	errPipelineUnasked = errors.New("gallop: the server sent a response without a request")
	errPipelineBefore  = errors.New("gallop: the connection failed during the response to an earlier request")
	errPipelineIdle    = errors.New("gallop: the idle connection was closed")
)

// Errors of LBClient.
var (
	// ErrNoAvailableClients is returned by an LBClient that has no clients.
	ErrNoAvailableClients = errors.New("gallop: LBClient has no clients")
)

// Errors of content codings.
var (
	// ErrContentEncodingUnsupported is returned for a body with an unknown content coding, or with too many content
	// codings.
	ErrContentEncodingUnsupported = errors.New("gallop: unsupported content encoding")
)

// Errors of dialing.
var (
	// ErrDialTimeout is returned if dialing took too long. For ErrDialTimeout, errors.Is(err, context.DeadlineExceeded)
	// is true, and the method Timeout returns true.
	ErrDialTimeout error = &dialTimeout{"gallop: dialing timed out"}

	// ErrTLSHandshakeTimeout is returned if the TLS handshake took too long. For ErrTLSHandshakeTimeout, errors.Is(err,
	// context.DeadlineExceeded) is true, and the method Timeout returns true.
	ErrTLSHandshakeTimeout error = &dialTimeout{"gallop: TLS handshake timed out"}

	errNoTLSName = errors.New("no host:port to check the certificate against; set ServerName in the TLS config")
)

// ErrDialWithUpstream is returned if dialing or the TLS handshake failed. Upstream contains the address that was
// dialed. Unwrap returns the cause.
type ErrDialWithUpstream struct {
	wrapErr error

	// Upstream is the address that was passed to the dialer.
	Upstream string

	phase string // phaseTLS, or empty for dialing
}

// Error returns a text with the address and the cause.
func (e *ErrDialWithUpstream) Error() string {
	if call, ok := e.wrapErr.(*CallError); ok {
		return call.Error()
	}
	what := "dialing "
	if e.phase == phaseTLS {
		what = "TLS handshake with "
	}
	return "gallop: " + what + strconv.Quote(e.Upstream) + ": " + errorText(e.wrapErr)
}

// Unwrap returns the cause.
func (e *ErrDialWithUpstream) Unwrap() error { return e.wrapErr }

// dialTimeout implements net.Error.
type dialTimeout struct{ text string }

func (e *dialTimeout) Error() string        { return e.text }
func (e *dialTimeout) Timeout() bool        { return true }
func (e *dialTimeout) Temporary() bool      { return true }
func (e *dialTimeout) Is(target error) bool { return target == context.DeadlineExceeded }

// Errors of Protocols.
var (
	// ErrProtocols means that the set of protocols in a Protocols field has no protocol that can be used. A Server supports
	// every set that is not empty. A client also needs a protocol for its connections, with or without TLS. Client calls and
	// the Serve and Listen methods of Server return an error that wraps ErrProtocols. The text of the returned error lists
	// the protocols in the field. ErrProtocols itself wraps errors.ErrUnsupported.
	ErrProtocols = fmt.Errorf("gallop: unsupported set of protocols: %w", errors.ErrUnsupported)
)

// Errors of Server and RequestCtx.
var (
	// ErrConcurrencyLimit is the error for a refused connection: the server already has Server.Concurrency open
	// connections.
	ErrConcurrencyLimit = conn.ErrTooMany

	// ErrPerIPConnLimit is the error for a refused connection: the client already has Server.MaxConnsPerIP open
	// connections.
	ErrPerIPConnLimit = conn.ErrTooManyOfClient

	// ErrRequestLimit is the error for a request that gets a 503 response: the server already has
	// Server.MaxConcurrentRequests requests in flight.
	ErrRequestLimit = errors.New("gallop: too many requests in flight (see Server.MaxConcurrentRequests)")

	// ErrGetOnly is the error for a refused request: Server.GetOnly is set, and the method is neither GET nor HEAD.
	ErrGetOnly = errors.New("gallop: only GET and HEAD are allowed")

	// ErrMissingFile is returned by RequestCtx.FormFile if the form has no file with the given key.
	ErrMissingFile = errors.New("gallop: the form has no such file")

	// ErrBodyClosed is returned if a request body is read after the handler has returned.
	ErrBodyClosed = errors.New("gallop: the request body was read after the handler had returned")

	// ErrAlreadyServing is never returned.
	//
	// Deprecated: one Server can serve several listeners.
	ErrAlreadyServing = errors.New("gallop: the server is serving already")

	// ErrAbortHandler is a panic value that aborts a response. If a handler panics with ErrAbortHandler, the server closes
	// the connection and logs nothing. Over HTTP/2, the server resets only the request's stream. If part of the response
	// has already been sent, the response is truncated. If nothing has been sent yet, the client gets no response.
	ErrAbortHandler = errors.New("gallop: the handler aborted the response")

	errNotServed     = fmt.Errorf("gallop: the request is not served by a Server: %w", errors.ErrUnsupported)
	errNoUpgrade     = errors.New("gallop: the request is neither a CONNECT nor an upgrade")
	errTaken         = errors.New("gallop: the handler has taken the connection")
	errStreamOther   = errors.New("gallop: the response is already a stream or an upgrade, or has started")
	errStreamOver    = errors.New("gallop: the response has already ended")
	errTimedOutLate  = errors.New("gallop: the request timed out after its response had started")
	errNoHandler     = errors.New("gallop: Server.Handler is nil")
	errPanic         = errors.New("gallop: a hook of the Server has panicked")
	errInterimStatus = errors.New("gallop: the status of an interim response must be 100, or from 102 to 199")
)

// Errors of Client and HostClient.
var (
	// ErrTimeout is returned if a client call exceeds its deadline, the deadline of its context, ReadTimeout or
	// WriteTimeout. For ErrTimeout, errors.Is also reports a match with context.DeadlineExceeded and
	// os.ErrDeadlineExceeded.
	ErrTimeout net.Error = &timeoutError{}

	// ErrNoFreeConns is returned if all connections to the host are in use and no connection becomes free within
	// MaxConnWaitTimeout.
	ErrNoFreeConns = errors.New("gallop: all connections to the host are in use; raise MaxConnsPerHost or MaxConns, or set MaxConnWaitTimeout")

	// ErrConnectionClosed is returned if the server closed the connection before the first byte of the response. If
	// DetailedErrors is set, the call returns a *ClosedError instead. For a *ClosedError, errors.Is(err,
	// ErrConnectionClosed) is true.
	ErrConnectionClosed = errors.New("gallop: the server closed the connection before the first byte of the response")

	// ErrConnPoolStrategyNotImpl is returned if ConnPoolStrategy has a value other than LIFO and FIFO. A call returns
	// ErrConnPoolStrategyNotImpl only if it finds an idle connection.
	ErrConnPoolStrategyNotImpl = errors.New("gallop: unknown ConnPoolStrategy")

	errSentHost    = errors.New("gallop: the host of the request is malformed (RFC 9112 §3.2)")
	errUnasked101  = errors.New("gallop: the server switched protocols, but the request did not ask for an upgrade")
	errScheme      = errors.New("gallop: the scheme of the URL is neither http nor https")
	errDialNothing = errors.New("gallop: the Dial function returned no connection")
	errNoAddr      = errors.New("gallop: HostClient.Addr is empty; set it to host:port")
)

// CallError describes a failed client call: the request, the phase in which the call failed, and the cause. errors.Is
// and errors.As also examine the cause.
//
// Programs written for fasthttp compare some errors with ==, such as ErrTimeout, ErrConnectionClosed and
// io.ErrUnexpectedEOF. Unless DetailedErrors is set, a client therefore returns errors such as ErrTimeout unwrapped,
// and not as a CallError. Programs written for fasthttp recognize *ErrSmallBuffer, ErrBrokenChunk and
// *ErrDialWithUpstream by their types. For example, if fasthttp returns an *ErrSmallBuffer, a gallop client also
// returns an *ErrSmallBuffer, which wraps the CallError.
//
// ClientTrace.CallFailed gets a CallError for every call that fails.
type CallError struct {
	Method string // method of the request, such as "GET"
	URL    string // URL of the request, without user name and password
	Addr   string // address of the server, as it was dialed; empty if the call had no connection
	Phase  string // what the client was doing, such as "dialing" or "reading the response head"; empty if unknown
	Err    error  // why the call failed
}

// Error returns a text with the method, the URL, the phase and the cause. If the URL does not contain the server's
// address, the text contains the address too.
func (e *CallError) Error() string {
	text, cause := "gallop: ", errorText(e.Err)
	if e.Method != "" {
		text += e.Method + " " + e.URL + ": "
	}
	if e.Phase == "" || strings.HasPrefix(cause, e.Phase) || e.Phase == phaseDial && strings.HasPrefix(cause, "dial") {
		return text + cause
	}
	text += e.Phase
	if e.Addr != "" && !strings.Contains(e.URL, strings.TrimSuffix(strings.TrimSuffix(e.Addr, ":80"), ":443")) {
		text += " (" + e.Addr + ")"
	}
	return text + ": " + cause
}

// Unwrap returns Err.
func (e *CallError) Unwrap() error { return e.Err }

// Timeout reports whether the call took too long. Because of the methods Timeout and Temporary, a CallError is a
// net.Error.
func (e *CallError) Timeout() bool { return timedOut(e.Err) }

// Temporary returns the same value as Timeout. Because of the methods Timeout and Temporary, a CallError is a
// net.Error.
func (e *CallError) Temporary() bool { return e.Timeout() }

// ClosedError is returned if a connection failed before the first byte of the response arrived. The cause is either
// that the server closed the connection, or that writing the request failed. errors.Is(err, ErrConnectionClosed) is
// true for a ClosedError.
//
// If DetailedErrors is set, calls always return a ClosedError instead of ErrConnectionClosed. If DetailedErrors is not
// set, calls return a ClosedError only in these cases:
//
//   - The request could not be written.
//   - A connection of a PipelineClient failed before the responses to earlier calls arrived.
//
// If NotProcessed returns false and Reused is true, the server has probably closed the idle connection just before the
// request arrived.
type ClosedError struct {
	// Method is the method of the request.
	Method string

	// URL is the URL of the request, without user name and password.
	URL string

	// Addr is the server address that was dialed.
	Addr string

	// Reused reports whether the connection had already carried another request.
	Reused bool

	// Written is the number of bytes of the request that were written to the connection.
	Written int64

	// Err is the connection's error, such as io.EOF, a connection reset or a broken pipe.
	Err error

	writing     bool // Err is from writing
	unprocessed bool // the server has said that it has not acted on the request
	overH2      bool // over HTTP/2: the connection takes no further call
}

// Error returns a text with the method, the URL and the address. The text also says whether the connection was new or
// reused, and why the connection failed.
func (e *ClosedError) Error() string {
	which, when := "a new connection", "before the first byte of the response: "
	if e.Reused {
		which = "a reused connection"
	}
	if e.writing {
		when = "while the request was being written: "
	}
	text := "gallop: "
	if e.Method != "" {
		text += e.Method + " " + e.URL + ": "
	}
	return text + e.Addr + " closed " + which + " " + when + e.Err.Error()
}

// NotProcessed reports whether it is certain that the server has not processed the request. If NotProcessed returns
// true, you may resend even a non-idempotent request. If NotProcessed returns false, the server may or may not have
// processed the request. See [SafeToRetry].
func (e *ClosedError) NotProcessed() bool { return e.Written == 0 || e.unprocessed }

// Unwrap returns ErrConnectionClosed and Err.
func (e *ClosedError) Unwrap() []error { return []error{ErrConnectionClosed, e.Err} }

// StreamError is returned if the HTTP/2 stream of a call was reset before the response was complete (RFC 9113 §5.4.2). The
// connection can still be in use for other calls.
type StreamError struct {
	// Code is the error code (RFC 9113 §7), for example 8 for CANCEL.
	Code uint32

	err         error
	unprocessed bool // the server has said that it has not acted on the request
}

// Error returns a text with the name of the error code, or with the rule that the server has broken.
func (e *StreamError) Error() string { return "gallop: " + e.err.Error() }

// NotProcessed reports whether the server has refused the request without acting on it: with the code REFUSED_STREAM (RFC
// 9113 §8.7), or with HTTP_1_1_REQUIRED before the response. If NotProcessed returns true, you may resend even a
// non-idempotent request. See [SafeToRetry].
func (e *StreamError) NotProcessed() bool { return e.unprocessed }

type timeoutError struct{}

func (e *timeoutError) Error() string { return "gallop: timeout" }

// Timeout returns true. It implements net.Error.
func (e *timeoutError) Timeout() bool { return true }

// Temporary returns true. It implements net.Error.
func (e *timeoutError) Temporary() bool { return true }

func (e *timeoutError) Is(target error) bool {
	return target == context.DeadlineExceeded || target == os.ErrDeadlineExceeded
}

// errorText returns the text of err without the prefix of this package.
func errorText(err error) string { return strings.TrimPrefix(err.Error(), "gallop: ") }

// The phases of a call.
const (
	phasePrepare  = "preparing the request"
	phaseConn     = "waiting for a connection"
	phaseDial     = "dialing"
	phaseProxy    = "connecting through the proxy"
	phaseTLS      = "TLS handshake"
	phaseWrite    = "writing the request"
	phaseSource   = "reading the request body"
	phaseWait     = "waiting for the response"
	phaseHead     = "reading the response head"
	phaseBody     = "reading the response body"
	phaseRedirect = "following a redirect"
)

package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/gallop-http/gallop"
)

// Errors that the functions and methods of this package return. Use errors.Is to check for these errors.
var (
	// ErrURL is returned for a URL that the client cannot use. The request is not sent.
	ErrURL = errors.New("rest: unusable URL")

	// ErrPath is returned if a path parameter has no value. ErrPath is also returned if a value is set for a parameter
	// that the path does not have. The request is not sent.
	ErrPath = errors.New("rest: path parameters and values do not match")

	// ErrPathForbidden is returned for a path with a segment "..", even if the segment is escaped. ErrPathForbidden is
	// also returned for a path parameter with the value "." or "..". A segment ".." could lead outside the API. The
	// request is not sent.
	ErrPathForbidden = errors.New(`rest: a path must not contain the segment ".."`)

	// ErrMethod is returned for a method that is not a token (RFC 9110 §9.1). The request is not sent.
	ErrMethod = errors.New("rest: the method is not a token (RFC 9110 §9.1)")

	// ErrHeader is returned for headers and cookies that cannot be sent. The request is not sent.
	ErrHeader = errors.New("rest: invalid header")

	// ErrBodyTooLarge is wrapped in a DecodeError if the body of a response exceeds the limit of [WithMaxBody].
	// ErrBodyTooLarge wraps gallop.ErrBodyTooLarge.
	ErrBodyTooLarge = fmt.Errorf("rest: response body exceeds the limit of WithMaxBody: %w", gallop.ErrBodyTooLarge)

	// ErrPagesRepeat is returned if the server sends the same page again. A server that ignores the parameter for the
	// page, for example, sends the same page for every request.
	ErrPagesRepeat = errors.New("rest: the server returned the same page twice")

	// ErrPagesEmpty is returned if a hundred pages in a row are empty, although each page links to another page.
	// Without a limit for empty pages, a loop over the elements might never end.
	ErrPagesEmpty = errors.New("rest: a hundred pages in a row are empty")

	errEmptyGzip   = errors.New("rest: a gzip body has too many empty members")
	errFields      = errors.New("rest: the response has more than 1024 headers")
	errNoAnswer    = errors.New("rest: the RoundTripper returned neither a response nor an error")
	errNoContext   = errors.New("rest: the context is nil")
	errNoClient    = errors.New("rest: the request was not made by this client")
	errOption      = errors.New("rest: invalid option")
	errPageForeign = errors.New("rest: the next page is on another origin")
)

// RequestError reports that no complete response arrived. RequestError wraps the cause. If the context was done, the
// cause is the context's error.
type RequestError struct {
	// Method is the method of the request.
	Method string

	// URL is the URL of the request. Secrets in the URL are redacted.
	URL string

	// Err is the cause: an error from the transport, from the context, or from the io.Writer to which the body was
	// copied.
	Err error

	receiving bool // the head of the response had arrived
}

// Error returns the method, the URL, the phase (if known) and the cause.
func (e *RequestError) Error() string {
	cause := causeText(e.Err)
	if e.receiving && !strings.HasPrefix(cause, "reading the response body") {
		cause = "receiving the response body: " + cause
	}
	return named(e.Method, e.URL) + upTo(cause, 600)
}

// Unwrap returns Err.
func (e *RequestError) Unwrap() error { return e.Err }

// HTTPStatus returns 0, because the API did not respond. If a proxy refused the request, Err has the proxy's
// status. A gallop.ParseError in Err has a status, too.
func (e *RequestError) HTTPStatus() int { return 0 }

// unsentError is the error of a request that could not be built.
type unsentError struct {
	method, path string
	err          error
}

// unsent puts the method and the path of r around err.
func (r *Request) unsent(err error) error { return &unsentError{r.method, redacted(r.path), err} }

// Error returns the method, the path and the cause.
func (e *unsentError) Error() string {
	return named(upTo(e.method, 50), upTo(e.path, 300)) + strings.TrimPrefix(e.err.Error(), "rest: ")
}

// Unwrap returns the cause.
func (e *unsentError) Unwrap() error { return e.err }

// EncodeError reports that the body of a request cannot be encoded or read. The client does not send the request.
type EncodeError struct {
	// Err is the cause, such as an error of the codec.
	Err error
}

// Error returns the text of Err with a prefix.
func (e *EncodeError) Error() string { return "rest: cannot send the request body: " + e.Err.Error() }

// Unwrap returns Err.
func (e *EncodeError) Unwrap() error { return e.Err }

// DecodeError reports that the body of a response cannot be decoded, or exceeds the limit of [WithMaxBody].
type DecodeError struct {
	// Method is the method of the request.
	Method string

	// URL is the URL of the request. Secrets in the URL are redacted.
	URL string

	// StatusCode is the status of the response, such as 200.
	StatusCode int

	// ContentType is the Content-Type header of the response. The Content-Type often explains the error, for example
	// if a proxy responded with an HTML page.
	ContentType string

	// Offset is the number of bytes of the body that had been read when the error was found.
	Offset int64

	// Path is the path to the value that could not be decoded, such as "items[3].name". Path is empty if unknown.
	Path string

	// Err is the error of the codec, or ErrBodyTooLarge.
	Err error
}

// Error returns one line that describes the request, the response, the position in the body and the cause.
func (e *DecodeError) Error() string {
	var b strings.Builder
	if e.Method != "" {
		b.WriteString(named(e.Method, e.URL))
	} else {
		b.WriteString("rest: ")
	}
	b.WriteString("cannot decode the response")
	if e.StatusCode != 0 {
		b.WriteString(" (status " + strconv.Itoa(e.StatusCode) + ", " + contentType(e.ContentType) + ")")
	}
	if e.Path != "" {
		b.WriteString(" at " + oneLine(e.Path))
	}
	b.WriteString(", offset " + strconv.FormatInt(e.Offset, 10) + ": " + reason(e.Err))
	return b.String()
}

func contentType(said string) string {
	if said == "" {
		return "no Content-Type"
	}
	return "Content-Type " + upTo(said, 100)
}

// Unwrap returns Err.
func (e *DecodeError) Unwrap() error { return e.Err }

// HTTPStatus returns 0, because the error is in the response's body and not in its status.
func (e *DecodeError) HTTPStatus() int { return 0 }

// APIError reports a response whose status is not 2xx.
//
// If the body is JSON in a common error format, the client fills in the fields from Message to Errors. The supported
// formats are problem details (RFC 9457) and JSON objects with common members, such as "message", "code" and "errors".
// Fields that the body does not set are empty.
type APIError struct {
	// Method is the method of the request.
	Method string

	// URL is the URL of the request, after redirects. Secrets in the URL are redacted.
	URL string

	// StatusCode is the status of the response, such as 404.
	StatusCode int

	// Message says what went wrong. For problem details (RFC 9457), Message is the member "title".
	Message string

	// Detail explains this occurrence of the problem. For problem details, Detail is the member "detail".
	Detail string

	// Type is a URI that identifies the type of the problem.
	Type string

	// Code is the API's own error code, such as "invalid_request".
	Code string

	// DocsURL is the page that documents the error.
	DocsURL string

	// Errors are the individual errors in the body, at most a hundred.
	Errors []ErrorItem

	// Body is the body of the response, cut off after 1 MiB.
	Body []byte

	// Response is the response with its headers. The client has already read the body of the Response.
	Response *Response
}

// ErrorItem is one of several errors in the body of an APIError. Fields that the body does not set are empty.
type ErrorItem struct {
	// Resource is the kind of object that the error is about, such as "Issue".
	Resource string

	// Field is the field of the request that the error is about: a name, a path or a JSON pointer.
	Field string

	// Code is the API's own code for the error, such as "missing_field".
	Code string

	// Message says what is wrong.
	Message string
}

// Error returns one line with the request, the status, the message and up to three items. Long texts are shortened.
func (e *APIError) Error() string {
	var b strings.Builder
	b.WriteString(named(e.Method, e.URL) + strconv.Itoa(e.StatusCode))
	for _, text := range []string{e.Message, e.Detail} {
		if text != "" {
			b.WriteString(" " + oneLine(text))
		}
	}
	if e.Message == "" && e.Detail == "" {
		b.WriteString(" " + http.StatusText(e.StatusCode))
	}
	for i, item := range e.Errors {
		if i == 3 {
			b.WriteString("; …")
			break
		}
		b.WriteString("; " + oneLine(item.String()))
	}
	return b.String()
}

// HTTPStatus returns StatusCode.
func (e *APIError) HTTPStatus() int { return e.StatusCode }

// StatusOf returns the HTTP status with which the API refused a request. StatusOf searches the tree of err, in the
// order of errors.As, for the first error with a method HTTPStatus that returns an int. APIError, RateLimitError,
// AuthError, RedirectError and web.Error have a method HTTPStatus. StatusOf returns 0 if no error in the tree has the
// method HTTPStatus. StatusOf also returns 0 if no response arrived or the response could not be decoded. If a proxy
// refused the request, StatusOf does not return the status of the proxy.
//
// If your program is itself a server, decide which of these statuses to pass on to its own clients. For example, a 401
// from the API means that your program's credentials are wrong, not the credentials of its client.
func StatusOf(err error) int {
	var one interface {
		error
		HTTPStatus() int
	}
	if errors.As(err, &one) {
		return one.HTTPStatus()
	}
	return 0
}

// oneLine returns the beginning of a text from the server in a form that is safe to log: without line breaks or
// escape sequences.
func oneLine(text string) string { return upTo(text, 300) }

// named returns the prefix of errors about a request. The URL is cut, because a redirect may have led to a very long
// one.
func named(method, url string) string { return "rest: " + method + " " + upTo(url, 1000) + ": " }

// causeText returns the text of err. If err is from a gallop.Client, the method and the URL are left out, because the
// error around it names them.
func causeText(err error) string {
	if closed, ok := err.(*gallop.ClosedError); ok {
		unnamed := *closed
		unnamed.Method, unnamed.URL = "", ""
		return strings.TrimPrefix(unnamed.Error(), "gallop: ")
	}
	call, ok := err.(*gallop.CallError)
	if !ok {
		call, ok = errors.Unwrap(err).(*gallop.CallError) // some types of errors have it inside
	}
	if !ok {
		return strings.TrimPrefix(err.Error(), "gallop: ")
	}
	unnamed := *call
	unnamed.Method, unnamed.URL = "", ""
	return strings.TrimPrefix(unnamed.Error(), "gallop: ")
}

// redactCall redacts the secrets in the URL of an error from a gallop.Client, which is this call's own.
func redactCall(err error) error {
	var call *gallop.CallError
	if errors.As(err, &call) {
		call.URL = redacted(call.URL)
	}
	var closed *gallop.ClosedError
	if errors.As(err, &closed) {
		closed.URL = redacted(closed.URL)
	}
	return err
}

// reason returns the text of an error in a form that is safe to log, because it may quote the server.
func reason(err error) string { return upTo(err.Error(), 600) }

// upTo returns about the first most bytes of text, in one line.
func upTo(text string, most int) string {
	var b strings.Builder
	for _, r := range text {
		if b.Len() >= most {
			return b.String() + "…"
		}
		if !unicode.IsPrint(r) {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}

// String joins the non-empty fields with spaces.
func (i ErrorItem) String() string {
	said := make([]string, 0, 4)
	for _, s := range []string{i.Resource, i.Field, i.Code, i.Message} {
		if s != "" {
			said = append(said, s)
		}
	}
	return strings.Join(said, " ")
}

// RateLimitError reports that the client has reached one of the server's rate limits. If the request was sent, the
// error wraps the server's response, an APIError.
type RateLimitError struct {
	// Rate describes the limit. Rate is the zero value if nothing is known about the limit.
	Rate Rate

	// RetryAfter is how long the server wants the client to wait. RetryAfter is negative if the server did not say how
	// long to wait.
	RetryAfter time.Duration

	// Sent is true if the client sent this request and the server refused it. Sent is false if the client expected a
	// refusal after an earlier response, and therefore did not send the request.
	Sent bool

	api   *APIError
	cause error  // why waiting ended early
	name  string // method and URL of a request that was not sent
}

// Error returns the request and when to try again.
func (e *RateLimitError) Error() string {
	var b strings.Builder
	if e.api != nil {
		b.WriteString(e.api.Error())
	} else {
		b.WriteString("rest: " + e.name + ": not sent: the rate limit is reached")
	}
	switch {
	case e.RetryAfter >= 0:
		b.WriteString("; retry in " + e.RetryAfter.Round(time.Second).String())
	case !e.Rate.Reset.IsZero():
		b.WriteString("; retry at " + e.Rate.Reset.UTC().Format(time.RFC3339))
	}
	if e.cause != nil {
		b.WriteString("; stopped waiting: " + e.cause.Error())
	}
	return b.String()
}

// HTTPStatus returns the status of the response, 403 or 429. HTTPStatus returns 429 if the request was not sent.
func (e *RateLimitError) HTTPStatus() int {
	if e.api != nil {
		return e.api.StatusCode
	}
	return http.StatusTooManyRequests
}

// Unwrap returns the APIError if the request was sent. If the client waited for the rate limit but stopped early,
// Unwrap also returns the reason.
func (e *RateLimitError) Unwrap() (errs []error) {
	if e.api != nil {
		errs = append(errs, e.api)
	}
	if e.cause != nil {
		errs = append(errs, e.cause)
	}
	return errs
}

// AuthError reports a response with status 401, or an error that an [Auth] returned.
type AuthError struct {
	// Challenge is the WWW-Authenticate header of the response (RFC 9110 §11.6.1).
	Challenge string

	// Err is the APIError with status 401, or the error that the Auth returned.
	Err error
}

// Error returns the text of Err. If the Auth returned an error, the text has a prefix.
func (e *AuthError) Error() string {
	if _, answered := e.Err.(*APIError); answered {
		return e.Err.Error()
	}
	return "rest: cannot get credentials: " + reason(e.Err)
}

// Unwrap returns Err.
func (e *AuthError) Unwrap() error { return e.Err }

// HTTPStatus returns 401 if the server responded with 401, and 0 if the Auth returned an error.
func (e *AuthError) HTTPStatus() int {
	if api, ok := e.Err.(*APIError); ok && api.StatusCode == http.StatusUnauthorized {
		return api.StatusCode
	}
	return 0
}

// RedirectError reports a redirect that the client does not follow.
type RedirectError struct {
	// Method is the method of the request.
	Method string

	// URL is the URL of the request that was redirected. Secrets in the URL are redacted.
	URL string

	// StatusCode is the status of the response: 301, 302, 303, 307 or 308.
	StatusCode int

	// Location is the absolute URL that the redirect leads to. Location can contain secrets.
	Location string

	// Reason says why the client does not follow the redirect.
	Reason string

	// Response is the response with its headers. The client has discarded the body of the Response.
	Response *Response
}

// HTTPStatus returns StatusCode.
func (e *RedirectError) HTTPStatus() int { return e.StatusCode }

// Error returns the request, the status, the target and the reason.
func (e *RedirectError) Error() string {
	return named(e.Method, e.URL) + "redirect " + strconv.Itoa(e.StatusCode) + " to " + oneLine(redacted(e.Location)) + " not followed: " + e.Reason
}

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

// What is wrong with a request. None of them is sent.
var (
	// ErrURL is returned for a URL that a client cannot use.
	ErrURL = errors.New("rest: unusable URL")

	// ErrPath is returned for a path whose parameters have no values, or the other way round.
	ErrPath = errors.New("rest: the path and its parameters do not fit")

	// ErrPathForbidden is returned for a path with a segment "..", however written, and for
	// "." and ".." as the value of a parameter. It would lead to something else than
	// the path says.
	ErrPathForbidden = errors.New("rest: a path must not have .. for a segment")

	// ErrMethod is returned for a method that is no token (RFC 9110 §9.1).
	ErrMethod = errors.New("rest: the method is no token (RFC 9110 §9.1)")

	// ErrHeader is returned for header fields and cookies that cannot be sent.
	ErrHeader = errors.New("rest: unusable header field")

	// ErrBodyTooLarge is returned, within a DecodeError, for a response whose body is over the limit of WithMaxBody. It wraps
	// gallop.ErrBodyTooLarge.
	ErrBodyTooLarge = fmt.Errorf("rest: response body over the limit of WithMaxBody: %w", gallop.ErrBodyTooLarge)

	// ErrPagesRepeat is returned when one page is the same as one before: the server does
	// not know the parameter that asks for the next.
	ErrPagesRepeat = errors.New("rest: the pages repeat")

	// ErrPagesEmpty is returned after a hundred pages in a row without an element, each of which named a next one. A loop
	// over elements could not end otherwise.
	ErrPagesEmpty = errors.New("rest: a hundred pages in a row have no element")

	errEmptyGzip   = errors.New("rest: a gzip body goes on without content")
	errFields      = errors.New("rest: the answer has more than 1024 header fields")
	errNoAnswer    = errors.New("rest: the RoundTripper returned neither an answer nor an error")
	errNoContext   = errors.New("rest: the context is nil")
	errNoClient    = errors.New("rest: the request was not made by this client")
	errOption      = errors.New("rest: unusable option")
	errPageForeign = errors.New("rest: the next page is of another origin")
)

// RequestError is returned for a request that got no answer, or not all of it. Unwrap
// returns why: what the context says if that has ended.
type RequestError struct {
	Method string
	URL    string // without secrets
	Err    error
}

// Error names the request and the reason.
func (e *RequestError) Error() string { return named(e.Method, e.URL) + reason(e.Err) }

// Unwrap returns the reason.
func (e *RequestError) Unwrap() error { return e.Err }

// HTTPStatus returns 0, because there was no response of the API. The status of a proxy's refusal, or of a gallop.ParseError, is
// in Err.
func (e *RequestError) HTTPStatus() int { return 0 }

// EncodeError is returned for a body that could not be made.
type EncodeError struct{ Err error }

// Error says why.
func (e *EncodeError) Error() string { return "rest: the body cannot be sent: " + e.Err.Error() }

// Unwrap returns why.
func (e *EncodeError) Unwrap() error { return e.Err }

// DecodeError is returned for an answer that is not what was expected.
type DecodeError struct {
	Method string
	URL    string // without secrets
	Offset int64  // how many bytes of the body were read before it was clear
	Path   string // of the value that does not fit, as in "items[3].name"; "" if unknown
	Err    error
}

// Error says where it is wrong.
func (e *DecodeError) Error() string {
	var b strings.Builder
	if e.Method != "" {
		b.WriteString(named(e.Method, e.URL))
	}
	b.WriteString("cannot decode the answer")
	if e.Path != "" {
		b.WriteString(" at " + oneLine(e.Path))
	}
	b.WriteString(", offset " + strconv.FormatInt(e.Offset, 10) + ": " + reason(e.Err))
	return b.String()
}

// Unwrap returns what the codec said.
func (e *DecodeError) Unwrap() error { return e.Err }

// HTTPStatus returns 0, because the status of the response was not what went wrong.
func (e *DecodeError) HTTPStatus() int { return 0 }

// APIError is the answer of a server that did not do what it was asked for: a status that is
// not 2xx. Fields that the body does not say are empty.
//
// Bodies are understood if they are problem details (RFC 9457) or JSON in one of the common
// forms: a message, an error or a list of errors, or those of each field, with codes and references.
type APIError struct {
	Method     string
	URL        string // without secrets
	StatusCode int

	Message string // or title of the problem
	Detail  string
	Type    string // of the problem, a URI
	Code    string // of the program that answered
	DocsURL string
	Errors  []ErrorItem // the first hundred

	Body     []byte // the first 1 MiB of it
	Response *Response
}

// ErrorItem is one of several things that were wrong.
type ErrorItem struct {
	Resource, Field, Code, Message string
}

// Error names request, status and the beginning of the message, in one line.
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

// StatusOf returns the HTTP status with which the API refused a request. It is the status of the first error in the tree of err,
// in the order of errors.As, that has a method HTTPStatus() int: APIError, RateLimitError, AuthError, RedirectError and web.Error
// have one. StatusOf returns 0 if there is no such error, for a request without a response, and for a response that cannot be
// decoded. An error of a proxy on the way does not count.
//
// A server that passes the status on to its own client should pick the statuses that make sense there: a 401 of an upstream
// service, for example, is about the server's credentials.
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

// oneLine returns the beginning of a text of the server's as it may stand in a log: that is no place for lines and escapes of others.
func oneLine(text string) string { return upTo(text, 300) }

// named returns what errors about a request begin with. A redirect may have led to a URL that is too long for a log.
func named(method, url string) string { return method + " " + upTo(url, 1000) + ": " }

// reason returns the text of an error, which may quote the server, as it may stand in a log.
func reason(err error) string { return upTo(err.Error(), 600) }

// upTo returns about the first bytes of text, in one line.
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

// String joins what the item says.
func (i ErrorItem) String() string {
	said := make([]string, 0, 4)
	for _, s := range []string{i.Resource, i.Field, i.Code, i.Message} {
		if s != "" {
			said = append(said, s)
		}
	}
	return strings.Join(said, " ")
}

// RateLimitError is returned for a request that came too soon. To errors.As it is also the
// APIError that the server answered with, if it did.
type RateLimitError struct {
	Rate       Rate          // what is known about the limit, the zero value if nothing
	RetryAfter time.Duration // how long to wait, as the server says; negative if it does not
	Sent       bool          // whether the server said so now, or before, and nothing was sent

	api   *APIError
	cause error  // why waiting ended
	name  string // of the request if nothing was sent
}

// Error says which request, and until when.
func (e *RateLimitError) Error() string {
	var b strings.Builder
	if e.api != nil {
		b.WriteString(e.api.Error())
	} else {
		b.WriteString(e.name + ": rate limit reached, not sent")
	}
	switch {
	case e.RetryAfter >= 0:
		b.WriteString("; again in " + e.RetryAfter.Round(time.Second).String())
	case !e.Rate.Reset.IsZero():
		b.WriteString("; again at " + e.Rate.Reset.UTC().Format(time.RFC3339))
	}
	if e.cause != nil {
		b.WriteString("; waiting for it ended: " + e.cause.Error())
	}
	return b.String()
}

// HTTPStatus returns the status that the server has answered with, 403 or 429. It is 429 if nothing was sent.
func (e *RateLimitError) HTTPStatus() int {
	if e.api != nil {
		return e.api.StatusCode
	}
	return http.StatusTooManyRequests
}

// Unwrap returns the APIError and why waiting ended, as far as there are such.
func (e *RateLimitError) Unwrap() (errs []error) {
	if e.api != nil {
		errs = append(errs, e.api)
	}
	if e.cause != nil {
		errs = append(errs, e.cause)
	}
	return errs
}

// AuthError is returned if credentials are missing, wrong, or could not be had. To errors.As it is
// also the APIError with the status 401, or what the Auth returned.
type AuthError struct {
	Challenge string // what the server asks for: WWW-Authenticate (RFC 9110 §11.6.1)
	Err       error
}

// Error says why.
func (e *AuthError) Error() string {
	if _, answered := e.Err.(*APIError); answered {
		return e.Err.Error()
	}
	return "rest: no credentials: " + reason(e.Err)
}

// Unwrap returns the reason.
func (e *AuthError) Unwrap() error { return e.Err }

// HTTPStatus returns 401 if the server has answered with that status, and 0 if there were no credentials to send.
func (e *AuthError) HTTPStatus() int {
	if api, ok := e.Err.(*APIError); ok && api.StatusCode == http.StatusUnauthorized {
		return api.StatusCode
	}
	return 0
}

// RedirectError is returned for a redirect that is not followed.
type RedirectError struct {
	Method     string
	URL        string // without secrets
	StatusCode int
	Location   string // where it leads, as a URL; it may have secrets
	Reason     string
	Response   *Response
}

// HTTPStatus returns StatusCode.
func (e *RedirectError) HTTPStatus() int { return e.StatusCode }

// Error says why it is not followed.
func (e *RedirectError) Error() string {
	return named(e.Method, e.URL) + "redirect " + strconv.Itoa(e.StatusCode) + " to " + oneLine(redacted(e.Location)) + " not followed: " + e.Reason
}

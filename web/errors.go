package web

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"github.com/gallop-http/gallop"
)

// Errors that a Ctx returns.
var (
	// ErrNoHandlers is returned by Ctx.Format if it is called without offers. Without offers, Formats panics with the
	// text of ErrNoHandlers.
	ErrNoHandlers = errors.New("web: no formats are offered: pass at least one Offer")

	// ErrNoRoute is returned by App.URL and Redirect.Route if no route has the name. App.URL and Redirect.Route wrap ErrNoRoute in
	// an error that includes the name.
	ErrNoRoute = errors.New("web: no route has this name")

	// ErrInvalidCookie is returned by Ctx.SetCookie if the cookie has no name or contains forbidden bytes. A semicolon in the
	// value, for example, could add attributes to the cookie.
	ErrInvalidCookie = errors.New("web: the cookie has an empty name or bytes that are not allowed in a cookie")

	errNoViews    = errors.New("web: cannot render a page: Config.Views is not set")
	errNoLocation = errors.New("web: cannot redirect to an empty reference")
)

// Causes of a BindError. Other causes are the errors of strconv, time, codecs and UnmarshalText methods.
var (
	errMissing        = errors.New("web: a required value is missing")
	errTooManyEntries = fmt.Errorf("has too many values: %w", gallop.ErrTooManyArgs)
	errTooManyParts   = errors.New("has a name of too many parts")
)

// Source is the part of a request that a value comes from. If a codec of Config.Codecs decodes the body, the Source is the media
// type of the body.
type Source string

// The sources of a BindError. The first five sources are also the names of the struct tags that Binder reads.
const (
	SourcePath   Source = "path"   // the parameters of the route's path and host; the tag "uri" means the same
	SourceQuery  Source = "query"  // the query of the URL
	SourceHeader Source = "header" // the request headers
	SourceCookie Source = "cookie" // the cookies of the request
	SourceForm   Source = "form"   // a URL-encoded or multipart form in the body
	SourceJSON   Source = "json"   // a JSON body
	SourceXML    Source = "xml"    // an XML body
)

// BindError reports a request value that cannot be stored in its struct field. See [Binder].
type BindError struct {
	// Source is the part of the request that the value comes from.
	Source Source

	// Field is the name of the value in Source, such as "items.0.price". Field is empty if the whole body is malformed, or if Source
	// has too many values.
	Field string

	// Value is the value that the client sent, cut off after 64 bytes. If a JSON value has the wrong type, Value is the name of the
	// JSON type, such as "string". If the client sent no value, Value is empty. The text of the error does not include Value, so that
	// data from clients does not end up in logs by accident.
	Value string

	// Err is the reason why the value was rejected, for example strconv.ErrRange. Err is never nil.
	Err error

	reason string // for clients
}

// maxErrorValue is how many bytes of a value an error keeps.
const maxErrorValue = 64

// Error implements error. The text names the source and the field, but does not include the value.
func (e *BindError) Error() string { return "web: " + e.message() }

// Unwrap returns Err.
func (e *BindError) Unwrap() error { return e.Err }

// message returns the text for the client.
func (e *BindError) message() string {
	if e.Field == "" {
		return string(e.Source) + ": " + e.reasonText()
	}
	return string(e.Source) + " " + strconv.Quote(e.Field) + " " + e.reasonText()
}

// reasonText returns why the value does not fit, for clients.
func (e *BindError) reasonText() string { return cmp.Or(e.reason, "has a value that is not valid") }

// asBindError returns the BindError in err, or nil.
func asBindError(err error) *BindError {
	var e *BindError
	errors.As(err, &e)
	return e
}

// Error is an error that chooses the status of the response. Handlers can return an *Error, and the framework itself returns *Errors
// too. If several goroutines share an Error, do not change its fields. To get a copy with another message, use the With method.
type Error struct {
	// Status is the status of the response, from 400 to 599. The error handlers of this package treat a Status below 400 or above
	// 599 as 500.
	Status int

	// Message is plain text for the client. If Message is empty, error handlers see the standard text of Status, such as "Not Found".
	Message string

	// Err is the cause, which the client does not see. Err may be nil.
	Err error
}

// NewError returns an Error with a status and, optionally, a message for the client. If the message is missing or empty, the Error
// gets the standard text of the status, such as "Not Found".
func NewError(status int, message ...string) *Error {
	if len(message) == 0 || message[0] == "" {
		return errorWith(status, nil)
	}
	return &Error{Status: status, Message: message[0]}
}

// errorWith returns an Error with the standard text of the status and a cause.
func errorWith(status int, cause error) *Error {
	return &Error{Status: status, Message: gallop.StatusMessage(status), Err: cause}
}

// With returns a copy of e with another message for the client. The method does not change e, so e may be a package
// variable.
func (e *Error) With(message string) *Error {
	other := *e
	other.Message = message
	return &other
}

// Error implements error. The text contains the status, the message and the cause.
func (e *Error) Error() string {
	text := "web: " + strconv.Itoa(e.Status) + " " + e.text()
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// HTTPStatus returns Status. Errors of other packages, such as rest.APIError, also have a method HTTPStatus. The error
// handlers of this package do not call HTTPStatus: they read the Status of an [Error]. See [DefaultErrorHandler].
func (e *Error) HTTPStatus() int { return e.Status }

// Is makes errors.Is compare errors by status. The method returns true if target is an [*Error] with the same status and
// without a message of its own. ErrNotFound matches status 404, and ErrMethodNotAllowed matches status 405. If the target has a
// cause, errors.Is must also find that cause in e.
func (e *Error) Is(target error) bool {
	switch t := target.(type) {
	case statusError:
		return int(t) == e.Status
	case *Error:
		return t != nil && t.Status == e.Status && t.text() == gallop.StatusMessage(t.Status) && (t.Err == nil || errors.Is(e.Err, t.Err))
	}
	return false
}

// text returns the text for the client.
func (e *Error) text() string {
	if e.Message != "" {
		return e.Message
	}
	return gallop.StatusMessage(e.Status)
}

// Errors for requests that no route matches. Handlers may return ErrNotFound and ErrMethodNotAllowed, too. errors.Is(err,
// ErrNotFound) is true for every Error with status 404. errors.Is(err, ErrMethodNotAllowed) is true for every Error with status
// 405. errors.As yields a new *Error, so a program cannot change ErrNotFound or ErrMethodNotAllowed by accident.
var (
	// ErrNotFound has status 404. The framework returns ErrNotFound if no route matches the path of a request.
	ErrNotFound error = statusError(gallop.StatusNotFound)

	// ErrMethodNotAllowed has status 405. The framework returns ErrMethodNotAllowed if only routes for other methods
	// match the path.
	ErrMethodNotAllowed error = statusError(gallop.StatusMethodNotAllowed)
)

// statusError is an immutable Error that has only a status.
type statusError int

// Error implements error.
func (s statusError) Error() string { return s.full().Error() }

// Is reports whether target is an *Error with this status, and without a message or cause of its own.
func (s statusError) Is(target error) bool { return s.full().Is(target) }

// The As method lets errors.As find an *Error.
func (s statusError) As(target any) bool {
	e, ok := target.(**Error)
	if ok {
		*e = s.full()
	}
	return ok
}

// HTTPStatus returns the status.
func (s statusError) HTTPStatus() int { return int(s) }

func (s statusError) full() *Error { return errorWith(int(s), nil) }

// withMessage returns err, wrapped if need be, so that errors.As finds no Error without a message in it.
func withMessage(err error) error {
	switch e := err.(type) {
	case statusError:
		return err // without allocating
	case *Error:
		if e == nil || e.Message != "" {
			return err
		}
		return e.With(e.text())
	}
	if e := asError(err); e != nil && e.Message == "" {
		return &completed{err, e.With(e.text())}
	}
	return err
}

// completed wraps an error that holds an Error without a message. errors.As finds a copy with a message instead.
type completed struct {
	error
	found *Error
}

// The As method lets errors.As find the copy.
func (c *completed) As(target any) bool {
	e, ok := target.(**Error)
	if ok {
		*e = c.found
	}
	return ok
}

// Unwrap returns the error itself.
func (c *completed) Unwrap() error { return c.error }

// ErrorHandler responds to a request whose handler returned an error. Before an ErrorHandler runs, the framework drops the buffered
// body of the response. The framework also drops headers that describe the body, such as Content-Type. All other headers remain. An
// ErrorHandler must be safe for concurrent use; each call has a Ctx of its own. If part of the response has already been sent, no
// error handler runs, and the server closes the connection.
//
// An ErrorHandler also responds to requests that the server refused: see [Ctx.Refused]. The path, method and headers of a
// refused request may be missing. If errors.As finds an *Error in err, the Message of that *Error is never empty.
type ErrorHandler func(c *Ctx, err error)

// DefaultErrorHandler responds in plain text. If errors.As finds an Error in err, the response has the status and the message of
// the Error. For all other errors, the response is 500 without details. DefaultErrorHandler logs errors with status 500 and above,
// unless they have already been logged: see [Ctx.MarkErrorLogged]. The level is Error. If the request was canceled because the client
// has disconnected or the server stops, the level is Info.
//
// Only an Error determines the status. DefaultErrorHandler does not call the method HTTPStatus of other errors. For errors of package
// rest, for example, HTTPStatus returns the status that another server sent. A handler that returns such an error therefore does not
// send another server's 401 or 404 by accident. To send another server's status, return an [Error] with that status:
//
//	if rest.StatusOf(err) == 404 {
//		return &web.Error{Status: 404, Err: err}
//	}
//	return &web.Error{Status: 502, Err: err}
func DefaultErrorHandler(c *Ctx, err error) {
	status, text := c.publicError(err)
	c.forgetType() // the message may repeat input of the client, so it must not be sent as HTML
	c.Status(status).SendString(text)
}

// publicError returns the status and the text for the client. It logs an error with a status of 500 and above.
func (c *Ctx) publicError(err error) (status int, text string) {
	status = gallop.StatusInternalServerError
	if bare, ok := err.(statusError); ok { // without allocating
		status = int(bare)
	} else if e := asError(err); e != nil && e.Status >= 400 && e.Status < 600 {
		status, text = e.Status, e.Message
	}
	if status >= 500 {
		c.logFailure(err)
	}
	if text == "" {
		text = gallop.StatusMessage(status)
	}
	return status, text
}

// asError returns the *Error in err, or nil.
func asError(err error) *Error {
	var e *Error
	errors.As(err, &e)
	return e
}

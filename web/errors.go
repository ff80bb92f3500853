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
	// ErrNoHandlers is returned by Ctx.Format when it has nothing to choose from.
	ErrNoHandlers = errors.New("web: no formats are offered")

	// ErrNoRoute is returned by App.URL for a name that no route has.
	ErrNoRoute = errors.New("web: no route has this name")

	// ErrInvalidCookie is returned by Ctx.SetCookie for what would break out of its place.
	ErrInvalidCookie = errors.New("web: cookie has bytes that none may have")

	errNoViews    = errors.New("web: Config.Views is not set")
	errNoLocation = errors.New("web: a redirect has to lead somewhere")
)

// What a BindError wraps besides the errors of strconv, time, codecs and types.
var (
	errMissing        = errors.New("web: a required value is missing")
	errTooManyEntries = fmt.Errorf("has too many values: %w", gallop.ErrTooManyArgs)
	errTooManyParts   = errors.New("has a name of too many parts")
)

// Source is the part of a request that a value comes from. A body in a format of Config.Codecs has its media type as
// its source.
type Source string

// The sources of a BindError. The first five are also the names of the struct tags that Binder reads.
const (
	SourcePath   Source = "path" // the parameters of the route; the tag "uri" means the same
	SourceQuery  Source = "query"
	SourceHeader Source = "header"
	SourceCookie Source = "cookie"
	SourceForm   Source = "form"
	SourceJSON   Source = "json"
	SourceXML    Source = "xml"
)

// BindError reports a value of a request that does not fit the struct field it is for. See [Binder].
type BindError struct {
	Source Source // the part of the request
	Field  string // the name of the value in Source, such as "items.0.price"; "" if the whole body is wrong
	Value  string // the value that was sent, cut off after 64 bytes
	Err    error  // why the value does not fit

	reason string // for clients
}

// maxErrorValue is how much of a value an error keeps.
const maxErrorValue = 64

// Error implements error. It does not show the value.
func (e *BindError) Error() string { return "web: " + e.message() }

// Unwrap returns Err.
func (e *BindError) Unwrap() error { return e.Err }

// message returns what a client is told.
func (e *BindError) message() string {
	if e.Field == "" {
		return string(e.Source) + ": " + e.reasonText()
	}
	return string(e.Source) + " " + strconv.Quote(e.Field) + " " + e.reasonText()
}

// reasonText returns why the value does not fit, for clients.
func (e *BindError) reasonText() string { return cmp.Or(e.reason, "has a value that is not valid") }

// asBindError returns the BindError in err, nil if there is none.
func asBindError(err error) *BindError {
	var e *BindError
	errors.As(err, &e)
	return e
}

// Error is an error with the status of the response to it. Handlers return an *Error, and so does the framework for the
// requests that it refuses itself. The fields must not change once another goroutine can see the error; to vary an Error
// that is shared, call With.
type Error struct {
	Status  int    // 400 to 599
	Message string // plain text for the client; if it is left empty, error handlers see the standard text of Status
	Err     error  // the cause, for the log; may be nil
}

// NewError returns an Error with a status and, optionally, a message for the client. Without a message, or with an empty one, Message
// is the standard text of the status, such as "Not Found".
func NewError(status int, message ...string) *Error {
	if len(message) == 0 || message[0] == "" {
		return errorWith(status, nil)
	}
	return &Error{Status: status, Message: message[0]}
}

// errorWith returns an Error with the standard text of the status and this cause.
func errorWith(status int, cause error) *Error {
	return &Error{Status: status, Message: gallop.StatusMessage(status), Err: cause}
}

// With returns a copy of e with another message for the client. It does not change e, which may be a variable that all
// requests share.
func (e *Error) With(message string) *Error {
	other := *e
	other.Message = message
	return &other
}

// Error implements error.
func (e *Error) Error() string {
	text := "web: " + strconv.Itoa(e.Status) + " " + e.text()
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// HTTPStatus returns Status. Errors of other packages have this method, too, such as rest.APIError, but their status is not the
// one of the response: see [DefaultErrorHandler].
func (e *Error) HTTPStatus() int { return e.Status }

// Is reports whether target stands for the status of e: it is ErrNotFound, ErrMethodNotAllowed or an *Error with this status and
// without a message of its own. If target has a cause, e must have the same. errors.Is calls it.
func (e *Error) Is(target error) bool {
	switch t := target.(type) {
	case statusError:
		return int(t) == e.Status
	case *Error:
		return t != nil && t.Status == e.Status && t.text() == gallop.StatusMessage(t.Status) && (t.Err == nil || errors.Is(e.Err, t.Err))
	}
	return false
}

// text returns what the client is told.
func (e *Error) text() string {
	if e.Message != "" {
		return e.Message
	}
	return gallop.StatusMessage(e.Status)
}

// The framework returns these errors if no route matches a request, or only routes for other methods do. Handlers may return
// them too. errors.Is(err, ErrNotFound) holds for every Error with the status 404, and errors.As finds a new *Error in
// ErrNotFound each time, so that nobody can change it.
var (
	ErrNotFound         error = statusError(gallop.StatusNotFound)
	ErrMethodNotAllowed error = statusError(gallop.StatusMethodNotAllowed)
)

// statusError is an Error with a status and nothing else, as a value that cannot change.
type statusError int

// Error implements error.
func (s statusError) Error() string { return s.full().Error() }

// Is reports whether target is an *Error with this status and nothing else.
func (s statusError) Is(target error) bool { return s.full().Is(target) }

// As makes errors.As find an *Error.
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

// withMessage returns err so that errors.As finds no Error without a message in it.
func withMessage(err error) error {
	switch e := err.(type) {
	case statusError:
		return err // without new memory
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

// completed is an error around an Error without a message. errors.As finds another Error instead, which has one.
type completed struct {
	error
	found *Error
}

// As makes errors.As find the other Error.
func (c *completed) As(target any) bool {
	e, ok := target.(**Error)
	if ok {
		*e = c.found
	}
	return ok
}

// Unwrap returns the error itself.
func (c *completed) Unwrap() error { return c.error }

// ErrorHandler responds to a request whose handler returned an error. The body that was written before is dropped, and so are the
// headers that describe it, such as Content-Type and Content-Encoding. Other headers are kept.
//
// It also responds to requests that the server refused, whose path, method and headers may be missing: see [Ctx.Refused]. The Message
// of an *Error that errors.As finds in err is never empty.
type ErrorHandler func(c *Ctx, err error)

// DefaultErrorHandler responds in plain text. It looks for an [Error] in the tree of err and sends its status and message. For all
// other errors it sends 500 and no details. Errors with a status of 500 and above are logged, unless they are in the log
// already: see [Ctx.MarkErrorLogged].
//
// Only an Error chooses the status. A method HTTPStatus() int does not: errors of package rest have one for the status that
// another server sent, and a handler that fails because of a 401 or 404 there must not send the same to its own client by
// accident. To pass a status on, return an Error that says so:
//
//	if rest.StatusOf(err) == 404 {
//		return &web.Error{Status: 404, Err: err}
//	}
//	return &web.Error{Status: 502, Err: err}
func DefaultErrorHandler(c *Ctx, err error) {
	status, text := c.publicError(err)
	c.forgetType() // the message may repeat what a client sent
	c.Status(status).SendString(text)
}

// publicError returns the status and the text that a client is told about an error. An error that is the program's is logged.
func (c *Ctx) publicError(err error) (status int, text string) {
	status = gallop.StatusInternalServerError
	if bare, ok := err.(statusError); ok { // without new memory
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

// asError returns the *Error in err, nil if there is none.
func asError(err error) *Error {
	var e *Error
	errors.As(err, &e)
	return e
}

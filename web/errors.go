package web

import (
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

// BindError is a value of a request that does not fit the field it is for, see Binder.
type BindError struct {
	Source string // "uri", "query", "header", "cookie", "form", "json", "xml", or a media type of Config.Codecs
	Field  string // its name there, as "items.0.price"; "" for the whole
	Value  string // what was sent, at most 64 bytes of it
	Err    error  // why it does not fit

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
	reason := e.reason
	if reason == "" {
		reason = "has a value that is not valid"
	}
	if e.Field == "" {
		return e.Source + ": " + reason
	}
	return e.Source + " " + strconv.Quote(e.Field) + " " + reason
}

// Error is an error with the status of the answer to it. Handlers return it, and so does
// the framework for what it refuses itself.
type Error struct {
	Status  int    // 400 to 599
	Message string // for the client, in plain text; the status' own if it is empty
	Err     error  // what happened, for the log; may be nil
}

// NewError returns an Error. Without a message it has that of the status.
func NewError(status int, message ...string) *Error {
	e := &Error{Status: status}
	if len(message) > 0 {
		e.Message = message[0]
	}
	return e
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

// text returns what the client is told.
func (e *Error) text() string {
	if e.Message != "" {
		return e.Message
	}
	return gallop.StatusMessage(e.Status)
}

// What the framework answers by itself. Handlers may return them too.
var (
	ErrNotFound         = NewError(gallop.StatusNotFound)
	ErrMethodNotAllowed = NewError(gallop.StatusMethodNotAllowed)
)

// ErrorHandler makes an answer of an error that a handler returned. The body written so far
// is gone, and with it what said how to read it, as Content-Type and Content-Encoding; other header fields are not.
type ErrorHandler func(c *Ctx, err error)

// DefaultErrorHandler answers in plain text: an Error with its status and message, and others with
// 500 and nothing that tells what went wrong, which is logged.
func DefaultErrorHandler(c *Ctx, err error) {
	status, text := gallop.StatusInternalServerError, ""
	var e *Error
	if errors.As(err, &e) && e.Status >= 400 && e.Status < 600 {
		status, text = e.Status, e.text()
	}
	if status >= 500 {
		c.request.Logger().Printf("%v", err)
	}
	if text == "" {
		text = gallop.StatusMessage(status)
	}
	c.forgetType() // the message may repeat what a client sent
	c.Status(status).SendString(text)
}

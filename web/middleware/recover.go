package middleware

import (
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// Recover makes errors of panics, so that the application's error handler answers, and the connection
// goes on. Without it the server answers 500 and closes the connection.
//
// Panics with gallop.ErrAbortHandler, or net/http's, pass. So do those of handlers that have begun to stream
// their answer or have taken the connection over: whoever reads there has to see that it broke.
//
// The zero value logs panics with their stack, to Ctx.Log. The line of Logger then has no error.
type Recover struct {
	// OnPanic is told of a panic instead of the Logger, on the goroutine that panicked.
	OnPanic func(c *web.Ctx, err *PanicError)
}

// Handler returns the middleware. Its error is a web.Error of status 500 with a PanicError.
func (r Recover) Handler() web.Handler {
	report := r.OnPanic
	if report == nil {
		report = func(c *web.Ctx, err *PanicError) {
			if c.MarkErrorLogged() {
				c.Log().Error("panic", slog.Any("error", err), slog.String("stack", string(err.Stack)))
			}
		}
	}
	const status = gallop.StatusInternalServerError
	return func(c *web.Ctx) (err error) {
		defer func() {
			value := recover()
			if value == nil {
				return
			}
			if isAbort(value) || isTaken(c.RequestCtx()) {
				panic(value)
			}
			p := &PanicError{Value: value, Stack: debug.Stack()}
			report(c, p)
			err = &web.Error{Status: status, Message: gallop.StatusMessage(status), Err: p}
		}()
		return c.Next()
	}
}

func isAbort(value any) bool {
	err, ok := value.(error)
	return ok && (errors.Is(err, gallop.ErrAbortHandler) || errors.Is(err, http.ErrAbortHandler))
}

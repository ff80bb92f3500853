package middleware

import (
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// Recover turns panics into errors, so that the application's error handler responds and the connection stays open. Without
// Recover, the server responds with 500 and closes the connection.
//
// If the value of a panic is gallop.ErrAbortHandler or http.ErrAbortHandler, Recover panics again with this value. Recover
// also panics again if the handler has started to stream its response or has hijacked the connection. The server then
// closes the connection, so the client notices that the response is incomplete.
//
// The zero value logs panics with their stack to Ctx.Log. If a handler panics, the line that [Logger] writes has no error
// attribute.
type Recover struct {
	// OnPanic is called for each panic, on the goroutine that panicked. If OnPanic is set, Recover does not log the panic.
	OnPanic func(c *web.Ctx, err *PanicError)
}

// Handler returns the middleware. After a panic, the middleware returns a web.Error with status 500 whose cause is a
// PanicError.
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

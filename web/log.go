package web

import (
	"context"
	"log/slog"
	"net"
	"strings"

	"github.com/gallop-http/gallop"
)

// Log returns the logger of the App with the attributes method, path and, if the request has an ID, id. The App logs to the
// ErrorLog of Config.Server. If the Server has only a Logger, the App logs to that Logger. If neither ErrorLog nor Logger is
// set, the App and the server log to slog.Default.
func (c *Ctx) Log() *slog.Logger {
	log := c.app.log.With(slog.String("method", c.Method()), slog.String("path", c.Path()))
	if id := c.RequestID(); id != "" {
		log = log.With(slog.String("id", id))
	}
	return log
}

// MarkErrorLogged records that the error of this request has been logged. The first call for each request returns true, and
// later calls return false. Call MarkErrorLogged before you log the error, so that each error is logged only once:
//
//	if err != nil && c.MarkErrorLogged() {
//		c.Log().Error("request failed", "error", err)
//	}
//
// The error handlers of this package, middleware.Logger and middleware.Recover call MarkErrorLogged before they log an error.
// For a request that the server refused, the result is always false, because the server has already logged the reason.
func (c *Ctx) MarkErrorLogged() (first bool) {
	first = !c.logged
	c.logged = true
	return first
}

// logFailure logs an error whose details the client does not see.
func (c *Ctx) logFailure(err error) {
	if c.MarkErrorLogged() {
		c.logAt(c.FailureLevel(), "request failed", err)
	}
}

// FailureLevel returns the level at which to log the error of a request: Error, or Info if the request was canceled because the client
// has disconnected or the server stops. Errors are routine then: reads and writes fail, and calls that got the context end early.
func (c *Ctx) FailureLevel() slog.Level {
	if c.request.Err() == context.Canceled {
		return slog.LevelInfo
	}
	return slog.LevelError
}

func (c *Ctx) logAt(level slog.Level, text string, err error) {
	c.Log().LogAttrs(context.WithoutCancel(c.Context()), level, text, slog.Any("error", err))
}

// useLog sets the logger of the App. A server without a logger gets the same one.
func (a *App) useLog(s *gallop.Server) {
	switch {
	case s.ErrorLog != nil:
		a.log = s.ErrorLog
	case s.Logger != nil:
		a.log = slog.New(slog.NewTextHandler(lines{s.Logger}, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	default:
		a.log = slog.New(defaultHandler{})
		s.ErrorLog = a.log
	}
}

// logListening logs the address of a listener.
func (a *App) logListening(ln net.Listener) {
	a.log.Info("listening", slog.String("network", ln.Addr().Network()), slog.String("addr", ln.Addr().String()))
}

// defaultHandler passes each record to the slog.Default of that moment.
type defaultHandler struct{}

func (defaultHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return slog.Default().Enabled(ctx, level)
}

func (defaultHandler) Handle(ctx context.Context, r slog.Record) error {
	return slog.Default().Handler().Handle(ctx, r)
}

func (defaultHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return slog.Default().Handler().WithAttrs(attrs)
}

func (defaultHandler) WithGroup(name string) slog.Handler {
	return slog.Default().Handler().WithGroup(name)
}

// lines writes each record to a Logger.
type lines struct{ to gallop.Logger }

func (l lines) Write(p []byte) (int, error) {
	l.to.Printf("%s", strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}

// withoutTime drops the time, which a Logger writes itself.
func withoutTime(groups []string, attr slog.Attr) slog.Attr {
	if attr.Key == slog.TimeKey && len(groups) == 0 {
		return slog.Attr{}
	}
	return attr
}
